"""Documents in tables, one per row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdpkit.data.files.records import Document, Layout, ReadingNotes, find_columns
from hdpkit.data.files.table import Table, missing
from hdpkit.data.files.text_files import place_of
from hdpkit.errors import DataError


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
