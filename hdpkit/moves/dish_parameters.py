"""Parameters of dishes, where the base measure keeps them in the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.metropolis import accepts
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import slice_sample
from hdpkit.random import ChoiceSource
from hdpkit.returned import log_density, real_values

__all__ = ["DishParameters"]


class DishParameters(Move):
    """Update the parameter of every dish given its data, the dishes in their order.

    By the measure's own ``update``; else, with its ``log_prior``, by slice sampling of each coordinate
    (Neal 2003); else by a proposal from the prior, accepted with the ratio of the likelihoods.
    """

    continuous = True
    updates = ("dish parameters",)

    def check(self, state: Franchise) -> None:
        """Refuse a measure whose dishes keep no parameter."""
        if state.measure.conjugate:
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                f"{type(state.measure).__name__} integrates dish parameters out: leave DishParameters out.",
            )  # fmt: skip

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Update them all; a coordinate counts as tried."""
        info = MoveInfo()
        if steps == (0, 0):
            return info
        # What a measure that is not conjugate has, and its bank: see `NonConjugate`.
        bank: Any = state.bank
        measure: Any = state.measure
        dishes = state.seating.dishes()
        with state.turn():
            for slot in state.slots.occupied_slots().tolist():
                values = [state.data.values[i] for i in np.flatnonzero(dishes == slot)]
                parameter, done = _updated(measure, bank.parameter(slot), values, rng)
                bank.set_parameter(slot, parameter)
                info += done
        return info


def _updated(measure: Any, parameter: Any, values: list[Any], rng: ChoiceSource) -> tuple[Any, MoveInfo]:
    if measure.update is not None:
        drawn = measure.update(parameter, values, rng.generator)
        return real_values(measure, "update", drawn, np.shape(parameter)), MoveInfo(1, 1)

    def log_likelihood(candidate: Any) -> float:
        return float(measure.log_block(values, [candidate])[0])

    if measure.log_prior is None:
        candidate = measure.draw(rng)
        taken = accepts(log_likelihood(candidate) - log_likelihood(parameter), rng)
        return (candidate if taken else parameter), MoveInfo(1, int(taken))
    array = np.array(parameter, dtype=float)
    for place in np.ndindex(array.shape):

        def log_target(x: float, place: tuple[int, ...] = place) -> float:
            candidate = array.copy()
            candidate[place] = x
            log_prior = log_density(measure, "log_prior", measure.log_prior(candidate[()]))
            return log_prior + log_likelihood(candidate[()]) if log_prior > -np.inf else log_prior

        array[place] = slice_sample(log_target, float(array[place]), 1.0, rng)
    return array[()], MoveInfo(max(array.size, 1), max(array.size, 1))


moves.register("dish-parameters", DishParameters, lambda: [DishParameters()])
