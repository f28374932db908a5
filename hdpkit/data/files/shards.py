"""A corpus in shards: one folder for each range of documents, and a manifest of all shards.

==============================  =============================================================================
``manifest.json``               sizes, vocabulary, keys of labels, and for each shard its place among the
                                documents and the SHA-256 of each of its files; written last
``shard-0000/begin.npy``        cells: int64, shape (n_documents + 1,): first cell of each document, the end
``shard-0000/term.npy``         cells: int32, shape (n_cells,): term of each cell, ascending in a document
``shard-0000/count.npy``        cells: int32, shape (n_cells,): count of the term in the document
``shard-0000/terms.npy``        tokens: int32, shape (n_tokens,)
``shard-0000/document.npy``     tokens: int32, shape (n_tokens,): number of the document in the shard, from 1
``shard-0000/lengths.npy``      tokens: int64, shape (n_documents,)
``shard-0000/label-0.npy`` ..   int64, shape (n_documents,): codes of labels, -1 = missing
``shard-0000/names.json``       names of the documents, if they have names
==============================  =============================================================================

A corpus made from counts has cells, any other has tokens. Reading a shard needs only the manifest; the other
shards may be absent.

The arrays are mapped into memory: headers and sizes are checked, and later that files haven't changed. The
state of the files is noted when they are opened. Sweeps compare it (`GroupedData.check_unchanged`) before
every move, whenever they report progress, and at their end.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import Codes, whole_number
from hdpkit.data.files.counts import CHUNK, ID_LIMIT, TOKEN_LIMIT, add_counts
from hdpkit.errors import ChangedDataError, DataError, ParameterError, ShardError
from hdpkit.files import opened_text, sealed_text, storage_errors, sync_folder

Signature = tuple[int, int, int, int]


def signature(info: os.stat_result) -> Signature:
    """Signature that changes when a file changes: device, inode, size, time of the last change."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


class MappedFiles:
    """The files of a mapped corpus: by path, signature when mapped, and SHA-256."""

    def __init__(self, seen: Mapping[Path, Signature], digests: Mapping[Path, str]) -> None:
        self._seen = dict(seen)
        self._digests = digests

    def check(self) -> None:
        """Raise a ChangedDataError if the files have changed.

        This takes a few microseconds if no file was modified. A file with another time or inode and the same
        content counts as unchanged.
        """
        for path, before in self._seen.items():
            try:
                now = signature(os.stat(path))
            except OSError as error:
                _changed(path, error.strerror or "not there", error)
            if now == before:
                continue
            if now[2] != before[2]:
                _changed(path, f"{now[2]} bytes, {before[2]} before")
            if self._digest(path) != self._digests[path]:
                _changed(path, "other numbers than before")
            self._seen[path] = now

    def _digest(self, path: Path) -> str:
        found = hashlib.sha256()
        try:
            with open(path, "rb") as file:
                while piece := file.read(8 * CHUNK):
                    found.update(piece)
        except OSError as error:
            _changed(path, error.strerror or str(error), error)
        return found.hexdigest()


def _changed(
    path: Path,
    value: str,
    error: BaseException | None = None,
    allowed: str = "unchanged since the corpus was opened",
) -> NoReturn:
    raise ChangedDataError(
        f"file {path}", value, allowed,
        "Restore it, or convert the corpus again, then resume. Files must not change while a run uses them.",
    ) from error  # fmt: skip


Damage = Callable[[Path, Any, str], DataError]
"""Makes the error about a file from its content and from what is allowed."""

# NumPy's header of an array of one dimension, in version 1.0 of its format.
_MAGIC = b"\x93NUMPY\x01\x00"
_ARRAY = re.compile(rb"\{'descr': '(<i[48])', 'fortran_order': False, 'shape': \(([0-9]{1,18}),\), \}[ ]*\n")


