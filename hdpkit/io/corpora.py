"""Corpora in files: counts, arrays and texts in several formats, which `read_corpus` detects."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import attrs

from hdpkit.checks import instance
from hdpkit.checks import path as path_of
from hdpkit.data import Corpus, ShardedCorpus
from hdpkit.errors import DataError, ParameterError, SkippedFilesWarning, printable
from hdpkit.formats.arrays import is_corpus_folder
from hdpkit.formats.blocks import reading
from hdpkit.formats.ldac import read_vocabulary
from hdpkit.formats.limits import Limits
from hdpkit.formats.lines import unpacked_beginning
from hdpkit.formats.matrix_market import read_matrix_market
from hdpkit.formats.records import Layout, ReadingNotes
from hdpkit.formats.shard_files import is_shard, is_sharded_folder
from hdpkit.formats.uci import is_uci
from hdpkit.io.text_options import TextOptions
from hdpkit.io.texts import TEXT_FORMATS, read_texts
from hdpkit.io.vectorizer import TextCounter
from hdpkit.record.files import refusals

__all__ = [
    "CONVERTED",
    "FORMATS",
    "ReadCorpus",
    "Request",
    "check_terms",
    "convert_corpus",
    "detect_format",
    "read_any",
    "read_corpus",
    "skipped_text",
]

CONVERTED = ("arrays", "shards")
"""Formats of folders that this package writes."""

FORMATS = ("ldac", "uci", "matrix-market", *CONVERTED, *TEXT_FORMATS)
"""Names of the formats that `read_corpus` reads."""

_BANNER = b"%%matrixmarket"
_FOLDERS = (*CONVERTED, "text")
_SUFFIXES = {
    ".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl",
    ".ndjson": "jsonl", ".json": "jsonl", ".mtx": "matrix-market",
}  # fmt: skip
_PACKED = (".gz", ".bz2", ".xz")
_COUNTS = re.compile(rb"\s*[0-9]+(?:\s+[0-9]+:[0-9]+)*\s*")
"""The first line of a file of counts; a *.txt file with any other first line is a file of text."""


@attrs.frozen(eq=False, kw_only=True)
class ReadCorpus:
    """A corpus and how it was read.

    Attributes
    ----------
    corpus : Corpus
    format : str
        One of `FORMATS`.
    layout : Layout or None
        For texts only.
    counter : TextCounter or None
        For texts only, with the vocabulary.
    notes : ReadingNotes
    """

    corpus: Corpus
    format: str
    layout: Layout | None = None
    counter: TextCounter | None = None
    notes: ReadingNotes = attrs.Factory(ReadingNotes)


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
) -> Corpus:
    """Read a corpus from a file or a folder.

    Parameters
    ----------
    path : path
        Counts: an LDA-C file, a bag-of-words file of the UCI repository or a Matrix Market file (documents x
        terms), plain or gzip; or a folder of arrays that `convert_corpus` or `Corpus.save` wrote, or of
        shards, all of which are read into memory.
        Texts: a table (CSV, TSV, Parquet) with a document per row, JSON lines with one per object, or a file
        with one per line, all except Parquet plain or compressed by gzip, bzip2 or xz; or a folder of text
        files (``*.txt``, at any depth), in the order of their paths, which become their names.
    format : str, optional
        One of `FORMATS`; by default the result of `detect_format`.
    vocabulary : path, optional
        File with a term per line (UTF-8, plain or gzip). For text: only these terms are counted. Not for
        arrays and shards, which include their vocabulary.
    text : TextOptions, optional
        How text is split into words.
    limits : Limits, optional
        The largest corpus accepted from a file of counts; see `hk.Limits`.
    layout : Layout, optional
        Where the texts are: columns of tables, encoding, names of files.

    Returns
    -------
    Corpus

    Raises
    ------
    DataError
        If a file can't be read or isn't valid; the message names the file and, if applicable, the line.
    ParameterError
        If `format` isn't known, or `text` or `layout` is given for counts.
    MissingExtraError
        If a package needed to read text isn't installed.
    """
    read = read_any(path, format, vocabulary, text, limits, layout)
    if read.notes.skipped:
        warnings.warn(skipped_text(read.notes), SkippedFilesWarning, stacklevel=2)
    return read.corpus


def skipped_text(notes: ReadingNotes, most: int = 5) -> str:
    """A sentence about the files that were left out; at most ``most`` of them are named."""
    named = [f"{name} ({why})" for name, why in notes.skipped[:most]]
    more = len(notes.skipped) - len(named)
    files = "1 file" if len(notes.skipped) == 1 else f"{len(notes.skipped):,} files"
    rest = f" and {more:,} more" if more else ""
    return printable(f"{files} left out that can't be decoded: {'; '.join(named)}{rest}")


def read_any(
    path: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
) -> ReadCorpus:
    """Read a corpus, and return how it was read. Parameters and errors as in `read_corpus`."""
    request = Request.of(path, format, vocabulary, text, limits, layout)
    place, format, words = request.place, request.format, request.words
    with reading(place):
        if format in TEXT_FORMATS:
            layout = layout or Layout()
            counter = TextCounter(text, vocabulary=words)
            read = read_texts(place, format, layout, counter, limits)
            return ReadCorpus(
                corpus=read.corpus, format=format, layout=layout, counter=counter, notes=read.notes
            )
        return ReadCorpus(corpus=_read_counts(place, format, words, limits), format=format)


@attrs.frozen(kw_only=True)
class Request:
    """The arguments of `read_corpus`, checked, and the terms of the vocabulary file."""

    place: Path
    format: str
    words: tuple[str, ...] | None
    text: TextOptions | None
    limits: Limits | None
    layout: Layout | None

    @classmethod
    def of(
        cls,
        path: str | os.PathLike[str],
        format: str | None,
        vocabulary: str | os.PathLike[str] | None,
        text: TextOptions | None,
        limits: Limits | None,
        layout: Layout | None,
    ) -> Request:
        """Check the arguments. Parameters and errors as in `read_corpus`."""
        place, format = _place_and_format(path, format)
        for name, given, kind in (("text", text, TextOptions), ("layout", layout, Layout)):
            instance(name, given, (kind, type(None)), f"{kind.__name__}, or None", remedy="Leave it out.")
            if given is not None and format not in TEXT_FORMATS:
                raise ParameterError(
                    name, given, f"left out for {format}", "Files of this format contain counts."
                )
        if vocabulary is not None and format in CONVERTED:
            raise ParameterError(
                "vocabulary", str(vocabulary), f"left out for {format}", "Their folder contains it."
            )
        instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
        words = _read_words(vocabulary, limits)
        return cls(place=place, format=format, words=words, text=text, limits=limits, layout=layout)


def _read_counts(place: Path, format: str, words: tuple[str, ...] | None, limits: Limits | None) -> Corpus:
    if format == "arrays":
        return Corpus.open(place)
    if format == "shards":
        return ShardedCorpus.open(place).corpus()
    if format == "matrix-market":
        return _read_matrix_market(place, words, limits)
    return (Corpus.from_ldac if format == "ldac" else Corpus.from_uci)(place, vocabulary=words, limits=limits)


def convert_corpus(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
) -> Corpus:
    """Write a corpus to a folder of arrays, from which `read_corpus` maps it into memory.

    LDA-C and bags of words are read block by block, and may be larger than memory; other formats are read
    completely. Parameters and errors as in `read_corpus`; also a StorageError if the folder can't be written.
    """
    instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
    place, format = _place_and_format(path, format)
    if format in ("ldac", "uci") and text is None and layout is None:
        words = _read_words(vocabulary, limits)
        with reading(place), open(place, "rb"):
            pass
        with refusals(folder, "write a corpus"):
            return Corpus.convert(place, folder, format, vocabulary=words, limits=limits)
    corpus = read_corpus(place, format, vocabulary, text, limits, layout)
    with refusals(folder, "write a corpus"):
        corpus.save(folder)
    return Corpus.open(folder, verify=False)


def _place_and_format(path: str | os.PathLike[str], format: str | None) -> tuple[Path, str]:
    place = check_place(path)
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
    listed = check_place(vocabulary)
    with reading(listed):
        return read_vocabulary(listed, limits)


def detect_format(path: str | os.PathLike[str]) -> str:
    """Detect the format of a corpus from its files.

    A folder is text unless it contains the header of arrays or the manifest of shards. Tables, JSON lines and
    Matrix Market are recognised by suffix, Matrix Market also by its banner, and bags of words by three
    lines with one number each. A ``*.txt`` file whose first line isn't one of counts has a document per line.

    Raises
    ------
    DataError
        If nothing exists at the path, or it is neither a file nor a folder.
    """
    place = check_place(path)
    with reading(place):
        if place.is_dir():
            if is_sharded_folder(place):
                return "shards"
            return "arrays" if is_corpus_folder(place) or is_shard(place) else "text"
        if not place.exists():
            raise DataError(f"corpus {place}", "nothing", "a file or a folder", "Check the path.")
        if not place.is_file():  # opening a pipe might block
            raise DataError(f"corpus {place}", "a device", "a file or a folder", "Give a regular file.")
        name = place.name.lower()
        for packed in _PACKED:
            name = name.removesuffix(packed)
        suffix = os.path.splitext(name)[1]
        if suffix in _SUFFIXES:
            return _SUFFIXES[suffix]
        with open(place, "rb") as file:
            if file.read(len(_BANNER)).lower() == _BANNER:
                return "matrix-market"
        if (
            suffix == ".txt"
            and _COUNTS.fullmatch(unpacked_beginning(place, 4096).partition(b"\n")[0]) is None
        ):
            return "lines"
        return "uci" if is_uci(place) else "ldac"


def _read_matrix_market(path: Path, words: tuple[str, ...] | None, limits: Limits | None) -> Corpus:
    matrix = read_matrix_market(path, limits)
    check_terms(path, words, *matrix.shape)
    return Corpus.from_counts(matrix, vocabulary=words)


def check_terms(path: Path, words: tuple[str, ...] | None, n_rows: int, n_columns: int) -> None:
    """Raise a DataError unless a vocabulary, if there is one, has a term for each column of a matrix."""
    if words is not None and len(words) == n_rows != n_columns:
        raise DataError(
            "vocabulary", f"{len(words)} terms", f"{n_columns} terms, one per column of {path}",
            "It has one per row: the matrix is terms x documents; transpose it.",
        )  # fmt: skip
    if words is not None and len(words) != n_columns:
        raise DataError(
            "vocabulary", f"{len(words)} terms", f"{n_columns} terms, one per column of the counts",
            "Give one word per column.",
        )  # fmt: skip


def check_place(path: str | os.PathLike[str]) -> Path:
    """Return a path that the operating system accepts."""
    return path_of("path", path, remedy="Give a str or a pathlib.Path.")
