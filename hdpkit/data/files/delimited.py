"""CSV, and TSV, written so that a spreadsheet and a terminal show texts and do nothing else with them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

from hdpkit.errors import printable

_FORMULA = re.compile("[\\s\xad\u200c\u200d]*[-=+@\uff0d\uff1d\uff0b\uff20].*[^\\W_]", re.DOTALL)
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE | re.ASCII)
_ESCAPE = re.compile(r"\\(?:(\\)|x([0-9a-f]{2})|u([0-9a-f]{4})|U(000[0-9a-f]{5}|0010[0-9a-f]{4}))")


def escaped(text: str) -> str:
    r"""Return the cell for a text: safe in a spreadsheet and on a terminal. `unescaped` is the inverse.

    Cells that begin with ``'`` are escaped: after it, a backslash is written as ``\\``, and control
    characters are written as by `printable` (``\x1b``). All other cells are the text itself. A text is
    escaped if it begins with ``'`` or contains control characters, or if a spreadsheet could evaluate it: it
    begins with ``=``, ``+``, ``-`` or ``@`` (also after blanks), isn't a number, and has a letter or a digit.
    """
    formula = _FORMULA.match(text) and not _NUMBER.fullmatch(text)
    if not formula and not text.startswith("'") and printable(text) == text:
        return text
    return "'" + printable(text.replace("\\", "\\\\"))


def unescaped(text: str) -> str:
    """Return the text that `escaped` made into this cell.

    Parameters
    ----------
    text : str
    """
    if not text.startswith("'"):
        return text
    return _ESCAPE.sub(lambda found: found[1] or chr(int(found[2] or found[3] or found[4], 16)), text[1:])


def table_of_rows(rows: Iterable[Sequence[Any]], delimiter: str = ",", *, raw: bool = False) -> str:
    r"""Write rows as CSV, or with another delimiter. All CSV and TSV of the package passes here."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows(rows if raw else ([_cell(value) for value in row] for row in rows))
    return out.getvalue()


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, int | float) else escaped(str(value))
