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
from typing import Any, Self

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
    """The files of a mapped corpus: by path the signature when mapped, and by name the SHA-256."""

    def __init__(self, seen: dict[Path, Signature], digests: Mapping[str, str]) -> None:
        self._seen = seen
        self._digests = digests

    def check(self) -> None:
        """Raise a ChangedDataError if a file has another content than when it was mapped."""
        for path, before in self._seen.items():
            try:
                now = signature(os.stat(path))
                if now == before:
                    continue
                if now[2] != before[2]:
                    raise _changed(path, f"{now[2]} bytes, {before[2]} before")
                with open(path, "rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise _changed(path, error.strerror or str(error)) from error
            if digest != self._digests[path.name]:
                raise _changed(path, "other numbers than before")
            self._seen[path] = now


def _changed(path: Path, value: str) -> ChangedDataError:
    return ChangedDataError(
        f"file {path}", value, "unchanged since the corpus was opened",
        "Restore it, or convert the corpus again, then resume. Files must not change while a run uses them.",
    )  # fmt: skip


# NumPy's header of an array of one dimension, in version 1.0 of its format.
_MAGIC = b"\x93NUMPY\x01\x00"
_ARRAY = re.compile(rb"\{'descr': '(<i[48])', 'fortran_order': False, 'shape': \(([0-9]{1,18}),\), \}[ ]*\n")


@contextlib.contextmanager
def _opened(path: Path, damaged: Callable[[Path, Any, str], DataError]) -> Iterator[Any]:
    """Open a regular file to read bytes; anything else counts as damage (opening a pipe might block)."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise damaged(path, "no regular file", "a file")
    with open(path, "rb") as file:
        try:
            yield file
        except MemoryError:
            size = os.fstat(file.fileno()).st_size
            raise damaged(path, f"{size} bytes", "a file that fits into memory") from None


def array_on_disk(shape: int | tuple[int, ...], folder: str | None = None) -> npt.NDArray[np.int32]:
    """An int32 array in a file without a name (in ``TMPDIR`` by default), which is gone with the array."""
    size = 4 * int(np.prod(shape))
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate") and size:  # else a full disk ends the process
            os.posix_fallocate(file.fileno(), 0, size)
        return np.memmap(file, np.int32, shape=shape) if size else np.empty(shape, np.int32)


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
    n_cells: int | None = None  # pairs of a document and a term; None if the corpus wasn't made from counts
    sha256: dict[str, str] = attrs.field(factory=dict, repr=False)  # file name -> hex digest


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Manifest:
    """The content of a manifest: all of a corpus in shards but the shards themselves, which may be absent."""

    folder: Path
    digest: str  # SHA-256 (hex) of the file itself
    kind: str
    n_terms: int
    vocabulary: tuple[str, ...] | None
    shards: tuple[ShardInfo, ...]
    _named: bool
    _labels: dict[str, list[Any]]

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
        """Number of cells of all shards; None for tokens."""
        return None if self.kind == "tokens" else sum(shard.n_cells or 0 for shard in self.shards)

    def _files(self) -> list[str]:
        """Names of the files of each shard."""
        labels = (f"label-{number}.npy" for number in range(len(self._labels)))
        return sorted([*FILES[self.kind], *labels, *([NAMES] if self._named else [])])

    @classmethod
    def _read(cls, folder: Path) -> Self:
        """Read the manifest of a folder."""
        path = folder / MANIFEST
        try:
            with _opened(path, damaged) as file:
                content: bytes = file.read()
        except OSError as error:
            raise DataError(
                f"file {path}", error.strerror or str(error), "a file that can be read",
                "Such folders are written by hdpkit convert and Corpus.save.",
            ) from error  # fmt: skip
        try:
            head, checksum = opened_text(content)
        except (ValueError, RecursionError) as error:
            raise damaged(path, str(error), "JSON") from error

        def demand(holds: bool, value: Any, allowed: str) -> None:
            if not holds:
                raise damaged(path, value, allowed)

        def number(held: dict[str, Any], name: str, low: int, high: int) -> int:
            value: Any = held[name]
            whole = type(value) is int and low <= value <= high
            demand(whole, f"{name} {value!r}", f"from {low} to {high}")
            return int(value)

        ours = isinstance(head, dict) and head.get("format") == FORMAT
        demand(ours, "something else", f'the manifest of a corpus in shards ("format": "{FORMAT}")')
        version = head.get("version")
        if type(version) is not int or version != VERSION:
            allowed = f"version {VERSION}"
            raise DataError(f"file {path}, version", version, allowed, "Use the hdpkit that wrote it.")
        demand(checksum is not None, "a wrong checksum", "unchanged since it was written")
        whole = set(head) == _KEYS and head["kind"] in FILES and type(head["names"]) is bool
        allowed = f"with the keys {sorted(_KEYS)}, of the kind {' or '.join(FILES)}"
        demand(whole, sorted(head), allowed)
        n_terms, words, labels = number(head, "n_terms", 1, ID_LIMIT), head["vocabulary"], head["labels"]
        if words is not None:
            demand(_strings(words, n_terms), "another vocabulary", f"null or {n_terms} strings")
            demand(len(set(words)) == n_terms, "a term twice", "all different")
        whole = isinstance(labels, list) and all(map(_is_label, labels))
        whole = whole and len({name for name, _ in labels} - {"", "document"}) == len(labels)
        demand(whole, "other labels", "[name, keys] each")
        listed: Any = head["shards"]
        whole = isinstance(listed, list) and bool(listed) and all(isinstance(one, dict) for one in listed)
        demand(whole, "other shards", "one object per shard, at least one")
        shards: list[ShardInfo] = []
        first = token = 0
        for place, one in enumerate(listed):
            whole = set(one) == _SHARD_KEYS and isinstance(one["sha256"], dict)
            demand(whole, f"shard {place}: {sorted(one)}", f"with the keys {sorted(_SHARD_KEYS)}")
            whole = all(type(value) is str for value in one["sha256"].values())
            demand(whole, f"other checksums of shard {place}", "one string per file")
            number(one, "first_document", first, first)
            n_documents = number(one, "n_documents", 1, ID_LIMIT)
            n_tokens = number(one, "n_tokens", 1, TOKEN_LIMIT - 1)
            if head["kind"] == "cells":
                number(one, "n_cells", 1, n_tokens)
            else:
                demand(one["n_cells"] is None, f"n_cells {one['n_cells']!r}", "null, where there are tokens")
            shards.append(ShardInfo(number=place, first_token=token, **one))
            first, token = first + n_documents, token + n_tokens
        manifest = cls(
            folder=folder, digest=hashlib.sha256(content).hexdigest(), kind=head["kind"], n_terms=n_terms,
            vocabulary=None if words is None else tuple(words), named=head["names"], labels=dict(labels),
            shards=tuple(shards),
        )  # fmt: skip
        for name in ("n_documents", "n_tokens", "n_cells"):
            total, said = getattr(manifest, name), head[name]
            whole = type(said) is type(total) and said == total
            demand(whole, f"{name} {said!r}", f"the sum over shards, {total}")
        files = manifest._files()
        for shard in shards:
            whole = sorted(shard.sha256) == files
            demand(whole, f"other files of shard {shard.number}", ", ".join(files))
        return manifest

    def _path(self, number: int) -> Path:
        return self.folder / shard_name(number)


def _strings(value: Any, n: int) -> bool:
    """Whether a value is a list of n strings."""
    return isinstance(value, list) and len(value) == n and all(type(one) is str for one in value)


def _is_label(one: Any) -> bool:
    """Whether a value of the manifest is a name and keys of a label."""
    pair = isinstance(one, list) and len(one) == 2 and type(one[0]) is str and isinstance(one[1], list)
    return pair and all(type(key) in _PLAIN for key in one[1])


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


def shard_at(folder: Path) -> tuple[Manifest, int] | None:
    """Return the manifest of a shard's folder, and the shard's number; None if the folder isn't a shard."""
    place = Path(os.path.abspath(folder))  # links aren't resolved: a shard may be a link to a local disk
    if not is_shard(place):
        return None
    manifest = Manifest._read(Path(os.path.realpath(place.parent)))
    number = int(place.name.removeprefix("shard-"))
    if number >= len(manifest.shards) or shard_name(number) != place.name:
        raise DataError(
            f"folder {place}", place.name, f"one of the {len(manifest.shards)} shards of the manifest",
            "Check the path.",
        )  # fmt: skip
    return manifest, number


_REMEDY = "The file was damaged or changed: restore this shard from a copy, or convert the corpus again."

Check = Callable[[int, npt.NDArray[Any]], bool]
"""Whether numbers of a file, given with the index of the first, are what they should be."""


@attrs.frozen(kw_only=True, eq=False)
class MappedShard:
    """The result of `open_shard`. Arrays are mapped, except document lengths of a shard with cells."""

    arrays: dict[str, npt.NDArray[Any]]  # by file name without .npy
    names: tuple[str, ...] | None
    labels: dict[str, Codes]  # codes of its documents, and keys of the entire corpus
    files: MappedFiles


def open_shard(manifest: Manifest, number: int, verify: bool = True) -> MappedShard:
    """Map a shard."""
    opening = _Opening(manifest, number, verify)
    info, folder = opening.info, opening.folder
    if not folder.is_dir():
        raise ShardError.of(
            number, f"folder {folder}", "not there", "a folder",
            f"Copy {folder.name} to this disk, beside the manifest.",
        )  # fmt: skip
    arrays = opening.cells() if manifest.kind == "cells" else opening.tokens()
    labels: dict[str, Codes] = {}
    for place, (label, keys) in enumerate(manifest._labels.items()):
        codes = opening.mapped(f"label-{place}", "<i8", info.n_documents)
        opening.demand(_within(codes, -1, len(keys)), f"label-{place}", f"from -1 to {len(keys) - 1}")
        labels[label] = (codes, keys)
    names = opening.names() if manifest._named else None
    return MappedShard(
        arrays=arrays, names=names, labels=labels, files=MappedFiles(opening.seen, info.sha256)
    )


class _Opening:
    """The opening of one shard: ``seen`` has the signatures of the mapped files."""

    def __init__(self, manifest: Manifest, number: int, verify: bool) -> None:
        self.n_terms, self.verify = manifest.n_terms, verify
        self.info = manifest.shards[number]
        self.folder = manifest._path(number)
        self.seen: dict[Path, Signature] = {}

    def damaged(self, path: Path, value: Any, allowed: str) -> DataError:
        return ShardError.of(self.info.number, f"file {path}", value, allowed, _REMEDY)

    def demand(self, holds: Any, name: str, allowed: str) -> None:
        """Raise an error about the numbers of a file unless they are what they should be."""
        if not holds:
            raise self.damaged(self.folder / f"{name}.npy", "other numbers", allowed)

    @contextlib.contextmanager
    def file(self, path: Path) -> Iterator[Any]:
        """Open a file of the shard."""
        try:
            with _opened(path, self.damaged) as file:
                yield file
        except OSError as error:
            raise self.damaged(path, error.strerror or str(error), "a file that can be read") from error

    def cells(self) -> dict[str, npt.NDArray[Any]]:
        n_documents, n_cells, n_tokens = self.info.n_documents, self.info.n_cells or 0, self.info.n_tokens
        begin = self.mapped("begin", "<i8", n_documents + 1)
        ascending = begin[0] == 0 and begin[-1] == n_cells and (begin[1:] >= begin[:-1]).all()
        self.demand(ascending, "begin", f"ascending, from 0 to {n_cells}")
        before = -1

        def ascend(first: int, numbers: npt.NDArray[Any]) -> bool:
            nonlocal before
            falls = first + np.flatnonzero(np.diff(numbers, prepend=before) <= 0)
            before = int(numbers[-1])
            begun = np.array_equal(begin[np.searchsorted(begin, falls)], falls)  # each in a new document
            return _within(numbers, 0, self.n_terms) and begun

        allowed = f"from 0 to {self.n_terms - 1}, ascending in each document"
        term = self.mapped("term", "<i4", n_cells, ascend, allowed)
        lengths = np.zeros(n_documents, np.int64)

        def add(first: int, numbers: npt.NDArray[Any]) -> bool:
            add_counts(lengths, begin, first, numbers)
            return _within(numbers, 1, n_tokens + 1)

        allowed = f"from 1, {n_tokens} in all"
        count = self.mapped("count", "<i4", n_cells, add, allowed)
        self.demand(lengths.sum() == n_tokens, "count", allowed)
        return {"begin": begin, "term": term, "count": count, "lengths": lengths}

    def tokens(self) -> dict[str, npt.NDArray[Any]]:
        n_tokens = self.info.n_tokens
        lengths = self.mapped("lengths", "<i8", self.info.n_documents)
        whole = _within(lengths, 0, n_tokens + 1) and lengths.sum() == n_tokens
        self.demand(whole, "lengths", f"from 0, {n_tokens} in all")
        ends = np.cumsum(lengths)

        def of_lengths(first: int, numbers: npt.NDArray[Any]) -> bool:
            tokens = np.arange(first, first + len(numbers))
            return np.array_equal(numbers, np.searchsorted(ends, tokens, side="right") + 1)

        terms = self.mapped(
            "terms", "<i4", n_tokens, lambda first, numbers: _within(numbers, 0, self.n_terms),
            f"from 0 to {self.n_terms - 1}",
        )  # fmt: skip
        allowed = "those of the documents of lengths.npy"
        document = self.mapped("document", "<i4", n_tokens, of_lengths, allowed)
        return {"terms": terms, "document": document, "lengths": lengths}

    def mapped(
        self, name: str, dtype: str, n: int, check: Check | None = None, allowed: str = ""
    ) -> npt.NDArray[Any]:
        """Map an array of n numbers of this type, after a check of the checksum and of the numbers."""
        path = self.folder / f"{name}.npy"
        with self.file(path) as file:
            head = file.read(len(_MAGIC) + 2)
            head += file.read(int.from_bytes(head[len(_MAGIC) :], "little"))
            found = _ARRAY.fullmatch(head[len(_MAGIC) + 2 :])
            if not head.startswith(_MAGIC) or found is None:
                raise self.damaged(path, "another header", f"an array of {n} numbers of type {dtype}")
            if found[1].decode() != dtype or int(found[2]) != n:
                shown = f"{found[1].decode()} of shape ({int(found[2])},)"
                raise self.damaged(path, shown, f"{dtype} of shape ({n},)")
            info = os.fstat(file.fileno())
            wanted = len(head) + n * np.dtype(dtype).itemsize
            if info.st_size != wanted:
                raise self.damaged(path, f"{info.st_size} bytes", f"{wanted} bytes long")
            array = np.asarray(np.memmap(file, dtype, "r", len(head), (n,)))
            self.seen[path] = signature(info)
            file.seek(len(head))
            digest, right, first = hashlib.sha256(head), True, 0
            # Read, not mapped, since mapped pages would stay in memory.
            while (self.verify or check) and (piece := file.read(array.itemsize * CHUNK)):
                if self.verify:
                    digest.update(piece)
                if check is not None:
                    numbers = np.frombuffer(piece, dtype)
                    right = right and check(first, numbers)
                    first += len(numbers)
        self._compare(path, digest)  # this error takes precedence if both are wrong
        self.demand(right, name, allowed)
        return array

    def _compare(self, path: Path, digest: Any) -> None:
        if self.verify and digest.hexdigest() != self.info.sha256[path.name]:
            raise self.damaged(path, "a wrong checksum", "unchanged since it was written")

    def names(self) -> tuple[str, ...]:
        path, n = self.folder / NAMES, self.info.n_documents
        with self.file(path) as file:
            content = file.read()
        self._compare(path, hashlib.sha256(content))
        try:
            names: Any = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise self.damaged(path, str(error), "JSON") from error
        if not _strings(names, n):
            raise self.damaged(path, "other names", f"{n} strings")
        if len(set(names)) != n:
            raise self.damaged(path, "a name twice", "all different")
        return tuple(names)


def _within(numbers: npt.NDArray[Any], low: int, end: int) -> bool:
    return bool(numbers.min() >= low and numbers.max() < end)


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


def write_content(content: ShardsContent, folder: Path, shards: int) -> None:
    """Write a corpus in shards to a new or empty folder; nothing is left behind if that fails."""
    with folder_aside(folder) as aside, storing_shards(folder):
        write_shards(aside, content, shards)


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
