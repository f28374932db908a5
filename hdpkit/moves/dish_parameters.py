"""Parameters of dishes that the base measure keeps in the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from hdpkit.checks import log_density, real_values
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, accepts, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import slice_sample
from hdpkit.random import ChoiceSource


class DishParameters(Move):
    """Update the parameter of every dish given its data, in the order of the dishes.

    If the measure has ``update``, this is called. Otherwise, if it has ``log_prior``, each coordinate is
    updated by slice sampling (Neal 2003). Otherwise a value is proposed from the prior and accepted with the
    ratio of the likelihoods.
    """

    serves = EVERYWHERE
    continuous = True
    updates = ("dish parameters",)
    requires = (
        something_to_do(
            lambda state, move: not state.measure.conjugate,
            "{measure} integrates dish parameters out: leave DishParameters out.",
        ),
    )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Update all dishes; each coordinate counts as one tried update."""
        if steps == (0, 0):
            return MoveInfo()
        return update_dishes(state, _of_dish, rng)


def update_dishes(
    state: Franchise,
    update: Callable[[Franchise, int, npt.NDArray[np.int64], ChoiceSource], tuple[Any, MoveInfo]],
    rng: ChoiceSource,
) -> MoveInfo:
    """Update the parameter of every dish, in the order of the dishes."""
    info = MoveInfo()
    bank: Any = state.bank
    dishes = state.seating.dishes()
    missing = getattr(state.data, "missing", None)
    if missing is not None:
        dishes = np.where(missing, -1, dishes)
    with state.lock():
        for slot in state.slots.occupied_slots().tolist():
            parameter, done = update(state, slot, np.flatnonzero(dishes == slot), rng)
            bank.set_parameter(slot, parameter)
            info += done
    return info


def proposed_from_prior(
    measure: Any, parameter: Any, log_likelihood: Callable[[Any], float], rng: ChoiceSource
) -> tuple[Any, MoveInfo]:
    """Propose a parameter from its prior, and accept it with the ratio of the likelihoods."""
    candidate = measure.draw(rng)
    taken = accepts(log_likelihood(candidate) - log_likelihood(parameter), rng)
    return (candidate if taken else parameter), MoveInfo(1, int(taken))


def _of_dish(
    state: Franchise, slot: int, customers: npt.NDArray[np.int64], rng: ChoiceSource
) -> tuple[Any, MoveInfo]:
    # Methods of non-conjugate measures and their banks: see `NonConjugate`.
    measure, bank = cast(Any, state.measure), cast(Any, state.bank)
    parameter = bank.parameter(slot)
    if measure.update is not None:
        values = [state.data.values[i] for i in customers]
        drawn = measure.update(parameter, values, rng.generator)
        return real_values(measure, "update", drawn, np.shape(parameter)), MoveInfo(1, 1)
    log_likelihood = bank.log_likelihood_of(slot, customers)
    if measure.log_prior is None:
        return proposed_from_prior(measure, parameter, log_likelihood, rng)
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
