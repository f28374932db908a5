"""Files mapped into memory, and checks that they haven't changed since they were opened.

If a mapped file is truncated, the process that reads it is killed (SIGBUS); if it is overwritten, its numbers
can have any value. A process can't prevent that; it can only check often.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ChangedDataError

__all__ = ["CHUNK", "MappedFiles", "check_ids", "signature"]

CHUNK = 1 << 18
"""Number of numbers checked at once."""

Signature = tuple[int, int, int, int]


def signature(info: os.stat_result) -> Signature:
    """Signature that changes when a file changes: device, inode, size, time of the last change."""
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns


class MappedFiles:
    """The files of a mapped corpus.

    Parameters
    ----------
    seen : dict
        Path -> signature when it was mapped.
    starts : dict
        Path -> position at which its numbers begin.
    digests : dict
        Path -> SHA-256 (hex) of its numbers.
    """

    def __init__(
        self, seen: Mapping[Path, Signature], starts: Mapping[Path, int], digests: Mapping[Path, str]
    ) -> None:
        self._seen = dict(seen)
        self._starts = starts
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
                file.seek(self._starts[path])
                while piece := file.read(8 * CHUNK):
                    found.update(piece)
        except OSError as error:
            _changed(path, error.strerror or str(error), error)
        return found.hexdigest()


def check_ids(
    folder: Path, terms: npt.NDArray[Any], numbers: npt.NDArray[Any], lengths: npt.NDArray[Any], n_terms: int
) -> None:
    """Check that terms are in range, and document numbers match documents of these lengths.

    Raises a ChangedDataError if they aren't.
    """
    ends = np.cumsum(lengths)
    for first in range(0, len(terms), CHUNK // 8):  # small pieces, since memory may be scarce
        last = min(first + CHUNK // 8, len(terms))
        chunk = terms[first:last]
        if chunk.min() < 0 or chunk.max() >= n_terms:
            _changed(folder / "terms.npy", "other ids", allowed=f"from 0 to {n_terms - 1}")
        documents = np.searchsorted(ends, np.arange(first, last), side="right")
        if not np.array_equal(numbers[first:last], documents + 1):
            _changed(
                folder / "document.npy", "other numbers", allowed="those of the documents of lengths.npy"
            )


def _changed(
    path: Path,
    value: str,
    error: BaseException | None = None,
    allowed: str = "unchanged since the corpus was opened",
) -> NoReturn:
    raise ChangedDataError(
        f"file {path}", value, allowed,
        "Restore it, or convert the corpus again, then resume. Files must not change while they are mapped.",
    ) from error  # fmt: skip
