"""Customers of documents by term: the cells of a matrix of counts."""

from __future__ import annotations

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import DAMAGED, fitting
from hdpkit.formats.counts import Counts, add_counts
from hdpkit.formats.mapped import CHUNK

__all__ = ["Cells", "Tokens"]

Ints = npt.NDArray[np.int32]
Wide = npt.NDArray[np.int64]


@attrs.frozen(eq=False)
class Cells:
    """Counts of the terms in each document. Read-only.

    Attributes
    ----------
    begin : int64 array, shape (n_documents + 1,)
        First cell of each document, and the end.
    term, count : int32 arrays, shape (n_cells,)
        Term and count of each cell; terms ascend within a document, and counts are positive.
    n_customers : int
        Sum of the counts.
    """

    begin: Wide
    term: Ints
    count: Ints
    n_customers: int

    @classmethod
    def of(cls, begin: Wide, term: Ints, count: Ints) -> Cells:
        """Make the arrays read-only and return them as cells."""
        for array in (begin, term, count):
            array.setflags(write=False)
        return cls(begin, term, count, int(count.sum(dtype=np.int64)))

    @classmethod
    def of_counts(cls, counts: Counts) -> Cells:
        """Return the cells of counts."""
        matrix = counts.matrix()
        begin, term = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return cls.of(begin, term, matrix.data.astype(np.int32))

    @property
    def lengths(self) -> Wide:
        """Number of customers of each document: int64, shape (n_documents,)."""
        lengths: Wide = np.zeros(len(self.begin) - 1, np.int64)
        for first in range(0, len(self.count), CHUNK):
            add_counts(lengths, self.begin, first, self.count[first : first + CHUNK])
        return lengths

    def tokens(self) -> Ints:
        """Term of each customer, in the order of the cells: int32, shape (n_customers,)."""
        return np.repeat(self.term, self.count)

    def documents(self) -> Ints:
        """Document of each cell: int32, shape (n_cells,)."""
        return np.repeat(np.arange(len(self.begin) - 1, dtype=np.int32), np.diff(self.begin))


class Tokens:
    """Term of each customer of a corpus: an array, or cells from which it is computed when needed.

    Parameters
    ----------
    terms : int32 array, optional
    cells : Cells, optional
        Exactly one of the two is given.
    """

    __slots__ = ("_cells", "_terms")

    def __init__(self, terms: Ints | None = None, cells: Cells | None = None) -> None:
        self._terms = terms
        self._cells = cells

    @property
    def cells(self) -> Cells | None:
        """The cells, if the corpus was made from counts; otherwise None."""
        return self._cells

    def terms(self) -> Ints:
        """Term of each customer; computed from the cells at the first access, and kept."""
        terms = self._terms
        if terms is None:
            assert self._cells is not None
            terms = self._cells.tokens()
            terms.setflags(write=False)
            self._terms = terms  # two threads may both compute it, with equal results
        return terms

    def __getstate__(self) -> tuple[Ints | None, Cells | None]:
        return (self._terms if self._cells is None else None), self._cells

    def __setstate__(self, state: tuple[Ints | None, Cells | None]) -> None:
        with fitting("pickle of a corpus", "its terms or its cells", remedy=DAMAGED):
            self._terms, self._cells = state
            if not isinstance(self._terms, np.ndarray) and not isinstance(self._cells, Cells):
                raise TypeError("terms")
