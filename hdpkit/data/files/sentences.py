"""Files of sentences, one per line, as lists of words."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any

import attrs

from hdpkit.checks import choice, flag, function, path, text, whole_number
from hdpkit.data.files.text_files import MAX_LINE_BYTES, Progress, Source, decode_line, place_of, read_lines
from hdpkit.errors import DataError, ParameterError

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

    Yields
    ------
    list of str
        Words of a sentence.

    Raises
    ------
    DataError
        With the file and the line (from 1), when the line is reached: invalid bytes (with their offset in the
        uncompressed file, from 0), a NUL byte, ``<s>`` or ``</s>`` as a word, a line that is too long, a
        compressed file that is damaged or truncated, or a file that can't be read.
    ParameterError
        Immediately, if an argument isn't valid.
    """
    if not hasattr(source, "readline"):
        source = (
            source
            if isinstance(source, str) and source == "-"
            else path("source", source, remedy='Give a path, "-" or an open file.')
        )
    reader = _Reader(
        encoding=_check_encoding(encoding),
        errors=choice(
            "errors", errors, ("strict", "replace"), remedy='"replace" replaces invalid bytes by U+FFFD.'
        ),
        lowercase=flag("lowercase", lowercase),
        keep=choice("empty", empty, ("skip", "keep"), remedy='"keep" makes an empty line a sentence.')
        == "keep",
        limit=None
        if max_line_bytes is None
        else whole_number("max_line_bytes", max_line_bytes, 1, 2**62, remedy="None means no limit."),
        progress=progress
        if progress is None
        else function("progress", progress, remedy="Pass a function of two numbers."),
    )
    return reader.sentences(source)


def _check_encoding(encoding: Any) -> str:
    remedy = "Convert the file to UTF-8, or open it yourself and pass the open text file."
    ascii = bytes(range(128))
    try:
        if ascii.decode(text("encoding", encoding, remedy=remedy)) == ascii.decode("ascii"):
            return codecs.lookup(encoding).name
    except (LookupError, ValueError):  # not an encoding, or not one of text
        pass
    raise ParameterError("encoding", encoding, "an encoding that is compatible with ASCII", remedy)


@attrs.frozen(kw_only=True)
class _Reader:
    """A reader of sentences, with checked arguments."""

    encoding: str
    errors: str
    lowercase: bool
    keep: bool
    limit: int | None
    progress: Progress | None

    def sentences(self, source: Any) -> Iterator[list[str]]:
        for number, begin, line in read_lines(source, self.limit, self.progress):
            words = self._words(line, source, number, begin)
            if words or self.keep:
                yield words

    def _words(self, line: str | bytes, source: Any, number: int, begin: int) -> list[str]:
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
