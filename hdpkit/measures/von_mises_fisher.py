"""The von Mises-Fisher: dishes are distributions of unit vectors about a mean direction."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import as_float, number_array
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures._von_mises_fisher import VonMisesFisherBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.kept_parameters import ConcentrationsOfDishes, OwnParameter, ParameterBank
from hdpkit.measures.protocol import by_entry, in_python, numbers_or_prior
from hdpkit.measures.vectors import Sums, VectorMeasure, finite
from hdpkit.parts import Part
from hdpkit.priors import Each, Gamma, mean_of
from hdpkit.random import ChoiceSource

FROM_ONE = 1e-5  # how far the length of a unit vector may be from 1
SMALLEST, LARGEST = 1e-10, 1e10  # range of concentrations


@attrs.define
class Resultant(Sums):
    """Statistics of a dish: the sum of its unit vectors."""

    concentration: float | None = None  # of the dish, if dishes have separate ones


def log_bessel(order: float, r: Any) -> Floats:
    """log [G(order + 1) (2/r)^order I_order(r)], I the modified Bessel function of the first kind; 0 at 0."""
    # By the power series for small r, by SciPy's scaled function, and where that underflows, at large
    # orders, by Debye's expansion (DLMF 10.41.3).
    r = np.asarray(r, dtype=float)
    quarter = np.square(r) / 4.0
    few = quarter < (order + 1.0) / 4.0
    logs = np.empty_like(r)
    if few.any():
        series = np.zeros_like(quarter[few])
        for k in range(20, 0, -1):  # the sum of quarter^k / (k! (order + 1) ... (order + k)), by Horner
            series = quarter[few] / (k * (order + k)) * (1.0 + series)
        logs[few] = np.log1p(series)
    if not few.all():
        many = r[~few]
        scaled = scipy.special.ive(order, many)
        found = scaled > 1e-290
        values = np.log(np.where(found, scaled, 1.0)) + many
        if not found.all():
            values = np.where(found, values, _log_debye(order, many))
        logs[~few] = scipy.special.gammaln(order + 1.0) + order * np.log(2.0 / many) + values
    return logs


def _log_debye(order: float, r: Floats) -> Floats:
    """log I_order(r) for large orders."""
    S = np.hypot(order, r)
    p = order / S
    logs: Floats = (
        S + order * np.log(r / (order + S)) - 0.5 * np.log(2.0 * np.pi * S)
        + p * (3.0 - 5.0 * p**2) / (24.0 * order)
        + p**2 * (1.0 - 6.0 * p**2 + 5.0 * p**4) / (16.0 * order**2)
        + p**3 * (375.0 - 4779.0 * p**2 + 9945.0 * p**4 - 5525.0 * p**6) / (5760.0 * order**3)
    )  # fmt: skip
    return logs


def bessel_ratio(order: float, r: Any) -> Floats:
    """I_(order + 1)(r) / I_order(r)."""
    r = np.asarray(r, dtype=float)
    ratio: Floats = r / (2.0 * order + 2.0) * np.exp(log_bessel(order + 1.0, r) - log_bessel(order, r))
    return ratio


def _concentration(value: Any) -> Any:
    if isinstance(value, Each):
        VonMisesFisher.check_own(mean_of(VonMisesFisher.check_each(value)))
        return value
    allowed = f"a number from {SMALLEST} to {LARGEST}, or a prior"
    remedy = "A number is fixed; a prior, for instance hk.Gamma(1.0, 0.01), is resampled."
    return numbers_or_prior("concentration", value, SMALLEST, LARGEST, allowed, remedy, most_dims=0)


def _prior_concentration(value: Any) -> float:
    number = as_float(value)
    if number == 0.0 or VonMisesFisher.is_legal(number):
        return number
    raise ParameterError(
        "prior_concentration", value, f"0, or a number from {SMALLEST} to {LARGEST}", "0: uniform directions."
    )


def _prior_direction(value: Any) -> Any:
    if value is None:
        return None
    direction = number_array(value)
    if direction is None or direction.ndim != 1 or len(direction) < 2 or not np.all(finite(direction)):
        raise ParameterError(
            "prior_direction", value, "a vector of two or more numbers", "Leave it out for a uniform prior."
        )
    length = float(np.linalg.norm(direction))
    if abs(length - 1.0) > FROM_ONE:
        raise ParameterError(
            "prior_direction", value, "a vector of length 1", "Normalise it: v / np.linalg.norm(v)."
        )
    direction = direction / length
    direction.setflags(write=False)
    return direction


def directions_about(
    direction: Floats,
    concentration: float,
    n: int,
    normal: Callable[[tuple[int, ...]], Floats],
    uniform: Callable[[int], Floats],
    beta: Callable[[float, int], Floats],
) -> Floats:
    """Draw n vectors from the von Mises-Fisher distribution: shape (n, D); ``beta(a, n)`` is Beta(a, a)."""
    # The product with the mean direction by rejection (Wood 1994, algorithm VM*), the rest orthogonal to it.
    D = len(direction)
    away = normal((n, D))
    if concentration <= 0.0:
        uniform_directions: Floats = away / np.linalg.norm(away, axis=1, keepdims=True)
        return uniform_directions
    b = (D - 1.0) / (2.0 * concentration + math.hypot(2.0 * concentration, D - 1.0))
    x0 = (1.0 - b) / (1.0 + b)
    log_most = concentration * x0 + (D - 1.0) * math.log(4.0 * b / (1.0 + b) ** 2)
    down, left = np.empty(n), np.arange(n)  # 1 - w, w the product
    while len(left):
        z = beta((D - 1.0) / 2.0, len(left))
        below = 2.0 * b * z / (1.0 - (1.0 - b) * z)
        w = 1.0 - below
        # 1 - x0 w, without cancellation where both are near 1
        log_ratio = concentration * w + (D - 1.0) * np.log((1.0 - x0) + x0 * below) - log_most
        taken = log_ratio >= np.log(np.maximum(uniform(len(left)), 1e-300))
        down[left[taken]] = below[taken]
        left = left[~taken]
    away -= (away @ direction)[:, None] * direction
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    found = (1.0 - down)[:, None] * direction + np.sqrt(down * (2.0 - down))[:, None] * away
    drawn: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return drawn


def _by_generator(direction: Floats, concentration: float, n: int, generator: np.random.Generator) -> Floats:
    return directions_about(
        direction, concentration, n, generator.standard_normal, generator.random,
        lambda a, n: generator.beta(a, a, size=n),
    )  # fmt: skip


def _by_source(direction: Floats, concentration: float, n: int, source: ChoiceSource) -> Floats:
    def beta(a: float, n: int) -> Floats:
        first, second = source.log_gamma(a, n), source.log_gamma(a, n)
        drawn: Floats = scipy.special.expit(first - second)
        return drawn

    return directions_about(direction, concentration, n, source.normal, source.uniform, beta)


@attrs.frozen(eq=False)
class VonMisesFisher(VectorMeasure, OwnParameter):
    """Unit vectors about an unknown mean direction; compiled.

    x ~ vMF(mu, concentration), with density C(concentration) exp(concentration mu'x) on the sphere of
    dimension D - 1, C(r) = r^(D/2 - 1) / ((2 pi)^(D/2) I_(D/2 - 1)(r)), and mu ~ vMF(prior_direction,
    prior_concentration) (Mardia & El-Atoum 1976, "Bayesian inference for the von Mises-Fisher distribution";
    Gopal & Yang 2014, "Von Mises-Fisher clustering models"). The mean direction is integrated out.

    Parameters
    ----------
    concentration : float, prior or Each
        Of the vectors of a dish about its mean direction, the same for all dishes; a prior is resampled. With
        ``hk.Each(prior)`` each dish has its own, which is part of the state; then mean directions must be
        uniform, and the code is in Python.
    prior_direction : array of shape (D,), optional
        Of length 1. Needed if ``prior_concentration`` is above 0.
    prior_concentration : float
        Concentration of mean directions about ``prior_direction``; 0, the default: they are uniform.
    """

    concentration: Any = attrs.field(converter=_concentration)
    prior_direction: Any = attrs.field(default=None, converter=_prior_direction)
    prior_concentration: float = attrs.field(default=0.0, converter=_prior_concentration)

    support = "sphere"
    predicts: ClassVar[bool] = True
    held = "concentration"
    smallest, largest, in_range = SMALLEST, LARGEST, "from 1e-10 to 1e10"

    legal_values = "finite vectors of length 1"
    _legal = staticmethod(finite)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.prior_direction is None and self.prior_concentration > 0.0:
            raise ParameterError(
                "prior_direction", None, "a vector of length 1, because prior_concentration is above 0",
                "Give it, or leave prior_concentration out.",
            )  # fmt: skip
        if not self.conjugate and self.prior_concentration > 0.0:
            raise ParameterError(
                "prior_concentration", self.prior_concentration,
                "0, because each dish has its own concentration", "Leave it out, or hk.Each.",
            )  # fmt: skip

    @classmethod
    def weakly_informative(cls, values: npt.ArrayLike, n_dishes: float = 10.0) -> Self:
        """A weak prior from the data.

        Mean directions are uniform. The concentration has the prior Gamma(2, 2 / c), with mean c = (D - 1) /
        (1 - R^2) n_dishes^(2 / (D - 1)), R the length of the mean of the data. (D - 1) / (1 - R^2) is, if it
        is large, the concentration of one dish that spreads as the data do; as for the normal measures, each
        axis is then shortened so that about `n_dishes` dishes, from 1 to 1e6, have the volume of the data's.
        The values, shape (n, D), have length 1: a DataError is raised if they haven't, or are all the same.

        Parameters
        ----------
        values : array-like, shape (n, D)
        n_dishes : float
        """
        X = number_array(values)
        if X is None or X.ndim != 2 or len(X) < 2 or X.shape[1] < 2 or not np.all(finite(X)):
            raise DataError("values", values, "two or more unit vectors, shape (n, D)", "Give an array.")
        X = _unit_rows(X)
        n = as_float(n_dishes)
        if not 1.0 <= n <= 1e6:
            raise ParameterError("n_dishes", n_dishes, "a number from 1 to 1e6", "10 is usual.")
        D = X.shape[1]
        spread = 1.0 - float(np.square(X.mean(axis=0)).sum())
        if spread < 1e-9:
            raise DataError("values", f"{len(X)} vectors", "of different directions", "Give concentration.")
        mean = (D - 1.0) / spread * n ** (2.0 / (D - 1.0))
        return cls(Gamma(2.0, 2.0 / mean))

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name; without the concentration if each dish has its own."""
        shared = {"concentration": self.concentration} if self.conjugate else {}
        given = {} if self.prior_direction is None else {"prior_direction": self.prior_direction}
        return {**shared, **given, "prior_concentration": self.prior_concentration}

    @property
    def numbers(self) -> tuple[float, Floats]:
        """The concentration of all dishes, and the prior's times its direction: shape (D,)."""
        return float(self.concentration), self._prior

    @property
    def _prior(self) -> Floats:
        if self.prior_direction is None:
            return np.zeros(self.n_dims or 2)
        found: Floats = self.prior_concentration * self.prior_direction
        return found

    def for_data(self, data: GroupedData) -> Self:
        made = super().for_data(data)
        values = np.asarray(data.values)
        if values.ndim != 2 or values.shape[1] < 2:
            raise DataError(
                "values", f"of shape {values.shape}", "unit vectors of two or more numbers: shape (n, D)",
                "Give an array of vectors; for angles, np.stack([np.cos(a), np.sin(a)], axis=1).",
            )  # fmt: skip
        _unit_rows(values)
        return made

    def _concentration_of(self, statistics: Resultant) -> float:
        """Concentration of a dish; of one without values any, because one vector is uniform under it."""
        return self._own_of(statistics, statistics.n + 1)

    def parts(self, state: Any) -> Mapping[str, Part]:
        """The concentrations, if dishes have separate ones."""
        return {} if self.conjugate else {"concentration": ConcentrationsOfDishes(state)}

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        return super().readable_bank(data) if self.conjugate else ParameterBank(self, data.values)

    # ------------------------------------------------------------------ statistics

    def _row(self, value: Any) -> Floats:
        """One value as a vector of length 1 to the last digit: shape (D,)."""
        row = super()._row(value)
        unit: Floats = row / np.linalg.norm(row)
        return unit

    def _matrix(self, data: GroupedData) -> npt.NDArray[Any]:
        """All values, shape (n, D)."""
        return _unit_rows(super()._matrix(data))

    def make(self) -> Resultant:
        return Resultant(0, np.zeros(self.n_dims or 2))

    # ------------------------------------------------------------------ densities

    def _log_normaliser(self, r: Any) -> Floats:
        """log C(r), in nats."""
        half = (self.n_dims or 2) / 2.0
        logs: Floats = (
            scipy.special.gammaln(half) - np.log(2.0) - half * np.log(np.pi) - log_bessel(half - 1.0, r)
        )
        return logs

    def _resultant(self, statistics: Resultant) -> Floats:
        """The posterior's concentration times its direction: shape (D,)."""
        return self._prior + self._concentration_of(statistics) * statistics.total

    def log_predictive(self, value: Any, many: Sequence[Resultant]) -> Floats:
        """``log C(c) C(|r|) / C(|r + c x|)`` under each dish, r its resultant, c the concentration: (n,)."""
        concentrations = np.array([self._concentration_of(statistics) for statistics in many])
        resultants = np.array([self._resultant(statistics) for statistics in many])
        before = np.linalg.norm(resultants, axis=1)
        after = np.linalg.norm(resultants + concentrations[:, None] * self._row(value), axis=1)
        normalisers = self._log_normaliser(np.concatenate([concentrations, before, after]))
        own, old, new = normalisers.reshape(3, len(many))
        logs: Floats = own + old - new
        return logs

    def log_marginal(self, statistics: Resultant) -> float:
        """``log C(c)^n C(|prior|) / C(|r|)``, in nats."""
        return float(
            statistics.n * self._log_normaliser(self._concentration_of(statistics))
            + self._log_normaliser(np.linalg.norm(self._prior))
            - self._log_normaliser(np.linalg.norm(self._resultant(statistics)))
        )

    # ------------------------------------------------------------------ draws and means

    def _posterior(self, statistics: Resultant) -> tuple[Floats, float]:
        """Direction and concentration of the posterior of the mean direction."""
        resultant = self._resultant(statistics)
        r = float(np.linalg.norm(resultant))
        return (resultant / r, r) if r > 0.0 else (np.eye(len(resultant))[0], 0.0)

    def simulate(self, statistics: Resultant, generator: np.random.Generator) -> Floats:
        mean = _by_generator(*self._posterior(statistics), 1, generator)[0]
        drawn: Floats = _by_generator(mean, self._concentration_of(statistics), 1, generator)[0]
        return drawn

    def draw_parameters(self, statistics: Resultant, source: ChoiceSource) -> Floats:
        """Draw the mean direction, followed by the concentration: shape (D + 1,)."""
        drawn = _by_source(*self._posterior(statistics), 1, source)[0]
        return np.append(drawn, self._concentration_of(statistics))

    def log_likelihood(self, value: Any, parameters: Floats) -> float:
        concentration = float(parameters[-1])
        return float(
            self._log_normaliser(concentration) + concentration * (self._row(value) @ parameters[:-1])
        )

    def log_likelihoods(self, values: Any, parameters: Sequence[Any]) -> Floats:
        x, drawn = np.asarray(values, dtype=np.float64), np.asarray(parameters, dtype=np.float64)
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        logs: Floats = x @ (drawn[:, :-1] * drawn[:, -1:]).T + self._log_normaliser(drawn[:, -1])
        return logs

    def draw_arrays(self, statistics: Resultant, n: int, source: ChoiceSource) -> Floats:
        """Draw the mean direction n times, each followed by the concentration: shape (n, D + 1)."""
        drawn = _by_source(*self._posterior(statistics), n, source)
        return np.column_stack([drawn, np.full(n, self._concentration_of(statistics))])

    def draw_values(self, parameters: Floats, n: int, generator: np.random.Generator) -> Floats:
        parameters = np.asarray(parameters, dtype=np.float64)
        return _by_generator(parameters[:-1], float(parameters[-1]), n, generator)

    def posterior_mean(self, statistics: Resultant) -> Floats:
        """E[mu], followed by the concentration: shape (D + 1,). The length of E[mu] is below 1."""
        direction, r = self._posterior(statistics)
        length = bessel_ratio(len(direction) / 2.0 - 1.0, r)
        return np.append(length * direction, self._concentration_of(statistics))

    def named_parameters(self, means: Floats, columns: Sequence[str] | None = None) -> dict[str, Floats]:
        means = np.asarray(means, dtype=np.float64)
        return by_entry("direction", means[:, :-1], columns) | {"concentration": means[:, -1]}

    def moments(self, means: Floats) -> tuple[Floats, Floats]:
        """Mean and covariance matrix of a vector of a dish whose direction is that of its mean."""
        means = np.asarray(means, dtype=np.float64)
        lengths = np.linalg.norm(means[:, :-1], axis=1, keepdims=True)
        mu, concentration = means[:, :-1] / np.where(lengths > 0.0, lengths, 1.0), means[:, -1]
        D = mu.shape[1]
        A = bessel_ratio(D / 2.0 - 1.0, concentration)
        across = A / concentration  # variance in the directions orthogonal to mu
        along = 1.0 - A**2 - (D - 1.0) * across
        outer = mu[:, :, None] * mu[:, None, :]
        covariance = across[:, None, None] * (np.eye(D) - outer) + along[:, None, None] * outer
        return A[:, None] * mu, covariance

    def example_values(self) -> Any:
        D = self.n_dims or 2
        tiled = np.tile(self.examples, (1, (D + 1) // 2))[:, :D] + 0.2 * np.arange(D)
        return tiled / np.linalg.norm(tiled, axis=1, keepdims=True)

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return compiled statistics; in Python if each dish has its own concentration."""
        if not self.conjugate:
            return self.readable_bank(data)
        return VonMisesFisherBank(self._matrix(data), self, Resultant)


def _unit_rows(values: npt.NDArray[Any]) -> Floats:
    """Vectors of length 1 to the last digit; raises a DataError unless they had about that length."""
    X = np.asarray(values, dtype=np.float64)
    lengths = np.linalg.norm(X, axis=1)
    bad = np.flatnonzero(~(np.abs(lengths - 1.0) <= FROM_ONE))
    if len(bad):
        i = int(bad[0])
        raise DataError(
            f"values[{i}]", f"a vector of length {lengths[i]:.6g}", "a vector of length 1",
            "Normalise: X / np.linalg.norm(X, axis=1, keepdims=True), without rows that are all 0.",
        )  # fmt: skip
    unit: Floats = X / lengths[:, None]
    return unit


def _examples(kind: type[VonMisesFisher]) -> list[VonMisesFisher]:
    return [kind(1.7, n_dims=2), kind(2.5, [0.6, 0.0, -0.8], 0.7)]


VonMisesFisherReference = in_python("von-mises-fisher", VonMisesFisher, _examples)
