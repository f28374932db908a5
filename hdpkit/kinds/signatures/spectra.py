"""Counts of mutations by sample and channel, read from tables written by other programs."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Bools, Floats
from hdpkit.checks import choice, flag, instance
from hdpkit.checks import path as path_of
from hdpkit.data import Corpus, Limits
from hdpkit.data.files.counts import TOKEN_LIMIT, first_not_whole
from hdpkit.data.files.tables import Table, missing, number_of
from hdpkit.data.files.text_files import Layout, place_of, reading
from hdpkit.errors import DataError
from hdpkit.kinds.signatures.channels import CHANNELS, STRANDS, Channels, channels_of

ANY = "any"
"""Used instead of a classification: channels with any names, in the order of the file."""

_ANY = "channels='any', and where samples are (--channels any --samples-in columns, or rows)"
_SIDES = ("auto", "rows", "columns")
_MOST_NAMES = 3


def _n_names(fields: Sequence[str]) -> int:
    """Number of fields at the beginning of a row that name its channel; 0 if none do."""
    for n in range(min(_MOST_NAMES, len(fields) - 1), 0, -1):
        name = _joined(fields[:n])
        if any(channels.find(name) is not None for channels in CHANNELS.values()):
            return n
    return 0


def _joined(fields: Sequence[str]) -> str:
    """One name for the fields that name a channel: the only one, substitution with context, or the last."""
    together = "".join(fields)
    if len(fields) > 1 and any(channels.find(together) is not None for channels in CHANNELS.values()):
        return together
    return fields[-1]


@attrs.frozen(eq=False)
class NumberTable:
    """A table of finite numbers, with names of rows and columns."""

    place: str  # the file, for errors
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Floats
    lines: tuple[str, ...]  # each row, for errors
    header: str  # the row with the names of the columns

    def cell(self, row: int, column: int) -> str:
        """Name a cell, for errors."""
        return f"{self.lines[row]}, row {self.rows[row]!r}, column {self.columns[column]!r}"


def read_table(path: str | os.PathLike[str], layout: Layout) -> NumberTable:
    """Read a table of numbers, whose first column names the rows; channels may be in two or three columns."""
    place = path_of("path", path)
    with reading(place):
        table = Table(place, layout, header=layout.header)
        begun, width = _n_names(table.names), len(table.names)
        while width > 1 and not table.names[width - 1]:
            width -= 1
        if begun and all(math.isfinite(number_of(name)) for name in table.names[begun:width]):
            raise DataError(
                table.place(table.first), table.names[:4], "a header, with the names of the columns",
                "Add a first line with names, or give --no-header.",
            )  # fmt: skip
        if width < 2:
            raise DataError(
                table.place(table.first), "no columns of numbers", "at least one",
                "Check the file, or say what separates the columns (--delimiter).",
            )  # fmt: skip
        rows: list[str] = []
        lines: list[str] = []
        values: list[list[float]] = []
        n = 0
        for number, row in table.rows(range(len(table.names))):
            n = n or _n_names([str(cell) for cell in row]) or 1
            rows.append(_joined([str(cell).strip() for cell in row[:n]]))
            lines.append(table.place(number))
            values.append([table.number(cell) for cell in row[n:width]])
            for at, cell in enumerate(row[n:], start=n):
                if not (missing(cell) if at >= width else math.isfinite(values[-1][at - n])):
                    raise table.refused(
                        number, f"row {rows[-1]!r}, column {table.names[at]!r}", cell, "a finite number",
                        "Fill the cell in: a count that is missing is not the same as 0.",
                    )  # fmt: skip
    if not rows:
        raise DataError(place_of(place), "no rows", "a table with a header", "Check the path.")
    return NumberTable(
        place_of(place), tuple(rows), tuple(table.names[n:width]), np.array(values), tuple(lines),
        table.place(table.first),
    )  # fmt: skip


def in_order(place: str, names: Sequence[str], lines: Sequence[str], channels: Channels) -> list[int]:
    """Return the index of each channel in ``names``, or raise a DataError."""
    at: dict[int, int] = {}
    wanted, given = set(STRANDS.get(channels.name, "")), {name[:1] for name in names}
    if wanted and given != wanted and all(name[1:2] == ":" for name in names):
        raise DataError(
            f"{place}, channels", f"{len(names)} with the strands {' and '.join(sorted(given))}",
            f"those of {', '.join(STRANDS)}, with the strands {', '.join(STRANDS.values())}",
            f"Add up the strands of each channel, or leave names as they are: {_ANY}.",
        )  # fmt: skip
    for number, name in enumerate(names):
        found = channels.find(name)
        if found is None:
            near = difflib.get_close_matches(name, channels.names, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "Say what they are, channels=..., or correct it."
            raise DataError(
                f"{lines[number]}, channel", name, f"one of the {len(channels)} of {channels.name}", hint
            )
        if found in at:
            raise DataError(
                f"{lines[number]}, channel", name, f"each channel once ({lines[at[found]]} has it, too)",
                "Add the two up, or remove one.",
            )  # fmt: skip
        at[found] = number
    missing = [channels.names[i] for i in range(len(channels)) if i not in at]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise DataError(
            f"{place}, channels", f"{len(names)}, without {shown}", f"all {len(channels)} of {channels.name}",
            f"Add zeros where nothing was counted; or leave names as they are: {_ANY}.",
        )  # fmt: skip
    return [at[i] for i in range(len(channels))]


def _likely(names: Sequence[str]) -> tuple[int, Channels]:
    """The number of these names that are channels, and the classification with the most."""
    found = {name: sum(one.find(n) is not None for n in names) for name, one in CHANNELS.items()}
    best = max(found, key=lambda name: (found[name] - abs(len(names) - len(CHANNELS[name])), found[name]))
    return found[best], CHANNELS[best]


def given_channels(value: Any) -> Channels | str | None:
    """Check the argument ``channels``: a classification, `ANY`, or None to detect it."""
    if value is None or isinstance(value, Channels) or (isinstance(value, str) and value == ANY):
        return value
    known = (*CHANNELS, ANY)
    return CHANNELS[choice("channels", value, known, remedy="Leave it out to have it detected.")]


def read_spectra(
    path: str | os.PathLike[str],
    *,
    channels: str | Channels | None = None,
    samples: str = "auto",
    delimiter: str | None = None,
    encoding: str | None = None,
    quotes: bool = True,
    header: bool = True,
    drop_empty: bool = False,
    groups: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> Corpus:
    """Read counts of mutations by sample and channel: samples are documents of a corpus, channels terms.

    The file is a table of SigProfilerMatrixGenerator (``*.SBS96.all``, and others of `CHANNELS`), a matrix of
    MutationalPatterns or of the R packages hdp (samples in rows) and ICAMS, as CSV, TSV or in the format of
    R's ``write.table``, plain or compressed; or such a table as Parquet, JSON lines or xlsx. Channels are
    checked by name and sorted. Memory grows with the size of the table, not with the number of mutations.
    Documents are named after the samples; the vocabulary is the channels. Raises a DataError, with line and
    cell, if channels are wrong, duplicated or missing; a count is negative, fractional, not a number, or 2^31
    or more, as their total; a sample has no mutations or a duplicate name.

    Parameters
    ----------
    path : path
    channels : str or Channels, optional
        One of `CHANNELS` ("SBS96", "SBS192", "SBS288", "SBS384", "SBS1536", "DBS78", "ID83", "CNV48",
        "SV32"); "any" accepts channels with any names, unchanged. By default the classification to which most
        names belong.
    samples : str
        Whether samples are "rows" or "columns"; "auto" detects it from the channels.
    delimiter, encoding, quotes, header
        Of a table of text, as of ``hdpkit.io.Layout``.
    drop_empty : bool
        Whether samples without mutations are left out.
    groups : dict, optional
        Labels of the samples, in their order in the file: see `hdpkit.io.read_labels`.
    limits : Limits, optional
        The largest corpus accepted.
    """
    wanted = given_channels(channels)
    flag("drop_empty", drop_empty)
    instance("limits", limits, (Limits, type(None)), "an hk.Limits, or None", remedy="Leave it out.")
    layout = Layout(delimiter=delimiter, encoding=encoding, quotes=quotes, header=header)
    table = read_table(path, layout)
    side = side_of(table, wanted, "samples", samples)
    counts, names, order, words, _ = arranged(table, wanted, side, "sample")
    most = limits or Limits()
    most.check(table.place, n_terms=counts.shape[1], n_documents=counts.shape[0])
    _check_counts(table, counts, order, side)
    most.check_tokens(table.place, int(counts.sum()), int(np.count_nonzero(counts)))
    kept = _with_mutations(table, counts, names, side, drop_empty)
    if groups is not None and not kept.all():
        groups = {
            label: [v for v, k in zip(values, kept, strict=True) if k] for label, values in groups.items()
        }
    chosen = [name for name, keep in zip(names, kept, strict=True) if keep]
    matrix = scipy.sparse.csr_array(counts[kept].astype(np.int64))
    return Corpus.from_counts(matrix, vocabulary=words, names=chosen, groups=groups)


def side_of(table: NumberTable, wanted: Channels | str | None, what: str, given: str) -> str:
    """Whether the samples (or signatures) of a table are its rows or its columns."""
    choice(what, given, _SIDES, remedy="Leave it out.")
    if given != "auto":
        return given
    if isinstance(wanted, str):
        raise DataError(
            what, given, "rows or columns, where channels have any names",
            f"Say {what}='columns' if they are columns, or 'rows' (of counts: --samples-in).",
        )  # fmt: skip
    if wanted is None:
        rows, columns = (_likely(names)[0] for names in (table.rows, table.columns))
    else:
        rows, columns = (
            sum(wanted.find(name) is not None for name in names) for names in (table.rows, table.columns)
        )
    if rows == columns == 0:
        raise DataError(
            f"{table.place}, channels", list(table.rows[:3]), "channels in the rows or in the columns",
            f"Known classifications: {', '.join(CHANNELS)}; for others: {_ANY}."
            if wanted is None or wanted.name in CHANNELS
            else "Name them as in the table of counts.",
        )  # fmt: skip
    return "columns" if rows >= columns else "rows"


def arranged(
    table: NumberTable, wanted: Channels | str | None, side: str, what: str
) -> tuple[Floats, tuple[str, ...], list[int], list[str], Channels | None]:
    """Arrange a table: a row per sample or signature, with channels in the order of plots."""
    if side == "columns":
        values, found, names = table.values.T, table.rows, table.columns
        lines = list(table.lines)
    else:
        values, found, names = table.values, table.columns, table.rows
        lines = [f"{table.header}, column {n}" for n in range(1, len(found) + 1)]
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number or not name:
            line = table.header if side == "columns" else table.lines[number]
            raise DataError(f"{line}, {what}", name, f"a different name for each {what}", "Rename one.")
    if isinstance(wanted, str):
        return values, names, list(range(len(found))), list(found), None
    channels = wanted or channels_of(found) or _likely(found)[1]
    order = in_order(table.place, found, lines, channels)
    return values[:, order], names, order, list(channels.names), channels


def _check_counts(table: NumberTable, counts: Floats, order: list[int], side: str) -> None:
    bad = first_not_whole(counts.ravel(), TOKEN_LIMIT)
    if bad is None:
        return
    sample, channel = divmod(bad, counts.shape[1])
    cell = (order[channel], sample) if side == "columns" else (sample, order[channel])
    value = float(counts[sample, channel])
    remedy = "Give counts of mutations, not shares or counts per megabase."
    if value >= TOKEN_LIMIT:
        remedy = "No sample has so many mutations: check the columns."
    raise DataError(table.cell(*cell), value, "a whole number from 0 to 2^31 - 1", remedy)


def _with_mutations(table: NumberTable, counts: Floats, names: Sequence[str], side: str, drop: bool) -> Bools:
    kept = np.asarray(counts.any(axis=1), dtype=np.bool_)
    if not kept.all() and not drop:
        empty = np.flatnonzero(~kept)
        line = table.header if side == "columns" else table.lines[int(empty[0])]
        more = f", and {len(empty) - 1} more" if len(empty) > 1 else ""
        raise DataError(
            f"{line}, sample {names[int(empty[0])]!r}{more}", 0,
            "at least one mutation in each sample", "Leave such samples out: drop_empty=True (--drop-empty).",
        )  # fmt: skip
    if not kept.any():
        raise DataError(f"{table.place}, mutations", 0, "at least one", "Check that it is the right table.")
    return kept
