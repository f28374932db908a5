"""Counts from blocks of documents, stored as cells in two files with random access."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.formats.counts import Counts
from hdpkit.formats.mapped import CHUNK

__all__ = ["CellSpool"]


class CellSpool:
    """Cells of documents on disk: terms ascending within a document without duplicates, counts above 0.

    Parameters
    ----------
    folder : Path
        A new folder, which is removed with the spool.
    refusals : callable
        Returns a context in which errors of the operating system on writing become errors of hdpkit.
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
