"""Numbers of tables given who eats what, over a store of counts."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.checks import choice, validator
from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["TableCounts"]

METHODS = ("bernoulli", "binomial")


@attrs.frozen
class TableCounts(Move):
    """Draw the number of tables of each restaurant and dish given its customers.

    The tables of n customers have the law of a sum of Bernoulli draws with probabilities a / (a + i - 1),
    i = 1 .. n, where a is the concentration times the root's weight of the dish (Teh et al. 2006, section
    5.3). It needs weights of the root: then restaurants are independent. Over a store that keeps tables (of
    sizes or seats) they are part of the state that other moves draw, and this one does nothing. Over counts
    under a root that is a restaurant it is refused: there, too, tables are part of the state, and
    `TableGibbs` draws them.

    Parameters
    ----------
    method : str
        "bernoulli" draws for one customer after the other. "binomial" draws, for each dish and i, in how many
        of the restaurants that have an ith customer of the dish that customer opened a table, and in which:
        fewer draws where restaurants are many. It needs one concentration for all. The law is the same.
    """

    by_cell = True

    method: str = attrs.field(
        default="bernoulli", validator=validator(choice, METHODS, remedy="They have the same law.")
    )

    def check(self, state: Franchise) -> None:
        """Refuse counts under a restaurant, and one binomial draw for restaurants that differ."""
        if state.counts_tables:
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "The root is a restaurant, so that numbers of tables are part of the state, and TableGibbs "
                "draws them: leave TableCounts out, or build hk.Franchise(..., root='weights').",
            )  # fmt: skip
        each: Any = any(d.hyperparameters[0].each for d in state.declarations[1:])
        if self.method == "binomial" and each and state.draws_tables:
            raise ScheduleError(
                "method", self.method, "'bernoulli' where each restaurant has its own concentration",
                "Write TableCounts().",
            )  # fmt: skip

    def n_steps(self, state: Franchise) -> int:
        """One a restaurant by Bernoulli draws; one for all of them by binomial draws."""
        if not state.draws_tables:
            return 1
        return 1 if self.method == "binomial" else state.topology.n_nodes

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw the numbers of tables."""
        if not state.draws_tables:
            return MoveInfo(0, 0)
        if self.method == "binomial":
            state.draw_tables_by_dish(rng)
            return MoveInfo(1, 1)
        first, last = steps or (0, self.n_steps(state))
        state.in_chunks(first, last, lambda start, end: state.draw_tables(start, end, rng))
        return MoveInfo(last - first, last - first)


moves.register("table-counts", TableCounts, lambda: [TableCounts(), TableCounts("binomial")])
