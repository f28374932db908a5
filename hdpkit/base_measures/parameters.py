"""Parameters of a base measure: a number is fixed; a prior is resampled and starts at its mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import attrs
import numpy as np

from hdpkit.checks import number_array
from hdpkit.errors import ParameterError
from hdpkit.priors import Prior, mean_of

__all__ = ["Resampled", "parameter"]


class Resampled(float):
    """The present value of a parameter, and the prior from which it is resampled.

    It is a float, so it can be used in formulas.
    """

    prior: Prior

    def __new__(cls, value: float, prior: Prior) -> Self:
        """Return the value with its prior."""
        made = super().__new__(cls, value)
        made.prior = prior
        return made

    def __repr__(self) -> str:
        return f"{float(self)!r} (prior {self.prior!r})"

    def __reduce__(self) -> Any:
        return type(self), (float(self), self.prior)


def parameter(*, validator: Callable[[Any, Any, Any], None], default: Any = attrs.NOTHING) -> Any:
    """Declare a parameter in an attrs class: a number, an array, or a prior.

    Parameters
    ----------
    validator : callable
        Called with (instance, attribute, value); raises a ParameterError outside the parameter's domain. The
        value is a float, a read-only float64 array or, for a prior, a `Resampled`.
    default : object, optional
    """
    converter = attrs.Converter(_convert, takes_field=True)
    return attrs.field(default=default, converter=converter, validator=validator)


def _convert(value: Any, field: attrs.Attribute[Any]) -> Any:
    if isinstance(value, Resampled):
        return value
    # Numbers first, because an isinstance check of a protocol takes ten microseconds.
    if not isinstance(value, float | int) and isinstance(value, Prior) and not isinstance(value, type):
        return Resampled(mean_of(value), value)
    array = number_array(value)
    if array is not None and array.size and not np.isnan(array).any():
        array.setflags(write=False)
        return float(array) if array.ndim == 0 else array
    raise ParameterError(
        field.name, value, "a number, an array of numbers, or a prior",
        "A number is fixed; a prior (for instance hk.Gamma(1, 1)) is resampled.",
    )  # fmt: skip
