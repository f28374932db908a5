"""Counts of terms in documents, checked, with limits on their number; in memory and in temporary files."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy
from attrs.validators import optional

from hdpkit.checks import flag, validator, whole_number
from hdpkit.errors import DataError

CHUNK = 1 << 18
"""Number of numbers checked, or cells read, at once."""

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

    def matrix(self, *, in_shards: bool = False) -> scipy.sparse.csr_array:
        """The counts above 0 as an int64 matrix with one entry per cell and ascending terms."""
        if not in_shards:
            check_total(self.n_tokens)
        shape = (self.n_documents, self.n_terms)
        # SciPy sums duplicates of coordinates, in the data's int64; it guarantees sorted terms only after
        # sum_duplicates(), which costs nothing if they are sorted already.
        matrix = scipy.sparse.csr_array((self.count, (self.document, self.term)), shape=shape)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        if in_shards and self.n_tokens >= TOKEN_LIMIT:
            check_total(int(matrix.sum(axis=1).max()))
        return matrix

    @property
    def n_tokens(self) -> int:
        """Number of tokens. It fits int64: counts are below 2^31, and there are fewer than 2^32 of them."""
        return int(self.count.sum(dtype=np.int64))


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


def _up_to(high: int) -> Any:
    return validator(whole_number, 1, high, remedy="Give the largest number allowed.")


@attrs.frozen(kw_only=True)
class Limits:
    """The largest corpus that is read from a file.

    A file of a few bytes can contain a term id, a document id or a count of any size, for which memory would
    be needed. Files that exceed these limits raise an error before memory is allocated. Raises a
    ParameterError if a number isn't a whole number from 1 to 2^31 - 1.

    Parameters
    ----------
    max_terms : int
        Largest number of terms, by default 2^24.
    max_documents : int
        Largest number of documents, by default 2^24.
    max_tokens : int, optional
        Largest number of tokens, by default 2^28, or 100 for each entry of the file if that is more.
    """

    max_terms: int = attrs.field(default=2**24, validator=_up_to(ID_LIMIT))
    max_documents: int = attrs.field(default=2**24, validator=_up_to(ID_LIMIT))
    max_tokens: int | None = attrs.field(default=None, validator=optional(_up_to(TOKEN_LIMIT - 1)))

    def check(self, place: str, n_terms: int = 0, n_documents: int = 0) -> None:
        """Raise a DataError if there are more terms or documents than the limits allow.

        The message names the limit, and the option that raises it.

        Parameters
        ----------
        place : str
            Where the numbers were read, for the error.
        n_terms, n_documents : int
            Actual or declared numbers of the file.
        """
        for what, value, most in (
            ("terms", n_terms, self.max_terms),
            ("documents", n_documents, self.max_documents),
        ):
            if whole_number(f"n_{what}", value) > most:
                raise self._too_many(place, what, value, most)

    def check_tokens(self, place: str, n_tokens: int, n_entries: int, *, in_shards: bool = False) -> None:
        """Raise a DataError if there are more tokens than the limits allow.

        The message names the limit, and the option that lifts it.

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


class CellSpool:
    """Cells of documents (terms ascend, counts are above 0) in a folder that is removed with the spool."""

    def __init__(self, folder: Path, refusals: Callable[[], AbstractContextManager[None]]) -> None:
        self._folder, self._refusals = folder, refusals
        self._paths = (folder / "term", folder / "count")
        self._lengths: list[npt.NDArray[np.int64]] = []
        self._cells: list[npt.NDArray[np.int64]] = []
        self.n_terms = 1

    def __enter__(self) -> Self:
        with self._refusals():
            self._folder.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def fill(self, blocks: Iterable[Counts]) -> None:
        """Append the documents of all blocks, then prepare for reading."""
        for path in self._paths:
            with self._refusals():
                path.touch()
        for block in blocks:
            matrix = block.matrix(in_shards=True)
            with self._refusals():
                for path, numbers in zip(self._paths, (matrix.indices, matrix.data), strict=True):
                    with open(path, "ab") as file:
                        file.write(numbers.astype("<i4").data)
            cells = np.diff(matrix.indptr).astype(np.int64)
            ends = np.append(0, np.cumsum(matrix.data, dtype=np.int64))
            self._cells.append(cells)
            self._lengths.append(np.diff(ends[matrix.indptr]))
            self.n_terms = max(self.n_terms, block.n_terms)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Number of cells of each document, shape (n_documents,)."""
        return _joined(self._cells)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of tokens of each document, shape (n_documents,)."""
        return _joined(self._lengths)

    def read(self, first: int, last: int) -> Iterator[tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]]:
        """Yield terms and counts of the cells first .. last - 1, in pieces."""
        with open(self._paths[0], "rb") as terms, open(self._paths[1], "rb") as counts:
            for file in (terms, counts):
                file.seek(4 * first)
            for begin in range(first, last, CHUNK):
                n = min(CHUNK, last - begin)
                term, count = (np.frombuffer(file.read(4 * n), "<i4") for file in (terms, counts))
                yield term, count

    def tokens(self) -> Iterator[tuple[npt.NDArray[np.int32]]]:
        """Yield the term of each token, in pieces of at most `CHUNK` tokens."""
        for term, count in self.read(0, int(self.cells.sum())):
            ends = np.cumsum(count, dtype=np.int64)
            for first in range(0, int(ends[-1]), CHUNK):
                last = min(first + CHUNK, int(ends[-1]))
                begin, end = np.searchsorted(ends, [first, last - 1], side="right")
                own = np.append(first, np.minimum(ends[begin : end + 1], last))
                yield (np.repeat(term[begin : end + 1], own[1:] - own[:-1]),)

    def blocks(self) -> Iterator[Counts]:
        """Yield the counts again, in blocks of documents."""
        ends = np.append(0, np.cumsum(self.cells))
        first = 0
        while first < len(ends) - 1:
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + CHUNK, side="right")) - 1)
            pieces = list(self.read(int(ends[first]), int(ends[last])))
            term, count = (
                np.concatenate([np.zeros(0, np.int64), *(piece[i] for piece in pieces)]) for i in (0, 1)
            )
            document = np.repeat(np.arange(last - first), np.diff(ends[first : last + 1]))
            yield Counts(document, term, count, last - first, self.n_terms)
            first = last


