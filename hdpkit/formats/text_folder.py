"""A folder of text files: their names, and their contents one by one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from hdpkit.errors import DataError

__all__ = ["read_text_folder"]


def read_text_folder(folder: Path) -> tuple[list[str], Iterator[str]]:
    """Find the text files in a folder.

    Parameters
    ----------
    folder : Path
        Its files ``*.txt`` are read, at any depth, in the order of their paths.

    Returns
    -------
    names : list of str
        The files' paths below the folder.
    texts : iterator of str
        Their contents, read as they are asked for.

    Raises
    ------
    DataError
        If there is no text file; from the iterator, if a file is no regular one or isn't UTF-8.
    """
    files = _text_files(folder)
    return [_name(path.relative_to(folder)) for path in files], (_read(path) for path in files)


def _text_files(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    found = [
        Path(root, name)
        for root, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if name.endswith(".txt")
    ]
    if not found:
        raise DataError(
            f"corpus {folder}", "a folder without text files", "a folder with files *.txt", "Check the path."
        )
    return sorted(found, key=lambda path: path.parts)


def _read(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would keep us waiting
        raise DataError(f"file {path}", "no regular file", "a text file", "Remove or rename it.")
    content = path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"file {path}, byte {error.start}", content[error.start : error.end],
            "valid UTF-8", "Convert the file to UTF-8.",
        ) from error  # fmt: skip


def _name(path: Path) -> str:
    """A path as text, also where its bytes are none."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
