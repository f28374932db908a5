"""The normal-inverse-Wishart: dishes are normal distributions of unknown mean and covariance matrix."""

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
from hdpkit.measures._conjugate import NormalInverseWishartBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.protocol import by_entry, in_python
from hdpkit.measures.vectors import (
    LARGEST_VALUE,
    MULTIPLIER,
    STRENGTH,
    Moments,
    VectorMeasure,
    central,
    finite,
    finite_numbers,
    is_one,
    near_covariance,
    positive_numbers,
)
from hdpkit.random import ChoiceSource

_LEAST = 1e-290  # of the diagonal of a multiplied scale, so that it doesn't underflow
ONE_THREAD = 1 << 18  # multiplications of a product of matrices that OpenBLAS doesn't share out among threads
LOG_LEAST = -300.0  # smallest log of square roots of chi-square variates, so that none of them is 0


@attrs.frozen(eq=False)
class DrawnNormal:
    """A drawn normal distribution."""

    mean: Floats
    # W such that W (x - mean) is standard normal: the covariance can be singular by rounding
    whitener: Floats
    log_det: float  # log |det W|

    @property
    def covariance(self) -> Floats:
        """The covariance matrix, shape (D, D)."""
        root = np.linalg.inv(self.whitener)
        product: Floats = root @ root.T
        return product


def _scale(value: Any) -> Floats:
    error = ParameterError(
        "scale", value, "a symmetric positive definite matrix of shape (D, D)",
        "Give a covariance matrix times (dof - D - 1), or use weakly_informative(values).",
    )  # fmt: skip
    matrix = number_array(value)
    if matrix is None or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise error
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0)):
        raise error
    matrix = (matrix + matrix.T) / 2.0
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise error from None
    matrix.setflags(write=False)
    return matrix


def _singular(X: Floats) -> DataError:
    """The error for data whose covariance matrix is singular."""
    return DataError(
        "values", f"{len(X)} vectors of {X.shape[1]} numbers", "with a positive definite covariance matrix",
        "Drop dimensions that are constant or linear functions of others, or give scale.",
    )  # fmt: skip


def _mean(value: Any) -> Any:
    mean = finite_numbers("mean", value)
    if np.ndim(mean) != 1:
        raise ParameterError("mean", value, "a vector of shape (D,)", "For single numbers use NormalGamma.")
    return mean


def _number(name: str, value: Any) -> float:
    number = positive_numbers(name, value)
    if np.ndim(number) != 0:
        raise ParameterError(name, value, "one positive number, or a prior", "Give a float.")
    return number


def _strength(value: Any) -> Any:
    return _number("strength", value)


def _dof(value: Any) -> Any:
    return _number("dof", value)


def _multiplier(value: Any) -> Any:
    return _number("multiplier", value)


