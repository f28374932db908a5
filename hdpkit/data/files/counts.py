"""Counts of terms in documents, checked, the corresponding tokens, and limits on their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import flag, whole_number
from hdpkit.errors import DataError

TOKEN_LIMIT = 2**31
"""A corpus has fewer tokens than this: the compiled layer numbers customers in 32 bits."""

ID_LIMIT = 2**31 - 1
"""Ids of terms are below this: they are int32, and so is their number."""


@attrs.frozen(eq=False)
class Counts:
    """Counts as (document, term, count) triples, in any order; triples of one cell add up."""

    document: npt.NDArray[np.int64]
    term: npt.NDArray[np.int64]
    count: npt.NDArray[np.int64]  # in 0..2^31 - 1
    n_documents: int
    n_terms: int

    def tokens(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """Term of each token (by document, terms ascending) and length of each document.

        A DataError for 2^31 tokens or more, before memory is allocated.
        """
        check_total(self.n_tokens)
        pieces, lengths = self.pieces(max(self.n_tokens, 1))
        terms = [terms for terms, _ in pieces]
        return terms[0] if terms else np.empty(0, np.int32), lengths

    def matrix(self, *, in_shards: bool = False) -> scipy.sparse.csr_array:
        """Return the counts above 0 as an int64 matrix with one entry per cell and ascending terms.

        Raises a DataError if there are 2^31 tokens or more; for shards, if one document has that many.
        """
        if not in_shards:
            check_total(self.n_tokens)
        matrix = self._matrix()
        matrix.eliminate_zeros()
        if in_shards and self.n_tokens >= TOKEN_LIMIT:
            check_total(int(matrix.sum(axis=1).max()))
        return matrix

    def _matrix(self) -> scipy.sparse.csr_array:
        shape = (self.n_documents, self.n_terms)
        # SciPy sums duplicates of coordinates, in the data's int64; it guarantees sorted terms only after
        # sum_duplicates(), which costs nothing if they are sorted already.
        matrix = scipy.sparse.csr_array((self.count, (self.document, self.term)), shape=shape)
        matrix.sum_duplicates()
        return matrix

    @property
    def n_tokens(self) -> int:
        """Number of tokens. It fits int64: counts are below 2^31, and there are fewer than 2^32 of them."""
        return int(self.count.sum(dtype=np.int64))

    def pieces(
        self, size: int
    ) -> tuple[Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]], npt.NDArray[np.int64]]:
        """Return the tokens in pieces of limited size, each with terms and documents; and the lengths."""
        matrix = self._matrix()
        ends = np.zeros(matrix.nnz + 1, np.int64)
        np.cumsum(matrix.data, out=ends[1:])
        lengths = np.diff(ends[matrix.indptr])
        return _expand(matrix, ends, size), lengths


def _expand(
    matrix: Any, ends: npt.NDArray[np.int64], size: int
) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
    entries: Any = np.diff(matrix.indptr)
    rows = np.repeat(np.arange(len(entries), dtype=np.int32), entries)
    terms = matrix.indices.astype(np.int32, copy=False)
    for first in range(0, int(ends[-1]), size):
        last = min(first + size, int(ends[-1]))
        begin = int(np.searchsorted(ends, first, side="right")) - 1
        end = int(np.searchsorted(ends, last, side="left"))
        repeats: Any = np.diff(np.clip(ends[begin : end + 1], first, last))
        yield np.repeat(terms[begin:end], repeats), np.repeat(rows[begin:end], repeats)


def add_counts(
    lengths: npt.NDArray[np.int64],
    begin: npt.NDArray[np.int64],
    first: int,
    counts: npt.NDArray[np.int32],
) -> None:
    """Add the counts of the cells from ``first`` on to the lengths of their documents."""
    last = first + len(counts)
    documents = slice(*np.searchsorted(begin, [first, last], side="right") - 1)
    documents = slice(documents.start, min(documents.stop + 1, len(lengths)))
    ends = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=ends[1:])
    edges = np.clip(begin[documents.start : documents.stop + 1], first, last) - first
    lengths[documents] += np.diff(ends[edges])


def check_total(n_tokens: int, remedy: str = "Drop documents or frequent terms.") -> None:
    """Raise a DataError if there are too many tokens."""
    if n_tokens >= TOKEN_LIMIT:
        raise DataError("number of tokens", n_tokens, f"below 2^31 = {TOKEN_LIMIT}", remedy)


def first_not_whole(numbers: npt.NDArray[Any], limit: int) -> int | None:
    """Return the first index at which `numbers` (real) isn't an integer in 0..limit-1, or None."""
    # Compared in their original type: a cast to an integer would hide fractions, NaN and overflow.
    if numbers.dtype == np.float16:  # its range ends below the limit
        numbers = numbers.astype(np.float32)
    good = (numbers >= 0) & (numbers < limit)
    if numbers.dtype.kind == "f":
        good &= numbers == np.floor(numbers)
    return None if good.all() else int(np.argmin(good))


