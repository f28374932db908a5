"""The beta-Bernoulli: dishes are the probabilities of independent bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Bools, Floats
from hdpkit.data import GroupedData
from hdpkit.measures._conjugate import BetaBernoulliBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import by_entry, in_python
from hdpkit.measures.vectors import Sums, VectorMeasure, diagonal, positive
from hdpkit.random import ChoiceSource


@attrs.frozen(eq=False)
class BetaBernoulli(VectorMeasure):
    """Vectors of independent bits; compiled.

    x_d ~ Bernoulli(p_d), p_d ~ Beta(a, b). The predictive probability of a set bit is
    (a + ones) / (a + b + n) (Gelman et al., "Bayesian Data Analysis", section 2.4).

    Parameters
    ----------
    a, b : float or array of shape (D,)
        Parameters of the Beta prior of a bit's probability.
    """

    a: Any = positive("a", default=1.0)
    b: Any = positive("b", default=1.0)

    legal_values = "0 or 1 (or False, True)"
    support = "bits"
    examples = ((0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 0, 1), (1, 1, 0))
    exact_statistics = True  # integers: independent of the order of additions and removals

    @property
    def parameters(self) -> dict[str, Any]:
        return {"a": self.a, "b": self.b}

    @staticmethod
    def _legal(values: npt.NDArray[Any]) -> Bools:
        """Which numbers are bits."""
        return (values == 0) | (values == 1)

    def make(self) -> Sums:
        return Sums(0, np.zeros(self.n_dims or 1, dtype=np.int64))

    def _posterior(self, many: Sequence[Sums]) -> tuple[Floats, Floats]:
        """Parameters a and b given the vectors of each dish, each of shape (n, D)."""
        a, b = self.vectors
        ones = np.array([statistics.total for statistics in many])
        n = np.array([[statistics.n] for statistics in many])
        return a + ones, b + (n - ones)

    def log_predictive(self, value: Any, many: Sequence[Sums]) -> Floats:
        """log of prod a / (a + b) over set bits and b / (a + b) over the others: shape (n,)."""
        a, b = self._posterior(many)
        bits = self._row(value) > 0
        return (np.log(np.where(bits, a, b)) - np.log(a + b)).sum(axis=1)

    def log_marginal(self, statistics: Sums) -> float:
        """Log of prod B(a + ones, b + n - ones) / B(a, b)."""
        a, b = (part[0] for part in self._posterior([statistics]))
        return float((scipy.special.betaln(a, b) - scipy.special.betaln(*self.vectors)).sum())

    def simulate(self, statistics: Sums, generator: np.random.Generator) -> Any:
        a, b = (part[0] for part in self._posterior([statistics]))
        return self._outward((generator.random(len(a)) < a / (a + b)).astype(np.int64))

    def draw_parameters(self, statistics: Sums, source: ChoiceSource) -> Any:
        """Draw each bit's probability, Beta(a + ones, b + n - ones): a float, or shape (D,) for vectors."""
        a, b = (part[0] for part in self._posterior([statistics]))
        return self._outward(source.beta(a, b))

    def log_likelihood(self, value: Any, parameters: Any) -> float:
        p = self._row(parameters)
        bits = self._row(value) > 0
        with np.errstate(divide="ignore"):
            return float(np.log(np.where(bits, p, 1.0 - p)).sum())

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> Floats:
        bits = np.asarray(values).reshape(len(values), -1) > 0
        p = np.asarray(parameters, dtype=np.float64).reshape(len(parameters), -1)
        with np.errstate(divide="ignore"):
            return np.stack([np.log(np.where(bits, one, 1.0 - one)).sum(axis=1) for one in p], axis=1)

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw bits given their probabilities: shape (n,) for single bits, (n, D) for vectors."""
        return generator.random((n, *np.shape(parameters))) < parameters

    def posterior_mean(self, statistics: Sums) -> Any:
        """Mean of each bit's probability: a float for single bits, shape (D,) for vectors."""
        a, b = (part[0] for part in self._posterior([statistics]))
        return self._outward(a / (a + b))

    def named_parameters(self, means: Floats, columns: Sequence[str] | None = None) -> dict[str, Floats]:
        return by_entry("probability", np.asarray(means, dtype=np.float64), columns)

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        p = np.asarray(means, dtype=np.float64).reshape(len(means), -1)
        return p, diagonal(p * (1.0 - p))

    def bank(self, data: GroupedData) -> StatisticsBank:
        return BetaBernoulliBank(self._matrix(data), self, Sums)


def _examples(kind: type[BetaBernoulli]) -> list[BetaBernoulli]:
    return [kind(0.7, 1.2, n_dims=3), kind([0.7, 0.4], [1.2, 0.9])]


BetaBernoulliReference = in_python("beta-bernoulli", BetaBernoulli, _examples)
