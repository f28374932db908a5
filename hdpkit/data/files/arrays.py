"""A corpus as a folder of arrays that are mapped into memory, for more tokens than fit in memory.

==================  =========================================================================================
``terms.npy``       int32, shape (n_tokens,): id of each token's term
``document.npy``    int32, shape (n_tokens,): number of each token's document, from 1
``lengths.npy``     int64, shape (n_documents,)
``label-0.npy`` ..  int64, shape (n_documents,): codes of further labels, -1 = missing
``corpus.json``     sizes, vocabulary, names, keys of labels, and the SHA-256 of each array and of the rest of
                    this file; written last
==================  =========================================================================================
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import Codes
from hdpkit.data.files.counts import ID_LIMIT, Counts, check_total
from hdpkit.data.files.mapped import (
    CHUNK,
    ArrayMapping,
    MappedFiles,
    check_ids,
    damaged,
    read_file,
    read_head,
)
from hdpkit.errors import DataError, ParameterError
from hdpkit.writing import sealed_text, storing

HEADER = "corpus.json"
"""The file that makes a folder a corpus."""

_FORMAT = "hdpkit corpus"
_VERSION = 1
_PLAIN = (str, int, float, bool)
_KEYS = {"format", "version", "n_tokens", "n_documents", "n_terms", "vocabulary", "names", "labels", "sha256"}


@attrs.frozen(kw_only=True, eq=False)
class CorpusFolder:
    """The result of `open_folder`; the two arrays of tokens are mapped."""

    terms: npt.NDArray[np.int32]
    numbers: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int64]
    n_terms: int
    vocabulary: tuple[str, ...] | None
    names: tuple[str, ...] | None
    labels: dict[str, Codes]
    digest: str
    files: MappedFiles


def is_corpus_folder(folder: Path) -> bool:
    """Whether a folder contains a corpus in this format."""
    return (folder / HEADER).is_file()


# ---------------------------------------------------------------------------------------------- writing


class _Array:
    """An array of one dimension that is written to a file incrementally, and its SHA-256."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.dtype = np.dtype(dtype)
        self.n = 0
        self._hash = hashlib.sha256()
        self._file = open(path, "xb")  # noqa: SIM115 - closed by `close`
        self._head()

    def _head(self) -> None:
        # NumPy reserves space for a larger length in the header, so the header can be overwritten.
        self._file.seek(0)
        head = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.n,)}
        np.lib.format.write_array_header_1_0(self._file, head)

    def append(self, numbers: Any) -> None:
        data = np.ascontiguousarray(numbers, dtype=self.dtype)
        if len(data):
            content = data.data.cast("B")
            self._hash.update(content)
            self._file.write(content)
            self.n += len(data)

    def close(self) -> str:
        """Complete the file and return its digest."""
        self._head()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._hash.hexdigest()

    def drop(self) -> None:
        """Close the file without completing it."""
        self._file.close()


class FolderWriter:
    """Writes a corpus to a new or empty folder, block by block; on an error the files are removed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with self._storing():
            self._made = not folder.exists()
            if not self._made and (not folder.is_dir() or any(folder.iterdir())):
                raise ParameterError("folder", str(folder), "a new or empty folder", "Name another one.")
            folder.mkdir(parents=True, exist_ok=True)
        self._lengths: list[npt.NDArray[np.int64]] = []
        self.n_documents = 0
        self._files: dict[str, _Array] = {}
        self._digests: dict[str, str] = {}

    def __enter__(self) -> Self:
        with self._storing():
            self._files = {name: _Array(self.folder / name, "<i4") for name in ("terms.npy", "document.npy")}
        return self

    def _storing(self) -> contextlib.AbstractContextManager[None]:
        return storing(self.folder, "a corpus", "Free some space, or choose another place.")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            with contextlib.suppress(OSError):
                for file in self._files.values():
                    file.drop()
                for path in self.folder.iterdir():
                    path.unlink()
                if self._made:
                    self.folder.rmdir()
        if isinstance(error, OSError):
            with self._storing():
                raise error

    @property
    def n_tokens(self) -> int:
        """Number of tokens so far."""
        return self._files["terms.npy"].n

    def add(self, counts: Counts) -> None:
        """Append documents."""
        check_total(self.n_tokens + counts.n_tokens)  # before they are written
        pieces, lengths = counts.pieces(CHUNK)
        for terms, documents in pieces:
            self.append(terms, documents)
        self.ended(lengths)

    def append(self, terms: npt.NDArray[np.int32], documents: npt.NDArray[Any]) -> None:
        """Append tokens with their documents, numbered from 0 after the completed ones."""
        self._files["terms.npy"].append(terms)
        self._files["document.npy"].append(documents + (self.n_documents + 1))

    def ended(self, lengths: npt.NDArray[np.int64]) -> None:
        """Mark documents of these lengths as completed."""
        self._lengths.append(lengths)
        self.n_documents += len(lengths)

    def finish(self, n_terms: int, vocabulary: Any, names: Any, labels: Mapping[str, Codes]) -> None:
        """Write the other files, so that the folder is a corpus. ``labels`` have one code per document."""
        listed = [[name, plain_keys(name, keys)] for name, (_, keys) in labels.items()]
        self._digests = {name: file.close() for name, file in self._files.items()}
        n_tokens = self.n_tokens
        self._whole("lengths.npy", np.concatenate(self._lengths))
        for number, (codes, _) in enumerate(labels.values()):
            self._whole(f"label-{number}.npy", codes)
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "n_tokens": n_tokens,
            "n_documents": self.n_documents,
            "n_terms": n_terms,
            "vocabulary": None if vocabulary is None else list(vocabulary),
            "names": None if names is None else list(names),
            "labels": listed,
            "sha256": self._digests,
        }
        check_writable(vocabulary, names, labels)
        aside = self.folder / (HEADER + ".tmp")
        with open(aside, "xb") as file:
            file.write(sealed_text(header))
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self.folder / HEADER)

    def _whole(self, name: str, numbers: npt.NDArray[np.int64]) -> None:
        file = _Array(self.folder / name, "<i8")
        file.append(numbers)
        self._digests[name] = file.close()


def check_writable(vocabulary: Any, names: Any, labels: Mapping[str, Codes]) -> None:
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


def plain_keys(label: str, keys: Sequence[Any]) -> list[Any]:
    """Return the keys of a label as a list; raise a DataError if JSON can't represent one."""
    for key in keys:
        if type(key) not in _PLAIN:
            raise DataError(
                f"label {label!r}", key, "strings, numbers or bools, where a corpus is saved",
                "Write them as strings.",
            )  # fmt: skip
    return list(keys)


