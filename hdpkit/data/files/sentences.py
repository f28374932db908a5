"""Files of sentences, one per line, as lists of words; back-off language models in the ARPA format."""

from __future__ import annotations

import codecs
import gzip
import math
import os
import re
import shutil
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import attrs

from hdpkit.checks import as_float, choice, flag, function, instance, items, path, text, whole_number
from hdpkit.checks import path as as_path
from hdpkit.data.files.text_files import MAX_LINE_BYTES, Progress, Source, decode_line, place_of, read_lines
from hdpkit.errors import DataError, ParameterError
from hdpkit.files import storage_errors, written_aside

# Words are separated by ASCII blanks, as in other n-gram tools. str.split() would also split at no-break
# spaces and U+2028.
_WORD = re.compile(r"[^ \t\n\v\f\r]+")

# Encodings in which the bytes of ASCII blanks always and only represent these blanks.
_TRANSPARENT = ("utf-8", "ascii", "iso8859-1")

_MARKERS = ("<s>", "</s>")


def read_sentences(
    source: Source,
    *,
    encoding: str = "utf-8",
    errors: str = "strict",
    lowercase: bool = False,
    empty: str = "skip",
    max_line_bytes: int | None = MAX_LINE_BYTES,
    progress: Progress | None = None,
) -> Iterator[list[str]]:
    r"""Yield sentences, one per line, read on demand.

    A line ends with ``\n``. Words are separated by ASCII blanks (space, tab, ``\r``, ``\v``, ``\f``); all
    other characters, including no-break spaces and U+2028, are part of words. A byte order mark at the
    beginning is dropped. The only special words are ``<s>`` and ``</s>``, which raise an error since they are
    added later.

    Yields the words of each sentence, a list of str. Raises a DataError with the file and the line (from 1),
    when the line is reached, for invalid bytes (with their offset in the uncompressed file, from 0), a NUL
    byte, ``<s>`` or ``</s>`` as a word, a line that is too long, a compressed file that is damaged or
    truncated, or a file that can't be read; a ParameterError, immediately, if an argument isn't valid.

    Parameters
    ----------
    source : path or open file
        Path of a file, plain or compressed by gzip, bzip2 or xz (detected by name or first bytes); "-" for
        standard input; or an open file, of bytes or of text (which then has its own encoding and errors).
    encoding : str
        Any encoding compatible with ASCII: "utf-8", "latin-1", "gb18030", ... (not "utf-16").
    errors : str
        "strict": invalid bytes raise an error; "replace": they become U+FFFD.
    lowercase : bool
        Whether to convert words to lower case.
    empty : str
        How to treat a line without words: "skip" it (like SRILM), or "keep" it as an empty sentence (like
        KenLM).
    max_line_bytes : int or None
        Longest line, including its end (for a file opened as text: in characters); None for any length.
    progress : callable, optional
        Called about once per megabyte and at the end with the number of bytes read and their total; for
        compressed files both refer to compressed bytes. The total is None except for a regular file given by
        its path.
    """
    if not hasattr(source, "readline") and not (isinstance(source, str) and source == "-"):
        source = path("source", source, remedy='Give a path, "-" or an open file.')
    if max_line_bytes is not None:
        whole_number("max_line_bytes", max_line_bytes, 1, 2**62, remedy="None means no limit.")
    if progress is not None:
        function("progress", progress, remedy="Pass a function of two numbers.")
    choice("errors", errors, ("strict", "replace"), remedy='"replace" replaces invalid bytes by U+FFFD.')
    choice("empty", empty, ("skip", "keep"), remedy='"keep" makes an empty line a sentence.')
    words_of = _Words(source, _check_encoding(encoding), errors, flag("lowercase", lowercase))
    sentences = (words_of(*line) for line in read_lines(source, max_line_bytes, progress))
    return (words for words in sentences if words or empty == "keep")


def _check_encoding(encoding: Any) -> str:
    remedy = "Convert the file to UTF-8, or open it yourself and pass the open text file."
    ascii = bytes(range(128))
    try:
        if ascii.decode(text("encoding", encoding, remedy=remedy)) == ascii.decode("ascii"):
            return codecs.lookup(encoding).name
    except (LookupError, ValueError):  # not an encoding, or not one of text
        pass
    raise ParameterError("encoding", encoding, "an encoding that is compatible with ASCII", remedy)