@attrs.frozen(eq=False)
class NormalInverseWishart(VectorMeasure):
    """Normal vectors with unknown mean and covariance; compiled.

    x ~ N(mu, Sigma), Sigma ~ inverse-Wishart(dof, multiplier scale), mu | Sigma ~ N(mean, Sigma / strength).
    The predictive is a multivariate t with dof - D + 1 degrees of freedom (Murphy 2007, "Conjugate Bayesian
    analysis of the Gaussian distribution", section 9; Gelman et al., "Bayesian Data Analysis", section 3.6).

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

    mean: Any = attrs.field(converter=_mean)
    strength: Any = attrs.field(converter=_strength)
    dof: Any = attrs.field(converter=_dof)
    scale: Any = attrs.field(converter=_scale)
    multiplier: Any = attrs.field(default=1.0, converter=_multiplier)

    legal_values = f"vectors of finite numbers of size up to {LARGEST_VALUE}"
    _legal = staticmethod(finite)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if not self.dof > len(self.mean) - 1:
            raise ParameterError(
                "dof", self.dof, f"above D - 1 = {len(self.mean) - 1}", "D + 2 gives E[Sigma] = scale."
            )
        if not is_one(self.multiplier):
            variances = float(self.multiplier) * np.diag(self.scale)
            if not (variances.min() > _LEAST and variances.max() < 1.0 / _LEAST):
                raise ParameterError(
                    "multiplier", self.multiplier,
                    f"such that the diagonal of multiplier scale is from {_LEAST} to {1.0 / _LEAST}",
                    "Change the unit of the scale.",
                )  # fmt: skip

    @classmethod
    def weakly_informative(cls, values: npt.ArrayLike, n_dishes: float = 10.0) -> Self:
        """A weak prior from the data without outliers (Fraley & Raftery 2007, section 3.2).

        The prior mean is the mean of the data with strength 0.01, dof = D + 2, and the expected covariance of
        a dish is that of the data, with each axis shortened so that about `n_dishes` ellipsoids have the
        volume of the data's. The values, shape (n, D), are more than D, in general position: a DataError is
        raised if their covariance matrix is not positive definite.

        Parameters
        ----------
        values : array-like, shape (n, D)
        n_dishes : float
        """
        X = number_array(values)
        if X is None or X.ndim != 2 or len(X) < 2 or not np.all(finite(X)):
            raise DataError("values", values, "finite vectors, shape (n, D)", "Give an array.")
        X, D = central(X), X.shape[1]
        number = _number("n_dishes", n_dishes)
        covariance = np.cov(X, rowvar=False).reshape(D, D)
        try:
            return cls(X.mean(axis=0), 0.01, D + 2.0, covariance / number ** (2.0 / D))
        except ParameterError as error:
            raise _singular(X) from error

    @classmethod
    def hierarchical(
        cls, values: npt.ArrayLike, n_dishes: float = 10.0, covariance: npt.ArrayLike | None = None
    ) -> Self:
        """A prior from the data, without outliers, whose size is resampled.

        The guess of the covariance of a dish has the shape of the differences of near points (Art,
        Gnanadesikan & Kettenring 1982, "Data-based metrics for cluster analysis"), and the determinant of
        that of `weakly_informative`. dof is D + 2, and more if there are fewer than 2 n_dishes D values: then
        dof grows by what is missing to a value for each column of a dish, and correlations shrink. The
        multiplier is 0.25 plus Gamma(1, 4/3), with mean 1, and strength is 0.01. So chains begin where
        E[Sigma] is the guess. The multiplier has a bound, because with values that occur several times in the
        data its posterior could otherwise be near 0. The values, shape (n, D), are more than D, in general
        position: a DataError is raised if their covariance matrix is not positive definite. At most 2,000 of
        them, evenly spaced, are compared. `n_dishes`, about their number, is for the guess. With
        ``covariance``, a guess of shape (D, D), values may be any.

        Parameters
        ----------
        values : array-like, shape (n, D)
        n_dishes : float
        covariance : array-like, shape (D, D), optional
        """
        X = number_array(values)
        least = 2 if covariance is None else 1
        if X is None or X.ndim != 2 or len(X) < least or not np.all(finite(X)):
            raise DataError("values", values, "finite vectors, shape (n, D)", "Give an array.")
        X, D = central(X), X.shape[1]
        short = 0.0
        if covariance is None:
            number = _number("n_dishes", n_dishes)
            short = max(0.0, D - len(X) / (2.0 * number))
            whole = np.cov(X, rowvar=False).reshape(D, D)
            whole = (whole + short / D * (np.diag(np.diag(whole)) - whole)) / number ** (2.0 / D)
            try:
                covariance = near_covariance(X, _scale(whole))
            except (ParameterError, np.linalg.LinAlgError) as error:
                raise _singular(X) from error
        try:
            guess = _scale(covariance)
        except ParameterError:
            guess = None
        if guess is None or guess.shape != (D, D):
            raise ParameterError(
                "covariance", covariance, f"a symmetric positive definite matrix of shape ({D}, {D})",
                "Leave it out for the shape of near points.",
            )  # fmt: skip
        return cls(X.mean(axis=0), STRENGTH, D + 2.0 + short, (1.0 + short) * guess, MULTIPLIER)

    @property
    def parameters(self) -> dict[str, Any]:
        named = {"mean": self.mean, "strength": self.strength, "dof": self.dof, "scale": self.scale}
        return named if is_one(self.multiplier) else named | {"multiplier": self.multiplier}

    @property
    def numbers(self) -> tuple[Floats, float, float, Floats]:
        """Values of the parameters: mean (D,), strength, dof, and the multiplied scale (D, D)."""
        return self.mean, self.strength, self.dof, self.multiplier * self.scale

    def make(self) -> Moments:
        D = len(self.mean)
        return Moments(0, np.zeros(D), np.zeros((D, D)))

    def _posterior(self, statistics: Moments) -> tuple[Floats, float, float, Floats]:
        """Mean, strength, dof and scale given the values of a dish (Murphy 2007, equations 251 to 254)."""
        mean, strength, dof, scale = self.numbers
        n = statistics.n
        away = statistics.mean - mean if n else np.zeros_like(mean)
        return (
            mean + n / (strength + n) * away,
            strength + n,
            dof + n,
            scale + statistics.scatter + strength * n / (strength + n) * np.outer(away, away),
        )

    def log_predictive(self, value: Any, many: Sequence[Moments]) -> Floats:
        """Student's t with dof - D + 1 degrees of freedom: shape (n,) (Murphy 2007, equation 258)."""
        D, x = len(self.mean), self._row(value)
        out = np.empty(len(many))
        for k, statistics in enumerate(many):
            mean, strength, dof, scale = self._posterior(statistics)
            factor = np.linalg.cholesky(scale * (strength + 1.0) / strength)
            distance = scipy.linalg.blas.dtrsv(factor, (x - mean).reshape(D), lower=1)
            out[k] = (
                scipy.special.gammaln((dof + 1.0) / 2)
                - scipy.special.gammaln((dof + 1.0 - D) / 2)
                - D / 2 * np.log(np.pi)
                - np.log(np.diag(factor)).sum()
                - (dof + 1.0) / 2 * np.log1p(distance @ distance)
            )
        return out

    def log_marginal(self, statistics: Moments) -> float:
        """Log marginal density of all values of a dish (Murphy 2007, equation 266)."""
        D = len(self.mean)
        _, strength_0, dof_0, scale_0 = self.numbers
        _, strength, dof, scale = self._posterior(statistics)
        return float(
            scipy.special.multigammaln(dof / 2, D)
            - scipy.special.multigammaln(dof_0 / 2, D)
            + dof_0 / 2 * np.linalg.slogdet(scale_0)[1]
            - dof / 2 * np.linalg.slogdet(scale)[1]
            + D / 2 * np.log(strength_0 / strength)
            - statistics.n * D / 2 * np.log(np.pi)
        )

    def simulate(self, statistics: Moments, generator: np.random.Generator) -> Floats:
        mean, strength, dof, scale = self._posterior(statistics)
        degrees = dof - len(mean) + 1.0
        factor = np.linalg.cholesky(scale * (strength + 1.0) / strength)
        return mean + factor @ generator.standard_normal(len(mean)) / np.sqrt(generator.chisquare(degrees))

    def draw_parameters(self, statistics: Moments, source: ChoiceSource) -> DrawnNormal:
        """Draw mu and Sigma, by the decomposition of a Wishart matrix (Bartlett 1933).

        With scale = L L' and A lower triangular, A_ii^2 ~ chi-square(dof - i + 1), i = 1 .. D, and A_ij ~
        N(0, 1) below the diagonal, Sigma^-1 = W' W where W = A' L^-1.
        """
        mean, strength, dof, scale = self._posterior(statistics)
        D = len(mean)
        factor = np.linalg.cholesky(scale)
        logs = (np.log(2.0) + source.log_gamma((dof - np.arange(D)) / 2.0)) / 2.0
        logs = np.maximum(logs, LOG_LEAST)
        A = np.diag(np.exp(logs))
        A[np.tril_indices(D, -1)] = source.normal(D * (D - 1) // 2)
        # A' is upper triangular: W^-1 = L (A')^-1 maps standard normals to N(0, Sigma).
        # solve_triangular shares even 3 x 3 matrices out among threads: 30 ms if processors are busy.
        inverse = scipy.linalg.lapack.dtrtri
        root = factor @ inverse(A, lower=1)[0].T
        mu = mean + root @ source.normal(D) / np.sqrt(strength)
        whitener = A.T @ inverse(factor, lower=1)[0]
        return DrawnNormal(mu, whitener, float(logs.sum() - np.log(np.diag(factor)).sum()))

    def log_likelihood(self, value: Any, parameters: DrawnNormal) -> float:
        away = parameters.whitener @ (self._row(value) - parameters.mean)
        return float(parameters.log_det - 0.5 * (len(away) * np.log(2.0 * np.pi) + away @ away))

    def log_likelihoods(self, values: Any, parameters: Sequence[DrawnNormal]) -> Floats:
        x = np.asarray(values, dtype=np.float64)
        constant = x.shape[1] * np.log(2.0 * np.pi)
        logs, step = np.empty((len(x), len(parameters))), max(1, ONE_THREAD // x.shape[1] ** 2)
        for first in range(0, len(x), step):
            rows = slice(first, first + step)
            for k, one in enumerate(parameters):
                away = (x[rows] - one.mean) @ one.whitener.T
                logs[rows, k] = one.log_det - 0.5 * (constant + (away**2).sum(axis=1))
        return logs

    def draw_arrays(self, statistics: Moments, n: int, source: ChoiceSource) -> Floats:
        """Draw mu, in the first row, and Sigma below it, as `draw_parameters` does: (n, D + 1, D)."""
        mean, strength, dof, scale = self._posterior(statistics)
        D = len(mean)
        logs = np.log(2.0) + source.log_gamma((dof - np.arange(D)) / 2.0, (n, D))
        A = np.zeros((n, D, D))
        A[:, np.arange(D), np.arange(D)] = np.exp(np.maximum(logs / 2.0, LOG_LEAST))
        row, column = np.tril_indices(D, -1)
        A[:, row, column] = source.normal((n, len(row)))
        factor = np.broadcast_to(np.linalg.cholesky(scale).T, (n, D, D))
        root = np.linalg.solve(A, factor).swapaxes(1, 2)
        away = (root @ source.normal((n, D, 1))).swapaxes(1, 2) / np.sqrt(strength)
        return np.concatenate([mean + away, root @ root.swapaxes(1, 2)], axis=1)

    def draw_values(self, parameters: DrawnNormal, n: int, generator: np.random.Generator) -> Floats:
        standard = generator.standard_normal((len(parameters.mean), n))
        found: Floats = parameters.mean + np.linalg.solve(parameters.whitener, standard).T
        return found

    def posterior_mean(self, statistics: Moments) -> Floats:
        """E[mu] in the first row, below it the inverse of E[Sigma^-1] as the covariance: (D + 1, D)."""
        mean, _, dof, scale = self._posterior(statistics)
        return np.vstack([mean, scale / dof])

    def named_parameters(self, means: Floats, columns: Sequence[str] | None = None) -> dict[str, Floats]:
        mean, covariance = self.moments(means)
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        correlation = covariance / (sd[:, :, None] * sd[:, None, :])
        pairs = by_entry("correlation", correlation, columns)
        upper = np.triu(np.ones(correlation.shape[1:], dtype=bool), 1).ravel()
        kept = {name: value for (name, value), own in zip(pairs.items(), upper, strict=True) if own}
        return by_entry("mean", mean, columns) | by_entry("sd", sd, columns) | kept

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        means = np.asarray(means, dtype=np.float64)
        return means[:, 0], means[:, 1:]

    def bank(self, data: GroupedData) -> StatisticsBank:
        return NormalInverseWishartBank(self._matrix(data), self, Moments)


def _examples(kind: type[NormalInverseWishart]) -> list[NormalInverseWishart]:
    return [kind([0.2], 0.5, 1.5, [[0.8]]), kind([0.2, -0.4], 0.7, 3.5, [[1.2, 0.4], [0.4, 0.9]])]


NormalInverseWishartReference = in_python("normal-inverse-wishart", NormalInverseWishart, _examples)