class ArrayMapping:
    """Maps arrays of a folder, and records the signatures of their files; ``damaged`` makes errors."""

    def __init__(self, folder: Path, damaged: Damage) -> None:
        self._folder = folder
        self._damaged = damaged
        self._seen: dict[Path, Signature] = {}
        self.starts: dict[Path, int] = {}

    def files(self, digests: Mapping[Path, str]) -> MappedFiles:
        """The mapped files, with the SHA-256 of each file."""
        return MappedFiles(self._seen, digests)

    def array(self, name: str, dtype: str, n: int) -> npt.NDArray[Any]:
        """Map an array of `n` numbers of this type; raises the error made by `damaged`."""
        path = self._folder / name
        kind = np.dtype(dtype)
        try:
            with open_file(path, self._damaged) as file:
                head = file.read(len(_MAGIC) + 2)
                length = int.from_bytes(head[len(_MAGIC) :], "little")
                found = _ARRAY.fullmatch(file.read(length))
                info = os.fstat(file.fileno())
                size = info.st_size
                if not head.startswith(_MAGIC) or found is None or len(head) != len(_MAGIC) + 2:
                    raise self._damaged(path, "another header", f"an array of {n} numbers of type {dtype}")
                if found[1].decode() != dtype or int(found[2]) != n:
                    shown = f"{found[1].decode()} of shape ({int(found[2])},)"
                    raise self._damaged(path, shown, f"{dtype} of shape ({n},)")
                wanted = len(head) + length + n * kind.itemsize
                if size != wanted:
                    raise self._damaged(path, f"{size} bytes", f"{wanted} bytes long")
                array = np.memmap(file, kind, "r", len(head) + length, (n,))
        except OSError as error:
            raise self._damaged(path, error.strerror or str(error), f"{n} numbers of type {dtype}") from error
        self._seen[path], self.starts[path] = signature(info), len(head) + length
        return np.asarray(array)


@contextlib.contextmanager
def open_file(path: Path, damaged: Damage) -> Iterator[Any]:
    """Open a regular file to read bytes; anything else counts as damage (opening a pipe might block)."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise damaged(path, "no regular file", "a file")
    with open(path, "rb") as file:
        yield file


def read_file(path: Path, damaged: Damage) -> bytes:
    """Content of a regular file."""
    with open_file(path, damaged) as file:
        try:
            content: bytes = file.read()
        except MemoryError:
            size = os.fstat(file.fileno()).st_size
            raise damaged(path, f"{size} bytes", "a file that fits into memory") from None
    return content


def array_on_disk(shape: int | tuple[int, ...], folder: str | None = None) -> npt.NDArray[np.int32]:
    """An int32 array in a file without a name (in ``TMPDIR`` by default), which is gone with the array.

    An OSError if the file can't be made, or there is no room for it.
    """
    size = 4 * int(np.prod(shape))
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate") and size:  # else a full disk ends the process
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, np.int32, shape=shape) if size else np.empty(shape, np.int32)


def read_head(path: Path, content: bytes, what: str, form: str, version: int) -> dict[str, Any]:
    """The JSON of a sealed header (``what``, in errors) of a converted corpus, without its checksum."""
    try:
        head, checksum = opened_text(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error), "JSON") from error
    if not isinstance(head, dict) or head.get("format") != form:
        raise damaged(path, "something else", f'{what} ("format": "{form}")')
    if type(head.get("version")) is not int or head["version"] != version:
        raise DataError(
            f"file {path}, version",
            head.get("version"),
            f"version {version}",
            "Use the hdpkit that wrote it.",
        )
    if checksum is None:
        raise damaged(path, "a wrong checksum", "unchanged since it was written")
    return head


def damaged(path: Path, value: Any, allowed: str) -> DataError:
    """The error about a file of a converted corpus that has changed since it was written."""
    return DataError(
        f"file {path}",
        value,
        allowed,
        "The file was damaged or changed: restore it, or convert the corpus again.",
    )


MANIFEST = "manifest.json"
FORMAT = "hdpkit shards"
VERSION = 1
NAMES = "names.json"
FILES = {
    "cells": ("begin.npy", "term.npy", "count.npy"),
    "tokens": ("terms.npy", "document.npy", "lengths.npy"),
}
KINDS = tuple(FILES)

_KEYS = {"format", "version", "kind", "n_documents", "n_tokens", "n_cells", "n_terms", "vocabulary", "names",
         "labels", "shards"}  # fmt: skip
_SHARD_KEYS = {"first_document", "n_documents", "n_tokens", "n_cells", "sha256"}
_PLAIN = (str, int, float, bool)
_FOLDER = re.compile(r"shard-[0-9]{4,9}")


@attrs.frozen(kw_only=True)
class ShardInfo:
    """A shard of a corpus: a range of consecutive documents."""

    number: int
    first_document: int
    n_documents: int
    first_token: int
    n_tokens: int
    n_cells: int | None  # pairs of a document and a term; None if the corpus wasn't made from counts
    sha256: dict[str, str] = attrs.field(repr=False)  # file name -> hex digest


@attrs.frozen(kw_only=True, eq=False)
class Manifest:
    """The content of a manifest; ``digest`` is the SHA-256 (hex) of the file itself."""

    folder: Path
    digest: str
    kind: str
    n_terms: int
    vocabulary: tuple[str, ...] | None
    named: bool
    labels: dict[str, list[Any]]
    shards: tuple[ShardInfo, ...]

    @property
    def n_documents(self) -> int:
        """Number of documents of all shards."""
        return sum(shard.n_documents for shard in self.shards)

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all shards."""
        return sum(shard.n_tokens for shard in self.shards)

    @property
    def n_cells(self) -> int | None:
        """Number of cells of all shards; None if the corpus has tokens."""
        return None if self.kind == "tokens" else sum(shard.n_cells or 0 for shard in self.shards)

    def files(self) -> tuple[str, ...]:
        """Names of the files of each shard."""
        labels = tuple(f"label-{number}.npy" for number in range(len(self.labels)))
        return FILES[self.kind] + labels + ((NAMES,) if self.named else ())

    def path(self, number: int) -> Path:
        """Folder of a shard."""
        return self.folder / shard_name(number)


