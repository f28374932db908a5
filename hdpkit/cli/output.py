"""All output of the command line: text from files is made safe for a terminal.

Progress bars and tables are drawn by rich; texts that go into them pass `printable` first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TextIO

import click

from hdpkit.errors import printable

__all__ = ["json_text", "say", "shown_path"]


def say(text: str, *, err: bool = False, nl: bool = True, file: TextIO | None = None) -> None:
    """Print a text. Line ends and tabs are kept; other control characters are escaped."""
    click.echo(printable(text, keep="\n\t"), file=file, err=err, nl=nl)


def shown_path(path: Path | str) -> str:
    """A path for use within a line."""
    return printable(str(path))


def json_text(value: Any, *, indent: int | None = None, default: Any = None) -> str:
    """A value as JSON with escaped control characters."""
    # Such characters occur only in strings here, in which JSON allows \uXXXX for any character.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    if text.isprintable():
        return text
    return "".join(
        json.dumps(letter)[1:-1] if letter != "\n" and printable(letter) != letter else letter
        for letter in text
    )
