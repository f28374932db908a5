"""Labels of topics, which people edit in the file labels.csv of a run, and the topics that they belong to."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.data.files.tables import Table, table_of_rows, unescaped
from hdpkit.data.files.text_files import reading
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, TopicLabelsWarning, printable
from hdpkit.files import save
from hdpkit.posterior.alignment import assigned

LABELS = "labels.csv"
"""Name of the file in the folder of a run."""

_COLUMNS = ("group", "topic", "label", "share", "terms", "weights")
_TERMS = 50  # of each topic whose weights are kept; they decide to which topic a label belongs
_SHOWN = 10  # terms that the file shows
_REMEDY = "hdpkit labels RUN writes the file again; it keeps the labels of another copy named labels.csv."
SAME = 0.8
"""The smallest cosine of a topic and the one that was labelled, for it to have the label."""


@attrs.frozen(eq=False)
class LabelRow:
    """A row of the file: a group or a topic as it was when it was labelled."""

    group: int | None  # numbers as in the file, from 1; 0 if there is no such group or topic any more
    topic: int | None  # None: a group
    label: str  # "" for none
    share: float
    terms: str  # as shown in the file
    ids: Int64s  # the heaviest terms
    weights: Floats  # their probabilities

    @property
    def name(self) -> str:
        """The row in words."""
        kind, number = ("group", self.group) if self.topic is None else ("topic", self.topic)
        return f"{self.label!r} ({f'{kind} {number}' if number else f'a former {kind}'})"


@attrs.frozen(eq=False)
class MatchedLabels:
    """Labels with the topics that have them now."""

    labels: tuple[str, ...]  # label of each topic; "" for none
    # labels whose topics have other numbers now: the row, the number from 1, the cosine
    moved: list[tuple[LabelRow, int, float]]
    lost: list[tuple[LabelRow, float]]  # labels of which no topic is similar enough, with the largest cosine


def heaviest_terms(blocks: Iterable[Floats]) -> tuple[Int64s, Floats]:
    """The 50 heaviest terms of each row in descending order, and their weights: two arrays (n, 50)."""
    rows = [(terms, row[terms]) for block in blocks for row in block for terms in [largest(row, _TERMS)]]
    if not rows:
        return np.empty((0, 1), np.int64), np.empty((0, 1))
    return np.array([terms for terms, _ in rows]), np.array([weights for _, weights in rows])


def label_rows(
    ids: Int64s, weights: Floats, words: Any, shares: Floats, labels: Sequence[str], groups: Sequence[int]
) -> list[LabelRow]:
    """Rows of topics, given the group of each, or of groups (``groups`` is empty then)."""
    return [
        LabelRow(
            group=groups[k] if groups else k + 1,
            topic=k + 1 if groups else None,
            label=labels[k],
            share=float(shares[k]),
            terms=" ".join(str(word) for word in words(ids[k][:_SHOWN])),
            ids=ids[k],
            weights=weights[k],
        )
        for k in range(len(shares))
    ]


def write_topic_labels(path: Path, rows: Sequence[LabelRow]) -> None:
    """Write the file, which replaces an existing one as a whole."""
    table: list[Sequence[Any]] = [_COLUMNS]
    for row in rows:
        weights = " ".join(
            f"{i}:{w:.4g}" for i, w in zip(row.ids.tolist(), row.weights.tolist(), strict=True)
        )
        numbers = ["" if n is None else n for n in (row.group, row.topic)]
        table.append([*numbers, row.label, f"{row.share:.6g}", row.terms, weights])
    save(path, table_of_rows(table).encode("utf-8", "backslashreplace"))


def read_topic_labels(path: str | os.PathLike[str], n_terms: int) -> list[LabelRow]:
    """Read the file, as hdpkit or a spreadsheet wrote it; a DataError names what is wrong, and the line."""
    place = Path(path)
    with reading(place):
        table = Table(place, header=True)
        columns = [name.lower() for name in table.names]
        absent = [name for name in ("topic", "label", "weights") if name not in columns]
        if absent:
            where = table.place(table.first)
            raise DataError(where, table.names, f"a header with a column {absent[0]!r}", _REMEDY)
        own = [name for name in _COLUMNS if name in columns]
        rows = table.rows([columns.index(name) for name in own])
        return [
            _row(table.place(number), dict(zip(own, row, strict=True)), n_terms)
            for number, row in rows
            if any(row)
        ]


def _row(where: str, row: dict[str, str], n_terms: int) -> LabelRow:
    def cell(name: str) -> str:
        return unescaped(row.get(name, "")).strip()

    numbers: list[int | None] = []
    for name in ("group", "topic"):
        value = cell(name)
        if value and not (value.isascii() and value.isdigit() and len(value) < 10):
            raise DataError(f"{where}, {name}", value, "a number from 1, or nothing", _REMEDY)
        numbers.append(int(value) if value else None)
    share = cell("share").replace(",", ".")
    ids, weights = [], []
    for pair in cell("weights").split():
        number, _, weight = pair.partition(":")
        try:
            ids.append(int(number))
            weights.append(float(weight))
        except ValueError:
            raise DataError(f"{where}, weights", pair, "TERM:WEIGHT, as written", _REMEDY) from None
    found = np.array(weights, dtype=np.float64)
    if not ids or not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise DataError(f"{where}, weights", cell("weights")[:40], "weights of terms, as written", _REMEDY)
    if min(ids) < 0 or max(ids) >= n_terms or len(set(ids)) < len(ids):
        raise DataError(
            f"{where}, weights", max(ids), f"different terms from 0 to {n_terms - 1}",
            "Is the file of another run? " + _REMEDY,
        )  # fmt: skip
    try:
        shown = float(share) if share else 0.0
    except ValueError:
        shown = 0.0  # only for people
    return LabelRow(
        numbers[0], numbers[1], cell("label"), shown, cell("terms"), np.array(ids, dtype=np.int64), found
    )


def match_labels(rows: Sequence[LabelRow], ids: Int64s, weights: Floats, n_terms: int) -> MatchedLabels:
    """Give each labelled row the most similar topic, no topic two labels, none less similar than `SAME`."""
    labels = [""] * len(ids)
    given = [row for row in rows if row.label]
    if not given:
        return MatchedLabels(tuple(labels), [], [])
    before = _unit([row.ids for row in given], [row.weights for row in given], n_terms)
    cosines = np.asarray((before @ _unit(list(ids), list(weights), n_terms).T).todense())
    moved, lost = [], []
    for row, own, k in zip(given, cosines, assigned(1.0 - cosines, 1.0 - SAME).tolist(), strict=True):
        if k < 0:
            lost.append((row, float(own.max(initial=0.0))))
            continue
        labels[k] = row.label
        if k + 1 != (row.group if row.topic is None else row.topic):
            moved.append((row, k + 1, float(own[k])))
    return MatchedLabels(tuple(labels), moved, lost)


def _unit(ids: Sequence[Int64s], weights: Sequence[Floats], n_terms: int) -> Any:
    """Vectors of norm one, as a sparse matrix."""
    ends = np.cumsum([0, *map(len, ids)])
    values = [one / np.linalg.norm(one) for one in weights]
    if not len(ids):
        return scipy.sparse.csr_array((0, n_terms))
    return scipy.sparse.csr_array(
        (np.concatenate(values), np.concatenate(ids), ends), shape=(len(ids), n_terms)
    )


def labels_for(
    folder: Path | None, rows: Sequence[LabelRow], ids: Any, weights: Any, n_terms: int
) -> tuple[str, ...]:
    """Labels of topics by the rows of a file; a TopicLabelsWarning says which labels no topic has."""
    matched = match_labels(rows, ids, weights, n_terms)
    if matched.lost:
        shown = "; ".join(f"{row.name}, largest cosine {most:.2f}" for row, most in matched.lost[:3])
        more = f" and {len(matched.lost) - 3} more" if len(matched.lost) > 3 else ""
        warnings.warn(
            printable(
                f"no topic is similar enough to those that had these labels: {shown}{more}. "
                f"hdpkit labels {folder or 'RUN'} lists the topics, and keeps these labels at the end of "
                f"{LABELS}."
            ),
            TopicLabelsWarning,
            stacklevel=3,
        )
    return matched.labels
