"""Documents of words."""

from __future__ import annotations

import os
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from hdpkit.checks import whole_number
from hdpkit.data.counts import ID_LIMIT, Counts, as_numbers, read_matrix
from hdpkit.data.groups import GroupedData
from hdpkit.data.labels import Codes, check_names, encode_all
from hdpkit.data.ldac import read_ldac, read_vocabulary
from hdpkit.data.tokens import check_ids, read_documents
from hdpkit.errors import DataError

__all__ = ["Corpus"]


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Corpus(GroupedData):
    """Documents of words: customers are tokens, groups are documents.

    Built by `Corpus.from_documents`, `Corpus.from_counts` or `Corpus.from_ldac`. Tokens of a document are
    consecutive, documents in the order given. All arrays are read-only.

    Attributes
    ----------
    values, terms : ndarray of int32, shape (n_tokens,)
        Id of each token's term, 0..n_terms - 1.
    document : ndarray of int64, shape (n_tokens,)
        Document of each token, 0..n_documents - 1. Made anew whenever it is asked for, as all codes of labels
        are: what is kept is one code a document.
    n_terms, n_documents, n_tokens, n_customers : int
        Sizes; a customer is a token.
    vocabulary : tuple of str or None
        Word of each term.
    names : tuple of str or None
        Name of each document.
    document_lengths : ndarray of int64, shape (n_documents,)
        Number of tokens of each document; 0 is legal.
    labels : dict
        Label name -> (codes, keys), one code a token. "document" is always there, with the names of ALL
        documents, or 0..n_documents - 1, as its keys.
    """

    n_terms: int
    vocabulary: tuple[str, ...] | None
    names: tuple[str, ...] | None
    document_lengths: npt.NDArray[np.int64]
    _offsets: npt.NDArray[np.int64]

    @classmethod
    def from_documents(
        cls,
        docs: Any,
        n_terms: int | None = None,
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
    ) -> Corpus:
        """Build from documents as lists of tokens.

        Parameters
        ----------
        docs : sequence of sequences
            Tokens of each document, all term ids (whole numbers from 0) or all strings.
        n_terms : int, optional
            Number of terms; by default the length of the vocabulary or, without one, the largest id + 1.
        vocabulary : sequence of str, optional
            Word of each term. Without it, documents of strings make their own, in order of first appearance.
        names : sequence of str, optional
            Name of each document.
        groups : dict, optional
            More labels: name -> one value a document; None, NaN, NaT or pandas.NA where it is missing.

        Raises
        ------
        DataError
            If there is no document or no token, a token isn't an id or a word of the vocabulary (document and
            position are named), or vocabulary, names or groups don't fit.
        ParameterError
            If `n_terms` isn't a positive int.
        """
        words = _check_vocabulary(vocabulary)
        bound = _check_n_terms(n_terms, words)
        terms, lengths, built = read_documents(docs, bound, words, _readable(names))
        if built is not words:
            bound = _check_n_terms(n_terms, built)
        if bound is None:
            bound = int(terms.max()) + 1 if len(terms) else 1
        return cls._build(terms, lengths, bound, built, names, groups)

    @classmethod
    def from_counts(cls, X: Any, vocabulary: Any = None, names: Any = None, groups: Any = None) -> Corpus:
        """Build from a matrix of counts.

        Parameters
        ----------
        X : array-like or scipy.sparse, shape (n_documents, n_terms)
            Non-negative whole numbers, of an integer, float or bool type; entries of a sparse matrix that
            name one cell twice add up. Tokens come in the order of rows, terms ascending, repeats adjacent.
        vocabulary, names, groups
            As in `from_documents`.

        Raises
        ------
        DataError
            If a count is negative, fractional, NaN or infinite (document and term are named), there are no
            tokens or 2^31 of them or more, or vocabulary, names or groups don't fit.
        """
        words = _check_vocabulary(vocabulary)
        counts = read_matrix(X, _readable(names))
        if words is not None and len(words) != counts.n_terms:
            raise DataError(
                "vocabulary",
                f"{len(words)} terms",
                f"{counts.n_terms} terms, one a column of the counts",
                "Give one word a column.",
            )
        return cls._from_counts(counts, words, names, groups)

    @classmethod
    def from_ldac(
        cls,
        path: str | os.PathLike[str],
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
        n_terms: int | None = None,
    ) -> Corpus:
        """Build from an LDA-C file, plain or gzip: one document a line, ``N id:count id:count ...``.

        Parameters
        ----------
        path : path
            The file. Ids count from 0, in any order; pairs that repeat an id add up. Tokens come in the order
            of `from_counts`.
        vocabulary : sequence of str or path, optional
            Word of each term, or the path of a file (UTF-8, plain or gzip) with a term a line.
        names, groups
            As in `from_documents`.
        n_terms : int, optional
            Number of terms; by default the length of the vocabulary or, without one, the largest id + 1.

        Raises
        ------
        DataError
            With the line number (from 1), if the file is malformed; otherwise as `from_documents`.
        ParameterError
            If `n_terms` isn't a positive int.
        OSError
            If a file can't be read.
        """
        if not isinstance(path, str | os.PathLike):  # open() would take a number for an open file
            raise DataError("path", path, "the path of a file", "Give a str or a pathlib.Path.")
        if isinstance(vocabulary, str | os.PathLike):
            words: tuple[str, ...] | None = read_vocabulary(vocabulary)
        else:
            words = _check_vocabulary(vocabulary)
        counts = read_ldac(path, _check_n_terms(n_terms, words))
        return cls._from_counts(counts, words, names, groups)

    @classmethod
    def _from_counts(cls, counts: Counts, words: tuple[str, ...] | None, names: Any, groups: Any) -> Corpus:
        if counts.n_documents == 0:
            raise _empty("no documents")
        if not counts.count.any():  # also where there is no column
            raise _empty(f"{counts.n_documents} documents without a token")
        if counts.n_terms > ID_LIMIT:
            raise DataError("counts", f"{counts.n_terms} terms", f"at most {ID_LIMIT} terms", "Drop columns.")
        terms, lengths = counts.tokens()
        return cls._build(terms, lengths, counts.n_terms, words, names, groups)

    @classmethod
    def _build(
        cls,
        terms: npt.NDArray[np.int32],
        lengths: npt.NDArray[np.int64],
        n_terms: int,
        vocabulary: tuple[str, ...] | None,
        names: Any,
        groups: Any,
    ) -> Corpus:
        """Build from tokens and lengths of documents, both checked, and unchecked names and groups."""
        n = len(lengths)
        if n == 0:
            raise _empty("no documents")
        if len(terms) == 0:
            raise _empty(f"{n} documents without a token")
        checked = None if names is None else check_names("names", names, n, "document")
        own = {"document": (np.arange(n, dtype=np.int64), list(checked or range(n)))}
        by_document = own | encode_all("groups", groups, n, "document", taken=["document"])
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        for array in (terms, lengths, offsets, own["document"][0]):
            array.setflags(write=False)
        return cls(
            values=terms,
            labels=by_document,
            n_terms=n_terms,
            vocabulary=vocabulary,
            names=checked,
            document_lengths=lengths,
            offsets=offsets,
        )

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
        """As `labels`, with one code a document: name -> (codes, keys), codes of shape (n_documents,)."""
        return dict(self._labels)

    def codes_between(self, name: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """Return the codes of customers first .. last - 1; who needs all can go through them in pieces.

        Raises a ParameterError if there is no such label, or no such range.
        """
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
        """Number of documents, empty ones included."""
        return len(self.document_lengths)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self.values)

    def term(self, v: int) -> str | int:
        """Return the word of term `v`, or `v` itself where there is no vocabulary."""
        v = _check_index("term", v, self.n_terms)
        return v if self.vocabulary is None else self.vocabulary[v]

    def document_of(self, customer: int) -> str | int:
        """Return the name of a customer's document, or its index where documents have no names."""
        i = _check_index("customer", customer, len(self))
        d = int(np.searchsorted(self._offsets, i, side="right")) - 1
        return d if self.names is None else self.names[d]

    def document_customers(self, d: int) -> slice:
        """Return the customers of document `d` (an index), which are consecutive."""
        d = _check_index("document", d, self.n_documents)
        return slice(int(self._offsets[d]), int(self._offsets[d + 1]))

    def to_counts(self) -> sp.csr_array:
        """Return the counts of terms, shape (n_documents, n_terms), int64, indices sorted."""
        ones = np.ones(len(self), np.int64)
        # Copies, since duplicates are summed in place; and 32 bits, which hold the ends of fewer than 2^31
        # tokens, since scipy widens the terms to the width of the ends.
        matrix = sp.csr_array(
            (ones, self.values.copy(), self._offsets.astype(np.int32)), shape=(self.n_documents, self.n_terms)
        )
        matrix.sum_duplicates()
        return matrix

    def with_values(self, values: Any) -> Self:
        """Return the same documents with other terms (used to simulate data); the vocabulary stays.

        Parameters
        ----------
        values : array-like of int, shape (n_tokens,)
            Term ids.

        Raises
        ------
        DataError
            If the number isn't n_tokens or an id isn't a whole number from 0 to n_terms - 1.
        """
        array = as_numbers(values, self.values.shape, "term", "token")
        terms = check_ids(array, self.n_terms, self.document_lengths, self.names)
        terms.setflags(write=False)
        return attrs.evolve(self, values=terms)

    def __repr__(self) -> str:
        more = [f"{name} ({len(keys)})" for name, (_, keys) in self._labels.items() if name != "document"]
        labels = f", labels: {', '.join(more)}" if more else ""
        return (
            f"<Corpus: {self.n_documents} documents, {self.n_terms} terms"
            f"{'' if self.vocabulary is None else ' (named)'}, {self.n_tokens} tokens{labels}>"
        )