@attrs.frozen
class _Words:
    """The words of a line."""

    source: Any
    encoding: str
    errors: str
    lowercase: bool

    def __call__(self, number: int, begin: int, line: str | bytes) -> list[str]:
        source = self.source
        fast = False
        if isinstance(line, str):
            content, nul = line, line.find("\0")
        else:
            nul = line.find(b"\0")
            fast = self.encoding in _TRANSPARENT and begin > 0
            try:
                # blanks are made uniform first, which takes a quarter of the time of searching for words
                content = (b" ".join(line.split()) if fast else line).decode(self.encoding, self.errors)
            except UnicodeDecodeError:
                content = decode_line(line, source, number, begin, self.encoding, self.errors)
        if nul >= 0:
            raise DataError(
                f"{place_of(source, number)}, byte {begin + nul}", "\0", "text without NUL bytes",
                "Check that it is a text file; convert UTF-16 to UTF-8.",
            )  # fmt: skip
        if begin == 0:
            content = content.removeprefix("\ufeff")
        if self.lowercase:
            content = content.lower()
        words = content.split(" ") if fast and content else _WORD.findall(content)
        if "s>" in content and any(marker in words for marker in _MARKERS):
            raise DataError(
                place_of(source, number), next(word for word in words if word in _MARKERS),
                "a word, not the symbol of a sentence's start or end",
                "Remove these symbols from the lines: they are added.",
            )  # fmt: skip
        return words


Row = tuple[float, tuple[str, ...], float | None]
"""An n-gram: log10 of its probability, its words in reading order, log10 of its back-off weight or None."""

_ZERO = -99.0  # stands for the logarithm of 0

_ROUNDING = 1e-6  # a logarithm of 1 may exceed 0 by this

_BLANK = re.compile(r"[\0 \t\n\v\f\r]")
_COUNT = re.compile(r"ngram[ \t]+([0-9]{1,9})[ \t]*=[ \t]*([0-9]{1,18})")
_SECTION = re.compile(r"\\([0-9]{1,9})-grams:")


def write_arpa(path: str | os.PathLike[str], orders: Iterable[Iterable[Row]]) -> None:
    r"""Write a back-off model; the file appears only when it is complete.

    Raises a DataError with order and row (from 0) if a word isn't a string, is empty or contains blanks
    (space, tab, line ends, NUL), a probability is above 1, or a number is NaN or not a number; a StorageError
    if the file can't be written; an existing file is then unchanged.

    Parameters
    ----------
    path : path
        Output file; compressed by gzip if the name ends in ".gz".
    orders : iterable of iterables
        Rows of the unigrams, of the bigrams, and so on; iterated over once. A row is (log10 probability,
        words as a tuple in reading order, log10 back-off weight or None). Minus infinity is written as -99,
        as is usual for the probability of ``<s>``. Each word must be among the unigrams.
    """
    target = as_path("path", path, remedy="Give the file to write.")
    listed = items("orders", orders, "a list of rows for each order", remedy="Give [unigrams, bigrams, ...].")
    if not listed:
        raise DataError("orders", orders, "at least one list of rows", "Give [unigrams, bigrams, ...].")
    counts = []
    vocabulary: set[str] = set()
    place, remedy = "a place where a file can be written", "Choose another place."
    with storage_errors("path", target, place, remedy), tempfile.TemporaryFile(dir=target.parent) as body:
        for order, rows in enumerate(listed, start=1):
            body.write(b"\n\\%d-grams:\n" % order)
            counts.append(0)
            for number, row in enumerate(_iterate(rows, order)):
                body.write(_line(row, order, number, vocabulary))
                counts[-1] += 1
        body.seek(0)
        head = ["\\data\\"] + [f"ngram {order}={n}" for order, n in enumerate(counts, start=1)]
        with written_aside(target) as file, _packing(target, file) as out:
            out.write("".join(f"{line}\n" for line in head).encode())
            shutil.copyfileobj(body, out)
            out.write(b"\n\\end\\\n")


@contextmanager
def _packing(target: Path, file: IO[bytes]) -> Iterator[Any]:
    if target.suffix.lower() != ".gz":
        yield file
        return
    # without a time and a name: the same model is the same file
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        yield packed


def _iterate(rows: Any, order: int) -> Iterator[Any]:
    place, remedy = f"orders, order {order}", "Rows are (log10 probability, words, log10 back-off weight)."
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise DataError(place, rows, "a list of rows", remedy)
    return iter(rows)


