"""Labels of documents or samples from a separate table, and a check that labels are nested."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from hdpkit.checks import hashable, items, text
from hdpkit.checks import path as path_of
from hdpkit.data.files.records import Layout
from hdpkit.data.files.table import Table, missing
from hdpkit.data.files.text_files import place_of, reading
from hdpkit.errors import DataError, ParameterError

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
        CSV, TSV, Parquet, JSON lines or xlsx. Rows of documents that aren't in `names` are left out.
    names : sequence of str
        The documents, in the order of the corpus: ``corpus.names``.
    columns : sequence of str, optional
        Columns that become labels, the largest groups first; by default all except that of the names, in
        their order.
    id_column : str, optional
        The column of the names; by default the first.
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
    asked = None if columns is None else items("columns", columns, "names of columns", remedy="A list.")
    place = path_of("path", path)
    with reading(place):
        table = Table(place, Layout(delimiter=delimiter), header=True)
        own, chosen = _columns(table, wanted, asked, id_column)
        rows: dict[str, tuple[int, Sequence[Any]]] = {}
        for number, (name, *values) in table.rows([own, *chosen]):
            if str(name) in rows:
                raise DataError(
                    table.place(number), name,
                    f"one row per document; {table.place(rows[str(name)][0])} is of the same document",
                    "Remove one of the two.",
                )  # fmt: skip
            rows[str(name)] = (number, values)
    _check_rows(table, wanted, rows, chosen)
    return {table.names[at]: [str(rows[name][1][i]) for name in wanted] for i, at in enumerate(chosen)}


def _columns(
    table: Table, names: Sequence[str], columns: Sequence[str] | None, id_column: str | None
) -> tuple[int, list[int]]:
    """Indices of the column of the names, and of those that become labels."""
    header = table.names
    if len(header) < 2:
        raise DataError(
            table.place(table.first), header, "a header of two columns at least: names, and a label",
            "Say what separates the columns (--delimiter).",
        )  # fmt: skip
    if header[0] in names:
        raise DataError(
            table.place(table.first), header, "a header, with the names of the columns",
            "Add a first line with names, such as name,label.",
        )  # fmt: skip
    own = 0 if id_column is None else table.column("id_column", id_column)
    if columns is not None:
        return own, [table.column("columns", name) for name in columns]
    return own, [at for at, name in enumerate(header) if at != own and name != ""]


def _check_rows(
    table: Table, names: Sequence[str], rows: Mapping[str, tuple[int, Sequence[Any]]], chosen: Sequence[int]
) -> None:
    absent = [name for name in names if name not in rows]
    if absent:
        shown = ", ".join(map(repr, absent[:_SHOWN]))
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        told = f"the table has {next(iter(rows))!r}" if rows else "the table has no row"
        raise DataError(
            place_of(table.path), f"no row for {shown}{more}",
            f"a row for each of {len(names)} documents ({told})",
            "Add them, or name the documents as the corpus does.",
        )  # fmt: skip
    for name in names:
        number, values = rows[name]
        for at, value in zip(chosen, values, strict=True):
            if missing(value):
                remedy = "Fill it in, for instance with 'unknown'."
                raise table.refused(number, at, value, f"a value for {name!r}", remedy)


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
