"""The gamma-Poisson: dishes are Poisson distributions of unknown rate, by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Bools, Floats
from hdpkit.data import GroupedData
from hdpkit.errors import DataError
from hdpkit.measures._conjugate import GammaPoissonBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import by_entry, in_python
from hdpkit.measures.vectors import Sums, VectorMeasure, diagonal, positive
from hdpkit.random import ChoiceSource


@attrs.define
class CountSums(Sums):
    """Statistics of a dish: number of values, their sums by dimension (D,), and the sum of log x!."""

    log_factorials: float = 0.0

    def add(self, x: Floats) -> None:
        Sums.add(self, x)
        self.log_factorials += float(scipy.special.gammaln(x + 1.0).sum())

    def remove(self, x: Floats) -> None:
        Sums.remove(self, x)
        self.log_factorials -= float(scipy.special.gammaln(x + 1.0).sum())
        if self.n == 0:
            self.log_factorials = 0.0


@attrs.frozen(eq=False)
class GammaPoisson(VectorMeasure):
    """Counts from a Poisson distribution with unknown rate; compiled.

    x ~ Poisson(lambda), lambda ~ Gamma(shape, rate); for vectors independently in each dimension. The
    predictive is negative binomial (Gelman et al., "Bayesian Data Analysis", section 2.6).

    Parameters
    ----------
    shape, rate : float or array of shape (D,)
        Parameters of the Gamma prior of lambda, whose mean is shape / rate.
    """

    shape: Any = positive("shape", default=1.0)
    rate: Any = positive("rate", default=1.0)

    legal_values = "whole numbers >= 0"
    support = "whole numbers"
    examples = ((0, 2), (3, 0), (1, 1), (7, 0), (1, 4))

    @property
    def parameters(self) -> dict[str, Any]:
        return {"shape": self.shape, "rate": self.rate}

    @staticmethod
    def _legal(values: npt.NDArray[Any]) -> Bools:
        """Which numbers are counts."""
        return (values >= 0) & (values < 2**53) & (values == np.floor(values))

    def for_data(self, data: GroupedData) -> Self:
        ready = super().for_data(data)
        total = float(np.sum(data.values, dtype=float))
        if not total < 2**53:
            raise DataError("values", total, "counts whose sum is below 2**53", "Use larger units.")
        return ready

    def make(self) -> CountSums:
        return CountSums(0, np.zeros(self.n_dims or 1, dtype=np.int64))

    def _posterior(self, many: Sequence[CountSums]) -> tuple[Floats, Floats]:
        """Shape and rate given the values of each dish, each of shape (n, D)."""
        shape, rate = self.vectors
        sums = np.array([statistics.total for statistics in many])
        n = np.array([[statistics.n] for statistics in many])
        return shape + sums, rate + n

    def log_predictive(self, value: Any, many: Sequence[CountSums]) -> Floats:
        """log NB(x; shape, rate / (rate + 1)) under each dish: shape (n,)."""
        x = self._row(value)
        shape, rate = self._posterior(many)
        gammaln = scipy.special.gammaln
        logs = (
            gammaln(shape + x)
            - gammaln(shape)
            - gammaln(x + 1.0)
            + shape * np.log(rate / (rate + 1.0))
            - x * np.log(rate + 1.0)
        )
        return logs.sum(axis=1)

    def log_marginal(self, statistics: CountSums) -> float:
        """Log marginal probability of all values of a dish.

        G(shape + s) / G(shape) rate^shape / (rate + n)^(shape + s) / prod x!, over dimensions.
        """
        shape_0, rate_0 = self.vectors
        shape, rate = (part[0] for part in self._posterior([statistics]))
        gammaln = scipy.special.gammaln
        logs = gammaln(shape) - gammaln(shape_0) + shape_0 * np.log(rate_0) - shape * np.log(rate)
        return float(logs.sum()) - statistics.log_factorials

    def simulate(self, statistics: CountSums, generator: np.random.Generator) -> Any:
        shape, rate = (part[0] for part in self._posterior([statistics]))
        # NumPy's second parameter is the scale, here it is the rate.
        return self._outward(generator.poisson(generator.gamma(shape, 1.0 / rate)))

    def draw_parameters(self, statistics: CountSums, source: ChoiceSource) -> Any:
        """Draw the rate, Gamma(shape + sum x, rate + n): a float for numbers, shape (D,) for vectors."""
        shape, rate = (part[0] for part in self._posterior([statistics]))
        return self._outward(source.gamma(shape) / rate)

    def log_likelihood(self, value: Any, parameters: Any) -> float:
        x, rate = self._row(value), self._row(parameters)
        special = scipy.special
        return float((special.xlogy(x, rate) - rate - special.gammaln(x + 1.0)).sum())

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> Floats:
        x = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        rates = np.asarray(parameters, dtype=np.float64).reshape(len(parameters), -1)
        of_rate = [(scipy.special.xlogy(x, rate) - rate).sum(axis=1) for rate in rates]
        return np.stack(of_rate, axis=1) - scipy.special.gammaln(x + 1.0).sum(axis=1, keepdims=True)

    def draw_values(self, parameters: Any, n: int, generator: np.random.Generator) -> npt.NDArray[Any]:
        """Draw counts given the rate: shape (n,) for numbers, (n, D) for vectors."""
        return generator.poisson(parameters, size=(n, *np.shape(parameters)))

    def posterior_mean(self, statistics: CountSums) -> Any:
        """Mean of the rate: a float for numbers, shape (D,) for vectors."""
        shape, rate = (part[0] for part in self._posterior([statistics]))
        return self._outward(shape / rate)

    def named_parameters(self, means: Floats, columns: Sequence[str] | None = None) -> dict[str, Floats]:
        return by_entry("rate", np.asarray(means, dtype=np.float64), columns)

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        """Rates, which are means and variances."""
        rates = np.asarray(means, dtype=np.float64).reshape(len(means), -1)
        return rates, diagonal(rates)

    def bank(self, data: GroupedData) -> StatisticsBank:
        return GammaPoissonBank(self._matrix(data), self, CountSums)


def _examples(kind: type[GammaPoisson]) -> list[GammaPoisson]:
    return [kind(1.5, 0.8), kind([1.5, 0.6], [0.8, 1.1])]


GammaPoissonReference = in_python("gamma-poisson", GammaPoisson, _examples)
