"""Components as vectors, to compare and average them: topics over terms, other components by parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import DataError, ReturnValueError
from hdpkit.franchise.sample import Sample

MIN_COSINE = 0.8
"""The smallest cosine of two components that are the same: of two runs, or of the chains of one."""


def unit_rows(rows: Floats) -> Floats:
    """The rows divided by their lengths, by whose products cosines are found; a row of zeros stays."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.where(norms > 0, norms, 1.0)
    return unit


def nearest(rows: Floats) -> tuple[npt.NDArray[np.int64], Floats]:
    """The most similar other row of each row, and the cosine; itself and 0 if there is no other."""
    if len(rows) == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    unit = unit_rows(rows)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, 0.0)
    return cosines.argmax(axis=1), cosines.max(axis=1)


class Vectors(Protocol):
    """The components of some samples. The type of rows is specific to each class."""

    def over(self, samples: Sequence[Sample]) -> Vectors:
        """Vectors of other samples, with the same distance."""
        ...

    def rows(self, sample: Sample) -> Any:
        """The components of a sample."""
        ...

    def take(self, rows: Any, which: Int64s) -> Any:
        """Some of these rows."""
        ...

    def stack(self, parts: Sequence[Any]) -> Any:
        """Rows below each other."""
        ...

    def means(self, rows: Any, labels: Int64s, n: int) -> Any:
        """Mean of the rows of each label 0 .. n - 1; each label has at least one row."""
        ...

    def distances(self, rows: Any, others: Any) -> Floats:
        """Distance between each of ``rows`` and each of ``others``: shape (n, m)."""
        ...

    def paired(self, rows: Any, others: Any) -> Floats:
        """Distance between each of ``rows`` and the one of ``others`` at the same index: shape (n,)."""
        ...

    def angles(self, distances: Floats) -> Floats | None:
        """Angles in radians, which are a metric; None if distances are not functions of angles."""
        ...

    def dense(self, rows: Any) -> Floats:
        """The rows as an array, shape (n, ...)."""
        ...


@attrs.frozen(eq=False)
class Rows:
    """Distributions over terms: row k is matrix[k] + base[k] shape, with one common vector ``shape``."""

    matrix: Any  # csr_array (n, V)
    base: Floats