def shard_name(number: int) -> str:
    """Name of the folder of a shard."""
    return f"shard-{number:04d}"


def is_sharded_folder(folder: Path) -> bool:
    """Whether a folder contains the manifest of a corpus in shards."""
    return (folder / MANIFEST).is_file()


def is_shard(folder: Path) -> bool:
    """Whether a folder has the name of a shard, and its parent a manifest."""
    place = Path(os.path.abspath(folder))
    return _FOLDER.fullmatch(place.name) is not None and is_sharded_folder(place.parent)


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a corpus in shards; shards may be absent."""
    path = folder / MANIFEST
    content = _content(path)
    head = read_head(path, content, "the manifest of a corpus in shards", FORMAT, VERSION)
    if set(head) != _KEYS or head["kind"] not in KINDS or type(head["names"]) is not bool:
        raise damaged(path, sorted(head), f"with the keys {sorted(_KEYS)}, of the kind {' or '.join(KINDS)}")
    n_terms = _number(path, head, "n_terms", 1, ID_LIMIT)
    manifest = Manifest(
        folder=folder, digest=hashlib.sha256(content).hexdigest(), kind=head["kind"], n_terms=n_terms,
        vocabulary=_vocabulary(path, head["vocabulary"], n_terms), named=head["names"],
        labels=_labels(path, head["labels"]), shards=tuple(_shards(path, head)),
    )  # fmt: skip
    for name in ("n_documents", "n_tokens", "n_cells"):
        total = getattr(manifest, name)
        if type(head[name]) is not type(total) or head[name] != total:
            raise damaged(path, f"{name} {head[name]!r}", f"the sum over shards, {total}")
    for shard in manifest.shards:
        if sorted(shard.sha256) != sorted(manifest.files()):
            raise damaged(path, f"other files of shard {shard.number}", f"{', '.join(manifest.files())}")
    return manifest


def shard_at(folder: Path) -> tuple[Manifest, int] | None:
    """Return the manifest of a shard's folder, and the shard's number; None if the folder isn't a shard."""
    place = Path(os.path.abspath(folder))  # links aren't resolved: a shard may be a link to a local disk
    if not is_shard(place):
        return None
    manifest = read_manifest(Path(os.path.realpath(place.parent)))
    number = int(place.name.removeprefix("shard-"))
    if number >= len(manifest.shards) or shard_name(number) != place.name:
        raise DataError(
            f"folder {place}", place.name, f"one of the {len(manifest.shards)} shards of the manifest",
            "Check the path.",
        )  # fmt: skip
    return manifest, number


