"""Corpora as files: LDA-C, Matrix Market, folders of text. `read_corpus` tells them apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import scipy.io

from hdpkit.data import Corpus
from hdpkit.data.ldac import read_unpacked, read_vocabulary
from hdpkit.errors import DataError, ParameterError
from hdpkit.io.text_folder import TextOptions, read_text_folder

__all__ = ["FORMATS", "detect_format", "read_corpus"]

FORMATS = ("ldac", "matrix-market", "text")
"""Names of the formats that `read_corpus` reads."""

_BANNER = b"%%matrixmarket"


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
) -> Corpus:
    """Read a corpus from a file or a folder.

    Parameters
    ----------
    path : path
        An LDA-C file or a Matrix Market file (documents x terms), plain or gzip, or a folder with text files
        (``*.txt``, UTF-8, at any depth; in the order of their paths, which become the documents' names).
    format : str, optional
        One of `FORMATS`; by default what `detect_format` says.
    vocabulary : path, optional
        File with a term a line (UTF-8, plain or gzip). For text: only these terms are counted.
    text : TextOptions, optional
        How words are made of text; only for folders.

    Returns
    -------
    Corpus

    Raises
    ------
    DataError
        If a file can't be read or makes no sense; it names the file and, where there is one, the line.
    ParameterError
        If `format` isn't known, or `text` is given for counts.
    MissingExtraError
        If text is to be read and scikit-learn isn't installed.
    """
    place = _path(path)
    found = detect_format(place)
    if format is None:
        format = found
    if format not in FORMATS:
        raise ParameterError("format", format, f"one of {FORMATS}", "Leave it out to have it detected.")
    if text is not None and format != "text":
        raise ParameterError("text", text, f"left out for {format}", "It has counts already.")
    if (found == "text") != (format == "text"):
        is_one, wanted = ("a file", "a folder") if format == "text" else ("a folder", "a file")
        raise DataError(f"corpus {place}", is_one, f"{wanted} ({format})", "Check the path and the format.")
    words = None
    if vocabulary is not None:
        listed = _path(vocabulary)
        with _reading(listed):
            words = read_vocabulary(listed)
    with _reading(place):
        if format == "text":
            return read_text_folder(place, text or TextOptions(), words)
        if format == "ldac":
            return Corpus.from_ldac(place, vocabulary=words)
        return _read_matrix_market(place, words)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Name of the format of a corpus, by what is there: a folder is text, a banner says Matrix Market.

    Raises
    ------
    DataError
        If there is nothing, or something that is neither a file nor a folder.
    """
    place = _path(path)
    with _reading(place):
        if place.is_dir():
            return "text"
        if not place.exists():
            raise DataError(f"corpus {place}", "nothing", "a file or a folder", "Check the path.")
        if not place.is_file():  # a pipe would keep us waiting
            raise DataError(f"corpus {place}", "a device", "a file or a folder", "Give a regular file.")
        if place.name.lower().endswith((".mtx", ".mtx.gz")):
            return "matrix-market"
        with open(place, "rb") as file:
            return "matrix-market" if file.read(len(_BANNER)).lower() == _BANNER else "ldac"


def _read_matrix_market(path: Path, words: tuple[str, ...] | None) -> Corpus:
    content = read_unpacked(path)
    try:
        n_rows, n_columns, n_entries, layout, _, _ = scipy.io.mminfo(BytesIO(content))
        # Before space is made for what a header promises: an entry takes two bytes, `1 1` takes four.
        if n_entries * (4 if layout == "coordinate" else 2) > len(content) + 1:
            raise ValueError(f"{n_entries} entries are promised, and the file has {len(content)} bytes")
        matrix: Any = scipy.io.mmread(BytesIO(content))
    except (ValueError, TypeError, OverflowError, EOFError, OSError) as error:
        raise DataError(
            f"file {path}", "damaged", f"a Matrix Market file, documents x terms ({error})",
            "Write it again, for instance by scipy.io.mmwrite.",
        ) from error  # fmt: skip
    if words is not None and len(words) == n_rows != n_columns:
        raise DataError(
            "vocabulary", f"{len(words)} terms", f"{n_columns} terms, one a column of {path}",
            "It has one a row: the matrix is terms x documents; transpose it.",
        )  # fmt: skip
    return Corpus.from_counts(matrix, vocabulary=words)


def _path(path: str | os.PathLike[str]) -> Path:
    if "\0" in os.fspath(path):
        raise DataError("path", os.fspath(path), "without a character of number 0", "Check the path.")
    return Path(path)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn the system's refusals into DataErrors that name the file."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"file {error.filename or path}", error.strerror or str(error), "a file that can be read",
            "Check the path and its permissions.",
        ) from error  # fmt: skip
    except MemoryError as error:
        raise DataError(
            f"file {path}", "more than there is memory for", "smaller", "Drop documents or terms."
        ) from error
