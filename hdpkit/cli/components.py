"""Components of numbers in the terminal."""

from __future__ import annotations

from rich.text import Text

from hdpkit.cli.output import SHOWN, plain_table, plural, say, table_console
from hdpkit.errors import printable
from hdpkit.kinds.kind import Nouns
from hdpkit.posterior.components import Components

_PARAMETERS = 6
"""Parameters in the table, at most; CSV and JSON have all."""


def echo_components(found: Components, nouns: Nouns, most: int | None = None) -> None:
    """Print components with their parameters."""
    table = plain_table()
    table.add_column("", justify="right", style="dim")
    several = len(found.samples) > 1
    grouped = None if found.partition is None else found.point_groups
    names = list(found.parameters)[:_PARAMETERS]
    titles = [*(["interval", "in states"] if several else []), *([] if grouped is None else ["of group"])]
    for title in (f"share of\n{nouns.tokens}", *titles, *names):
        table.add_column(Text(printable(title, keep="\n")), justify="right", overflow="fold")
    n = min(SHOWN if most is None else most, len(found))
    for k in range(n):
        cells = [f"{found.shares[k]:.1%}"]
        if several:
            cells += [f"{found.shares_lower[k]:.1%} to {found.shares_upper[k]:.1%}"]
            cells += [f"{found.occurrence[k]:.0%}"]
        if grouped is not None:
            cells += [str(grouped.of[k] + 1)]
        cells += [f"{found.parameters[name][k, 0]:.4g}" for name in names]
        table.add_row(str(k + 1), *cells)
    table_console().print(table)
    if len(found) > n:
        say(f"and {len(found) - n} smaller {nouns.topics}")
    if len(found.parameters) > len(names):
        left = len(found.parameters) - len(names)
        say(f"{left} more parameters: hdpkit topics RUN --format csv")
    rest = f"; {found.rest:.1%} of the {nouns.tokens} are in none of them"
    groups = "" if grouped is None else f"{plural(len(grouped), 'group')} of "
    say(f"{groups}{len(found)} {nouns.topics} of {found.source}{rest if several else ''}")
