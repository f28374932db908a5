"""Writes a corpus in shards of consecutive documents of about equal size."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import whole_number
from hdpkit.errors import DataError, ParameterError
from hdpkit.formats.arrays import check_writable, plain_keys
from hdpkit.formats.counts import ID_LIMIT, TOKEN_LIMIT
from hdpkit.formats.mapped import CHUNK
from hdpkit.formats.names import Codes
from hdpkit.formats.sealed_text import sealed_text
from hdpkit.formats.shard_files import (
    FORMAT,
    MANIFEST,
    NAMES,
    VERSION,
    shard_name,
)
from hdpkit.formats.writing import storing, sync_folder

__all__ = ["Content", "Piece", "check_shards", "cuts", "folder_aside", "storing_shards", "write_shards"]

Piece = tuple[npt.NDArray[Any], ...]


@attrs.frozen(kw_only=True, eq=False)
class Content:
    """A corpus that can be read in pieces, from any document to any other.

    Attributes
    ----------
    lengths : int64 array, shape (n_documents,)
        Tokens of each document.
    cells : int64 array, shape (n_documents,), or None
        Number of cells of each document; None for tokens.
    read : callable
        Takes the first cell (or token) and the end, and yields pieces: arrays of the terms and, for cells, of
        the counts.
    n_terms : int
    vocabulary, names : sequence of str or None
    labels : dict
        Label name -> (a code per document, keys).
    """

    lengths: npt.NDArray[np.int64]
    cells: npt.NDArray[np.int64] | None
    read: Callable[[int, int], Iterator[Piece]]
    n_terms: int
    vocabulary: Sequence[str] | None
    names: Sequence[str] | None
    labels: Mapping[str, Codes]


REMEDY = (
    "Choose another folder; a corpus takes twice its size while it is written. What was written so far was "
    "removed."
)


def check_shards(shards: Any) -> int:
    """Check and return a number of shards, or raise a ParameterError."""
    return whole_number("shards", shards, 1, ID_LIMIT, remedy="Give the number of shards.")


def storing_shards(folder: Path) -> AbstractContextManager[None]:
    """Turn errors of the operating system on writing into StorageErrors about the user's folder."""
    return storing(folder, "a corpus in shards", REMEDY)


@contextmanager
def folder_aside(folder: Path) -> Iterator[Path]:
    """Make a temporary folder next to `folder` that replaces it on success, and is removed otherwise.

    Raises a ParameterError unless `folder` is new or empty, and a StorageError if writing fails.
    """
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
    """Divide documents of these sizes into shards of consecutive documents of about equal size.

    Every shard has at least one nonempty document.

    Returns
    -------
    list of int
        First document of each shard, and the number of documents.

    Raises
    ------
    ParameterError
        If there are fewer nonempty documents than shards.
    """
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


def write_shards(aside: Path, content: Content, shards: int) -> None:
    """Write shards and, last, the manifest to a new folder.

    Raises
    ------
    ParameterError
        If there are more shards than nonempty documents, or a shard would have 2^31 tokens.
    DataError
        If a string or a key of a label can't be written.
    StorageError
        If a shard can't be written: it names the shard. OSError: if the manifest can't.
    """
    check_writable(content.vocabulary, content.names, content.labels)
    labels = [[name, plain_keys(name, keys)] for name, (_, keys) in content.labels.items()]
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
        with storing(folder, f"shard {number} of a corpus", REMEDY):
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


def _write_shard(folder: Path, content: Content, first: int, last: int, at: int, end: int) -> dict[str, str]:
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
