"""The exact-kernel test if dishes keep parameters: a state is a seating and a parameter for every dish."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Int32s
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

    Parameters
    ----------
    franchise : Franchise
    log_likelihood : callable, optional
        ``log_likelihood(values, parameter)`` of the values of one dish, as an independent reference. By
        default that of the measure.
    """

    def __init__(self, franchise: Franchise, log_likelihood: LogLikelihood | None = None) -> None:
        measure: Any = franchise.measure
        grid = grid_of(measure)
        if grid is None:
            raise ExactFailure("only dishes with finitely many possible parameters can be enumerated")
        self.grid = grid
        self.log_likelihood = log_likelihood or (
            lambda values, one: float(measure.log_block(values, [measure.begun(one)])[0])
        )
        super().__init__(franchise, lambda values: math.log(sum(self._joint(values))))
        states, pi, frozen = [], [], []
        for key, probability, arrays in zip(self.states, self.pi, self._frozen, strict=True):
            blocks = self._blocks(arrays["seating"])
            laws = [self._joint([self.values[i] for i in block]) for block in blocks]
            for chosen in itertools.product(range(len(self.grid.values)), repeat=len(blocks)):
                weight = math.prod(law[c] / sum(law) for law, c in zip(laws, chosen, strict=True))
                if weight > 0.0:
                    states.append((key, chosen))
                    pi.append(probability * weight)
                    frozen.append({**arrays, "bank": self._frozen_bank(arrays["slots"], chosen)})
        self.states, self.pi, self._frozen = states, np.array(pi), frozen
        self._number = {state: i for i, state in enumerate(states)}

    def _joint(self, values: list[Any]) -> list[float]:
        """p(parameter) p(values | parameter) for every parameter."""
        weights = np.array(self.grid.weights) / sum(self.grid.weights)
        logs = [self.log_likelihood(values, one) for one in self.grid.values]
        return [float(joint) for joint in weights * np.exp(logs)]

    @staticmethod
    def _blocks(seating: dict[str, Int32s]) -> list[list[int]]:
        """Customers of each dish number."""
        dishes = FrozenSeating.of(seating).dishes
        return [np.flatnonzero(dishes == dish).tolist() for dish in np.unique(dishes)]

    def _frozen_bank(self, slots: Int32s, chosen: tuple[int, ...]) -> dict[str, Any]:
        return {"slots": slots, "parameters": [np.array(self.grid.values[c]) for c in chosen]}

    def _understood(self, arrays: dict[str, Int32s]) -> Any:
        """The seating, and the slots of its dishes in order of the first customer who eats each."""
        dishes = arrays["table_dish"][arrays["seat"]] if "seat" in arrays else arrays["dish"]
        return self._key(arrays), list(dict.fromkeys(dishes.tolist()))

    def read(self) -> int:
        """Number of the state that the franchise is in."""
        bank: Any = self.franchise.bank
        seating, slots = self._recalled()
        return self._number[seating, tuple(self.grid.values.index(bank.parameter(slot)) for slot in slots)]
