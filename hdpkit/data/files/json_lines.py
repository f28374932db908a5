"""JSON lines: one object per line, with the text, the id and labels under keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdpkit.data.files.records import Document, Fields, Layout, ReadingNotes, find_columns, text_lines
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError


def read_json_lines(path: Path, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read JSON lines, one object at a time."""
    fields: Fields | None = None
    keys: list[str] = []
    for number, line in text_lines(path, layout.encoding, notes):
        if line.isspace() or not line:
            continue
        row = _object(path, number, line)
        place = place_of(path, number)
        if fields is None:
            keys = list(row)
            fields = find_columns(_spelled(layout, keys), keys, place, notes, what="key")
        yield Document(
            as_text(place, _under(place, row, keys[fields.text])),
            number,
            _name(place, row, None if fields.name is None else keys[fields.name], notes.names is not None),
            tuple(as_label(place, name, row.get(name)) for name in notes.groups),
        )
    if fields is None:
        raise DataError(place_of(path), "an empty file", "one object per line", "Check the path.")


def _name(place: str, row: dict[str, Any], key: str | None, guessed: bool) -> str | None:
    if key is None:
        return None
    return as_name(place, row.get(key) if guessed else _under(place, row, key), guessed=guessed)


def _spelled(layout: Layout, keys: list[str]) -> Layout:
    """Add the group columns to the keys, since a label's key may be missing in any object, even the first."""
    for column in layout.label_columns:
        if column not in keys and not column.isdigit():
            keys.append(column)
    return layout


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        whole = " The file is an array: write one object per line." if line.lstrip().startswith("[") else ""
        raise DataError(
            place_of(path, number), f"{type(error).__name__}: {error}", "a JSON object", f"Correct it.{whole}"
        ) from error
    if not isinstance(row, dict):
        raise DataError(
            place_of(path, number),
            row,
            'a JSON object, such as {"text": "..."}',
            "Write one object per line.",
        )
    return row


def _under(place: str, row: dict[str, Any], key: str) -> Any:
    if key not in row:
        raise DataError(f"{place}, {key}", list(row), "a key of every object", "Add it, or give null.")
    return row[key]


def as_text(place: str, value: Any) -> str:
    """Return a text of a typed table; a missing one is empty. Raises a DataError if it isn't a string."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DataError(f"{place}, text", value, "a string", "Check the column, or give --text-column.")
    return value


def as_name(place: str, value: Any, *, guessed: bool = False) -> str | None:
    """Return an id of a typed table as a string. Raises a DataError if it is neither string nor int.

    If nobody said that the column has ids, it may have anything: None if it is no name.
    """
    if guessed:
        return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise DataError(f"{place}, id", value, "a string or a whole number", "Check the column.")
    return str(value)


def as_label(place: str, name: str, value: Any) -> Any:
    """Return a label of a typed table: a string, number or boolean, or None if it is missing."""
    if value is None or value == "" or value != value:
        return None
    if not isinstance(value, str | int | float | bool):
        raise DataError(f"{place}, {name}", value, "a string, a number or a boolean", "Write it as a string.")
    return value
