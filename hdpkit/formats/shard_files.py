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
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import attrs

from hdpkit.errors import DataError
from hdpkit.formats.counts import ID_LIMIT, TOKEN_LIMIT
from hdpkit.formats.mapped_arrays import damaged, read_file
from hdpkit.formats.sealed_text import opened_text

__all__ = [
    "FILES",
    "FORMAT",
    "KINDS",
    "MANIFEST",
    "NAMES",
    "VERSION",
    "Manifest",
    "ShardInfo",
    "is_shard",
    "is_sharded_folder",
    "read_manifest",
    "shard_at",
    "shard_name",
]

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
    """A shard of a corpus: a range of consecutive documents.

    Attributes
    ----------
    number : int
        Number of the shard, from 0.
    first_document, n_documents : int
        Range of its documents.
    first_token, n_tokens : int
        Range of its tokens.
    n_cells : int or None
        Number of its pairs of a document and a term; None if the corpus wasn't made from counts.
    sha256 : dict
        File name -> SHA-256 (hex) of the file.
    """

    number: int
    first_document: int
    n_documents: int
    first_token: int
    n_tokens: int
    n_cells: int | None
    sha256: dict[str, str] = attrs.field(repr=False)


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
    """Read the manifest of a corpus in shards; shards may be absent.

    Raises
    ------
    DataError
        If it is missing, damaged, of another version, or inconsistent.
    """
    path = folder / MANIFEST
    content = _content(path)
    try:
        head, checksum = opened_text(content)
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error), "JSON") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise damaged(path, "something else", f'the manifest of a corpus in shards ("format": "{FORMAT}")')
    if type(head.get("version")) is not int or head["version"] != VERSION:
        raise DataError(
            f"file {path}, version",
            head.get("version"),
            f"version {VERSION}",
            "Use the hdpkit that wrote it.",
        )
    if checksum is None:
        raise damaged(path, "a wrong checksum", "unchanged since it was written")
    if set(head) != _KEYS or head["kind"] not in KINDS or type(head["names"]) is not bool:
        raise damaged(path, sorted(head), f"with the keys {sorted(_KEYS)}, of the kind {' or '.join(KINDS)}")
    n_terms = _number(path, head, "n_terms", 1, ID_LIMIT)
    manifest = Manifest(
        folder=folder, digest=hashlib.sha256(content).hexdigest(), kind=head["kind"], n_terms=n_terms,
        vocabulary=_vocabulary(path, head["vocabulary"], n_terms), named=head["names"],
        labels=_labels(path, head["labels"]), shards=tuple(_shards(path, head)),
    )  # fmt: skip
    for name in ("n_documents", "n_tokens", "n_cells"):
        if head[name] != getattr(manifest, name):
            raise damaged(path, f"{name} {head[name]!r}", f"the sum over shards, {getattr(manifest, name)}")
    for shard in manifest.shards:
        if sorted(shard.sha256) != sorted(manifest.files()):
            raise damaged(path, f"other files of shard {shard.number}", f"{', '.join(manifest.files())}")
    return manifest


def shard_at(folder: Path) -> tuple[Manifest, int] | None:
    """Return the manifest of a shard's folder, and the shard's number; None if the folder isn't a shard.

    Raises a DataError as for `read_manifest`, or if the manifest has no such shard.
    """
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
            "Corpora in shards are written by hdpkit convert --shards.",
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
