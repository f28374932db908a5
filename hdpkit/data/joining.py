"""Concatenation of two corpora."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.data.cells import Cells, Tokens
from hdpkit.errors import DataError

__all__ = ["check_joinable", "joined_groups", "joined_names", "joined_tokens"]


def check_joinable(before: Any, more: Any) -> None:
    """Raise a DataError if the two corpora number terms differently."""
    if more.n_terms != before.n_terms or (
        more.vocabulary is not None and before.vocabulary is not None and more.vocabulary != before.vocabulary
    ):
        raise DataError(
            "more", more, f"documents over the present vocabulary, {before.n_terms} terms",
            "Build them with vocabulary=corpus.vocabulary, or n_terms=corpus.n_terms.",
        )  # fmt: skip


def joined_tokens(before: Any, more: Any) -> Tokens:
    """Tokens of the first corpus followed by those of the second; cells remain cells."""
    one, other = before.cells, more.cells
    if one is None or other is None:
        terms = np.concatenate([before.values, more.values])
        terms.setflags(write=False)
        return Tokens(terms)
    begin = np.concatenate([one.begin, other.begin[1:] + one.begin[-1]])
    columns = [np.concatenate([getattr(cells, name) for cells in (one, other)]) for name in ("term", "count")]
    return Tokens(cells=Cells.of(begin, *columns))


def joined_names(before: Any, more: Any) -> list[str] | None:
    """Names of all documents; None if one of the corpora has none."""
    if before.names is None or more.names is None:
        return None
    return [*before.names, *more.names]


def joined_groups(before: Any, more: Any) -> dict[str, list[Any]]:
    """Labels of all documents: one value each, None if a corpus lacks the label."""
    names = dict.fromkeys(name for data in (before, more) for name in data.label_names if name != "document")
    groups = {}
    for name in names:
        values: list[Any] = []
        for data in (before, more):
            if name in data.label_names:
                codes, keys = data.document_labels[name]
                values += [None if code < 0 else keys[code] for code in np.asarray(codes).tolist()]
            else:
                values += [None] * data.n_documents
        groups[name] = values
    return groups
