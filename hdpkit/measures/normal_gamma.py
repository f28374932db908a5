"""The normal-gamma: dishes are normal distributions of unknown mean and precision, by dimension."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import NormalGammaBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.moments import Moments
from hdpkit.measures.normal_gamma_twin import NormalGammaReference
from hdpkit.measures.protocol import base_measures


@attrs.frozen(eq=False)
class NormalGamma(NormalGammaReference):
    """Normal values with unknown mean and precision; compiled.

    x ~ N(mu, 1/tau), tau ~ Gamma(shape, multiplier rate), mu | tau ~ N(mean, 1/(strength tau)); for vectors
    independently in each dimension (a diagonal covariance).

    Parameters
    ----------
    mean : float, array of shape (D,) or prior
        Prior mean of mu.
    strength : float, array of shape (D,) or prior
        Weight of the prior mean, as a number of observations.
    shape, rate : float, array of shape (D,) or prior
        Parameters of the Gamma prior of the precision tau; the prior guess of a variance is multiplier rate /
        shape. A prior is that of one value for all dimensions.
    multiplier : float, array of shape (D,) or prior
        Factor of the rate. With a prior it is resampled: ``rate`` then has the variances of the dimensions
        up to a factor.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        return NormalGammaBank(self._matrix(data), self, Moments)


def _examples(kind: type[NormalGammaReference]) -> list[Any]:
    return [kind(0.2, 0.5, 1.5, 0.8), kind([0.2, -0.4], 0.7, [1.5, 2.0], 0.8)]


base_measures.register("normal-gamma", NormalGamma, lambda: _examples(NormalGamma))
base_measures.register(
    "normal-gamma-reference", NormalGammaReference, lambda: _examples(NormalGammaReference)
)