_TOKENS = 2**28  # accepted from any file
_TOKENS_PER_ENTRY = 100  # accepted from files with more entries


def _optional(high: int) -> Any:
    def validate(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None:
            whole_number(attribute.name, value, 1, high, remedy="Give the largest number allowed.")

    return validate


def _required(high: int) -> Any:
    def validate(instance: Any, attribute: Any, value: Any) -> None:
        whole_number(attribute.name, value, 1, high, remedy="Give the largest number allowed.")

    return validate


@attrs.frozen(kw_only=True)
class Limits:
    """The largest corpus that is read from a file.

    A file of a few bytes can contain a term id, a document id or a count of any size, for which memory would
    be needed. Files that exceed these limits raise an error before memory is allocated.

    Parameters
    ----------
    max_terms : int
        Largest number of terms, by default 2^24.
    max_documents : int
        Largest number of documents, by default 2^24.
    max_tokens : int, optional
        Largest number of tokens, by default 2^28, or 100 for each entry of the file if that is more.

    Raises
    ------
    ParameterError
        If a number isn't a whole number from 1 to 2^31 - 1.
    """

    max_terms: int = attrs.field(default=2**24, validator=_required(ID_LIMIT))
    max_documents: int = attrs.field(default=2**24, validator=_required(ID_LIMIT))
    max_tokens: int | None = attrs.field(default=None, validator=_optional(TOKEN_LIMIT - 1))

    def check(self, place: str, n_terms: int = 0, n_documents: int = 0) -> None:
        """Raise a DataError if there are more terms or documents than the limits allow.

        Parameters
        ----------
        place : str
            Where the numbers were read, for the error.
        n_terms, n_documents : int
            Actual or declared numbers of the file.

        Raises
        ------
        DataError
            The message names the limit, and the option that raises it.
        """
        for what, value, most in (
            ("terms", n_terms, self.max_terms),
            ("documents", n_documents, self.max_documents),
        ):
            if whole_number(f"n_{what}", value) > most:
                raise self._too_many(place, what, value, most)

    def check_tokens(self, place: str, n_tokens: int, n_entries: int, *, in_shards: bool = False) -> None:
        """Raise a DataError if there are more tokens than the limits allow.

        Parameters
        ----------
        place : str
            Where the number was read, for the error.
        n_tokens : int
            Actual or declared number of the file.
        n_entries : int
            Number of entries in the file; without ``max_tokens`` the limit grows with it.
        in_shards : bool
            Whether cells are written to shards. Their size depends on entries, not on tokens, so only
            ``max_tokens`` applies; otherwise there must also be fewer than 2^31 tokens.

        Raises
        ------
        DataError
            It names the limit, and the option that lifts it.
        """
        most = self.max_tokens
        if flag("in_shards", in_shards) and most is None:
            return
        n_tokens = whole_number("n_tokens", n_tokens)
        n_entries = whole_number("n_entries", n_entries)
        check_total(n_tokens)
        if most is None:
            most = max(_TOKENS, _TOKENS_PER_ENTRY * n_entries)
        if n_tokens > most:
            raise self._too_many(place, "tokens", n_tokens, most)

    def _too_many(self, place: str, what: str, value: int, most: int) -> DataError:
        if value > ID_LIMIT:
            return DataError(f"{place}, number of {what}", value, f"at most {ID_LIMIT}", "Check the file.")
        return DataError(
            f"{place}, number of {what}", value, f"at most {most} (max_{what})",
            f"Check the file. If it is right, pass limits=hk.Limits(max_{what}={value}); "
            f"on the command line, --max-{what} {value}.",
        )  # fmt: skip


def limited(
    place: str, blocks: Iterable[Counts], limits: Limits, *, in_shards: bool = False
) -> Iterator[Counts]:
    """Yield blocks of a file's documents, each checked before it is used."""
    n_documents = n_tokens = n_entries = 0
    for counts in blocks:
        n_documents += counts.n_documents
        n_tokens += counts.n_tokens
        n_entries += len(counts.count)
        limits.check(place, counts.n_terms, n_documents)
        limits.check_tokens(place, n_tokens, n_entries, in_shards=in_shards)
        yield counts
