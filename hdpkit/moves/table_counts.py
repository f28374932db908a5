"""Numbers of tables given the dishes of customers, over a store of counts."""

from __future__ import annotations

import attrs

from hdpkit.checks import choice, validator
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, Requirement, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

METHODS = ("bernoulli", "binomial")


def _draws_alike(state: Franchise, move: TableCounts) -> bool:
    each = any(declared.hyperparameters[0].each for declared in state.declarations[1:])
    return move.method != "binomial" or not each or not state.draws_tables


@attrs.frozen
class TableCounts(Move):
    """Draw the number of tables of each restaurant and dish given its customers.

    The number of tables of n customers is distributed as a sum of Bernoulli draws with probabilities a / (a +
    i - 1), i = 1 .. n, where a is the concentration times the root's weight of the dish (Teh et al. 2006,
    section 5.3). The root must have weights: then restaurants are independent. Over a store of sizes or
    seats, tables are part of the state and drawn by other moves, and this move does nothing. Over a store of
    counts whose root is a restaurant, or with more than two levels, the move raises an error: there tables
    are also part of the state, and `TableGibbs` or `CountGibbs` draws them.

    Parameters
    ----------
    method : str
        "bernoulli" makes one draw per customer. "binomial" makes one draw for each dish and i: the number of
        restaurants in which the ith customer of the dish opened a table, and then which restaurants these
        are. This takes fewer draws if there are many restaurants, and needs a common concentration. The
        distribution is the same.
    """

    serves = EVERYWHERE
    by_cell = True
    requires = (
        something_to_do(
            lambda state, move: not state.counts_tables,
            "Numbers of tables are part of the state, because the root is a restaurant or there are more "
            "than two levels, and TableGibbs or CountGibbs draw them: leave TableCounts out.",
        ),
        Requirement(
            _draws_alike,
            "Write TableCounts().",
            "method",
            "'bernoulli' where each restaurant has its own concentration",
        ),
    )

    method: str = attrs.field(
        default="bernoulli", validator=validator(choice, METHODS, remedy="They have the same law.")
    )

    def n_steps(self, state: Franchise) -> int:
        """One per restaurant with Bernoulli draws; one in total with binomial draws."""
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
