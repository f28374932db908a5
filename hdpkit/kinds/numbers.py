"""Kinds of models of numbers: columns that a default prior can describe, rows as measures take them.

Rounded values are spread over the intervals that they stand for. Of points that are equal in a column, for
instance in a pixel that is 0, a normal component has a density without bound, so components would be patterns
of equal values. Spread evenly, values have the density of what was rounded.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import DataError, LeftOutColumnsWarning, SlowModelWarning
from hdpkit.franchise.declarations import Restaurant
from hdpkit.kinds.kind import Hierarchy, of_the_data
from hdpkit.measures.normal_inverse_wishart import NormalInverseWishart
from hdpkit.measures.vectors import central

_LARGEST = 1e100  # of which squares and products are finite
_EQUAL = 1e-12  # range of a constant column, relative to its largest value
_FUNCTION = 1e-4  # distance of a column from a linear function of others, relative to its standard deviation
_ROWS = 20_000  # evenly spaced rows by which columns are compared
# Seconds of a sweep by points and columns squared, from two sweeps of 500 points on a core of a busy machine
# (28 November 2026): 0.154 s with 96 columns (2 components then), 0.745 s with 192 (5). Not measured beyond.
_SECONDS, _LONG = 4e-8, 10.0  # and the minutes from which a warning says so


@attrs.frozen(eq=False)
class KeptColumns:
    """Which of D columns are kept, and the others as linear functions of them."""

    # A constant column, and one that is a linear function of columns before it, has no density beside them:
    # each component would narrow there without end. Rows far from all others (`central`) don't count.

    kept: Int64s  # (d,), numbers of the columns that are kept, ascending; all of them if none varies
    origin: Floats  # (D,): a row of all columns is origin + slopes times those that are kept
    slopes: Floats  # (D, d)

    @classmethod
    def from_data(cls, kept: Any, origin: Any, slopes: Any) -> KeptColumns:
        """The columns that a file describes; a ValueError if its arrays don't fit each other."""
        made = cls(
            np.asarray(kept, dtype=np.int64), *(np.asarray(one, dtype=float) for one in (origin, slopes))
        )
        d, (D,) = len(made.kept), made.origin.shape
        if made.slopes.shape != (D, d) or not np.array_equal(np.arange(D)[made.kept], np.unique(made.kept)):
            raise ValueError(f"{d} columns of {D}")
        return made

    @property
    def whole(self) -> bool:
        """Whether all columns are kept."""
        return len(self.kept) == len(self.origin)

    @classmethod
    def of(cls, data: Any) -> KeptColumns:
        """The columns of the values of data, shape (n, D); a warning names those that are left out."""
        missing = getattr(data, "missing", None)
        X = central(np.asarray(data.values if missing is None else data.values[~missing], dtype=np.float64))
        X = X.reshape(len(X), -1)[:: max(1, len(X) // _ROWS)]
        n, D = X.shape
        mean = X.mean(axis=0)
        centred = X - mean
        constant = np.ptp(X, axis=0) <= _EQUAL * np.abs(X).max(axis=0)
        basis, kept = np.empty((n, 0)), []
        for j in np.flatnonzero(~constant).tolist():
            new = centred[:, j] / np.linalg.norm(centred[:, j])
            if basis.shape[1] + 2 < n:  # else every column is a function of others, by its few rows
                for _ in range(2):
                    new = new - basis @ (basis.T @ new)
                size = np.linalg.norm(new)
                if size < _FUNCTION:
                    continue
                basis = np.column_stack([basis, new / size])
            kept.append(j)
        kept = kept or list(range(D))
        slopes = np.eye(D)[:, kept]
        out = np.setdiff1d(np.arange(D), kept)
        if len(out):
            slopes[out] = np.linalg.lstsq(centred[:, kept], centred[:, out])[0].T
            slopes[constant] = 0.0
            names = data.columns or tuple(map(str, range(D)))
            why = {True: "has one value", False: "is a linear function of others"}
            told = [f"{names[j]} {why[bool(constant[j])]}" for j in out.tolist()]
            text = (
                f"columns are left out: {'; '.join(told)} (but for outliers). They say nothing of clusters."
            )
            warnings.warn(text, LeftOutColumnsWarning, stacklevel=5)
        return cls(np.array(kept, dtype=np.int64), mean - slopes @ mean[kept], slopes)

    def of_data(self, data: Any) -> Any:
        """The same data without the columns that are left out."""
        if self.whole:
            return data
        names = data.columns or tuple(map(str, range(len(self.origin))))
        values = data.values[:, self.kept]
        return attrs.evolve(data, values=values, columns=tuple(names[j] for j in self.kept))

    def rows(self, values: Floats) -> Floats:
        """Rows of all columns, shape (n, D), from those that are kept."""
        return values if self.whole else self.origin + values @ self.slopes.T


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Numbers(Hierarchy):
    """Kinds of models of numbers, or of rows of numbers."""

    sections: ClassVar[tuple[Any, ...]] = (
        "mixture",
        "components",
        "weights",
        "together",
        "convergence",
        "reproduce",
    )
    exports = ("csv", "parquet", "excel", "json", "arviz")

    kept: KeptColumns | None = of_the_data(KeptColumns)

    @property
    def by_default(self) -> bool:
        """Whether the prior comes from the data, and can't describe every column."""
        return False

    def prepared(self, data: Any) -> tuple[Self, Any]:
        """The data without columns that no prior describes."""
        largest = np.nanmax(np.abs(np.asarray(data.values, dtype=np.float64)), initial=0.0)
        if largest and not 1.0 / _LARGEST < largest < _LARGEST:
            raise DataError(
                "X", largest, f"numbers of which the largest is from {1 / _LARGEST:g} to {_LARGEST:g}",
                "Divide them by a constant, or by sklearn.preprocessing.StandardScaler.",
            )  # fmt: skip
        kept = KeptColumns.of(data) if self.by_default and data.values.ndim == 2 else None
        made = attrs.evolve(self, kept=kept)
        return made.spreading(made.same(data))

    def spreading(self, data: Any) -> tuple[Self, Any]:
        """The kind with what it learns of rounded values, and the data with these spread, if it does so."""
        return self, data

    def same(self, data: Any) -> Any:
        """New data without the columns that are left out."""
        return data if self.kept is None else self.kept.of_data(data)

    def width(self, data: Any) -> int:
        """Number of columns of X of an estimator over data: with those that are left out."""
        there = super().width(data)
        return there if self.kept is None else there + len(self.kept.origin) - len(self.kept.kept)

    def every_column(self, values: Any) -> Any:
        """Rows of all columns from those that are kept."""
        rows = np.asarray(values).reshape(len(values), -1)
        return rows if self.kept is None else self.kept.rows(rows)

    def of_all_columns(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Means and covariance matrices of all columns from those of the ones that are kept."""
        if self.kept is None or self.kept.whole:
            return means, covariances
        slopes = self.kept.slopes
        return self.kept.rows(means), slopes @ covariances @ slopes.T

    def warn(self, restaurant: Restaurant, data: Any, sweeps: int) -> None:
        """Warn if covariances take longer than ten minutes."""
        measure = restaurant.measure
        if not isinstance(measure, NormalInverseWishart):
            return
        D, n = len(measure.mean), len(data)
        minutes = _SECONDS * n * D * D * sweeps / 60.0
        if minutes > _LONG:
            warnings.warn(
                f"covariances of {D} columns: {sweeps:,} sweeps of a chain over {n:,} rows will take about "
                f'{minutes:,.0f} minutes. measure="directions" or "diagonal" takes a small part of that, and '
                "so do fewer columns, for instance the first 30 of sklearn.decomposition.PCA.",
                SlowModelWarning, stacklevel=5,
            )  # fmt: skip


def as_counts(values: Any) -> Any:
    """Numbers as counts; a DataError if they aren't whole numbers from 0."""
    whole = values.astype(np.int64)
    wrong = np.argwhere((whole != values) | (whole < 0))
    if len(wrong):
        place = tuple(wrong[0].tolist())
        raise DataError(
            f"X, row {place[0]}", float(values[place]),
            "a count, a whole number from 0 (rows, too, are numbered from 0)",
            "Give counts, or use a normal model.",
        )  # fmt: skip
    return whole


_SAME = 1e-9  # difference of values that are the same but for floating-point error, relative to the largest


@attrs.frozen(eq=False)
class Rounding:
    """To what the columns of points are rounded."""

    # (D,): the smallest difference of two values of each column with at most half as many values as points; 0
    # for others, and where all values are equal.
    widths: Floats

    @classmethod
    def from_data(cls, widths: Any) -> Rounding:
        """The widths that a file has."""
        return cls(np.asarray(widths, dtype=float))

    @classmethod
    def of(cls, values: Floats) -> Rounding:
        """The widths of points, shape (n, D)."""
        widths = np.zeros(values.shape[1])
        for j, column in enumerate(values.T):
            gaps = np.diff(np.unique(column))
            gaps = gaps[gaps > _SAME * np.abs(column).max()]
            if 0 < len(gaps) < len(column) // 2:
                widths[j] = gaps.min()
        return cls(widths)

    def spread(self, data: Any, before: int = 0) -> Any:
        """Points with values moved at random within their intervals, alike after as many others before."""
        if not self.widths.any():
            return data
        moves = np.random.default_rng(before).uniform(-0.5, 0.5, size=data.values.shape)
        return data.with_values(data.values + self.widths * moves)