class TermVectors:
    """Topics; distances are 1 - cosine. ``samples`` are all those that will be passed to the methods."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self.n_terms = _same([sample.counts.shape[1] for sample in samples])
        self.shape = _common_shape(samples, self.n_terms)

    def over(self, samples: Sequence[Sample]) -> TermVectors:
        """Topics of other samples, with the same distance."""
        return TermVectors(samples)

    def rows(self, sample: Sample) -> Rows:
        """The topics of a sample."""
        means = sample.term_means
        if means is None or (means.smoothing.shape == (self.n_terms,) and not self._shared(means.smoothing)):
            return Rows(scipy.sparse.csr_array(sample.topics()), np.zeros(sample.n_dishes))
        counts = sample.topic_counts
        row = np.repeat(np.arange(sample.n_dishes), np.diff(counts.indptr))
        if means.smoothing.shape == (self.n_terms,):
            base, own = means.outside, means.smoothing[counts.indices]
        else:
            smoothing = np.broadcast_to(means.smoothing.ravel(), sample.n_dishes)
            base, own = means.outside * smoothing, smoothing[row]
        data = (counts.data + own) * means.inside[row] - base[row] * self.shape[counts.indices]
        matrix = scipy.sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
        return Rows(matrix, np.array(base, dtype=np.float64))

    def _shared(self, smoothing: Floats) -> bool:
        return np.array_equal(smoothing, self.shape)

    def take(self, rows: Rows, which: Int64s) -> Rows:
        """Some of these rows."""
        return Rows(rows.matrix[which], rows.base[which])

    def stack(self, parts: Sequence[Rows]) -> Rows:
        """Rows below each other."""
        matrix = scipy.sparse.vstack([part.matrix for part in parts], format="csr")
        return Rows(scipy.sparse.csr_array(matrix), np.concatenate([part.base for part in parts]))

    def means(self, rows: Rows, labels: Int64s, n: int) -> Rows:
        """Mean of the rows of each label."""
        each = 1.0 / np.bincount(labels, minlength=n)
        base: Floats = np.bincount(labels, weights=rows.base * each[labels], minlength=n).astype(float)
        return Rows(scipy.sparse.csr_array(_averaging(labels, n) @ rows.matrix), base)

    def distances(self, rows: Rows, others: Rows) -> Floats:
        """1 - cosine of each pair."""
        a, b, shape = self._unit(rows), self._unit(others), self.shape
        products = (a.matrix @ b.matrix.T).toarray()
        products += np.outer(a.matrix @ shape, b.base) + np.outer(a.base, b.matrix @ shape)
        products += np.outer(a.base, b.base) * float(shape @ shape)
        return np.maximum(1.0 - products, 0.0)

    def paired(self, rows: Rows, others: Rows) -> Floats:
        """Distances between rows at the same index."""
        a, b, shape = self._unit(rows), self._unit(others), self.shape
        products = np.asarray(a.matrix.multiply(b.matrix).sum(axis=1), dtype=np.float64).ravel()
        products += (a.matrix @ shape) * b.base + a.base * (b.matrix @ shape)
        products += a.base * b.base * float(shape @ shape)
        return np.maximum(1.0 - products, 0.0)

    def _unit(self, rows: Rows) -> Rows:
        """The rows as unit vectors."""
        matrix = rows.matrix
        row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        own = np.bincount(row, weights=matrix.data**2, minlength=matrix.shape[0])
        further = 2.0 * rows.base * (matrix @ self.shape) + rows.base**2 * float(self.shape @ self.shape)
        scale = 1.0 / np.sqrt(np.maximum(own + further, np.finfo(float).tiny))
        made = scipy.sparse.csr_array(
            (matrix.data * scale[row], matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return Rows(made, rows.base * scale)

    def angles(self, distances: Floats) -> Floats:
        """The angle between the unit vectors."""
        angles: Floats = np.arccos(np.clip(1.0 - distances, -1.0, 1.0))
        return angles

    def dense(self, rows: Rows) -> Floats:
        """Topics, shape (n, V)."""
        found: Floats = rows.matrix.toarray() + rows.base[:, None] * self.shape
        return found


@attrs.frozen(eq=False)
class Members:
    """Components of numbers: the customers of each, (n, n_customers), and its parameters, (n, ...)."""

    customers: Any  # csr_array; of a mean the share of the samples in which it has each customer
    parameters: Floats


class MemberVectors:
    """Components of numbers of one set of customers; distances are 1 - cosine of the customers they have."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        _same([len(sample.dishes) for sample in samples if sample.dishes is not None])
        self._parameters = ParameterVectors(samples, _no_distances)

    def over(self, samples: Sequence[Sample]) -> MemberVectors:
        """Components of other samples of these customers."""
        return MemberVectors(samples)

    def rows(self, sample: Sample) -> Members:
        """The components of a sample."""
        assert sample.dishes is not None
        seated = np.flatnonzero(sample.dishes >= 0)
        where = (sample.dishes[seated], seated)
        shape = (sample.n_dishes, len(sample.dishes))
        customers = scipy.sparse.csr_array((np.ones(len(seated)), where), shape=shape)
        return Members(customers, self._parameters.rows(sample))

    def take(self, rows: Members, which: Int64s) -> Members:
        """Some of these rows."""
        return Members(rows.customers[which], rows.parameters[which])

    def stack(self, parts: Sequence[Members]) -> Members:
        """Rows below each other."""
        customers = scipy.sparse.vstack([part.customers for part in parts], format="csr")
        parameters = self._parameters.stack([part.parameters for part in parts])
        return Members(scipy.sparse.csr_array(customers), parameters)

    def means(self, rows: Members, labels: Int64s, n: int) -> Members:
        """Mean of the rows of each label."""
        customers = scipy.sparse.csr_array(_averaging(labels, n) @ rows.customers)
        return Members(customers, self._parameters.means(rows.parameters, labels, n))

    def distances(self, rows: Members, others: Members) -> Floats:
        """1 - cosine."""
        products = (_unit_rows(rows.customers) @ _unit_rows(others.customers).T).toarray()
        return np.maximum(1.0 - products, 0.0)

    def paired(self, rows: Members, others: Members) -> Floats:
        """Distances between rows at the same index."""
        products = _unit_rows(rows.customers).multiply(_unit_rows(others.customers)).sum(axis=1)
        return np.maximum(1.0 - np.asarray(products, dtype=np.float64).ravel(), 0.0)

    def angles(self, distances: Floats) -> Floats:
        """The angle between the unit vectors."""
        return np.asarray(np.arccos(np.clip(1.0 - distances, -1.0, 1.0)))

    def dense(self, rows: Members) -> Floats:
        """Parameters, shape (n, ...)."""
        return rows.parameters


