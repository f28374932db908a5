"""A concentration per dish of unit vectors: parameters of dishes in the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import as_float
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures.kept_parameters import KeptParameters, ParameterBank, ParametersOfDishes

SMALLEST, LARGEST = 1e-10, 1e10  # range of concentrations


def is_concentration(value: Any) -> bool:
    """Whether this can be the concentration of the vectors of a dish."""
    return SMALLEST <= as_float(value) <= LARGEST


class OwnConcentrations(KeptParameters):
    """The concentration of each dish, independently distributed as the prior.

    One vector is uniform under a new dish, whatever its concentration. So a dish born for one customer draws
    it from the prior, which is also the posterior; for a block it is that of an auxiliary dish.
    """

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the concentration of a dish."""
        array = np.array(parameter)
        if array.shape != () or array.dtype.kind not in "iuf" or not is_concentration(float(array)):
            raise DataError(
                key, parameter, f"the concentration of a dish, from {SMALLEST} to {LARGEST}", remedy
            )

    def set_parameter(self, slot: int, parameter: Any) -> None:
        value = as_float(parameter)
        if not is_concentration(value):
            raise ParameterError(
                "concentration of a dish", parameter, f"a number from {SMALLEST} to {LARGEST}",
                "Give a positive number.",
            )  # fmt: skip
        super().set_parameter(slot, value)


class ConcentrationBank(ParameterBank):
    """Sums of unit vectors in Python, and a concentration for each dish."""

    held = "concentration"
    kind = OwnConcentrations


class ConcentrationsOfDishes(ParametersOfDishes):
    """The concentrations of dishes as a part of the state. The bank of the measure stores them."""

    name = "concentration"

    def concentrations(self) -> Floats:
        """Return the concentration of each dish, in the order of the dishes."""
        return self.values()

    def is_legal(self, value: float) -> bool:
        return is_concentration(value)