def _content(path: Path) -> bytes:
    try:
        return read_file(path, damaged)
    except OSError as error:
        raise DataError(
            f"file {path}", error.strerror or str(error), "a file that can be read",
            "Such folders are written by hdpkit convert and Corpus.save.",
        ) from error  # fmt: skip


def _shards(path: Path, head: dict[str, Any]) -> list[ShardInfo]:
    listed: Any = head["shards"]
    if not isinstance(listed, list) or not listed or not all(isinstance(one, dict) for one in listed):
        raise damaged(path, "other shards", "one object per shard, at least one")
    shards: list[ShardInfo] = []
    first = token = 0
    for number, one in enumerate(listed):
        digests = one.get("sha256")
        if set(one) != _SHARD_KEYS or not isinstance(digests, dict):
            raise damaged(path, f"shard {number}: {sorted(one)}", f"with the keys {sorted(_SHARD_KEYS)}")
        if not all(type(value) is str for value in digests.values()):
            raise damaged(path, f"other checksums of shard {number}", "one string per file")
        _number(path, one, "first_document", first, first)
        n_documents = _number(path, one, "n_documents", 1, ID_LIMIT)
        n_tokens = _number(path, one, "n_tokens", 1, TOKEN_LIMIT - 1)
        if head["kind"] == "cells":
            _number(path, one, "n_cells", 1, n_tokens)
        elif one["n_cells"] is not None:
            raise damaged(path, f"n_cells {one['n_cells']!r}", "null, where there are tokens")
        shard = ShardInfo(
            number=number, first_document=first, n_documents=n_documents, first_token=token,
            n_tokens=n_tokens, n_cells=one["n_cells"], sha256=dict(digests),
        )  # fmt: skip
        shards.append(shard)
        first, token = first + n_documents, token + n_tokens
    return shards


def _number(path: Path, head: dict[str, Any], name: str, low: int, high: int) -> int:
    value = head[name]
    if type(value) is not int or not low <= value <= high:
        raise damaged(path, f"{name} {value!r}", f"from {low} to {high}")
    return value


def _vocabulary(path: Path, value: Any, n_terms: int) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != n_terms or not all(type(one) is str for one in value):
        raise damaged(path, "another vocabulary", f"null or {n_terms} strings")
    if len(set(value)) != n_terms:
        raise damaged(path, "a term twice", "all different")
    return tuple(value)


def _labels(path: Path, listed: Any) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    whole = isinstance(listed, list)
    for one in listed if whole else ():
        whole &= isinstance(one, list) and len(one) == 2 and type(one[0]) is str and isinstance(one[1], list)
        if not whole or one[0] in ("", "document", *found) or any(type(key) not in _PLAIN for key in one[1]):
            whole = False
            break
        found[one[0]] = one[1]
    if not whole:
        raise damaged(path, "other labels", "[name, keys] each")
    return found


_REMEDY = "The file was damaged or changed: restore this shard from a copy, or convert the corpus again."

Check = Callable[[int, npt.NDArray[Any]], str | None]
"""Checks numbers of a file, given with the index of the first; returns what they should be, or None."""


@attrs.frozen(kw_only=True, eq=False)
class MappedShard:
    """The result of `open_shard`. Arrays are mapped, except document lengths of a shard with cells."""

    arrays: dict[str, npt.NDArray[Any]]  # by file name without .npy
    names: tuple[str, ...] | None
    labels: dict[str, Codes]  # codes of its documents, and keys of the entire corpus
    files: MappedFiles


def open_shard(manifest: Manifest, number: int, verify: bool = True) -> MappedShard:
    """Map a shard."""
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
        files = self._mapping.files(digests)
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


Piece = tuple[npt.NDArray[Any], ...]


@attrs.frozen(kw_only=True, eq=False)
class ShardsContent:
    """A corpus that can be read in pieces, from any document to any other."""

    lengths: npt.NDArray[np.int64]  # tokens of each document
    cells: npt.NDArray[np.int64] | None  # of each document; None for tokens
    # pieces from a first cell (or token) to an end: terms and, for cells, counts
    read: Callable[[int, int], Iterator[Piece]]
    n_terms: int
    vocabulary: Sequence[str] | None
    names: Sequence[str] | None
    labels: Mapping[str, Codes]  # a code per document, and keys


