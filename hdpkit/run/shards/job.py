"""The description of a run that every worker gets at the beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from hdpkit.checks import instance
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
    spool: str | None = None  # folder of files with the tokens of the workers

    @property
    def threads(self) -> int:
        """The most threads that a move over documents uses in a worker."""
        inner = [move.move if isinstance(move, Scheduled) else move for move in self.moves]
        return max(getattr(move, "threads", 1) for move in inner)

    def streams(self) -> Streams:
        """Return the streams of the chain, equal to those of `hdpkit.Scheduler.run` with this seed."""
        return Streams(self.seed)


def check_declared(restaurant: Any, root: Any) -> None:
    """Raise an error unless chains over shards serve these declarations."""
    instance("restaurant", restaurant, Restaurant, "a Restaurant", remedy="hk.Restaurant(base=...).")
    chain = list(restaurant.chain())
    if len(chain) != 2 or chain[1].each != "document":
        raise ParameterError(
            "restaurant", restaurant, "documents over a root",
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
    if not (isinstance(root, FixedWeights) or (isinstance(root, str) and root == "weights")):
        raise ParameterError(
            "root", root, "'weights' or hk.FixedWeights(K)",
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
