"""Columns that a default prior can describe: those that vary, and are no linear functions of others."""

from __future__ import annotations

import warnings
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import LeftOutColumnsWarning
from hdpkit.measures.near_pairs import central

_EQUAL = 1e-12  # range of a constant column, relative to its largest value
_FUNCTION = 1e-4  # distance of a column from a linear function of others, relative to its standard deviation
_ROWS = 20_000  # evenly spaced rows by which columns are compared


@attrs.frozen(eq=False)
class KeptColumns:
    """Which of D columns are kept, and the others as linear functions of them.

    A constant column, and one that is a linear function of columns before it, has no density beside them:
    each component would narrow there without end. Rows far from all others (`central`) don't count.

    Attributes
    ----------
    kept : int64 array, shape (d,)
        Numbers of the columns that are kept, ascending; all of them if none varies.
    origin, slopes : float64 arrays, shape (D,) and (D, d)
        A row of all columns is origin + slopes times those that are kept.
    """

    kept: Int64s
    origin: Floats
    slopes: Floats

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
            warnings.warn(text, LeftOutColumnsWarning, stacklevel=6)
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