# ---------------------------------------------------------------------------------------------- reading


def open_folder(folder: Path, verify: bool = True) -> CorpusFolder:
    """Open the corpus of a folder by mapping its arrays."""
    head, digest = _header(folder)
    n, n_documents, n_terms = (
        _whole_number(folder, head, name) for name in ("n_tokens", "n_documents", "n_terms")
    )
    mapping = ArrayMapping(folder, damaged)
    lengths = mapping.array("lengths.npy", "<i8", n_documents)
    terms = mapping.array("terms.npy", "<i4", n)
    numbers = mapping.array("document.npy", "<i4", n)
    if lengths.min() < 0 or lengths.max() > n or int(lengths.sum()) != n:
        raise damaged(folder / "lengths.npy", "other lengths", f"lengths of documents with a sum of {n}")
    vocabulary = _strings(folder, head, "vocabulary", n_terms)
    names = _strings(folder, head, "names", n_documents)
    labels: dict[str, Codes] = {}
    arrays = {"terms.npy": terms, "document.npy": numbers, "lengths.npy": lengths}
    for number, (label, keys) in enumerate(_labels(folder, head)):
        codes = mapping.array(f"label-{number}.npy", "<i8", n_documents)
        if codes.min() < -1 or codes.max() >= len(keys):
            raise damaged(folder / f"label-{number}.npy", "other codes", f"from -1 to {len(keys) - 1}")
        labels[label] = (codes, keys)
        arrays[f"label-{number}.npy"] = codes
    digests = head.get("sha256")
    whole = isinstance(digests, dict) and all(type(value) is str for value in digests.values())
    if not isinstance(digests, dict) or not whole or sorted(digests) != sorted(arrays):
        raise damaged(folder / HEADER, "other checksums", "the SHA-256 of each array")
    if verify:
        check_ids(folder, terms, numbers, lengths, n_terms)
        _verify(folder, digests, arrays)
    return CorpusFolder(
        terms=terms, numbers=numbers, lengths=lengths, n_terms=n_terms, vocabulary=vocabulary, names=names,
        labels=labels, digest=digest, files=mapping.files({folder / name: digests[name] for name in arrays}),
    )  # fmt: skip


def _header(folder: Path) -> tuple[dict[str, Any], str]:
    path = folder / HEADER
    try:
        content = read_file(path, damaged)
    except OSError as error:
        raise DataError(
            f"file {path}", error.strerror or str(error), "a file that can be read",
            "Corpora are written by Corpus.save or Corpus.convert.",
        ) from error  # fmt: skip
    head = read_head(path, content, "the header of a corpus", _FORMAT, _VERSION)
    if not _KEYS.issuperset(head):
        raise damaged(path, f"key {min(set(head) - _KEYS)!r}", f"one of the keys {sorted(_KEYS)}")
    return head, hashlib.sha256(content).hexdigest()


def _whole_number(folder: Path, head: dict[str, Any], name: str) -> int:
    value = head.get(name)
    if type(value) is not int or not 1 <= value <= ID_LIMIT:
        raise damaged(folder / HEADER, f"{name} {value!r}", f"from 1 to {ID_LIMIT}")
    return value


def _strings(folder: Path, head: dict[str, Any], name: str, n: int) -> tuple[str, ...] | None:
    value = head.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != n or not all(type(one) is str for one in value):
        raise damaged(folder / HEADER, f"other {name}", f"null or {n} strings")
    if len(set(value)) != n:
        raise damaged(folder / HEADER, f"{name} twice", "all different")
    return tuple(value)


def _labels(folder: Path, head: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    listed: Any = head.get("labels")
    try:
        found = {name: keys for name, keys in listed if isinstance(keys, list) and isinstance(name, str)}
        whole = len(found) == len(listed) and "document" not in found
        whole &= all(type(key) in _PLAIN for keys in found.values() for key in keys)
    except (TypeError, ValueError):
        whole = False
    if not whole:
        raise damaged(folder / HEADER, "other labels", "[name, keys] each")
    yield from found.items()


def _verify(folder: Path, digests: Mapping[str, str], arrays: Mapping[str, Any]) -> None:
    for name, array in arrays.items():
        found = hashlib.sha256()
        for first in range(0, len(array), CHUNK):
            found.update(np.asarray(array[first : first + CHUNK]).data.cast("B"))
        if found.hexdigest() != digests[name]:
            raise damaged(folder / name, "a wrong checksum", "unchanged since it was written")