REMEDY = (
    "Choose another folder; a corpus takes twice its size while it is written. What was written so far was "
    "removed."
)


def check_shards(shards: Any) -> int:
    """Check and return a number of shards, or raise a ParameterError."""
    return whole_number("shards", shards, 1, ID_LIMIT, remedy="Give the number of shards.")


def storing_shards(folder: Path) -> AbstractContextManager[None]:
    """Turn errors of the operating system on writing into StorageErrors about the user's folder."""
    return storage_errors("folder", folder, "a place where a corpus in shards can be written", REMEDY)


@contextmanager
def folder_aside(folder: Path) -> Iterator[Path]:
    """Make a temporary folder next to `folder` that replaces it on success, and is removed otherwise."""
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise ParameterError("folder", str(folder), "a new or empty folder", "Name another one.")
    place = Path(os.path.realpath(folder))
    aside = place.with_name(f"{place.name}.{secrets.token_hex(8)}.tmp")
    with storing_shards(folder):
        place.parent.mkdir(parents=True, exist_ok=True)
        aside.mkdir()
    written = aside
    try:
        yield aside
        with storing_shards(folder):
            if place.is_dir():
                place.rmdir()
            os.rename(aside, place)
            written = place
            sync_folder(place.parent)
    except BaseException:
        shutil.rmtree(written, ignore_errors=True)
        raise


def cuts(sizes: npt.NDArray[np.int64], shards: int) -> list[int]:
    """Divide documents of these sizes into shards of consecutive documents of about equal size."""
    filled = np.flatnonzero(sizes)
    if shards > len(filled):
        raise ParameterError(
            "shards", shards, f"at most {len(filled)}, the number of documents that have tokens",
            "Give a smaller number of shards.",
        )  # fmt: skip
    ends = np.cumsum(sizes[filled])
    found = [0]
    for shard in range(1, shards):
        wanted = int(ends[-1]) * shard // shards
        place = int(np.searchsorted(ends, wanted)) + 1
        if place > 1 and wanted - ends[place - 2] < ends[place - 1] - wanted:  # the nearer of the two ends
            place -= 1
        found.append(min(max(place, found[-1] + 1), len(filled) - (shards - shard)))
    return [0, *(int(filled[place]) for place in found[1:]), len(sizes)]


def _check_writable(vocabulary: Any, names: Any, labels: Mapping[str, Codes]) -> None:
    """Raise a DataError if a string can't be encoded in UTF-8."""
    texts = {"vocabulary": vocabulary or (), "names": names or (), "groups": tuple(labels)}
    texts |= {f"label {name!r}": keys for name, (_, keys) in labels.items()}
    for what, values in texts.items():
        for place, text in enumerate(values):
            if type(text) is str:
                try:
                    text.encode()
                except UnicodeEncodeError:  # a lone surrogate
                    raise DataError(
                        f"{what}[{place}]", text, "valid in UTF-8, where a corpus is saved",
                        'Replace it, for instance by text.encode("utf-8", "replace").decode().',
                    ) from None  # fmt: skip


def _plain_keys(label: str, keys: Sequence[Any]) -> list[Any]:
    """Return the keys of a label as a list; raise a DataError if JSON can't represent one."""
    for key in keys:
        if type(key) not in _PLAIN:
            raise DataError(
                f"label {label!r}", key, "strings, numbers or bools, where a corpus is saved",
                "Write them as strings.",
            )  # fmt: skip
    return list(keys)