def _line(row: Any, order: int, number: int, vocabulary: set[str]) -> bytes:
    """Return a row as a line; adds a unigram to the vocabulary."""
    place = f"orders, order {order}, row {number}"
    if not isinstance(row, tuple | list) or len(row) != 3 or not isinstance(row[1], tuple | list):
        raise DataError(
            place, row, "(log10 probability, words, log10 back-off weight or None)", "Give a tuple of three."
        )
    probability, words, weight = row
    if len(words) != order:
        raise DataError(f"{place}, words", words, f"{order} words", "Order n has n-grams of n words.")
    for word in words:
        if not isinstance(word, str) or not word or _BLANK.search(word):
            raise DataError(
                f"{place}, words", word, "a string without blanks",
                "The format separates words by blanks: replace them, as in word.replace(' ', '_').",
            )  # fmt: skip
        if order > 1 and word not in vocabulary:
            raise DataError(f"{place}, words", word, "among the unigrams", "Give its unigram, too.")
    if order == 1:
        if words[0] in vocabulary:
            raise DataError(
                f"{place}, words", words[0], "different from all words before", "Give each word once."
            )
        vocabulary.add(words[0])
    fields = [_number(f"{place}, probability", probability, 0.0), " ".join(words)]
    if weight is not None:
        fields.append(_number(f"{place}, back-off weight", weight, math.inf))
    try:
        return ("\t".join(fields) + "\n").encode()
    except UnicodeEncodeError as error:  # a lone surrogate
        raise DataError(
            f"{place}, words", words, "text that can be encoded in UTF-8", "Replace it."
        ) from error


def _number(place: str, value: Any, high: float) -> str:
    number = _logarithm(as_float(value), high)
    if math.isnan(number):
        raise DataError(place, value, _allowed(high), "Give log10 of it; minus infinity stands for 0.")
    # the shortest text that represents this number exactly
    return "-99" if number == -math.inf else repr(number).removesuffix(".0")


def _logarithm(number: float, high: float) -> float:
    """Return a logarithm of at most `high`, minus infinity for a value of -99 or less, NaN if not valid."""
    if math.isnan(number) or number == math.inf or number > high + _ROUNDING:
        return math.nan
    return -math.inf if number <= _ZERO else min(number, high)


def _allowed(high: float) -> str:
    return "a logarithm (base 10)" if high > 0 else "a logarithm (base 10) of at most 0"


