"""Small HTML tables for notebooks; all text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from hdpkit.errors import printable


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
