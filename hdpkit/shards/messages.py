"""What parts of a run tell each other: each message can be added to another one, in any order."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._compiled.support.sparse_counts import add_up_sparse
from hdpkit.franchise.elsewhere import Changes

__all__ = ["Block", "Done", "Failed", "Message", "Opening", "Swept"]


class Message(Protocol):
    """A summand. A `Failed` one makes the sum failed."""

    def plus(self, other: Any) -> Any:
        """Return the sum of both."""


@attrs.frozen(eq=False)
class Failed:
    """A part met an error."""

    error: Exception

    def plus(self, other: Any) -> Failed:
        """Return this error: the first one."""
        return self


@attrs.frozen(eq=False)
class Opening:
    """What a part has at the start.

    Attributes
    ----------
    changes : Changes
        Its counts.
    lengths : dict
        Customers of its documents by the number of the first document.
    name : str
        One that it proposes for `hdpkit.shards.memory.Meeting`: the least one is taken.
    """

    changes: Changes
    lengths: dict[int, npt.NDArray[np.int64]]
    name: str

    def plus(self, other: Any) -> Any:
        """Return the opening of both parts."""
        if isinstance(other, Failed):
            return other
        name = min(self.name, other.name)
        return Opening(self.changes.plus(other.changes), self.lengths | other.lengths, name)

    def all_lengths(self) -> npt.NDArray[np.int64]:
        """Customers of every document, in order."""
        return np.concatenate([self.lengths[first] for first in sorted(self.lengths)])


@attrs.frozen(eq=False)
class Swept:
    """What a part has changed in a sweep."""

    changes: Changes

    def plus(self, other: Any) -> Any:
        """Return the changes of both parts."""
        return other if isinstance(other, Failed) else Swept(self.changes.plus(other.changes))


@attrs.frozen(eq=False)
class Block:
    """Changes of the counts of a block of terms."""

    counts: bytes

    def plus(self, other: Any) -> Any:
        """Return the changes of both parts."""
        return other if isinstance(other, Failed) else Block(add_up_sparse(self.counts, other.counts))


@attrs.frozen(eq=False)
class Done:
    """A part is done; one of them has the numbers that all would report."""

    values: dict[str, Any] | None = None

    def plus(self, other: Any) -> Any:
        """Return that both are done."""
        if isinstance(other, Failed):
            return other
        return self if other.values is None else other
