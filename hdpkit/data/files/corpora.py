"""Corpora in files: counts, shards and texts in formats that `read_corpus` detects; their conversion."""

from __future__ import annotations

import codecs
import fnmatch
import os
import re
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, fitting, instance
from hdpkit.checks import path as path_of
from hdpkit.data import Corpus, Limits, ShardedCorpus
from hdpkit.data.corpus import Described, check_width, content_of, write_blocks
from hdpkit.data.files.count_files import (
    is_uci,
    matrix_entries,
    read_ldac,
    read_matrix_market,
    read_uci,
    read_vocabulary,
)
from hdpkit.data.files.counts import CellSpool, Counts, by_document, limited
from hdpkit.data.files.shards import check_shards, is_shard, is_sharded_folder, storing_shards, write_content
from hdpkit.data.files.tables import TABLES, Table, missing, suffix_of
from hdpkit.data.files.text_files import (
    MAX_LINE_BYTES,
    Document,
    Layout,
    ReadingNotes,
    detect_encoding,
    find_columns,
    place_of,
    read_document_lines,
    reading,
    unpacked_beginning,
)
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.data.matrices import read_matrix
from hdpkit.data.sharded import content_of_shards
from hdpkit.errors import DataError, ParameterError, SkippedFilesWarning, printable


