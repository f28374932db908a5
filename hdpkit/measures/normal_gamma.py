"""The normal-gamma: dishes are normal distributions of unknown mean and precision, by dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import number_array
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures._conjugate import NormalGammaBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import by_entry, in_python
from hdpkit.measures.vectors import (
    LARGEST_VALUE,
    MULTIPLIER,
    STRENGTH,
    Moments,
    VectorMeasure,
    central,
    diagonal,
    finite,
    is_one,
    near_variances,
    positive,
    positive_numbers,
    real,
)
from hdpkit.random import ChoiceSource

LOG_ENDS = 600.0  # limit of drawn log variances, so that their squares are in the range of floats


@attrs.frozen(eq=False)
class NormalGamma(VectorMeasure):
    """Normal values with unknown mean and precision; compiled.

    x ~ N(mu, 1/tau), tau ~ Gamma(shape, multiplier rate), mu | tau ~ N(mean, 1/(strength tau)); for vectors
    independently in each dimension (a diagonal covariance). The predictive is Student's t with 2 * shape
    degrees of freedom (Murphy 2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 3).

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

    mean: Any = real("mean", default=0.0)
    strength: Any = positive("strength", default=1.0)
    shape: Any = positive("shape", default=1.0)
    rate: Any = positive("rate", default=1.0)
    multiplier: Any = positive("multiplier", default=1.0)

    legal_values = f"finite, of size up to {LARGEST_VALUE}"
    _legal = staticmethod(finite)

    @classmethod
    def weakly_informative(cls, values: npt.ArrayLike, n_dishes: float = 10.0) -> Self:
        """A weak prior from the data (Fraley & Raftery 2007, section 3.2, for diagonal covariances).

        Outliers are left out. The prior mean is the mean of the data with strength 0.01, shape = 3/2 (three
        degrees of freedom), and the guess of a variance, rate / (shape - 1), is the variance of the data,
        with each axis shortened so that about `n_dishes` ellipsoids have the volume of the data's. The
        values, shape (n,) or (n, D), are two or more; a DataError is raised if they are all the same in a
        dimension.

        Parameters
        ----------
        values : array-like, shape (n,) or (n, D)
        n_dishes : float
        """
        X = number_array(values)
        if X is None or X.ndim not in (1, 2) or len(X) < 2 or X.size == 0 or not np.all(finite(X)):
            raise DataError("values", values, "finite numbers, shape (n,) or (n, D)", "Give an array.")
        X = central(X)
        number = positive_numbers("n_dishes", n_dishes)
        if np.ndim(number) != 0:
            raise ParameterError("n_dishes", n_dishes, "one positive number", "10 is usual.")
        variance = X.var(axis=0, ddof=1)
        constant = np.flatnonzero(np.atleast_1d(variance) <= 0.0)
        if len(constant):
            raise DataError(
                "values", f"column {constant[0]} is constant", "with two values in every dimension",
                "Drop the dimension, or give rate.",
            )  # fmt: skip
        rate = 0.5 * variance / float(number) ** (2.0 / (X.shape[1] if X.ndim == 2 else 1))
        return cls(X.mean(axis=0), 0.01, 1.5, rate)

    @classmethod
    def hierarchical(
        cls, values: npt.ArrayLike, n_dishes: float = 10.0, variances: npt.ArrayLike | None = None
    ) -> Self:
        """A prior from the data, without outliers, whose size is resampled.

        As `NormalInverseWishart.hierarchical`, for independent columns: the guess of a variance is that of
        the differences of near points in its column, and shape is 3/2. The multiplier is 0.25 plus Gamma(1,
        4/3), with mean 1, the same for all dimensions, and strength is 0.01. The values, shape (n,) or (n,
        D), are two or more; at most 2,000, evenly spaced, are compared. A DataError is raised if they are all
        the same in a dimension. `n_dishes`, about their number, is for the guess. With ``variances``, a guess
        of shape (D,) or a number, values may be any.

        Parameters
        ----------
        values : array-like, shape (n,) or (n, D)
        n_dishes : float
        variances : array-like, shape (D,), or float, optional
        """
        X = number_array(values)
        if X is None or X.ndim not in (1, 2) or X.size == 0 or not np.all(finite(X)):
            raise DataError("values", values, "finite numbers, shape (n,) or (n, D)", "Give an array.")
        X = central(X)
        if variances is None:
            plain = cls.weakly_informative(values, n_dishes)
            guess = np.atleast_1d(plain.rate / (plain.shape - 1.0))
            near = near_variances(X.reshape(-1, len(guess)), guess)
            variances = near if plain.n_dims else near[0]
        guessed = positive_numbers("variances", variances)
        if np.shape(guessed) != X.shape[1:]:
            raise ParameterError(
                "variances",
                variances,
                f"positive numbers, shape {X.shape[1:]}",
                "Leave it out, for the differences of near points.",
            )
        return cls(X.mean(axis=0), STRENGTH, 1.5, 0.5 * guessed, MULTIPLIER)

    @property
    def parameters(self) -> dict[str, Any]:
        named = {"mean": self.mean, "strength": self.strength, "shape": self.shape, "rate": self.rate}
        return named if is_one(self.multiplier) else named | {"multiplier": self.multiplier}

    @property
    def vectors(self) -> tuple[Floats, ...]:
        """Mean, strength, shape and the multiplied rate by dimension, each of shape (D,)."""
        mean, strength, shape, rate, *multiplier = super().vectors
        return mean, strength, shape, multiplier[0] * rate if multiplier else rate

    def make(self) -> Moments:
        D = self.n_dims or 1
        return Moments(0, np.zeros(D), np.zeros(D))

    def _posterior(self, many: Sequence[Moments]) -> tuple[Floats, Floats, Floats, Floats]:
        """Mean, strength, shape, rate of each dish, each (n, D) (Murphy 2007, equations 86 to 89)."""
        mean, strength, shape, rate = self.vectors
        n = np.array([[statistics.n] for statistics in many], dtype=float)
        away = np.array([statistics.mean for statistics in many]) - mean
        scatter = np.array([statistics.scatter for statistics in many])
        away = np.where(n > 0, away, 0.0)
        return (
            mean + n / (strength + n) * away,
            strength + n,
            shape + n / 2,
            rate + scatter / 2 + strength * n / (strength + n) * away**2 / 2,
        )

    def log_predictive(self, value: Any, many: Sequence[Moments]) -> Floats:
        """Student's t, with 2 shape degrees of freedom, of the mean: (n,) (Murphy 2007, equation 100)."""
        mean, strength, shape, rate = self._posterior(many)
        spread = 2.0 * rate * (strength + 1.0) / strength  # degrees of freedom times scale**2
        logs = (
            scipy.special.gammaln(shape + 0.5)
            - scipy.special.gammaln(shape)
            - 0.5 * np.log(np.pi * spread)
            - (shape + 0.5) * np.log1p((self._row(value) - mean) ** 2 / spread)
        )
        return logs.sum(axis=1)

    def log_marginal(self, statistics: Moments) -> float:
        """Log marginal density of all values of a dish (Murphy 2007, equation 95)."""
        _, strength_0, shape_0, rate_0 = self.vectors
        _, strength, shape, rate = (part[0] for part in self._posterior([statistics]))
        logs = (
            scipy.special.gammaln(shape)
            - scipy.special.gammaln(shape_0)
            + shape_0 * np.log(rate_0)
            - shape * np.log(rate)
            + 0.5 * np.log(strength_0 / strength)
            - 0.5 * statistics.n * np.log(2.0 * np.pi)
        )
        return float(logs.sum())

    def simulate(self, statistics: Moments, generator: np.random.Generator) -> Any:
        mean, strength, shape, rate = (part[0] for part in self._posterior([statistics]))
        scale = np.sqrt(rate * (strength + 1.0) / (shape * strength))
        return self._outward(mean + scale * generator.standard_t(2.0 * shape))

    def draw_parameters(self, statistics: Moments, source: ChoiceSource) -> Floats:
        """Draw mu and the variance 1 / tau: shape (2,) for numbers, (2, D) for vectors."""
        mean, strength, shape, rate = (part[0] for part in self._posterior([statistics]))
        log_variance = np.clip(np.log(rate) - source.log_gamma(shape), -LOG_ENDS, LOG_ENDS)
        mu = mean + np.exp(log_variance / 2) / np.sqrt(strength) * source.normal(mean.shape)
        return np.array([self._outward(mu), self._outward(np.exp(log_variance))])

    def log_likelihood(self, value: Any, parameters: Floats) -> float:
        mu, variance = self._row(parameters[0]), self._row(parameters[1])
        away = (self._row(value) - mu) / np.sqrt(variance)
        return float(-0.5 * (np.log(2.0 * np.pi * variance) + away**2).sum())

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> Floats:
        x = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
        drawn = np.asarray(parameters, dtype=np.float64).reshape(len(parameters), 2, -1)
        found = np.empty((len(x), len(drawn)))
        found[:] = -0.5 * np.log(2.0 * np.pi * drawn[:, 1]).sum(axis=1)
        for d in range(x.shape[1]):
            away = x[:, d, None] - drawn[:, 0, d]
            away *= 1.0 / np.sqrt(2.0 * drawn[:, 1, d])
            away *= away
            found -= away
        return found

    def draw_arrays(self, statistics: Moments, n: int, source: ChoiceSource) -> Floats:
        """Draw mu and the variance n times, as `draw_parameters` does: shape (n, 2) or (n, 2, D)."""
        mean, strength, shape, rate = (part[0] for part in self._posterior([statistics]))
        log_gamma = source.log_gamma(shape, (n, len(shape)))
        log_variance = np.clip(np.log(rate) - log_gamma, -LOG_ENDS, LOG_ENDS)
        mu = mean + np.exp(log_variance / 2) / np.sqrt(strength) * source.normal(log_variance.shape)
        found = np.stack([mu, np.exp(log_variance)], axis=1)
        return found if self.n_dims else found[:, :, 0]

    def draw_values(self, parameters: Floats, n: int, generator: np.random.Generator) -> Floats:
        """Draw values given mu and the variance: shape (n,) for numbers, (n, D) for vectors."""
        mu, variance = np.asarray(parameters, dtype=np.float64)
        return generator.normal(mu, np.sqrt(variance), size=(n, *mu.shape))

    def posterior_mean(self, statistics: Moments) -> Floats:
        """E[mu], and 1 / E[tau] as the variance: shape (2,) for numbers, (2, D) for vectors."""
        mean, _, shape, rate = (part[0] for part in self._posterior([statistics]))
        return np.array([self._outward(mean), self._outward(rate / shape)])

    def named_parameters(self, means: Floats, columns: Sequence[str] | None = None) -> dict[str, Floats]:
        means = np.asarray(means, dtype=np.float64)
        return by_entry("mean", means[:, 0], columns) | by_entry("sd", np.sqrt(means[:, 1]), columns)

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        means = np.asarray(means, dtype=np.float64).reshape(len(means), 2, -1)
        return means[:, 0], diagonal(means[:, 1])

    def bank(self, data: GroupedData) -> StatisticsBank:
        return NormalGammaBank(self._matrix(data), self, Moments)


def _examples(kind: type[NormalGamma]) -> list[NormalGamma]:
    return [kind(0.2, 0.5, 1.5, 0.8), kind([0.2, -0.4], 0.7, [1.5, 2.0], 0.8)]


NormalGammaReference = in_python("normal-gamma", NormalGamma, _examples)