def write_shards(aside: Path, content: ShardsContent, shards: int) -> None:
    """Write shards and, last, the manifest to a new folder."""
    _check_writable(content.vocabulary, content.names, content.labels)
    labels = [[name, _plain_keys(name, keys)] for name, (_, keys) in content.labels.items()]
    sizes = content.lengths if content.cells is None else content.cells
    if not sizes.any():
        raise DataError(
            "corpus", f"{len(sizes)} documents without a token",
            "at least one document and one token: it is empty", "Check how it was read.",
        )  # fmt: skip
    bounds = cuts(sizes, shards)
    tokens = np.add.reduceat(content.lengths, bounds[:-1])
    if tokens.max() >= TOKEN_LIMIT:
        raise ParameterError(
            "shards", shards, f"enough that each has fewer than 2^31 tokens; the largest has {tokens.max()}",
            f"Give a larger number, {-(-int(content.lengths.sum()) // 2**30)} for instance.",
        )  # fmt: skip
    listed = []
    at = 0
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        end = at + int(sizes[first:last].sum())
        folder = aside / shard_name(number)
        allowed = f"a place where shard {number} of a corpus can be written"
        with storage_errors("folder", folder, allowed, REMEDY):
            folder.mkdir()
            digests = _write_shard(folder, content, first, last, at, end)
        listed.append(
            {
                "first_document": first,
                "n_documents": last - first,
                "n_tokens": int(tokens[number]),
                "n_cells": None if content.cells is None else end - at,
                "sha256": digests,
            }
        )
        at = end
    head: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "kind": "tokens" if content.cells is None else "cells",
        "n_documents": len(sizes),
        "n_tokens": int(content.lengths.sum()),
        "n_cells": None if content.cells is None else at,
        "n_terms": content.n_terms,
        "vocabulary": None if content.vocabulary is None else list(content.vocabulary),
        "names": content.names is not None,
        "labels": labels,
        "shards": listed,
    }
    _write(aside / MANIFEST, sealed_text(head))
    sync_folder(aside)


def _write_shard(
    folder: Path, content: ShardsContent, first: int, last: int, at: int, end: int
) -> dict[str, str]:
    """Write the files of documents first .. last - 1, whose cells or tokens are ``at`` .. ``end - 1``."""
    lengths, n = content.lengths[first:last], end - at
    digests: dict[str, str] = {}
    if content.cells is None:
        names, ends = ("terms.npy", "document.npy"), np.cumsum(lengths)
        digests["lengths.npy"] = _write_array(folder / "lengths.npy", lengths, "<i8")
    else:
        names, ends = ("term.npy", "count.npy"), np.cumsum(content.cells[first:last])
        digests["begin.npy"] = _write_array(folder / "begin.npy", np.append(0, ends), "<i8")
    with _Array(folder / names[0], "<i4", n) as one, _Array(folder / names[1], "<i4", n) as other:
        done = 0
        for piece in content.read(at, end):
            one.append(piece[0])
            if content.cells is None:
                place = np.arange(done, done + len(piece[0]))
                other.append(np.searchsorted(ends, place, side="right") + 1)
            else:
                other.append(piece[1])
            done += len(piece[0])
    digests |= {names[0]: one.digest, names[1]: other.digest}
    for number, (codes, _) in enumerate(content.labels.values()):
        name = f"label-{number}.npy"
        digests[name] = _write_array(folder / name, codes[first:last], "<i8")
    if content.names is not None:
        text = json.dumps(list(content.names[first:last]), ensure_ascii=False)
        digests[NAMES] = _write(folder / NAMES, text.encode())
    sync_folder(folder)
    return digests


class _Array:
    """An array of known length that is written in pieces, and the SHA-256 of its file."""

    def __init__(self, path: Path, dtype: str, n: int) -> None:
        self._dtype = np.dtype(dtype)
        self._hash = hashlib.sha256()
        self._file = open(path, "xb")  # noqa: SIM115 - closed by `__exit__`
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            head, {"descr": self._dtype.str, "fortran_order": False, "shape": (n,)}
        )
        self._put(head.getvalue())

    def _put(self, content: Any) -> None:
        self._hash.update(content)
        self._file.write(content)

    def append(self, numbers: Any) -> None:
        for first in range(0, len(numbers), CHUNK):
            piece = np.ascontiguousarray(numbers[first : first + CHUNK], dtype=self._dtype)
            self._put(piece.data.cast("B"))

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def __enter__(self) -> _Array:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        with self._file:
            if kind is None:
                self._file.flush()
                os.fsync(self._file.fileno())


def _write_array(path: Path, numbers: npt.NDArray[np.int64], dtype: str) -> str:
    with _Array(path, dtype, len(numbers)) as file:
        file.append(numbers)
    return file.digest


def _write(path: Path, content: bytes) -> str:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return hashlib.sha256(content).hexdigest()
