"""The normal-inverse-Wishart: dishes are normal distributions of unknown mean and covariance matrix."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import NormalInverseWishartBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.moments import Moments
from hdpkit.measures.normal_inverse_wishart_twin import NormalInverseWishartReference
from hdpkit.measures.protocol import base_measures


@attrs.frozen(eq=False)
class NormalInverseWishart(NormalInverseWishartReference):
    """Normal vectors with unknown mean and covariance; compiled.

    x ~ N(mu, Sigma), Sigma ~ inverse-Wishart(dof, multiplier scale), mu | Sigma ~ N(mean, Sigma / strength).

    Parameters
    ----------
    mean : array, shape (D,)
        Prior mean of mu.
    strength : float or prior
        Weight of the prior mean, as a number of observations.
    dof : float or prior
        Degrees of freedom of the inverse-Wishart, above D - 1.
    scale : array, shape (D, D)
        Scale matrix of the inverse-Wishart, up to the multiplier; E[Sigma] = multiplier scale /
        (dof - D - 1).
    multiplier : float or prior
        Factor of the scale matrix. With a prior it is resampled: ``scale`` then has the shape of the
        covariances up to a factor.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        return NormalInverseWishartBank(self._matrix(data), self, Moments)


def _examples(kind: type[NormalInverseWishartReference]) -> list[Any]:
    return [kind([0.2], 0.5, 1.5, [[0.8]]), kind([0.2, -0.4], 0.7, 3.5, [[1.2, 0.4], [0.4, 0.9]])]


base_measures.register(
    "normal-inverse-wishart", NormalInverseWishart, lambda: _examples(NormalInverseWishart)
)
base_measures.register(
    "normal-inverse-wishart-reference",
    NormalInverseWishartReference,
    lambda: _examples(NormalInverseWishartReference),
)
