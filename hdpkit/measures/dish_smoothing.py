"""A smoothing per dish of a sparse Dirichlet-multinomial: parameters of dishes in the state."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures.kept_parameters import KeptParameters, ParameterBank, ParametersOfDishes
from hdpkit.measures.proportions import SelectionBank
from hdpkit.measures.selection_range import LARGEST, SMALLEST, check_smoothing
from hdpkit.priors import draw_from

SMOOTHING = "smoothing"


def _is_smoothing(value: Any) -> bool:
    try:
        check_smoothing(value)
    except ParameterError:
        return False
    return True


class DishSmoothings(KeptParameters):
    """The smoothing lambda_k of each dish, independently distributed as the prior.

    For a single customer the weight of a new dish is (1 - p(no term)) / V, independent of its smoothing. So a
    dish born for one customer draws its smoothing from the prior, which is also the posterior. The
    probability of a block under a new dish depends on the smoothing, so auxiliary dishes are used.
    """

    def _draw_several(self, n: int) -> list[float]:
        """Draw several smoothings at once: a sweep over blocks needs some for each block."""
        prior = self.measure.smoothing.prior
        if self._source is None or n == 0 or hasattr(prior, "choose"):
            return super()._draw_several(n)
        drawn = draw_from(prior, self._source, n).tolist()
        return [one if SMALLEST <= one <= LARGEST else self._draw() for one in drawn]

    def check_parameter(self, key: str, parameter: Any, remedy: str) -> None:
        """Raise a DataError unless this can be the smoothing of a dish."""
        array = np.array(parameter)
        if array.shape != () or array.dtype.kind not in "iuf" or not _is_smoothing(float(array)):
            raise DataError(key, parameter, "the smoothing of a dish, from 1e-6 to 1e6", remedy)

    def set_parameter(self, slot: int, parameter: Any) -> None:
        super().set_parameter(slot, check_smoothing(float(parameter)))


class SmoothingBank(ParameterBank, SelectionBank):
    """Statistics in Python of a measure with selected terms and a separate smoothing for each dish."""

    held = "smoothing"
    kind = DishSmoothings


class SmoothingOfDishes(ParametersOfDishes):
    """The smoothings of dishes as a part of the state. The bank of the measure stores them."""

    name = "smoothing"

    def smoothings(self) -> Floats:
        """Return the smoothing of each dish, in the order of the dishes."""
        return self.values()

    def is_legal(self, value: float) -> bool:
        return _is_smoothing(value)