def _no_distances(rows: Any, others: Any) -> Floats:
    """Zeros: parameters of components that are compared by customers are only averaged."""
    return np.zeros((len(rows), len(others)))


def _averaging(labels: Int64s, n: int) -> Any:
    """A matrix that gives the mean of the rows of each label."""
    each = 1.0 / np.bincount(labels, minlength=n)
    where = (labels, np.arange(len(labels)))
    return scipy.sparse.csr_array((each[labels], where), shape=(n, len(labels)))


def _unit_rows(matrix: Any) -> Any:
    """Sparse rows divided by their norms; rows of zeros stay."""
    norms = np.sqrt(np.asarray(matrix.power(2).sum(axis=1), dtype=np.float64).ravel())
    scale = 1.0 / np.where(norms > 0.0, norms, 1.0)
    return scipy.sparse.csr_array(scipy.sparse.diags_array(scale) @ matrix)


class ParameterVectors:
    """Components by their parameters, of any shape; ``distance`` of (n, ...) and (m, ...) is (n, m)."""

    def __init__(
        self, samples: Sequence[Sample], distance: Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any]
    ) -> None:
        self._distance = distance
        self._topics = all(sample.counts is not None for sample in samples)
        _same([self.rows(sample).shape[1:] for sample in samples])

    def over(self, samples: Sequence[Sample]) -> ParameterVectors:
        """Parameters of other samples, with the same distance."""
        return ParameterVectors(samples, self._distance)

    def rows(self, sample: Sample) -> Floats:
        """The parameters of a sample's components."""
        if self._topics:
            return sample.topics()
        if "mean" not in sample.parameters:
            raise DataError(
                "samples", sample, "of a measure that has posterior means",
                "Give the measure a method posterior_mean.",
            )  # fmt: skip
        return np.asarray(sample.parameters["mean"], dtype=np.float64)

    def take(self, rows: Floats, which: Int64s) -> Floats:
        """Some of these rows."""
        return rows[which]

    def stack(self, parts: Sequence[Floats]) -> Floats:
        """Rows below each other."""
        return np.concatenate(list(parts))

    def means(self, rows: Floats, labels: Int64s, n: int) -> Floats:
        """Mean of the rows of each label."""
        sums = np.zeros((n, *rows.shape[1:]))
        np.add.at(sums, labels, rows)
        counts = np.bincount(labels, minlength=n)
        return sums / counts.reshape(-1, *[1] * (rows.ndim - 1))

    def distances(self, rows: Floats, others: Floats) -> Floats:
        """Distances returned by the function, checked."""
        if not len(rows) or not len(others):
            return np.zeros((len(rows), len(others)))
        answer = self._distance(rows, others)
        try:
            found = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.shape != (len(rows), len(others)) or not np.all(found >= 0):
            raise ReturnValueError(
                "distance", answer, f"distances >= 0, shape ({len(rows)}, {len(others)})",
                "It is given two arrays of parameters, (n, ...) and (m, ...): compare each row with each.",
            )  # fmt: skip
        return found

    def paired(self, rows: Floats, others: Floats) -> Floats:
        """Distances between rows at the same index."""
        pairs = [self.distances(rows[i : i + 1], others[i : i + 1])[0, 0] for i in range(len(rows))]
        return np.array(pairs, dtype=np.float64)

    def angles(self, distances: Floats) -> None:
        """None: an arbitrary distance function has no angles."""
        return

    def dense(self, rows: Floats) -> Floats:
        """The rows themselves."""
        return rows


def _same(values: Sequence[Any]) -> Any:
    if len(set(values)) > 1:
        raise DataError(
            "samples", f"components of shapes {sorted(set(map(str, values)))}", "of one shape",
            "Align samples of runs over the same data.",
        )  # fmt: skip
    return values[0]


def _common_shape(samples: Sequence[Sample], n_terms: int) -> Floats:
    """The common vector, to which the part of every topic without customers is proportional."""
    for sample in samples:
        means = sample.term_means
        if means is not None and means.smoothing.shape == (n_terms,):
            return means.smoothing
        if means is not None:
            break
    return np.ones(n_terms)
