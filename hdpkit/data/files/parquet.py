"""Parquet files with a document per row, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdpkit.data.files.json_lines import as_label, as_name, as_text
from hdpkit.data.files.records import Document, Layout, ReadingNotes, find_columns
from hdpkit.data.files.text_files import open_regular, place_of
from hdpkit.errors import DataError, importing_extra

_ROWS = 1024
"""Number of rows read at once."""


def read_parquet(path: Path, layout: Layout, notes: ReadingNotes) -> Iterator[Document]:
    """Read a Parquet file in blocks of rows."""
    with importing_extra("pyarrow", "parquet", ", to read Parquet files"):
        import pyarrow
        import pyarrow.parquet
    row = 0
    with open_regular(path) as raw:
        try:
            file = pyarrow.parquet.ParquetFile(raw)
            columns = list(file.schema_arrow.names)
            fields = find_columns(layout, columns, place_of(path), notes)
            wanted = [fields.text, fields.name, *fields.groups]
            needed = list(dict.fromkeys(columns[at] for at in wanted if at is not None))
            for batch in file.iter_batches(batch_size=_ROWS, columns=needed):
                rows = [
                    [None] * batch.num_rows if at is None else batch.column(columns[at]).to_pylist()
                    for at in wanted
                ]
                for values in zip(*rows, strict=True):
                    row += 1
                    yield _document(path, row, values, fields.name is not None, notes)
        except (pyarrow.ArrowException, OSError, ValueError, LookupError, OverflowError) as error:
            if isinstance(error, DataError):
                raise
            where = place_of(path) if row == 0 else f"{place_of(path)}, after row {row}"
            raise DataError(
                where, f"{type(error).__name__}: {error}", "a whole Parquet file",
                "Download or write the file again.",
            ) from error  # fmt: skip
    if row == 0:
        raise DataError(place_of(path), "no rows", "a table of documents", "Check the path.")


def _document(path: Path, row: int, values: tuple[Any, ...], named: bool, notes: ReadingNotes) -> Document:
    place = f"{place_of(path)}, row {row}"
    text, name, *labels = values
    return Document(
        as_text(place, text),
        row,
        as_name(place, name, guessed=notes.names is not None) if named else None,
        tuple(
            as_label(place, group, str(value) if hasattr(value, "isoformat") else value)
            for group, value in zip(notes.groups, labels, strict=True)
        ),
    )