def _empty(what: str) -> DataError:
    return DataError(
        "corpus", what, "at least one document and one token: it is empty", "Check how it was read."
    )


def _readable(names: Any) -> tuple[str, ...] | None:
    """Return names of documents for errors about the tokens; whether they are legal is checked later."""
    return tuple(map(str, names)) if isinstance(names, list | tuple) else None


def _check_vocabulary(vocabulary: Any) -> tuple[str, ...] | None:
    return None if vocabulary is None else check_names("vocabulary", vocabulary, None, "term")


def _check_n_terms(n_terms: Any, vocabulary: tuple[str, ...] | None) -> int | None:
    """Return the number of terms that is given or follows from the vocabulary, None if neither is there."""
    if n_terms is None:
        return None if vocabulary is None else len(vocabulary)
    n_terms = whole_number("n_terms", n_terms, 1, ID_LIMIT, remedy="Give the number of terms.")
    if vocabulary is not None and len(vocabulary) != n_terms:
        raise DataError(
            "vocabulary",
            f"{len(vocabulary)} terms",
            f"{n_terms} terms (n_terms)",
            "Leave n_terms out or correct it.",
        )
    return n_terms


def _check_index(parameter: str, value: Any, n: int) -> int:
    return whole_number(parameter, value, 0, n - 1, remedy="Indices count from 0.")
