"""The description of a run that every part gets at the beginning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import instance, seed_number, whole_number
from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise import FixedWeights, Restaurant
from hdpkit.moves import BaseMeasureParameters, Concentration, CountGibbs, Move, RootWeights, SliceGibbs
from hdpkit.moves.concentration import by_numbers
from hdpkit.random import Streams
from hdpkit.shards.source import Source
from hdpkit.shards.starts import Start

__all__ = ["Job", "as_moves", "as_seed", "check_job", "check_moves", "needs_lengths"]

OVER_DOCUMENTS = (SliceGibbs, CountGibbs)
OF_ALL = (RootWeights, Concentration, BaseMeasureParameters)


@attrs.frozen(eq=False)
class Job:
    """A chain over shards.

    Parameters
    ----------
    restaurant : Restaurant
        Documents below a root, as for `hdpkit.Franchise`.
    source : Source
        The corpus in shards.
    moves : sequence of Move
        One of `SliceGibbs` and `CountGibbs`; `RootWeights`, `Concentration` and `BaseMeasureParameters`
        before and after it.
    seed : int
    start : Start
        The initial state of the chain.
    root : str or FixedWeights
        As for `hdpkit.Franchise`.
    threads : int
        Number of threads of each part.
    spool : str, optional
        Folder of files with the tokens of the parts (`hdpkit.shards.spool`).
    """

    restaurant: Restaurant
    source: Source
    moves: tuple[Move, ...]
    seed: int
    start: Start
    root: str | FixedWeights = "weights"
    threads: int = 1
    spool: str | None = None

    def streams(self) -> Streams:
        """Return the streams of the chain, equal to those of `hdpkit.Scheduler.run` with this seed."""
        return Streams(self.seed)

    def settings(self) -> Mapping[str, Any]:
        """Settings that must not change when a run is continued; numbers of parts and threads may change."""
        return {
            "restaurant": repr(self.restaurant),
            "root": repr(self.root),
            "moves": [repr(move) for move in self.moves],
            "seed": self.seed,
            "corpus": self.source.digest,
        }


def check_job(job: Job) -> None:
    """Raise an error for an invalid job, before any work is done."""
    instance("restaurant", job.restaurant, Restaurant, "a Restaurant", remedy="hk.Restaurant(base=...).")
    whole_number("threads", job.threads, 1, 1024, remedy="One per processor is usual.")
    check_moves(job.moves)
    chain = list(job.restaurant.chain())
    if len(chain) != 2 or chain[1].each != "document":
        raise ParameterError(
            "restaurant", job.restaurant, "documents over a root",
            "hk.Restaurant(base=root, each='document').",
        )  # fmt: skip
    if chain[1].hyperparameters[0].each:
        raise ParameterError(
            "concentration", chain[1].concentration, "one for all documents",
            "Only the numbers of tables are known of documents in other parts: leave hk.Each out.",
        )  # fmt: skip
    for declaration in chain:
        discount = declaration.hyperparameters[1]
        if discount.prior is not None or discount.start != 0.0:
            raise ParameterError(
                "discount", declaration.discount, "0, for the root and the documents",
                "Leave it out, or use hk.Scheduler with TableGibbs over the whole corpus.",
            )  # fmt: skip
    if not (job.root == "weights" or isinstance(job.root, FixedWeights)):
        raise ParameterError(
            "root", job.root, "'weights' or hk.FixedWeights(K)",
            "Documents are independent only given the weights of the root.",
        )  # fmt: skip


def needs_lengths(job: Job) -> bool:
    """Whether a move draws a number for each document of the corpus."""
    moves = [move for move in job.moves if isinstance(move, Concentration)]
    return not all(by_numbers(move, job.restaurant) for move in moves)


def check_moves(moves: Sequence[Move]) -> None:
    """Raise a ScheduleError unless these moves can run over parts of a corpus."""
    over = [move for move in moves if isinstance(move, OVER_DOCUMENTS)]
    if len(over) != 1:
        raise ScheduleError(
            "moves", [move.name for move in moves], "one move over documents",
            "Schedule moves.SliceGibbs() or moves.CountGibbs() once.",
        )  # fmt: skip
    for move in moves:
        if not isinstance(move, (*OVER_DOCUMENTS, *OF_ALL)):
            raise ScheduleError(
                "moves", move.name, "moves that use only the numbers of tables of documents",
                f"They are {', '.join(kind.__name__ for kind in OF_ALL)}. The tables of documents are drawn "
                "by SliceGibbs and CountGibbs themselves: TableCounts isn't needed.",
            )  # fmt: skip


def as_moves(moves: Any) -> tuple[Move, ...]:
    """Return a schedule as a tuple of moves."""
    found = tuple(moves) if isinstance(moves, list | tuple) else (moves,)
    for move in found:
        instance("moves", move, Move, "a list of moves", remedy="[moves.SliceGibbs(), moves.RootWeights()].")
    return found


def as_seed(rng: Any) -> int:
    """Return the seed of a run: one integer, the same in every process."""
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer):
        raise ParameterError(
            "rng", rng, "an integer >= 0", "Every process of a run draws from the same seed: give a number."
        )
    return seed_number("rng", rng)