def _joined(parts: list[Any]) -> npt.NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


LIMIT = 1 << 20
"""Number of entries in memory at once, unless a document has more."""

Entries = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]


def by_document(
    entries: Iterable[Entries],
    n_documents: int,
    n_terms: int,
    folder: Path,
    refusals: Callable[[], AbstractContextManager[None]],
) -> Iterator[Counts]:
    """Yield blocks of complete documents from int64 arrays (document, term, count), each from 0, on disk."""
    with refusals():
        folder.mkdir()
    try:
        n_entries = np.zeros(n_documents, np.int64)
        sorted_already, last = True, 0
        for document, term, count in entries:
            if not len(document):
                continue
            low, high = int(document.min()), int(document.max())
            n_entries[low : high + 1] += np.bincount(document - low)
            sorted_already &= bool(document[0] >= last) and bool((np.diff(document) >= 0).all())
            last = int(document[-1])
            _append(folder / "all", np.stack([document, term, count], axis=1), refusals)
        bounds = _bounds(n_entries)
        if sorted_already:
            ends = np.append(0, np.cumsum(n_entries))
            for first, end in itertools.pairwise(bounds):
                rows = _rows(folder / "all", int(ends[first]), int(ends[end]))
                yield _counts_of(rows, first, end, n_terms)
            return
        for begin in range(0, int(n_entries.sum()), LIMIT):
            rows = _rows(folder / "all", begin, min(begin + LIMIT, int(n_entries.sum())))
            part = np.searchsorted(bounds, rows[:, 0], side="right") - 1
            order = np.argsort(part, kind="stable")
            cut = np.flatnonzero(np.diff(part[order])) + 1
            for own in np.split(order, cut):
                _append(folder / f"part-{part[own[0]]}", rows[own], refusals)
        (folder / "all").unlink()
        for number, (first, end) in enumerate(itertools.pairwise(bounds)):
            path = folder / f"part-{number}"
            yield _counts_of(_rows(path, 0, int(n_entries[first:end].sum())), first, end, n_terms)
            path.unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _bounds(n_entries: npt.NDArray[np.int64]) -> list[int]:
    """First documents of ranges with about `LIMIT` entries each, and the end."""
    bounds, ends = [0], np.cumsum(n_entries)
    while bounds[-1] < len(n_entries):
        before = int(ends[bounds[-1] - 1]) if bounds[-1] else 0
        bounds.append(max(bounds[-1] + 1, int(np.searchsorted(ends, before + LIMIT, side="right"))))
    return bounds


def _append(path: Path, rows: npt.NDArray[Any], refusals: Callable[[], AbstractContextManager[None]]) -> None:
    with refusals(), open(path, "ab") as file:
        file.write(rows.astype("<i4").data)


def _rows(path: Path, first: int, last: int) -> npt.NDArray[np.int32]:
    """Entries first .. last - 1 of a file, each of three numbers."""
    if first == last:
        return np.empty((0, 3), np.int32)
    return np.fromfile(path, "<i4", 3 * (last - first), offset=12 * first).reshape(-1, 3)


def _counts_of(rows: npt.NDArray[np.int32], first: int, end: int, n_terms: int) -> Counts:
    document, term, count = (np.ascontiguousarray(rows[:, i], np.int64) for i in range(3))
    return Counts(document - first, term, count, end - first, n_terms)
