"""A shard of a corpus, mapped into memory after a check in pieces."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, ShardError
from hdpkit.formats.counts import add_counts
from hdpkit.formats.mapped import CHUNK, MappedFiles
from hdpkit.formats.mapped_arrays import ArrayMapping, open_file
from hdpkit.formats.names import Codes
from hdpkit.formats.shard_files import NAMES, Manifest, shard_name

__all__ = ["MappedShard", "open_shard"]

_REMEDY = "The file was damaged or changed: restore this shard from a copy, or convert the corpus again."

Check = Callable[[int, npt.NDArray[Any]], str | None]
"""Checks numbers of a file, given with the index of the first; returns what they should be, or None."""


@attrs.frozen(kw_only=True, eq=False)
class MappedShard:
    """The result of `open_shard`; arrays are mapped, except the lengths of documents of a shard with cells.

    Attributes
    ----------
    arrays : dict
        File name without ``.npy`` -> array; see `hdpkit.formats.shard_files`.
    names : tuple of str or None
        Names of its documents.
    labels : dict
        Label name -> (codes of its documents, keys of the entire corpus).
    files : MappedFiles
    """

    arrays: dict[str, npt.NDArray[Any]]
    names: tuple[str, ...] | None
    labels: dict[str, Codes]
    files: MappedFiles


def open_shard(manifest: Manifest, number: int, verify: bool = True) -> MappedShard:
    """Map a shard.

    Sizes are compared, and all numbers that compiled code uses as indices are checked against their ranges;
    for this the shard is read once, in pieces that are not kept.

    Parameters
    ----------
    manifest : Manifest
    number : int
    verify : bool
        Whether to compare the SHA-256 of each file too.

    Raises
    ------
    ShardError
        If a file is missing, truncated or damaged; the message names shard and file.
    """
    return _Opening(manifest, number, verify).opened()


class _Opening:
    """The opening of one shard."""

    def __init__(self, manifest: Manifest, number: int, verify: bool) -> None:
        self.manifest, self.verify = manifest, verify
        self.info = manifest.shards[number]
        self.folder = manifest.path(number)
        self._mapping = ArrayMapping(self.folder, self.damaged)

    def damaged(self, path: Path, value: Any, allowed: str) -> DataError:
        return ShardError.of(self.info.number, f"file {path}", value, allowed, _REMEDY)

    def opened(self) -> MappedShard:
        if not self.folder.is_dir():
            raise ShardError.of(
                self.info.number, f"folder {self.folder}", "not there", "a folder",
                f"Copy {shard_name(self.info.number)} to this disk, beside the manifest.",
            )  # fmt: skip
        arrays = self._cells() if self.manifest.kind == "cells" else self._tokens()
        labels: dict[str, Codes] = {}
        for place, (label, keys) in enumerate(self.manifest.labels.items()):
            codes = self._mapped(f"label-{place}", "<i8", self.info.n_documents, _between(-1, len(keys)))
            labels[label] = (codes, keys)
        names = self._names() if self.manifest.named else None
        digests = {path: self.info.sha256[path.name] for path in self._mapping.starts}
        files = self._mapping.files(digests, whole=True)
        return MappedShard(arrays=arrays, names=names, labels=labels, files=files)

    def _cells(self) -> dict[str, npt.NDArray[Any]]:
        info = self.info
        assert info.n_cells is not None
        begin = self._mapped("begin", "<i8", info.n_documents + 1, _Ends(info.n_documents, info.n_cells))
        term = self._mapped("term", "<i4", info.n_cells, _Terms(self.manifest.n_terms, begin))
        lengths = np.zeros(info.n_documents, np.int64)
        in_all = _Counts(info.n_cells, info.n_tokens, 1)

        def check(first: int, numbers: npt.NDArray[Any]) -> str | None:
            add_counts(lengths, begin, first, numbers)
            return in_all(first, numbers)

        count = self._mapped("count", "<i4", info.n_cells, check)
        return {"begin": begin, "term": term, "count": count, "lengths": lengths}

    def _tokens(self) -> dict[str, npt.NDArray[Any]]:
        info = self.info
        lengths = self._mapped(
            "lengths", "<i8", info.n_documents, _Counts(info.n_documents, info.n_tokens, 0)
        )
        terms = self._mapped("terms", "<i4", info.n_tokens, _between(0, self.manifest.n_terms))
        ends = np.cumsum(lengths)
        document = self._mapped("document", "<i4", info.n_tokens, _documents_of(ends))
        return {"terms": terms, "document": document, "lengths": lengths}

    def _mapped(self, name: str, dtype: str, n: int, check: Check) -> npt.NDArray[Any]:
        array = self._mapping.array(f"{name}.npy", dtype, n)
        path = self.folder / f"{name}.npy"
        found, wanted = hashlib.sha256(), None
        first = 0
        for piece in self._pieces(path, self._mapping.starts[path], array.itemsize, found):
            numbers = np.frombuffer(piece, dtype, len(piece) // array.itemsize)
            if len(numbers) and wanted is None:
                wanted = check(first, numbers)
            first += len(numbers)
        self._compare(path, found)  # this error takes precedence if both are wrong
        if first != n:
            raise self.damaged(path, f"{first} numbers", f"{n} numbers")
        if wanted is not None:
            raise self.damaged(path, "other numbers", wanted)
        return array

    def _pieces(self, path: Path, start: int, itemsize: int, found: Any) -> Iterator[bytes]:
        """The numbers of a file in pieces; read, not mapped, since mapped pages would stay in memory."""
        try:
            with open_file(path, self.damaged) as file:
                found.update(file.read(start))
                while piece := file.read(itemsize * CHUNK):
                    if self.verify:
                        found.update(piece)
                    yield piece
        except OSError as error:
            raise self.damaged(path, error.strerror or str(error), "a file that can be read") from error

    def _compare(self, path: Path, found: Any) -> None:
        if self.verify and found.hexdigest() != self.info.sha256[path.name]:
            raise self.damaged(path, "a wrong checksum", "unchanged since it was written")

    def _names(self) -> tuple[str, ...]:
        path, n = self.folder / NAMES, self.info.n_documents
        content = bytearray()
        found = hashlib.sha256()
        try:
            for piece in self._pieces(path, 0, 1, found):
                content += piece
        except MemoryError:
            raise self.damaged(path, f"over {len(content)} bytes", "a file that fits into memory") from None
        self._compare(path, found)
        try:
            names: Any = json.loads(bytes(content))
        except (ValueError, RecursionError) as error:
            raise self.damaged(path, str(error), "JSON") from error
        if not isinstance(names, list) or len(names) != n or not all(type(name) is str for name in names):
            raise self.damaged(path, "other names", f"{n} strings")
        if len(set(names)) != n:
            raise self.damaged(path, "a name twice", "all different")
        return tuple(names)


def _between(low: int, end: int) -> Check:
    def check(first: int, numbers: npt.NDArray[Any]) -> str | None:
        return None if numbers.min() >= low and numbers.max() < end else f"from {low} to {end - 1}"

    return check


def _documents_of(ends: npt.NDArray[np.int64]) -> Check:
    """Check for the numbers of documents, from 1, that end at these tokens."""

    def check(first: int, numbers: npt.NDArray[Any]) -> str | None:
        documents = np.searchsorted(ends, np.arange(first, first + len(numbers)), side="right") + 1
        return None if np.array_equal(numbers, documents) else "those of the documents of lengths.npy"

    return check


class _Ends:
    """Check for nondecreasing numbers from 0 to the number of cells."""

    def __init__(self, n: int, last: int) -> None:
        self._n, self._last, self._before = n, last, 0

    def __call__(self, first: int, numbers: npt.NDArray[Any]) -> str | None:
        falls = np.diff(numbers, prepend=self._before).min() < 0
        whole = (first > 0 or numbers[0] == 0) and numbers[-1] <= self._last
        if first + len(numbers) == self._n + 1:
            whole = whole and numbers[-1] == self._last
        self._before = int(numbers[-1])
        return None if whole and not falls else f"ascending, from 0 to {self._last}"


class _Counts:
    """Check for the counts of cells: their range and their sum."""

    def __init__(self, n: int, total: int, least: int) -> None:
        self._n, self._left, self._total, self._least = n, total, total, least

    def __call__(self, first: int, numbers: npt.NDArray[Any]) -> str | None:
        self._left -= int(numbers.sum(dtype=np.int64))
        whole = self._left == 0 if first + len(numbers) == self._n else self._left >= 0
        if numbers.min() < self._least or numbers.max() > self._total or not whole:
            return f"from {self._least}, {self._total} in all"
        return None


class _Terms:
    """Check for terms in range, ascending within each document."""

    def __init__(self, n_terms: int, begin: npt.NDArray[np.int64]) -> None:
        self._n_terms, self._begin, self._before = n_terms, begin, -1

    def __call__(self, first: int, numbers: npt.NDArray[Any]) -> str | None:
        allowed = f"from 0 to {self._n_terms - 1}, ascending in each document"
        if numbers.min() < 0 or numbers.max() >= self._n_terms:
            return allowed
        falls = first + np.flatnonzero(np.diff(numbers, prepend=self._before) <= 0)
        self._before = int(numbers[-1])
        place = np.searchsorted(self._begin, falls)
        return None if np.array_equal(self._begin[place], falls) else allowed
