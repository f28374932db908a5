"""Labels of documents or samples from a separate table, and a check that labels are nested."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from hdpkit.checks import hashable, items, text
from hdpkit.checks import path as path_of
from hdpkit.data.files.corpora import detect_format, read_documents_of
from hdpkit.data.files.delimited import read_rows
from hdpkit.data.files.records import Layout, ReadingNotes
from hdpkit.data.files.text_files import place_of, reading
from hdpkit.errors import DataError, ParameterError

_TABLES = ("csv", "tsv", "parquet", "jsonl")
_SHOWN = 5


def read_labels(
    path: str | os.PathLike[str],
    names: Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    delimiter: str | None = None,
) -> dict[str, list[str]]:
    """Read labels of documents, for ``groups`` of a corpus, from a table with a row per document.

    Parameters
    ----------
    path : path
        CSV, TSV, Parquet or JSON lines, as for texts. Rows of documents that aren't in `names` are left out.
    names : sequence of str
        The documents, in the order of the corpus: ``corpus.names``.
    columns : sequence of str, optional
        Columns that become labels, the largest groups first; by default all except that of the names, in
        their order. Required for Parquet and JSON lines.
    id_column : str, optional
        The column of the names; by default the first. Required for Parquet and JSON lines.
    delimiter : str, optional
        By default it is detected.

    Returns
    -------
    dict
        Label -> one value for each of `names`.

    Raises
    ------
    DataError
        If a document has no row or several, a value is missing (with the line), or a column doesn't exist.
    ParameterError
        If an argument isn't valid.
    """
    given = items("names", names, "names of documents", remedy="corpus.names.")
    if not all(map(hashable, given)):
        raise ParameterError("names", names, "names of documents", "corpus.names.")
    wanted = [str(name) for name in given]
    if id_column is not None:
        text("id_column", id_column, remedy="The name of a column.")
    place = path_of("path", path)
    with reading(place):
        format = detect_format(place)
        layout = _layout(place, format, wanted, columns, id_column, delimiter)
        notes = ReadingNotes()
        rows: dict[str, tuple[int | str, tuple[Any, ...]]] = {}
        for document in read_documents_of(place, format if format in _TABLES else "csv", layout, notes):
            name = str(document.name)
            if name in rows:
                raise DataError(
                    place_of(place, int(document.place)), name,
                    f"one row per document; line {rows[name][0]} is of the same document",
                    "Remove one of the two.",
                )  # fmt: skip
            rows[name] = (document.place, document.labels)
    _check_rows(place, wanted, rows, notes.groups)
    return {label: [str(rows[name][1][i]) for name in wanted] for i, label in enumerate(notes.groups)}


def _layout(
    path: Path, format: str, names: Sequence[str], columns: Any, id_column: str | None, delimiter: str | None
) -> Layout:
    if format in ("parquet", "jsonl"):
        if columns is None or id_column is None:
            raise ParameterError(
                "columns",
                columns,
                f"given together with id_column, for {format}",
                "Name the columns, or write CSV.",
            )
        return Layout(text_column=id_column, id_column=id_column, group_columns=columns)
    notes = ReadingNotes()
    header = next(read_rows(path, Layout(delimiter=delimiter), notes), (1, []))[1]
    if len(header) < 2:
        raise DataError(
            place_of(path, 1), header, "a header of two columns at least: names, and a label",
            "Say what separates the columns (--delimiter).",
        )  # fmt: skip
    if header[0] in names:
        raise DataError(
            place_of(path, 1), header, "a header, with the names of the columns",
            "Add a first line with names, such as name,label.",
        )  # fmt: skip
    own = header[0] if id_column is None else id_column
    if own == "":  # as written by R's write.csv
        own = "1"
    others = [name for name in header if name not in (own, "")] if columns is None else columns
    return Layout(text_column=own, id_column=own, group_columns=others, delimiter=notes.delimiter)


def _check_rows(
    path: Path, names: Sequence[str], rows: Mapping[str, tuple[int | str, tuple[Any, ...]]], groups: Any
) -> None:
    missing = [name for name in names if name not in rows]
    if missing:
        shown = ", ".join(map(repr, missing[:_SHOWN]))
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        told = f"the table has {next(iter(rows))!r}" if rows else "the table has no row"
        raise DataError(
            place_of(path), f"no row for {shown}{more}", f"a row for each of {len(names)} documents ({told})",
            "Add them, or name the documents as the corpus does.",
        )  # fmt: skip
    for name in names:
        line, values = rows[name]
        for label, value in zip(groups, values, strict=True):
            if value is None:
                raise DataError(
                    f"{place_of(path, int(line))}, column {label!r}", None, f"a value for {name!r}",
                    "Fill it in, for instance with 'unknown'.",
                )  # fmt: skip


def check_nested(groups: Mapping[str, Sequence[Any]]) -> None:
    """Raise a DataError unless each value of a label lies within one value of the label before it.

    Parameters
    ----------
    groups : mapping
        Label -> one value per document, the largest groups first.

    Raises
    ------
    DataError
        The message names a value that lies within several, and what to do.
    """
    if not isinstance(groups, Mapping):
        raise DataError("groups", groups, "a dict of labels", "Label -> one value per document.")
    labels = list(groups)
    for outer, inner in pairwise(labels):
        within: dict[Any, Any] = {}
        for above, below in zip(groups[outer], groups[inner], strict=True):
            if within.setdefault(below, above) != above:
                raise DataError(
                    f"label {inner!r}", below,
                    f"within one {outer!r}; it is in {within[below]!r} and in {above!r}",
                    _way_out(groups, outer, inner),
                )  # fmt: skip


def _way_out(groups: Mapping[str, Sequence[Any]], outer: str, inner: str) -> str:
    within: dict[Any, set[Any]] = {}
    for above, below in zip(groups[outer], groups[inner], strict=True):
        within.setdefault(above, set()).add(below)
    if all(len(found) == 1 for found in within.values()):
        return f"Each {outer!r} has one {inner!r}: name {inner!r} first."
    return (
        f"Levels form a tree. Keep one of the two as a level, or include in the values of {inner!r} their "
        f"{outer!r} (lung/batch 1, skin/batch 1)."
    )
