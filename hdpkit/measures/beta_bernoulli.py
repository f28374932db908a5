"""The beta-Bernoulli: dishes are the probabilities of independent bits."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import BetaBernoulliBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.beta_bernoulli_twin import BetaBernoulliReference
from hdpkit.measures.protocol import base_measures
from hdpkit.measures.vectors import Sums


@attrs.frozen(eq=False)
class BetaBernoulli(BetaBernoulliReference):
    """Vectors of independent bits; compiled.

    x_d ~ Bernoulli(p_d), p_d ~ Beta(a, b).

    Parameters
    ----------
    a, b : float or array of shape (D,)
        Parameters of the Beta prior of a bit's probability.
    """

    def bank(self, data: GroupedData) -> StatisticsBank:
        return BetaBernoulliBank(self._matrix(data), self, Sums)


def _examples(kind: type[BetaBernoulliReference]) -> list[Any]:
    return [kind(0.7, 1.2, n_dims=3), kind([0.7, 0.4], [1.2, 0.9])]


base_measures.register("beta-bernoulli", BetaBernoulli, lambda: _examples(BetaBernoulli))
base_measures.register(
    "beta-bernoulli-reference", BetaBernoulliReference, lambda: _examples(BetaBernoulliReference)
)
