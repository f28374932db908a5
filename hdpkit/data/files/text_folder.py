"""A folder of text files in any encoding, one document per file."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path

from hdpkit.data.files.records import Document, Layout, ReadingNotes
from hdpkit.data.files.text_files import MAX_LINE_BYTES, detect_encoding, unpacked_beginning
from hdpkit.errors import DataError


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
            notes.skipped.append((_name(path.relative_to(folder)), error.why))
            continue
        read += 1
        yield Document(text, str(path), _name(path.relative_to(folder)))
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


def _name(path: Path) -> str:
    """A path as text, even if its bytes aren't valid text."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
