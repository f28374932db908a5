"""The description of a run that every worker gets at the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import instance, seed_number, whole_number
from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.moves import Move, OverDocuments, Scheduled
from hdpkit.random import Streams
from hdpkit.run.shards.source import Source
from hdpkit.run.shards.starts import ShardedStart


@attrs.frozen(eq=False)
class ShardedJob:
    """A chain over shards."""

    restaurant: Restaurant  # documents below a root, as for `hdpkit.Franchise`
    source: Source
    moves: tuple[Move, ...]  # each over documents or over totals (`Move.over`), in any order
    seed: int
    start: ShardedStart
    root: str | FixedWeights = "weights"
    threads: int = 1  # of each worker
    spool: str | None = None  # folder of files with the tokens of the workers

    def streams(self) -> Streams:
        """Return the streams of the chain, equal to those of `hdpkit.Scheduler.run` with this seed."""
        return Streams(self.seed)


def check_job(job: ShardedJob) -> None:
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
            "Only the numbers of tables are known of documents in other shards: leave hk.Each out.",
        )  # fmt: skip
    for declaration in chain:
        discount = declaration.hyperparameters[1]
        if discount.prior is not None or discount.start != 0.0:
            raise ParameterError(
                "discount", declaration.discount, "0, for the root and the documents",
                "Leave it out, or use hk.Scheduler with TableGibbs over the whole corpus.",
            )  # fmt: skip
    weighed = isinstance(job.root, FixedWeights) or (isinstance(job.root, str) and job.root == "weights")
    if not weighed:
        raise ParameterError(
            "root", job.root, "'weights' or hk.FixedWeights(K)",
            "Documents are independent only given the weights of the root.",
        )  # fmt: skip


def needs_lengths(job: ShardedJob) -> bool:
    """Whether a move draws a number for each document of the corpus."""
    return any(move.needs_lengths(job.restaurant) for move in job.moves)


def differs(restaurant: Restaurant) -> bool:
    """Whether topics differ by document, so that the state has tables of terms."""
    measure: Any = restaurant.measure
    return bool(measure.seats_values) and not measure.plain


def check_moves(moves: Sequence[Move]) -> None:
    """Raise a ScheduleError unless these moves can run over shards of a corpus."""
    if not moves:
        raise ScheduleError("moves", [], "at least one move", "Schedule moves.SliceGibbs(), for instance.")
    for move in moves:
        inner = move.move if isinstance(move, Scheduled) else move
        if move.over == "documents" and not isinstance(inner, OverDocuments):
            raise ScheduleError(
                "moves", move.name, "moves over documents with the methods of hdpkit.moves.OverDocuments",
                "Derive the class from hdpkit.moves.ByDocument, and define document().",
            )  # fmt: skip
        if move.over not in ("documents", "totals"):
            raise ScheduleError(
                "moves", f"{move.name}, over = {move.over!r}", "moves over documents or over totals",
                "A move that needs only what all documents have in common declares over = 'totals' in its "
                "class; one that updates each document alone derives from hdpkit.moves.ByDocument, or is "
                "moves.SliceGibbs or moves.CountGibbs. Any other needs hk.Scheduler. (Moves over documents "
                "draw the tables themselves: moves.TableCounts isn't needed.)",
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
