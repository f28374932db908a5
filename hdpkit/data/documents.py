"""Documents of words: the data of a corpus, without its constructors."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import whole_number
from hdpkit.data.cells import Cells, Tokens
from hdpkit.data.groups import GroupedData
from hdpkit.data.matrices import as_numbers
from hdpkit.data.tokens import check_ids
from hdpkit.errors import printable
from hdpkit.formats.mapped import MappedFiles
from hdpkit.formats.names import Codes

__all__ = ["Documents"]


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Documents(GroupedData):
    """The part of `Corpus` other than its constructors; see there."""

    _tokens: Tokens
    n_terms: int
    vocabulary: tuple[str, ...] | None
    names: tuple[str, ...] | None
    document_lengths: npt.NDArray[np.int64]
    _offsets: npt.NDArray[np.int64]
    _numbers: npt.NDArray[np.int32] | None = None
    _files: MappedFiles | None = None
    _origin: tuple[Path, str] | None = None  # folder and digest of a corpus that is mapped into memory

    @classmethod
    def _checked(
        cls,
        tokens: Tokens,
        lengths: npt.NDArray[np.int64],
        n_terms: int,
        vocabulary: tuple[str, ...] | None,
        checked: tuple[str, ...] | None,
        by_document: dict[str, Codes],
        **on_disk: Any,
    ) -> Self:
        """Build from checked parts; labels have one code per document, and don't include "document"."""
        n = len(lengths)
        own: dict[str, Codes] = {"document": (np.arange(n, dtype=np.int64), checked or range(n))}
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        for array in (lengths, offsets, own["document"][0]):
            array.setflags(write=False)
        return cls(
            tokens=tokens,
            labels=own | by_document,
            n_terms=n_terms,
            vocabulary=vocabulary,
            names=checked,
            document_lengths=lengths,
            offsets=offsets,
            **on_disk,
        )

    def __len__(self) -> int:
        return int(self._offsets[-1])

    @property
    def values(self) -> npt.NDArray[np.int32]:
        """Id of each token's term, shape (n_tokens,); computed at the first access if made from counts."""
        return self._tokens.terms()

    @property
    def cells(self) -> Cells | None:
        """Counts of the terms in each document, if the corpus was made from counts; otherwise None."""
        return self._tokens.cells

    @property
    def origin(self) -> tuple[Path, str] | None:
        """Folder from which tokens are mapped and the SHA-256 of its header; None if they are in memory."""
        return self._origin

    def check_unchanged(self) -> None:
        """Raise a ChangedDataError if the mapped files of the corpus were changed or truncated.

        It is called when a franchise is built, and in a run before and after each move and several times per
        second.
        """
        if self._files is not None:
            self._files.check()

    @property
    def terms(self) -> npt.NDArray[np.int32]:
        """Id of each token's term, shape (n_tokens,)."""
        return self.values

    @property
    def document(self) -> npt.NDArray[np.int64]:
        """Document of each token, shape (n_tokens,)."""
        return self.codes("document")

    @property
    def document_labels(self) -> dict[str, Codes]:
        """As `labels`, with one code per document: name -> (codes, keys), codes of shape (n_documents,)."""
        return dict(self._labels)

    def numbers(self, name: str) -> npt.NDArray[np.int32] | None:
        """Return the codes of label `name` plus one as an int32 array, if these are stored; otherwise None.

        If only this label defines restaurants, they are also the numbers of the restaurants.
        """
        self._label(name)
        return self._numbers if name == "document" else None

    def codes_between(self, name: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """See `GroupedData.codes_between`; only this range of codes is computed."""
        codes = self._label(name)[0]
        first, last = self._range(first, last)
        begin = int(np.searchsorted(self._offsets, first, side="right")) - 1
        end = int(np.searchsorted(self._offsets, last, side="left"))
        ends = np.clip(self._offsets[begin : end + 1], first, last)
        found = np.repeat(codes[begin:end], np.diff(ends))
        found.setflags(write=False)
        return found

    @property
    def n_documents(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.document_lengths)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self)

    def term(self, v: int) -> str | int:
        """Return the word of term `v`, or `v` itself if there is no vocabulary."""
        v = _check_index("term", v, self.n_terms)
        return v if self.vocabulary is None else self.vocabulary[v]

    def document_of(self, customer: int) -> str | int:
        """Return the name of a customer's document, or its index if documents have no names."""
        i = _check_index("customer", customer, len(self))
        d = int(np.searchsorted(self._offsets, i, side="right")) - 1
        return d if self.names is None else self.names[d]

    def document_customers(self, d: int) -> slice:
        """Return the customers of document `d` (an index), which are consecutive."""
        d = _check_index("document", d, self.n_documents)
        return slice(int(self._offsets[d]), int(self._offsets[d + 1]))

    def to_counts(self) -> scipy.sparse.csr_array:
        """Return the counts of terms, shape (n_documents, n_terms), int64, indices sorted."""
        if self.cells is not None:
            cells, shape = self.cells, (self.n_documents, self.n_terms)
            known = (cells.count.astype(np.int64), cells.term.copy(), cells.begin.astype(np.int32))
            return scipy.sparse.csr_array(known, shape=shape)
        ones = np.ones(len(self), np.int64)
        # Copies, since duplicates are summed in place. The ends of fewer than 2^31 tokens fit 32 bits; with
        # 64 bits SciPy would convert the terms to 64 bits too.
        matrix = scipy.sparse.csr_array(
            (ones, self.values.copy(), self._offsets.astype(np.int32)), shape=(self.n_documents, self.n_terms)
        )
        matrix.sum_duplicates()
        return matrix

    def with_values(self, values: Any) -> Self:
        """Return the same documents with other terms (used to simulate data) and the same vocabulary.

        Parameters
        ----------
        values : array-like of int, shape (n_tokens,)
            Term ids.

        Raises
        ------
        DataError
            If the number isn't n_tokens or an id isn't a whole number from 0 to n_terms - 1.
        """
        array = as_numbers(values, (len(self),), "term", "token")
        terms = check_ids(array, self.n_terms, self.document_lengths, self.names)
        terms.setflags(write=False)
        return attrs.evolve(self, tokens=Tokens(terms), origin=None, files=None)

    def __repr__(self) -> str:
        others = {name: keys for name, (_, keys) in self._labels.items() if name != "document"}
        more = [printable(f"{name} ({len(keys)})") for name, keys in others.items()]
        labels = f", labels: {', '.join(more)}" if more else ""
        return (
            f"<Corpus: {self.n_documents} documents, {self.n_terms} terms"
            f"{'' if self.vocabulary is None else ' (named)'}, {self.n_tokens} tokens{labels}>"
        )


def _check_index(parameter: str, value: Any, n: int) -> int:
    return whole_number(parameter, value, 0, n - 1, remedy="Indices start at 0.")
