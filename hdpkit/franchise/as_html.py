"""HTML for notebooks: small tables, and franchises and samples as a line and their largest dishes."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from hdpkit.data.top_terms import largest
from hdpkit.errors import BusyError, ClosedError, DataError, StateError, printable


def html_table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> str:
    """A table with a caption, a heading for each column, and a note below."""
    head = "".join(f'<th scope="col">{_text(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{_text(value)}</td>' for value in row)}</tr>" for row in rows)
    below = f"<p>{_text(note)}</p>" if note else ""
    return (
        f'<table><caption style="text-align: left">{_text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        shown = str(value)
    else:
        shown = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return html.escape(printable(shown))


_ROWS = 10
_TERMS = 8


def franchise_table(franchise: Any) -> str:
    """The largest dishes of a franchise, with their terms if its data are words."""
    caption = repr(franchise).strip("<>")
    try:
        counts = franchise.dish_counts
    except (BusyError, ClosedError):
        return html_table(caption, ["dish"], [])
    except (DataError, StateError):  # the data are not terms, or dishes are observed
        dishes = np.asarray(franchise.dishes)
        return _table(caption, np.bincount(dishes[dishes >= 0], minlength=1))
    return _table(
        caption, counts.sum(axis=1), franchise.topic_counts, getattr(franchise.data, "vocabulary", None)
    )


def sample_table(sample: Any) -> str:
    """The largest dishes of a sample. It has no words."""
    return _table(repr(sample).strip("<>"), np.asarray(sample.sizes), sample.topic_counts)


def _table(caption: str, sizes: Any, counts: Any = None, vocabulary: Any = None) -> str:
    order = np.argsort(-sizes, kind="stable")[:_ROWS]
    total = max(int(sizes.sum()), 1)
    rows = []
    for k in order.tolist():
        row: list[Any] = [k, int(sizes[k]), f"{sizes[k] / total:.2%}"]
        if counts is not None:
            one = counts[[k]].toarray()[0] if hasattr(counts, "toarray") else counts[k]
            top = [v for v in largest(one, _TERMS).tolist() if one[v] > 0]
            row.append(" ".join(str(v) if vocabulary is None else str(vocabulary[v]) for v in top))
        rows.append(row)
    columns = ["dish", "customers", "share", *(["most frequent terms"] if counts is not None else [])]
    rest = len(sizes) - len(rows)
    return html_table(caption, columns, rows, f"and {rest:,} smaller dishes" if rest else "")
