"""Files of sentences, one a line, as lists of words."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import attrs

from hdpkit.checks import choice, flag, function, path, text, whole_number
from hdpkit.errors import DataError, ParameterError

__all__ = ["MAX_LINE_BYTES", "Source", "read_sentences"]

MAX_LINE_BYTES = 2**26
"""Longer lines (64 MiB) are refused unless asked for: such a file is no text of sentences."""

Source = str | os.PathLike[str] | IO[str] | IO[bytes]
"""What sentences are read from."""

Progress = Callable[[int, int | None], object]

_STEP = 2**20  # progress is told about once in so many bytes

# What separates words: the blanks of ASCII, as in other tools for n-grams. To str.split() a no-break space
# and U+2028 would be blanks too.
_WORD = re.compile(r"[^ \t\n\v\f\r]+")

# Encodings in which the bytes of blanks are nothing else, and the blanks of ASCII no other bytes.
_TRANSPARENT = ("utf-8", "ascii", "iso8859-1")

_MARKERS = ("<s>", "</s>")

_TROUBLE = (OSError, ValueError, EOFError, zlib.error, lzma.LZMAError)

_PACKED: dict[str, tuple[bytes, Callable[..., Any], str]] = {
    ".gz": (b"\x1f\x8b", gzip.open, "gzip"),
    ".bz2": (b"BZh", bz2.open, "bzip2"),
    ".xz": (b"\xfd7zXZ\0", lzma.open, "xz"),
}
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")  # three letters may begin a text


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
    r"""Read sentences, one a line, as they are asked for.

    A line ends with ``\n``. Words are what the blanks of ASCII separate (space, tab, ``\r``, ``\v``, ``\f``);
    other characters, a no-break space or U+2028 among them, are part of a word. A byte order mark at the
    beginning is dropped. No word is special but ``<s>`` and ``</s>``, which are refused: they are added
    later.

    Parameters
    ----------
    source : path or open file
        Path of a file, plain or packed by gzip, bzip2 or xz (told by the name or the first bytes); "-" for
        standard input; or a file that is open, for text (then encoding and errors are its own) or bytes.
    encoding : str
        Any that agrees with ASCII: "utf-8", "latin-1", "gb18030", ... (not "utf-16").
    errors : str
        "strict": bytes that aren't valid are refused; "replace": they become U+FFFD.
    lowercase : bool
        Whether to turn words into lower case.
    empty : str
        What becomes of a line without words: "skip" (as SRILM does) or "keep", as an empty sentence (as KenLM
        does).
    max_line_bytes : int or None
        Longest line, with its end (of a file that is open for text: characters); None: any.
    progress : callable, optional
        Called about once a megabyte and at the end with the number of bytes read and their total; of packed
        files both are of the packed bytes. The total is None for what isn't a regular file given by its path.

    Yields
    ------
    list of str
        Words of a sentence.

    Raises
    ------
    DataError
        Naming the file and the line (from 1), when it comes to it: invalid bytes (their offset in the
        unpacked file, from 0, is named), a NUL byte, ``<s>`` or ``</s>`` as a word, too long a line, a packed
        file that is damaged or cut off, or a file that can't be read.
    ParameterError
        At once, if an argument makes no sense.
    """
    if not hasattr(source, "readline"):
        source = (
            source if source == "-" else path("source", source, remedy='Give a path, "-" or an open file.')
        )
    reader = _Reader(
        encoding=_check_encoding(encoding),
        errors=choice(
            "errors", errors, ("strict", "replace"), remedy='"replace" makes U+FFFD of invalid bytes.'
        ),
        lowercase=flag("lowercase", lowercase),
        keep=choice("empty", empty, ("skip", "keep"), remedy='"keep" makes an empty line a sentence.')
        == "keep",
        limit=None
        if max_line_bytes is None
        else whole_number("max_line_bytes", max_line_bytes, 1, 2**62, remedy="None stands for no limit."),
        progress=progress
        if progress is None
        else function("progress", progress, remedy="Pass a function of two numbers."),
    )
    return reader.read(source)


def _check_encoding(encoding: Any) -> str:
    remedy = "Convert the file to UTF-8, or open it yourself and pass the open text file."
    ascii = bytes(range(128))
    try:
        if ascii.decode(text("encoding", encoding, remedy=remedy)) == ascii.decode("ascii"):
            return codecs.lookup(encoding).name
    except (LookupError, UnicodeError):  # no encoding, or none of text
        pass
    raise ParameterError("encoding", encoding, "an encoding that agrees with ASCII", remedy)


@attrs.frozen(kw_only=True)
class _Reader:
    """How sentences are read; arguments checked."""

    encoding: str
    errors: str
    lowercase: bool
    keep: bool
    limit: int | None
    progress: Progress | None

    def read(self, source: Any) -> Iterator[list[str]]:
        if isinstance(source, Path):
            name = f"file {source}"
            try:
                raw = open(source, "rb")  # noqa: SIM115 - closed below
                info = os.fstat(raw.fileno())
            except _TROUBLE as error:
                raise _told(error, name) from error
            with raw:
                total = info.st_size if stat.S_ISREG(info.st_mode) else None
                file, packed = _unpacked(source, raw)
                with file:
                    yield from self._sentences(file, name, packed, raw, total)
        elif source == "-":
            if sys.stdin is None:
                raise DataError("standard input", None, "there", "Give a file.")
            file = getattr(sys.stdin, "buffer", sys.stdin)
            yield from self._sentences(file, "standard input", "", file, None)
        else:
            given = getattr(source, "name", None)
            name = f"file {given}" if isinstance(given, str) else "open file"
            yield from self._sentences(source, name, "", source, None)

    def _sentences(
        self, file: Any, name: str, packed: str, raw: Any, total: int | None
    ) -> Iterator[list[str]]:
        """Yield the sentences of a file; `packed` says what it is packed by, `raw` is the file as it is."""
        number = read = told = 0
        size = -1 if self.limit is None else self.limit + 1
        while True:
            number += 1
            try:
                line = file.readline(size)
            except _TROUBLE as error:
                raise _told(error, name, number, packed) from error
            if not line:
                break
            if self.limit is not None and len(line) > self.limit:
                raise DataError(
                    f"{name}, line {number}", f"more than {self.limit} bytes",
                    f"at most {self.limit} bytes long",
                    "Put one sentence on a line, or give a larger max_line_bytes (None: no limit).",
                )  # fmt: skip
            words = self._words(line, name, number, read)
            read += len(line)
            if self.progress is not None and read >= told + _STEP:
                told = read
                self.progress(read if total is None else raw.tell(), total)
            if words or self.keep:
                yield words
        if self.progress is not None:
            self.progress(read if total is None else raw.tell(), total)

    def _words(self, line: str | bytes, name: str, number: int, begin: int) -> list[str]:
        """Return the words of a line that begins at a byte."""
        place = f"{name}, line {number}"
        fast = False
        if isinstance(line, str):
            content, nul = line, line.find("\0")
        else:
            nul = line.find(b"\0")
            fast = self.encoding in _TRANSPARENT and begin > 0
            try:
                # blanks are made one at a time, which takes a quarter of the time of looking for words
                content = (b" ".join(line.split()) if fast else line).decode(self.encoding, self.errors)
            except UnicodeDecodeError:
                content = self._decode(line, place, begin)
        if nul >= 0:
            raise DataError(
                f"{place}, byte {begin + nul}", "\0", "text without NUL bytes",
                "Is it a text file? One in UTF-16 wants to be converted to UTF-8.",
            )  # fmt: skip
        if begin == 0:
            content = content.removeprefix("\ufeff")
        if self.lowercase:
            content = content.lower()
        words = content.split(" ") if fast and content else _WORD.findall(content)
        if "s>" in content and any(marker in words for marker in _MARKERS):
            raise DataError(
                place, next(word for word in words if word in _MARKERS),
                "a word, not the symbol of a sentence's start or end",
                "Remove these symbols from the lines: they are added.",
            )  # fmt: skip
        return words

    def _decode(self, line: bytes, place: str, begin: int) -> str:
        try:
            return line.decode(self.encoding, self.errors)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{place}, byte {begin + error.start}", line[error.start : error.end],
                f"valid {self.encoding}",
                'Convert the file, give its encoding, or give errors="replace" to read U+FFFD there.',
            ) from error  # fmt: skip


def _unpacked(source: Path, raw: Any) -> tuple[Any, str]:
    """Return the file as its name or its first bytes say that it is packed, and by what ("": it isn't)."""
    head = raw.peek(16)
    for suffix, (magic, opener, name) in _PACKED.items():
        begins = head.startswith(magic) and (suffix != ".bz2" or _BZIP2.match(head) is not None)
        if begins:
            return opener(raw), name
        if source.name.lower().endswith(suffix):  # an empty file would pass for a packed one
            raise _damaged(f"file {source}", f"begins with {head[:6]!r}", name)
    return raw, ""


def _damaged(place: str, value: Any, packed: str) -> DataError:
    return DataError(place, value, f"a complete {packed} file", "Fetch or pack the file again.")


def _told(error: Exception, name: str, number: int | None = None, packed: str = "") -> Exception:
    """Return what opening a file, or reading its line of this number, raised, as an error that names both."""
    if isinstance(error, DataError):
        return error
    place = name if number is None else f"{name}, line {number}"
    if isinstance(error, UnicodeDecodeError):  # of a file that was opened for text; it reads ahead
        return DataError(
            f"{place} or behind it", error.object[error.start : error.end], f"valid {error.encoding}",
            'Open it with its encoding, or with errors="replace".',
        )  # fmt: skip
    if packed and not (isinstance(error, OSError) and error.errno):
        return _damaged(place, str(error), packed)
    return DataError(
        name, getattr(error, "strerror", None) or str(error), "a file that can be read",
        "Check the path and its permissions." if getattr(error, "errno", None)
        else "Pass a file that is open for reading.",
    )  # fmt: skip
