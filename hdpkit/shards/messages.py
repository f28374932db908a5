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
    sizes : (int64 array, int64 array)
        Distinct numbers of customers of its documents, ascending, and how many have each.
    lengths : dict
        Customers of its documents by the number of the first document, where a move asks for them.
    name : str
        One that it proposes for `hdpkit.shards.memory.Meeting`: the least one is taken.
    """

    changes: Changes
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    lengths: dict[int, npt.NDArray[np.int64]]
    name: str

    def plus(self, other: Any) -> Any:
        """Return the opening of both parts."""
        if isinstance(other, Failed):
            return other
        both = np.concatenate([self.sizes, other.sizes], axis=1)
        distinct, place = np.unique(both[0], return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place, both[1])
        return Opening(
            self.changes.plus(other.changes),
            (distinct, counts),
            self.lengths | other.lengths,
            min(self.name, other.name),
        )

    def all_lengths(self) -> npt.NDArray[np.int64] | None:
        """Customers of every document, in order; None where no move asks for them."""
        if not self.lengths:
            return None
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
