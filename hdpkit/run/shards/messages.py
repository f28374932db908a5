"""Messages between the workers of a run; messages of one kind can be added, in any order."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._count_changes import add_up_sparse
from hdpkit.errors import ScheduleError
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.numerics import add_up


class Message(Protocol):
    """A summand. A sum with a `Failed` message is `Failed`."""

    def plus(self, other: Any) -> Any:
        """Return the sum of both."""


@attrs.frozen(eq=False)
class Failed:
    """The error of a worker."""

    error: BaseException

    def plus(self, other: Any) -> Failed:
        """Return this error, so that the sum is the first error."""
        return self


@attrs.frozen(eq=False)
class Opening:
    """Message of a worker at the start."""

    changes: Changes  # its counts
    # distinct numbers of customers of its documents, ascending, and how many have each
    sizes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
    # customers of each document, by the number of the first document, if a move needs them
    lengths: dict[int, npt.NDArray[np.int64]]
    name: str  # proposed for `hdpkit.run.shards.memory.Meeting`; the smallest one is used

    def plus(self, other: Any) -> Any:
        """Return the opening of both workers."""
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
        """Number of customers of every document, in order; None if no move needs them."""
        if not self.lengths:
            return None
        return np.concatenate([self.lengths[first] for first in sorted(self.lengths)])


@attrs.frozen(eq=False)
class Swept:
    """Changes of a worker in a sweep."""

    changes: Changes

    def plus(self, other: Any) -> Any:
        """Return the changes of both workers."""
        return other if isinstance(other, Failed) else Swept(self.changes.plus(other.changes))


@attrs.frozen(eq=False)
class CountBlock:
    """Changes of the counts of a block of terms."""

    counts: bytes

    def plus(self, other: Any) -> Any:
        """Return the changes of both workers."""
        return other if isinstance(other, Failed) else CountBlock(add_up_sparse(self.counts, other.counts))


@attrs.frozen(eq=False)
class Done:
    """A worker has finished a step."""

    # for the trace, at the end of a sweep: equal in all workers, empty in all but one; None within a sweep
    values: dict[str, Any] | None = None
    # by the number of a shard of the worker: its term of the log joint, which ``values`` lacks
    logs: dict[int, float] = attrs.field(factory=dict)
    # of the common state after each move over totals in this step
    digests: tuple[tuple[str, bytes], ...] = ()

    def plus(self, other: Any) -> Any:
        """Return a message for both, with the numbers of either."""
        if isinstance(other, Failed):
            return other
        for (name, one), (_, two) in zip(self.digests, other.digests, strict=True):
            if one != two:
                error = ScheduleError(
                    "moves", name, "moves over totals that have the same result in every worker",
                    "Let it use only what is common to all workers (see hdpkit.moves.Move) and its rng, or "
                    "run it with hk.Scheduler.",
                )  # fmt: skip
                return Failed(error)
        values = other.values if self.values is None or other.values else self.values
        return Done(values, self.logs | other.logs, self.digests)

    def numbers(self) -> dict[str, Any]:
        """The numbers for the trace: the terms of all shards are added in the order of shards."""
        assert self.values is not None
        of_shards = add_up(self.logs[i] for i in sorted(self.logs))
        return {**self.values, "log_joint": self.values["log_joint"] + of_shards}
