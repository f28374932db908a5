"""The exact-kernel test if dishes keep parameters: a state is a seating and a parameter for every dish."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.measures.non_conjugate import Finite
from hdpkit.priors import Each
from hdpkit.stores import FrozenSeating
from hdpkit.testing.exact import ExactFailure, ExactModel

LogLikelihood = Callable[[list[Any], Any], float]


def grid_of(measure: Any) -> Finite | None:
    """Return the possible parameters of a dish if they are finitely many, otherwise None."""
    declared = getattr(measure, "sample_prior", None)
    if declared is None:
        fields = attrs.fields(type(measure)) if attrs.has(type(measure)) else ()
        own = [value for field in fields if isinstance(value := getattr(measure, field.name), Each)]
        declared = own[0].prior if len(own) == 1 else None
    return declared if isinstance(declared, Finite) else None


def shares_of(grid: Finite) -> list[tuple[Any, float]]:
    """The possible parameters with their probabilities."""
    weights = np.array(grid.weights) / sum(grid.weights)
    return list(zip(grid.values, weights.tolist(), strict=True))


def blocks_of(frozen: dict[str, Any]) -> list[list[int]]:
    """Customers of each dish number of a frozen state."""
    dishes = FrozenSeating.of(frozen["seating"]).dishes
    return [np.flatnonzero(dishes == dish).tolist() for dish in np.unique(dishes)]


def exact_model(franchise: Franchise, witness: Callable[..., float] | None = None) -> ExactModel:
    """The model of every state of a tiny franchise, with or without kept parameters of dishes.

    ``witness`` is the log marginal of a list of values or, if dishes keep parameters, their log likelihood
    given a parameter.
    """
    if franchise.measure.conjugate:
        return ExactModel(franchise, witness)
    return ExactParameterModel(franchise, witness)


class ExactParameterModel(ExactModel):
    """A tiny franchise over a measure whose dishes keep one of finitely many parameters.

    p(seating, parameters | data) is the posterior of seatings, with the marginal of a dish summed over its
    possible parameters, times p(parameter | data of the dish) for every dish.
    """

    def __init__(self, franchise: Franchise, log_likelihood: LogLikelihood | None = None) -> None:
        measure: Any = franchise.measure
        grid = grid_of(measure)
        if grid is None:
            raise ExactFailure("only dishes with finitely many possible parameters can be enumerated")
        self._shares = shares_of(grid)
        self.log_likelihood = log_likelihood or (
            lambda values, one: float(measure.log_block(values, [measure.begun(one)])[0])
        )
        super().__init__(franchise, lambda values: math.log(sum(self._joint(values))))
        self._split(self._parameters)

    def _joint(self, values: list[Any]) -> list[float]:
        """p(parameter) p(values | parameter) for every parameter."""
        return [share * math.exp(self.log_likelihood(values, one)) for one, share in self._shares]

    def _parameters(self, frozen: dict[str, Any]) -> Iterator[tuple[Any, float, dict[str, Any]]]:
        """Parameters of the dishes, and their probability given the seating."""
        laws = [self._joint([self.values[i] for i in block]) for block in blocks_of(frozen)]
        of_dish = [
            [(one, p / sum(law)) for (one, _), p in zip(self._shares, law, strict=True)] for law in laws
        ]
        for chosen in itertools.product(*of_dish):
            own = tuple(one for one, _ in chosen)
            bank = {"slots": frozen["slots"], "parameters": [*map(np.array, own)]}
            yield own, math.prod(p for _, p in chosen), {"bank": bank}

    def _state(self) -> Any:
        bank: Any = self.franchise.bank
        seating, slots = self._seating()
        return seating, tuple(bank.parameter(slot) for slot in slots)
