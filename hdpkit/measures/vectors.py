"""Common parts of the measures of numbers, counts and bits: parameters by dimension, checks of values,
statistics of a normal distribution, and scales of data with outliers and unknown clusters."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Bools, Floats
from hdpkit.checks import whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, ParameterError
from hdpkit.measures.protocol import BaseMeasure, Resampled, numbers_or_prior
from hdpkit.priors import Above, Gamma

SMALLEST, LARGEST = 1e-50, 1e50  # range of positive parameters
MULTIPLIER, STRENGTH = Above(Gamma(1.0, 4.0 / 3.0), 0.25), 0.01  # of `hierarchical` priors
LARGEST_VALUE = 1e100  # so that squares of values, multiplied or divided by parameters, don't overflow


_GIVE = "Give a float, one float per dimension, or a prior."


def real(name: str, default: Any = attrs.NOTHING) -> Any:
    """Field of a parameter that is any finite number, or a vector of them."""
    return attrs.field(default=default, converter=lambda value: finite_numbers(name, value))


def positive(name: str, default: Any = attrs.NOTHING) -> Any:
    """Field of a parameter that is a positive number, or a vector of them."""
    return attrs.field(default=default, converter=lambda value: positive_numbers(name, value))


def finite_numbers(name: str, value: Any) -> Any:
    """Return a finite float or a read-only vector of them, or raise a ParameterError."""
    allowed = f"a number, or one per dimension, each from {-LARGEST_VALUE} to {LARGEST_VALUE}"
    return numbers_or_prior(name, value, -LARGEST_VALUE, LARGEST_VALUE, allowed, _GIVE, most_dims=1)


def positive_numbers(name: str, value: Any) -> Any:
    """Return a positive float or a read-only vector of them, or raise a ParameterError."""
    allowed = f"a positive number, or one per dimension, each from {SMALLEST} to {LARGEST}"
    return numbers_or_prior(name, value, SMALLEST, LARGEST, allowed, _GIVE, most_dims=1)


def is_one(multiplier: Any) -> bool:
    """Whether a multiplier is the number 1, as if there were none."""
    return not isinstance(multiplier, Resampled) and np.ndim(multiplier) == 0 and multiplier == 1.0


@attrs.define
class Sums:
    """Statistics of a dish: the number of its vectors, and their sum, shape (D,)."""

    n: int
    total: npt.NDArray[Any]

    def copy(self) -> Self:
        """Return independent statistics."""
        return attrs.evolve(self, total=self.total.copy())

    def add(self, x: Floats) -> None:
        """Add one vector."""
        self.n += 1
        self.total += x.astype(self.total.dtype)

    def remove(self, x: Floats) -> None:
        """Remove one vector."""
        self.n -= 1
        self.total -= x.astype(self.total.dtype)
        if self.n == 0:  # exact zeros, without accumulated rounding errors
            self.total[:] = 0


def _check_n_dims(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        whole_number("n_dims", value, 0, 2**31 - 1, remedy="Leave it out: it is read from the data.")


@attrs.frozen(eq=False)
class VectorMeasure(BaseMeasure):
    """A measure of numbers, or of vectors of shape (D,), with a prior for each dimension.

    A subclass names its parameters in the order of its constructor and defines which values are possible.
    ``n_dims`` is D, or 0 for single numbers; by default it is taken from the parameters or the data.
    """

    support = "vectors"
    takes_terms = False
    legal_values: ClassVar[str]  # those that `_legal` accepts, in words
    examples: ClassVar[Any] = (0.3, -1.1), (0.1, 0.4), (-1.2, 0.2), (2.0, 1.5), (0.4, -0.3)

    n_dims: int | None = attrs.field(default=None, kw_only=True, validator=_check_n_dims)

    def __attrs_post_init__(self) -> None:
        lengths = {name: len(value) for name, value in self.parameters.items() if np.ndim(value) > 0}
        if self.n_dims is not None and lengths:
            lengths = {"n_dims": self.n_dims, **lengths}
        if len(set(lengths.values())) > 1:
            raise ParameterError(
                " and ".join(lengths),
                tuple(lengths.values()),
                "of one length",
                "Give one number per dimension.",
            )
        if self.n_dims is None and lengths:
            object.__setattr__(self, "n_dims", next(iter(lengths.values())))

    @property
    @abc.abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, in the order of the constructor."""

    @property
    def vectors(self) -> tuple[Floats, ...]:
        """Values of the parameters by dimension, each of shape (D,); (1,) for single numbers."""
        shape = (self.n_dims or 1,)
        return tuple(np.full(shape, value, dtype=float) for value in self.parameters.values())

    # ------------------------------------------------------------------ values

    @staticmethod
    @abc.abstractmethod
    def _legal(values: npt.NDArray[Any]) -> Bools:
        """Which of many numbers are possible under the measure."""

    def for_data(self, data: GroupedData) -> Self:
        """Take D from the data and check every value.

        Raises a DataError that names the first value that is impossible under the measure.
        """
        values = np.asarray(data.values)
        kind = "a number, or a vector of numbers"
        if values.dtype.kind not in "biuf" or values.ndim not in (1, 2) or values.size == 0:
            found = f"{values.dtype} of shape {values.shape[1:]}"
            raise DataError("values", found, kind, "Give numbers of shape (n,) or (n, D).")
        n_dims = 0 if values.ndim == 1 else values.shape[1]
        if self.n_dims not in (None, n_dims):
            raise DataError(
                "values", _of(n_dims), f"{_of(self.n_dims)}, as the parameters",
                "Give parameters of the data's dimension.",
            )  # fmt: skip
        bad = np.argwhere(~self._legal(values))
        if len(bad):
            i = int(bad[0][0])
            raise DataError(f"values[{i}]", values[i], self.legal_values, "Correct or drop it.")
        return attrs.evolve(self, n_dims=n_dims)

    def example_values(self) -> Any:
        D, columns = self.n_dims or 1, np.array(self.examples)
        tiled = np.tile(columns, (1, -(-D // columns.shape[1])))[:, :D]
        return tiled if self.n_dims else tiled[:, 0]

    def copy(self, statistics: Any) -> Any:
        return statistics.copy()

    def add(self, statistics: Any, value: Any) -> None:
        statistics.add(self._row(value))

    def remove(self, statistics: Any, value: Any) -> None:
        statistics.remove(self._row(value))

    def _row(self, value: Any) -> Floats:
        """One value as a vector of shape (D,)."""
        return np.atleast_1d(np.asarray(value, dtype=float))

    def _outward(self, vector: npt.NDArray[Any]) -> Any:
        """Return a vector of shape (D,) in the shape of the values: a number if these are numbers."""
        return vector if self.n_dims else vector[0]

    def _matrix(self, data: GroupedData) -> npt.NDArray[Any]:
        """All values, shape (n, D)."""
        return np.asarray(data.values).reshape(len(data), -1)


def diagonal(variances: Floats) -> Floats:
    """Diagonal covariance matrices, shape (n, D, D), from variances, shape (n, D)."""
    covariances: Floats = variances[:, :, None] * np.eye(variances.shape[1])
    return covariances


def _of(n_dims: int | None) -> str:
    return f"vectors of {n_dims} numbers" if n_dims else "single numbers"


def finite(values: npt.NDArray[Any]) -> Bools:
    """Which numbers are finite, and small enough for their squares."""
    return np.abs(np.asarray(values, dtype=float)) <= LARGEST_VALUE


@attrs.define
class Moments:
    """Statistics of a dish."""

    n: int
    mean: Floats  # shape (D,)
    scatter: Floats  # sum (x - mean)**2 by dimension, or sum (x - mean)(x - mean)'

    def copy(self) -> Self:
        """Return independent statistics."""
        return type(self)(self.n, self.mean.copy(), self.scatter.copy())

    def _products(self, a: Floats, b: Floats) -> Floats:
        return a * b if self.scatter.ndim == 1 else np.outer(a, b)

    def add(self, x: Floats) -> None:
        """Add one vector (Welford 1962). A sum of squares would lose digits by cancellation."""
        self.n += 1
        step = x - self.mean
        self.mean += step / self.n
        self.scatter += self._products(step, x - self.mean)

    def remove(self, x: Floats) -> None:
        """Remove one vector: the inverse of `add`."""
        self.n -= 1
        if self.n == 0:  # exact zeros, without accumulated rounding errors
            self.mean[:] = 0.0
            self.scatter[:] = 0.0
            return
        step = x - self.mean
        self.mean -= step / self.n
        self.scatter -= self._products(step, x - self.mean)


NEAR = 10  # neighbours of a point
MOST = 2_000  # points, evenly spaced in the data: no more distances than the square of this are in memory
STEPS = 20  # at most
CHANGE = 0.01  # of a variance, relative to the step before, where steps end
OF_ALL = 0.001  # share of the data's covariance, so that equal values in a column don't give it no variance

FAR = 3.0  # distances of the outermost of all rows but one in twenty, beyond which a row is an outlier
FEW = 10  # rows, of which none is an outlier


def central(X: Floats) -> Floats:
    """The rows that are no outliers: those by which priors are made, shape (m, ...)."""
    # A row's distance is the largest of its columns from their medians, in units of half the range without
    # the twentieth of the values at each end (if that is 0, the standard deviation). Outliers are farther
    # than three times the distance that at most a twentieth of the rows exceed.
    n, rows = len(X), X.reshape(len(X), -1)
    if n < FEW:
        return X
    cut = n // 20 + 1
    ordered = np.sort(rows, axis=0)
    spread = (ordered[-1 - cut] - ordered[cut]) / 2.0
    spread = np.where(spread > 0.0, spread, rows.std(axis=0))
    away = (np.abs(rows - ordered[n // 2]) / np.where(spread > 0.0, spread, 1.0)).max(axis=1)
    limit = FAR * np.sort(away)[-1 - cut]
    found: Floats = X[away <= limit] if limit > 0.0 else X
    return found


def near_variances(X: Floats, variances: Floats) -> Floats:
    """As `near_covariance`, for independent columns: shape (D,)."""
    return np.diag(near_covariance(X, np.diag(variances), independent=True)).copy()


def near_covariance(X: Floats, covariance: Floats, independent: bool = False) -> Floats:
    """Covariance (D, D) with the shape of that within clusters, and the determinant of the given one."""
    # Art, Gnanadesikan & Kettenring 1982: the mean product of the differences of near points, by distances
    # under the covariance of the step before. Points of one normal cluster that are near by this measure
    # differ in all directions alike, so its shape doesn't change.
    n, D = X.shape
    if n > MOST:
        X = X[np.linspace(0, n - 1, MOST).astype(np.int64)]
    near = min(NEAR, len(X) - 1)
    found = covariance
    for _ in range(STEPS):
        white = np.linalg.solve(np.linalg.cholesky(found), (X - X.mean(axis=0)).T).T
        square = (white**2).sum(axis=1)
        distances = square[:, None] + square - 2.0 * white @ white.T
        np.fill_diagonal(distances, np.inf)
        pairs = np.argpartition(distances, near - 1, axis=1)[:, :near]
        away = (X[:, None, :] - X[pairs]).reshape(-1, D)
        product = np.diag((away**2).sum(axis=0)) if independent else away.T @ away
        size = np.trace(np.linalg.solve(covariance, product)) / (D * len(away))
        if not size > 0.0:  # all near points are equal
            return covariance
        product += max(D + 2.0, OF_ALL * len(away)) * size * covariance
        growth = np.linalg.slogdet(covariance)[1] - np.linalg.slogdet(product)[1]
        before, found = found, (product + product.T) / 2.0 * np.exp(growth / D)
        if np.abs(np.linalg.eigvals(np.linalg.solve(before, found)) - 1.0).max() < CHANGE:
            break
    return found
