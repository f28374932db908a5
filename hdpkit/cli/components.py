"""Components of numbers in the terminal, as CSV and as JSON."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from hdpkit.cli.output import SHOWN, json_text, plain_table, say, table_console
from hdpkit.data.files.tables import Columns, rows_of, table_text
from hdpkit.errors import printable
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.kind import Nouns
from hdpkit.posterior.run_topics import RunComponents, components_of_run
from hdpkit.run.runs import Run

_PARAMETERS = 6
"""Parameters in the table, at most; CSV and JSON have all."""


def echo_components(
    run: Run, chain: int | None = None, most: int | None = None, format: str = "table", facts: Any = None
) -> None:
    """Print the components that the states of a run (or of one of its chains) have in common.

    ``facts`` are more entries of the JSON.
    """
    found, nouns = components_of_run(run, chain), kind_of_run(run).nouns
    if format == "csv":
        for text in table_text(_columns(found, most)):
            say(text, nl=False)
    elif format == "json":
        told = {
            "of": found.source,
            "n_components": len(found.agreed),
            "share_of_no_component": found.agreed.rest,
            **(facts or {}),
        }
        say(json_text({**told, "components": rows_of(_columns(found, most))}, indent=1))
    else:
        _echo_table(found, nouns, SHOWN if most is None else most)


def _columns(found: RunComponents, most: int | None) -> Columns:
    """A row for each component: number, share with its ends, occurrence, and each parameter with its ends."""
    agreed = found.agreed
    n = len(agreed) if most is None else min(most, len(agreed))
    columns: dict[str, Any] = {
        "component": list(range(1, n + 1)),
        "share": agreed.shares[:n].tolist(),
        "share_low": agreed.shares_lower[:n].tolist(),
        "share_high": agreed.shares_upper[:n].tolist(),
        "occurrence": agreed.occurrence[:n].tolist(),
    }
    for name, values in found.parameters.items():
        for ending, column in zip(("", " low", " high"), values[:n].T.tolist(), strict=True):
            columns[f"{name}{ending}"] = column
    return columns


def _echo_table(found: RunComponents, nouns: Nouns, most: int) -> None:
    agreed = found.agreed
    table = plain_table()
    table.add_column("", justify="right", style="dim")
    several = len(agreed.samples) > 1
    names = list(found.parameters)[:_PARAMETERS]
    for title in (f"share of\n{nouns.tokens}", *(["interval", "in states"] if several else []), *names):
        table.add_column(Text(printable(title, keep="\n")), justify="right", overflow="fold")
    n = min(most, len(agreed))
    for k in range(n):
        cells = [f"{agreed.shares[k]:.1%}"]
        if several:
            cells += [f"{agreed.shares_lower[k]:.1%} to {agreed.shares_upper[k]:.1%}"]
            cells += [f"{agreed.occurrence[k]:.0%}"]
        cells += [f"{found.parameters[name][k, 0]:.4g}" for name in names]
        table.add_row(str(k + 1), *cells)
    table_console().print(table)
    if len(agreed) > n:
        say(f"and {len(agreed) - n} smaller {nouns.topics}")
    if len(found.parameters) > len(names):
        left = len(found.parameters) - len(names)
        say(f"{left} more parameters: hdpkit topics RUN --format csv")
    rest = f"; {agreed.rest:.1%} of the {nouns.tokens} are in none of them"
    say(f"{len(agreed)} {nouns.topics} of {found.source}{rest if several else ''}")
