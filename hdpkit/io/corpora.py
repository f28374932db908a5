"""Corpora as files: counts in three formats, folders of arrays or of text. `read_corpus` tells them apart."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hdpkit.checks import instance
from hdpkit.data import Corpus
from hdpkit.errors import DataError, ParameterError
from hdpkit.formats.arrays import is_corpus_folder
from hdpkit.formats.ldac import read_vocabulary
from hdpkit.formats.limits import Limits
from hdpkit.formats.matrix_market import read_matrix_market
from hdpkit.formats.text_folder import read_text_folder
from hdpkit.formats.uci import is_uci
from hdpkit.io.text_options import TextOptions
from hdpkit.io.vectorizer import TextCounter
from hdpkit.record.files import refusals

__all__ = ["FORMATS", "convert_corpus", "detect_format", "read_corpus"]

FORMATS = ("ldac", "uci", "matrix-market", "arrays", "text")
"""Names of the formats that `read_corpus` reads."""

_BANNER = b"%%matrixmarket"
_FOLDERS = ("arrays", "text")


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
) -> Corpus:
    """Read a corpus from a file or a folder.

    Parameters
    ----------
    path : path
        An LDA-C file, a bag-of-words file of the UCI repository or a Matrix Market file (documents x terms),
        plain or gzip; a folder of arrays that `convert_corpus` or `Corpus.save` wrote; or one with text
        files (``*.txt``, UTF-8, at any depth), in the order of their paths, which become their names.
    format : str, optional
        One of `FORMATS`; by default what `detect_format` says.
    vocabulary : path, optional
        File with a term a line (UTF-8, plain or gzip). For text: only these terms are counted. Not for
        arrays, which have theirs.
    text : TextOptions, optional
        How words are made of text; only for folders.
    limits : Limits, optional
        The largest corpus that is taken from a file of counts; see `hk.Limits`.

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
    place, format = _place_and_format(path, format)
    if text is not None and format != "text":
        raise ParameterError("text", text, f"left out for {format}", "It has counts already.")
    if vocabulary is not None and format == "arrays":
        raise ParameterError("vocabulary", str(vocabulary), "left out for arrays", "It is in their folder.")
    instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
    words = _read_words(vocabulary, limits)
    with _reading(place):
        if format == "text":
            counter = TextCounter(text, vocabulary=words)
            names, texts = read_text_folder(place)
            counts = counter.fit_count(texts)
            return Corpus.from_counts(counts, vocabulary=counter.vocabulary, names=names)
        if format == "arrays":
            return Corpus.open(place)
        if format == "matrix-market":
            return _read_matrix_market(place, words, limits)
        return (Corpus.from_ldac if format == "ldac" else Corpus.from_uci)(
            place, vocabulary=words, limits=limits
        )


def convert_corpus(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
) -> Corpus:
    """Write a corpus to a folder of arrays, from which `read_corpus` maps it into memory.

    LDA-C and bags of words go through memory block by block, and may be larger; other formats are read whole.
    Parameters and errors as in `read_corpus`, and a StorageError where the folder can't be written.
    """
    instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
    place, format = _place_and_format(path, format)
    if format in ("ldac", "uci") and text is None:
        words = _read_words(vocabulary, limits)
        with _reading(place), open(place, "rb"):
            pass
        with refusals(folder, "write a corpus"):
            return Corpus.convert(place, folder, format, vocabulary=words, limits=limits)
    corpus = read_corpus(place, format, vocabulary, text, limits)
    with refusals(folder, "write a corpus"):
        corpus.save(folder)
    return Corpus.open(folder, verify=False)


def _place_and_format(path: str | os.PathLike[str], format: str | None) -> tuple[Path, str]:
    place = _path(path)
    found = detect_format(place)
    if format is None:
        format = found
    if format not in FORMATS:
        raise ParameterError("format", format, f"one of {FORMATS}", "Leave it out to have it detected.")
    if (found in _FOLDERS) != (format in _FOLDERS):
        is_one, wanted = ("a file", "a folder") if format in _FOLDERS else ("a folder", "a file")
        raise DataError(f"corpus {place}", is_one, f"{wanted} ({format})", "Check the path and the format.")
    return place, format


def _read_words(vocabulary: str | os.PathLike[str] | None, limits: Limits | None) -> tuple[str, ...] | None:
    if vocabulary is None:
        return None
    listed = _path(vocabulary)
    with _reading(listed):
        return read_vocabulary(listed, limits)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Name of the format of a corpus, by what is there.

    A folder is text unless it has the header of arrays. A banner says Matrix Market, three numbers on lines
    of their own a bag of words.

    Raises
    ------
    DataError
        If there is nothing, or something that is neither a file nor a folder.
    """
    place = _path(path)
    with _reading(place):
        if place.is_dir():
            return "arrays" if is_corpus_folder(place) else "text"
        if not place.exists():
            raise DataError(f"corpus {place}", "nothing", "a file or a folder", "Check the path.")
        if not place.is_file():  # a pipe would keep us waiting
            raise DataError(f"corpus {place}", "a device", "a file or a folder", "Give a regular file.")
        if place.name.lower().endswith((".mtx", ".mtx.gz")):
            return "matrix-market"
        with open(place, "rb") as file:
            if file.read(len(_BANNER)).lower() == _BANNER:
                return "matrix-market"
        return "uci" if is_uci(place) else "ldac"


def _read_matrix_market(path: Path, words: tuple[str, ...] | None, limits: Limits | None) -> Corpus:
    matrix = read_matrix_market(path, limits)
    n_rows, n_columns = matrix.shape
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
