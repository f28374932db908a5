"""Counts in temporary files: as cells until their number is known, and entries sorted by document."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.data.files.counts import Counts
from hdpkit.data.files.mapped import CHUNK


class CellSpool:
    """Cells of documents on disk, in a new folder that is removed with the spool.

    Terms ascend within a document without duplicates, counts are above 0. ``refusals`` returns a context in
    which errors of the operating system on writing become errors of hdpkit.
    """

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
    """Yield blocks of complete documents from int64 arrays (document, term, count), each from 0.

    Entries are written to a file in a new folder first. If their documents don't ascend there, they are then
    distributed over files, one for each range of documents with about `LIMIT` entries.
    """
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
                yield _counts(rows, first, end, n_terms)
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
            yield _counts(_rows(path, 0, int(n_entries[first:end].sum())), first, end, n_terms)
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


def _counts(rows: npt.NDArray[np.int32], first: int, end: int, n_terms: int) -> Counts:
    document, term, count = (np.ascontiguousarray(rows[:, i], np.int64) for i in range(3))
    return Counts(document - first, term, count, end - first, n_terms)
