"""The gamma-Poisson: dishes are Poisson distributions of unknown rate, by dimension."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import GammaPoissonBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.gamma_poisson_twin import CountSums, GammaPoissonReference
from hdpkit.measures.protocol import base_measures


@attrs.frozen(eq=False)
class GammaPoisson(GammaPoissonReference):
    """Counts from a Poisson distribution with unknown rate; compiled.

    x ~ Poisson(lambda), lambda ~ Gamma(shape, rate); for vectors, independently in each dimension.

    Parameters
    ----------
    shape, rate : float or array of shape (D,)
        Parameters of the Gamma prior of lambda, whose mean is shape / rate.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        return GammaPoissonBank(self._matrix(data), self, CountSums)


def _examples(kind: type[GammaPoissonReference]) -> list[Any]:
    return [kind(1.5, 0.8), kind([1.5, 0.6], [0.8, 1.1])]


base_measures.register("gamma-poisson", GammaPoisson, lambda: _examples(GammaPoisson))
base_measures.register(
    "gamma-poisson-reference", GammaPoissonReference, lambda: _examples(GammaPoissonReference)
)