@attrs.frozen(eq=False, repr=False)
class ArpaModel:
    """A back-off model, as read by `read_arpa`.

    Attributes
    ----------
    orders : tuple of dict
        For each order: words of an n-gram -> (log10 probability, log10 back-off weight or None).
    """

    orders: tuple[dict[tuple[str, ...], tuple[float, float | None]], ...]

    @property
    def order(self) -> int:
        """Number of words of the longest n-grams."""
        return len(self.orders)

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Listed words in the order of the file, including ``<s>``, ``</s>`` and ``<unk>``."""
        return tuple(word for (word,) in self.orders[0])

    def rows(self) -> list[list[Row]]:
        """Return the rows of each order, in the form accepted by `write_arpa`."""
        return [[(p, words, weight) for words, (p, weight) in ngrams.items()] for ngrams in self.orders]

    def log10_probability(self, word: str, context: Sequence[str] = ()) -> float:
        """Return log10 of the probability of a word after a context.

        A word that isn't listed, also one of the context, counts as ``<unk>`` if that is listed. Otherwise
        its probability is 0 (minus infinity), and a context that contains it begins after it.

        Parameters
        ----------
        word : str
        context : sequence of str
            All preceding words in reading order; ``<s>`` precedes the first word of a sentence.
        """
        (word,) = self._listed((instance("word", word, str, "a string", remedy="Give a word."),))
        before = items("context", context, "a tuple of words", remedy='Write it as ("of", "the").')
        near = self._listed(before[max(len(before) - self.order + 1, 0) :])
        weights = 0.0
        while (ngram := (*near, word)) not in self.orders[len(near)]:
            if not near:
                return -math.inf
            _, weight = self.orders[len(near) - 1].get(near, (0.0, None))
            weights += weight or 0.0
            near = near[1:]
        return self.orders[len(near)][ngram][0] + weights

    def _listed(self, words: tuple[Any, ...]) -> tuple[str, ...]:
        listed = self.orders[0]
        if ("<unk>",) not in listed:
            return words
        return tuple(word if (word,) in listed else "<unk>" for word in words)

    def __repr__(self) -> str:
        return (
            f"<ArpaModel: {', '.join(f'{len(ngrams)} {n}-grams' for n, ngrams in enumerate(self.orders, 1))}>"
        )


def read_arpa(path: str | os.PathLike[str]) -> ArpaModel:
    r"""Read a back-off model into memory, to look up probabilities and to check files.

    Raises a DataError with the line (from 1) if the file can't be read, isn't valid UTF-8, has invalid rows
    or other numbers of rows than declared, or ends too early.

    Parameters
    ----------
    path : path
        A file, plain or compressed by gzip, bzip2 or xz. Text before ``\data\`` or after ``\end\`` is
        skipped; fields may be separated by any blanks. Values of -99 or less denote the logarithm of 0.
    """
    source = as_path("path", path, remedy="Give the file to read.")
    parser = _Parser(source)
    try:
        return parser.parse()
    finally:
        parser.lines.close()


class _Parser:
    """Reads the lines of a file."""

    def __init__(self, source: Path) -> None:
        self.source = source
        self.number = 0
        self.lines = self._lines()  # continued by every loop below

    def parse(self) -> ArpaModel:
        for line in self.lines:
            if line == "\\data\\":
                break
        else:
            raise self._error("no line \\data\\", "a model in ARPA format", "Check the path.")
        counts: list[int] = []
        for line in self.lines:
            found = _COUNT.fullmatch(line)
            if found is None:
                break
            if int(found[1]) != len(counts) + 1:
                raise self._error(line, f"ngram {len(counts) + 1}=COUNT", "Orders must be consecutive.")
            counts.append(int(found[2]))
        else:
            raise self._ended()
        if not counts:
            raise self._error(line, "ngram 1=COUNT", "Counts follow \\data\\.")
        orders: list[dict[tuple[str, ...], tuple[float, float | None]]] = []
        for order, count in enumerate(counts, start=1):
            section = _SECTION.fullmatch(line)
            if section is None or int(section[1]) != order:
                raise self._error(line, f"\\{order}-grams:", "Sections must be in the order of n.")
            ngrams: dict[tuple[str, ...], tuple[float, float | None]] = {}
            for line in self.lines:
                if line.startswith("\\") and (line == "\\end\\" or _SECTION.fullmatch(line)):
                    break
                words, entry = self._row(line, order)
                if words in ngrams:
                    raise self._error(line, "different from all n-grams before", "Remove one of the two.")
                if order > 1:
                    for word in words:
                        if (word,) not in orders[0]:
                            raise self._error(word, "among the unigrams", "Add its unigram.")
                ngrams[words] = entry
            else:
                raise self._ended()
            if len(ngrams) != count:
                raise self._error(
                    f"{len(ngrams)} {order}-grams before it", f"after {count} of them, as stated",
                    "The file may be truncated or edited: restore it.",
                )  # fmt: skip
            orders.append(ngrams)
        if line != "\\end\\":
            raise self._error(line, "\\end\\", "It follows the last section.")
        for _ in self.lines:  # truncation of a compressed file is detected only at its end
            pass
        return ArpaModel(tuple(orders))

    def _lines(self) -> Generator[str]:
        """Nonempty lines, without blanks around them."""
        for number, begin, line in read_lines(self.source):
            self.number = number
            if line.isspace():
                continue
            text = decode_line(line, self.source, number, begin).strip(" \t\r\n")
            if number == 1:
                text = text.removeprefix("\ufeff")
            if text:
                yield text

    def _row(self, line: str, order: int) -> tuple[tuple[str, ...], tuple[float, float | None]]:
        fields = [field for field in re.split(r"[ \t]+", line) if field]
        if not order + 1 <= len(fields) <= order + 2:
            raise self._error(
                line, f"a row of log10 probability, {order} words and perhaps log10 back-off weight",
                "Fields are separated by tabs or spaces.",
            )  # fmt: skip
        weight = None if len(fields) == order + 1 else self._log10(fields[-1], math.inf)
        return tuple(fields[1 : order + 1]), (self._log10(fields[0], 0.0), weight)

    def _log10(self, field: str, high: float) -> float:
        try:
            number = math.nan if "_" in field else _logarithm(float(field), high)
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise self._error(field, _allowed(high), "Check the row.")
        return number

    def _ended(self) -> DataError:
        return self._error(
            "the end of the file", "followed by \\end\\", "The file may be truncated: download it again."
        )

    def _error(self, value: Any, allowed: str, remedy: str) -> DataError:
        return DataError(place_of(self.source, self.number or None), value, allowed, remedy)