def read_text_folder(folder: Path, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read the text files in a folder, at any depth, in the order of their paths, which are their names."""
    read, failed = 0, None
    for path in _text_files(folder, layout.files):
        try:
            text = _decoded(path, layout.encoding, notes)
        except _Undecodable as error:
            failed = error.told
            if layout.strict:
                raise failed from error
            notes.skipped.append((_name_of_file(path.relative_to(folder)), error.why))
            continue
        read += 1
        yield Document(text, str(path), _name_of_file(path.relative_to(folder)))
    if failed is not None and read == 0:
        raise failed


class _Undecodable(Exception):
    """A file that can't be decoded: a short reason, and the complete error."""

    def __init__(self, why: str, told: DataError) -> None:
        self.why, self.told = why, told


def _decoded(path: Path, encoding: str | None, notes: ReadingNotes) -> str:
    content = unpacked_beginning(path, MAX_LINE_BYTES + 1)
    if len(content) > MAX_LINE_BYTES:
        raise DataError(
            f"file {path}", f"more than {MAX_LINE_BYTES} bytes", f"at most {MAX_LINE_BYTES} bytes long",
            "Is it one document? If it has a document per line, read it with --format lines.",
        )  # fmt: skip
    remedy = "Convert the file to UTF-8, or give its encoding."
    detected = encoding is None
    if encoding is None:
        encoding = detect_encoding(content, whole=True)
        if encoding is None:
            nul = content.find(b"\0")
            why = f"a NUL byte at {nul}" if nul >= 0 else "no known encoding"
            told = DataError(f"file {path}", why, "a text, in UTF-8 or another encoding", remedy)
            raise _Undecodable(why, told)
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        told = DataError(
            f"file {path}, byte {error.start}", content[error.start : error.end], f"valid {encoding}", remedy
        )
        raise _Undecodable(f"byte {error.start} isn't {encoding}", told) from error
    if detected:
        notes.detected(encoding)
    return text


def _text_files(folder: Path, pattern: str) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    found = [
        Path(root, name)
        for root, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if fnmatch.fnmatchcase(name, pattern)
    ]
    if not found:
        raise DataError(
            f"corpus {folder}", "a folder without text files", f"a folder with files {pattern}",
            "Check the path, or give their names by --files.",
        )  # fmt: skip
    return sorted(found, key=lambda path: path.parts)


def _name_of_file(path: Path) -> str:
    """A path as text, even if its bytes aren't valid text."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def table_documents(path: Path, format: str, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read a table of this format, one row at a time."""
    table = Table(path, layout, notes, header=layout.header, format=format)
    what = "key" if format == "jsonl" else "column"
    fields = find_columns(layout, table.names, place_of(path), notes, what=what)
    if table.delimiter:
        notes.text, notes.delimiter = table.names[fields.text], table.delimiter
        notes.n_columns = len(table.names)
        if layout.header:
            _check_header(layout, notes.text, table.place(table.first))
    # A name or a label that there is none of is in the place of the text until it is left out.
    wanted = [fields.text if at is None else at for at in (fields.text, fields.name, *fields.groups)]
    guessed = notes.names is not None
    for number, (text, name, *labels) in table.rows(wanted):
        place = table.place(number)
        yield Document(
            _text(place, text),
            number,
            None if fields.name is None else _name(place, name, guessed),
            tuple(
                None if at is None else _label(place, group, label)
                for at, group, label in zip(fields.groups, notes.groups, labels, strict=True)
            ),
        )


def _check_header(layout: Layout, name: str, place: str) -> None:
    """Refuse a name of the column of texts that is itself a text, unless it was given."""
    if (len(name.split()) > 5 or len(name) > 40) and name != layout.text_column:
        raise DataError(
            f"{place}, text_column", name, "the name of a column, not a text",
            "Give --no-header if the first row is a document, and --text-column with the whole name if not.",
        )  # fmt: skip


def _text(place: str, value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{place}, text", value, "a string", "Check the column, or give --text-column.")
    return value


def _name(place: str, value: Any, guessed: bool) -> str | None:
    """The id of a document. If nobody said that the column has ids, None for what is no name."""
    if guessed:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(
            f"{place}, id", value, "a string or a whole number in every row",
            "Fill it in, or leave out --id-column.",
        )  # fmt: skip
    return str(value)


def _label(place: str, name: str, value: Any) -> Any:
    """A label: a string, number or boolean, or None if it is missing."""
    if missing(value):
        return None
    if hasattr(value, "isoformat"):
        return str(value)
    if not isinstance(value, str | int | float | bool):
        raise DataError(f"{place}, {name}", value, "a string, a number or a boolean", "Write it as a string.")
    return value


TEXT_FORMATS = ("csv", "tsv", "parquet", "jsonl", "xlsx", "lines", "text")
"""Formats of texts: tables, JSON lines, a document per line, folders of files."""

FORMATS = ("ldac", "uci", "matrix-market", "shards", *TEXT_FORMATS)
"""Names of the formats that `read_corpus` reads."""

_BANNER = b"%%matrixmarket"
_FOLDERS = ("shards", "text")
_SUFFIXES = {**TABLES, ".mtx": "matrix-market"}
_COUNTS = re.compile(rb"\s*[0-9]+(?:\s+[0-9]+:[0-9]+)*\s*")
"""The first line of a file of counts; a *.txt file with any other first line is a file of text."""


@attrs.frozen(eq=False, kw_only=True)
class ReadingSettings:
    """How a corpus was read."""

    format: str  # one of `FORMATS`
    layout: Layout | None = None  # of texts
    counter: TextCounter | None = None  # of texts, with its vocabulary

    def as_data(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data, which `from_data` reads."""
        return {
            "format": self.format,
            "layout": None if self.layout is None else self.layout.as_data(),
            "counter": None if self.counter is None else self.counter.as_data(),
        }

    @classmethod
    def from_data(cls, data: Any, allow: Iterable[Any] = (), *, where: str = "reading") -> ReadingSettings:
        """Return the object described by the result of `as_data`."""
        remedy = "It was damaged or changed; write it again."
        with fitting(where, "what hdpkit wrote", remedy=remedy):
            format, layout, counter = data["format"], data["layout"], data["counter"]
            choice(f"{where}, format", format, FORMATS, remedy=remedy)
            if (layout is None or counter is None) == (format in TEXT_FORMATS):
                raise DataError(where, format, "with layout and counter where it is of texts", remedy)
            return cls(
                format=format,
                layout=None
                if layout is None
                else Layout(**{field.name: layout[field.name] for field in attrs.fields(Layout)}),
                counter=None if counter is None else TextCounter.from_data(counter, allow, where=where),
            )


@attrs.frozen(eq=False, kw_only=True)
class ReadCorpus:
    """A corpus and how it was read."""

    corpus: Corpus
    settings: ReadingSettings
    notes: ReadingNotes = attrs.Factory(ReadingNotes)
    # of each document, words outside the vocabulary included; None unless requested
    n_words: npt.NDArray[np.int64] | None = None

    @property
    def n_unknown(self) -> int:
        """Number of words left out since they aren't in the vocabulary; 0 unless requested."""
        return 0 if self.n_words is None else int(self.n_words.sum()) - self.corpus.n_tokens


def read_documents_of(
    path: Path, format: str, layout: Layout, notes: ReadingNotes | None = None
) -> Iterator[Document]:
    """Read documents one by one."""
    notes = ReadingNotes() if notes is None else notes
    if format in ("lines", "text"):
        return (read_document_lines if format == "lines" else read_text_folder)(path, layout, notes)
    return table_documents(path, format, layout, notes)


def read_texts(
    path: Path,
    settings: ReadingSettings,
    limits: Limits | None = None,
    *,
    count_unknown: bool = False,
    known_labels: dict[str, set[Any]] | None = None,
    notes: ReadingNotes | None = None,
) -> ReadCorpus:
    """Read texts and count their words."""
    layout, counter = settings.layout, settings.counter
    assert layout is not None
    assert counter is not None
    notes = ReadingNotes() if notes is None else notes
    gathered = Gathered(path, settings.format, layout, limits or Limits(), notes)
    texts = gathered.texts(read_documents_of(path, settings.format, layout, notes))
    n_words = None
    if count_unknown:
        counts, n_words = counter.count_all(texts)
    else:
        counts = counter.fit_count(texts)
    notes.function_words = counter.function_words
    gathered.limits.check(f"corpus {path}", n_terms=counts.shape[1])
    gathered.limits.check_tokens(f"corpus {path}", int(counts.sum()), counts.nnz)
    groups = gathered.groups(notes.groups, known_labels)
    corpus = Corpus.from_counts(counts, vocabulary=counter.vocabulary, names=gathered.names, groups=groups)
    return ReadCorpus(corpus=corpus, settings=settings, notes=notes, n_words=n_words)


class Gathered:
    """Names and labels of documents, collected while their texts are read."""

    def __init__(self, path: Path, format: str, layout: Layout, limits: Limits, notes: ReadingNotes) -> None:
        self._path = path
        self._notes = notes
        self._layout = layout
        named = layout.id_column is not None or format == "text"
        self._places: dict[str, int | str] | None = {} if named else None
        self._guessed: list[tuple[str, int | str]] = []
        self._labels: list[tuple[Any, ...]] = []
        self.limits = limits
        self.number = 0

    def texts(self, documents: Iterator[Document]) -> Iterator[str]:
        """Yield the texts of documents."""
        for document in documents:
            self.number += 1
            self.limits.check(f"corpus {self._path}", n_documents=self.number)
            if self._places is not None:
                name = str(document.name)
                before = self._places.setdefault(name, document.place)
                if len(self._places) < self.number:
                    raise DataError(
                        f"file {self._path}, line {document.place}, id", name,
                        f"different from all others (line {before} has this id)",
                        "Remove one of the two, or leave out --id-column.",
                    )  # fmt: skip
            elif self._notes.names is not None:
                self._guessed.append((_cut(document.name), document.place))
            self._labels.append(self._dated(document))
            yield document.text
        if self.number == 0:
            raise DataError(f"corpus {self._path}", "no documents", "at least one", "Check the path.")

    @property
    def names(self) -> list[str] | None:
        """Ids of the documents, or what else names them; None if they have none."""
        if self._places is not None:
            return list(self._places)
        return _different(self._guessed) if self._guessed else None

    def _dated(self, document: Document) -> tuple[Any, ...]:
        """The labels of a document, with its date in ISO 8601."""
        date = self._layout.date_column
        if date is None:
            return document.labels
        from hdpkit.data.files.labels import iso_date

        place = self._layout.label_columns.index(date)
        value = document.labels[place]
        if value is None:
            return document.labels
        try:
            found = iso_date(value)
        except ValueError:
            raise DataError(
                f"file {self._path}, line {document.place}, {self._notes.groups[place]}", value,
                "a date such as 2024-05-31, or a year, or nothing",
                "Write dates as YYYY-MM-DD, or name another --date-column.",
            ) from None  # fmt: skip
        return (*document.labels[:place], found, *document.labels[place + 1 :])

    def groups(
        self, columns: tuple[str, ...], known: dict[str, set[Any]] | None
    ) -> dict[str, list[Any]] | None:
        """Label name -> a value per document; for ``known`` labels, any other value counts as missing."""
        values = (
            dict(zip(columns, map(list, zip(*self._labels, strict=True)), strict=True)) if columns else {}
        )
        if known is None:
            return values or None
        none = [None] * self.number
        return {
            name: [value if value in labels else None for value in values.get(name, none)]
            for name, labels in known.items()
        }


_LONGEST = 120  # letters of a name that nobody asked for


def _cut(name: str | None) -> str:
    """A name on one line, not too long; "" for none."""
    line = " ".join((name or "").split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def _different(named: Sequence[tuple[str, int | str]]) -> list[str] | None:
    """Names that are all different; None if most documents share theirs with others, or have none."""
    times = Counter(name for name, _ in named)
    if sum(times[name] == 1 for name, _ in named if name) < len(named) / 2:
        return None
    found = [
        name if name and times[name] == 1 else f"{name} (line {place})".lstrip() for name, place in named
    ]
    return found if len(set(found)) == len(found) else None


def read_corpus(
    path: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
) -> Corpus:
    """Read a corpus from a file or a folder.

    Raises a DataError if a file can't be read or isn't valid (the message names the file and, if applicable,
    the line); a ParameterError if `format` isn't known, or `text` or `layout` is given for counts; a
    MissingExtraError if a package needed to read text isn't installed.

    Parameters
    ----------
    path : path
        Counts: an LDA-C file, a bag-of-words file of the UCI repository or a Matrix Market file (documents x
        terms), plain or gzip; or a folder of shards that `convert_corpus`, `convert_shards` or `Corpus.save`
        wrote: one shard is mapped into memory, several are read.
        Texts: a table (CSV, TSV, Parquet, xlsx) with a document per row, JSON lines with one per object, or
        a file with one per line, all except Parquet and xlsx plain or compressed by gzip, bzip2 or xz; or a
        folder of text files (``*.txt``, at any depth), in the order of their paths, which become their names.
    format : str, optional
        One of `FORMATS`; by default the result of `detect_format`.
    vocabulary : path, optional
        File with a term per line (UTF-8, plain or gzip). For text: only these terms are counted. Not for
        shards, which include their vocabulary.
    text : TextOptions, optional
        How text is split into words.
    limits : Limits, optional
        The largest corpus accepted from a file of counts; see `hk.Limits`.
    layout : Layout, optional
        Where the texts are: columns of tables, encoding, names of files.
    """
    read = read_any(Request.of(path, format, vocabulary, text, limits, layout))
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


@attrs.frozen
class Request:
    """The arguments of `read_corpus`, checked, and the terms of the vocabulary file."""

    place: Path
    format: str
    words: tuple[str, ...] | None
    text: TextOptions | None
    limits: Limits
    layout: Layout

    @classmethod
    def of(cls, path: Any, format: Any, vocabulary: Any, text: Any, limits: Any, layout: Any) -> Request:
        """Check the arguments. Parameters and errors as in `read_corpus`."""
        place = path_of("path", path)
        found = detect_format(place)
        if format is None:
            format = found
        choice("format", format, FORMATS, remedy="Leave it out to have it detected.")
        if (found in _FOLDERS) != (format in _FOLDERS):
            is_one, wanted = ("a file", "a folder") if format in _FOLDERS else ("a folder", "a file")
            raise DataError(
                f"corpus {place}", is_one, f"{wanted} ({format})", "Check the path and the format."
            )
        for name, given, kind in (("text", text, TextOptions), ("layout", layout, Layout)):
            instance(name, given, (kind, type(None)), f"{kind.__name__}, or None", remedy="Leave it out.")
            if given is not None and format not in TEXT_FORMATS:
                raise ParameterError(
                    name, given, f"left out for {format}", "Files of this format contain counts."
                )
        if vocabulary is not None and format == "shards":
            raise ParameterError(
                "vocabulary", str(vocabulary), f"left out for {format}", "Their folder contains it."
            )
        instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
        words = None
        if vocabulary is not None:
            listed = path_of("path", vocabulary)
            with reading(listed):
                words = read_vocabulary(listed, limits)
        return cls(place, format, words, text, limits or Limits(), layout or Layout())


def read_any(request: Request) -> ReadCorpus:
    """Read a corpus, and return how it was read. Errors as in `read_corpus`."""
    with reading(request.place):
        if request.format in TEXT_FORMATS:
            counter = TextCounter(request.text, vocabulary=request.words)
            settings = ReadingSettings(format=request.format, layout=request.layout, counter=counter)
            return read_texts(request.place, settings, request.limits)
        return ReadCorpus(corpus=_read_counts(request), settings=ReadingSettings(format=request.format))


def _read_counts(request: Request) -> Corpus:
    place, words, limits = request.place, request.words, request.limits
    if request.format == "shards":
        return open_shards(place)
    if request.format == "matrix-market":
        counts = read_matrix_market(place, limits)
        check_terms(place, words, counts.n_documents, counts.n_terms)
        return Corpus._from_blocks([counts], words, None, None)
    read = Corpus.from_ldac if request.format == "ldac" else Corpus.from_uci
    return read(place, vocabulary=words, limits=limits)


def open_shards(place: Path) -> Corpus:
    """Map one shard into memory, or read several."""
    if is_shard(place):
        return Corpus.open(place)
    sharded = ShardedCorpus.open(place)
    return sharded.shard(0) if sharded.n_shards == 1 else sharded.corpus()


def detect_format(path: str | os.PathLike[str]) -> str:
    """Detect the format of a corpus from its files."""
    place = path_of("path", path)
    with reading(place):
        if place.is_dir():
            return "shards" if is_sharded_folder(place) or is_shard(place) else "text"
        if not place.exists():
            raise DataError(f"corpus {place}", "nothing", "a file or a folder", "Check the path.")
        if not place.is_file():  # opening a pipe might block
            raise DataError(f"corpus {place}", "a device", "a file or a folder", "Give a regular file.")
        suffix = suffix_of(place)
        if _SUFFIXES.get(suffix) in FORMATS:
            return _SUFFIXES[suffix]
        with open(place, "rb") as file:
            if file.read(len(_BANNER) + 3).removeprefix(codecs.BOM_UTF8).lower().startswith(_BANNER):
                return "matrix-market"
        if (
            suffix == ".txt"
            and _COUNTS.fullmatch(
                unpacked_beginning(place, 4096).removeprefix(codecs.BOM_UTF8).partition(b"\n")[0]
            )
            is None
        ):
            return "lines"
        return "uci" if is_uci(place) else "ldac"


def check_terms(path: Path, words: tuple[str, ...] | None, n_rows: int, n_columns: int) -> None:
    """Raise a DataError unless a vocabulary, if there is one, has a term for each column of a matrix."""
    if words is not None and len(words) == n_rows != n_columns:
        raise DataError(
            "vocabulary", f"{len(words)} terms", f"{n_columns} terms, one per column of {path}",
            "It has one per row: the matrix is terms x documents; transpose it.",
        )  # fmt: skip
    check_width(words, n_columns, ", one per column of the counts", "Give one word per column.")


_WORDS = 1 << 18  # words per block
_TEXTS = 1 << 10


class _Numbers(dict[str, int]):
    """Word -> number in the order of first appearance."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        return number


def text_blocks(
    texts: Iterable[str],
    counter: TextCounter,
    folder: Path,
    refusals: Callable[[], AbstractContextManager[None]],
) -> Iterator[Counts]:
    """Count the words of texts; a counter without a vocabulary takes that of these texts."""
    if counter.vocabulary is not None:
        rest = iter(texts)
        while batch := list(islice(rest, _TEXTS)):
            yield read_matrix(counter.count(batch), None)
        return
    numbers = _Numbers()
    texts = counter._without_function_words(texts)
    with CellSpool(folder, refusals) as spool:
        spool.fill(_numbered(texts, counter.analyzer(), numbers))
        n_texts, n_words = np.zeros((2, len(numbers)), np.int64)
        for block in spool.blocks():
            n_texts += np.bincount(block.term, minlength=len(numbers))
            np.add.at(n_words, block.term, block.count)
        ids = counter._choose(numbers, n_texts, n_words, len(spool.cells))
        for block in spool.blocks():
            term = ids[block.term]
            kept = term >= 0
            yield Counts(
                block.document[kept], term[kept], block.count[kept], block.n_documents, int(ids.max()) + 1
            )


def _numbered(
    texts: Iterable[str], words_of: Callable[[str], list[str]], numbers: _Numbers
) -> Iterator[Counts]:
    """Numbers of the words, in blocks of texts."""
    words, lengths = array("q"), array("q")
    for text in texts:
        before = len(words)
        words.extend(map(numbers.__getitem__, words_of(text)))
        lengths.append(len(words) - before)
        if len(words) >= _WORDS:
            yield _block(words, lengths, len(numbers))
            words, lengths = array("q"), array("q")
    yield _block(words, lengths, len(numbers))


def _block(words: array[int], lengths: array[int], n_terms: int) -> Counts:
    terms = np.array(words, np.int64)
    document = np.repeat(np.arange(len(lengths)), np.array(lengths, np.int64))
    return Counts(document, terms, np.ones(len(terms), np.int64), len(lengths), max(n_terms, 1))


def convert_corpus(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
    notes: ReadingNotes | None = None,
) -> Corpus:
    """Write a corpus to a folder of one shard, from which `read_corpus` maps it into memory.

    It is read block by block, as by `convert_shards`; but each token is written, so that the corpus has fewer
    than 2^31. Parameters and errors as there.
    """
    _convert(Request.of(path, format, vocabulary, text, limits, layout), folder, None, notes)
    return Corpus.open(folder, verify=False)


def convert_shards(
    path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    shards: int,
    format: str | None = None,
    vocabulary: str | os.PathLike[str] | None = None,
    text: TextOptions | None = None,
    limits: Limits | None = None,
    layout: Layout | None = None,
    notes: ReadingNotes | None = None,
) -> ShardedCorpus:
    """Write a corpus in shards of consecutive documents, with about equal numbers of cells (or tokens).

    Together the shards are the corpus that `read_corpus` returns. At any time only a few megabytes of the
    corpus are in memory, and the lengths, names and labels of all documents; for texts, also each distinct
    word. While the folder is written, two to three times its size is needed on disk. Raises a DataError,
    ParameterError or MissingExtraError as for `read_corpus`; a ParameterError also if there are too many
    shards or the folder isn't empty; a StorageError if the folder can't be written, for instance because the
    disk is full; nothing is left behind then.

    Parameters
    ----------
    path, format, vocabulary, text, limits, layout
        As in `read_corpus`. The corpus may have 2^31 tokens or more.
    folder : path
        New or empty.
    shards : int
        Number of shards, at most the number of documents with tokens.
    notes : ReadingNotes, optional
        What was noticed about the files is added to it; without it files that were left out are warned of.
    """
    request = Request.of(path, format, vocabulary, text, limits, layout)
    _convert(request, folder, check_shards(shards), notes)
    return ShardedCorpus.open(folder)


def _convert(request: Request, folder: Any, shards: int | None, notes: ReadingNotes | None) -> None:
    """Write a corpus in so many shards; None: in one that has tokens, not cells."""
    place = path_of("folder", folder, remedy="Name a folder, for instance Path('shards').")
    noted = ReadingNotes() if notes is None else notes
    if request.format == "shards":
        with reading(request.place):
            if shards is None:
                content = content_of(open_shards(request.place), tokens=True)
            elif is_shard(request.place):
                content = content_of(Corpus.open(request.place))
            else:
                content = content_of_shards(ShardedCorpus.open(request.place))
        write_content(content, place, shards or 1)
    else:
        to_blocks = _of_texts if request.format in TEXT_FORMATS else _of_counts
        blocks, described = to_blocks(request, place, noted)
        what = f"{'corpus' if request.format in TEXT_FORMATS else 'file'} {request.place}"

        def limited_blocks(scratch: Path) -> Iterator[Counts]:
            with reading(request.place):
                yield from limited(what, blocks(scratch), request.limits, in_shards=shards is not None)

        write_blocks(limited_blocks, place, shards or 1, described, tokens=shards is None)
    if notes is None and noted.skipped:
        warnings.warn(skipped_text(noted), SkippedFilesWarning, stacklevel=3)


_Source = tuple[Callable[[Path], Iterator[Counts]], Callable[[], Described]]
"""What reads counts, given a folder for temporary files; and what is known when all are read."""


def _of_counts(request: Request, folder: Path, notes: ReadingNotes) -> _Source:
    words = request.words

    def blocks(scratch: Path) -> Iterator[Counts]:
        if request.format != "matrix-market":
            read = read_ldac if request.format == "ldac" else read_uci
            yield from read(request.place, None if words is None else len(words))
            return
        (n_rows, n_columns), entries = matrix_entries(request.place, request.limits)
        check_terms(request.place, words, n_rows, n_columns)
        refusals = partial(storing_shards, folder)
        yield from by_document(entries, n_rows, n_columns, scratch / "entries", refusals)

    return blocks, lambda: (words, None, None)


def _of_texts(request: Request, folder: Path, notes: ReadingNotes) -> _Source:
    counter = TextCounter(request.text, vocabulary=request.words)
    gathered = Gathered(request.place, request.format, request.layout, request.limits, notes)

    def blocks(scratch: Path) -> Iterator[Counts]:
        texts = gathered.texts(read_documents_of(request.place, request.format, request.layout, notes))
        yield from text_blocks(texts, counter, scratch / "texts", partial(storing_shards, folder))
        notes.function_words = counter.function_words

    return blocks, lambda: (counter.vocabulary, gathered.names, gathered.groups(notes.groups, None))
