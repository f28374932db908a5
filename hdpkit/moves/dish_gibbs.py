"""Dish Gibbs: draws the dishes of tables."""

from __future__ import annotations

import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import BLOCKS, SEVERAL_RESTAURANTS, Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource
from hdpkit.steps.units import index_units, resample_dish


class DishGibbs(Move):
    """Remove each table from its parent restaurant, with all customers below it, and redraw its dish.

    P(dish k) is proportional to P_parent(k) DM(n_k + c) / DM(n_k) for the block c of values below the table
    (Teh et al. 2006, section 5.1, equation 33; Wang & Blei 2012, section 3.1); then the table is seated
    again, from the parent upwards. Tables are visited level by level from the deepest, and within a level in
    the order of their first customers, which the move doesn't change. Step (level, i) redraws the table at
    that level whose first customer is i, if there is one.
    """

    serves = (*BLOCKS, "several parents")
    needs_tables = True
    calls = (index_units, resample_dish)
    requires = (SEVERAL_RESTAURANTS,)

    def n_steps(self, state: Franchise) -> int:
        """One per customer and level below the root."""
        return (state.topology.n_levels - 1) * state.topology.n_customers

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Redraw the dishes of the tables."""
        n = state.topology.n_customers
        first, last = steps or (0, self.n_steps(state))
        info = MoveInfo()
        with state.labelled_seating(rng):
            for pass_number in range(first // n, -(-last // n)):
                low, high = max(first - pass_number * n, 0), min(last - pass_number * n, n)
                info += self._level(state, rng, state.topology.n_levels - 1 - pass_number, low, high)
        return info

    @staticmethod
    def _level(state: Franchise, rng: ChoiceSource, level: int, low: int, high: int) -> MoveInfo:
        units = state.units(level)
        begin, end = 0, len(units)
        if (low, high) != (0, state.topology.n_customers):
            begin, end = np.searchsorted(units.firsts, [low, high]).tolist()
        free = state.free_units(units, level, begin, end)
        for first, last in free:
            state.in_chunks(first, last, lambda a, b: state.resample_dish(units, a, b, rng))
        n = sum(last - first for first, last in free)
        return MoveInfo(n, n)


moves.register("dish-gibbs", DishGibbs, lambda: [DishGibbs()])
