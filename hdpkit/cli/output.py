"""All output of the command line: text that is safe for a terminal; topics, signatures and facts of a run.

Progress bars and tables are drawn by rich; texts that go into them pass `printable` first.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hdpkit.data.files.tables import Columns, table_text
from hdpkit.errors import printable
from hdpkit.franchise.sample import parameter_key
from hdpkit.kinds.listing import Column, Listing
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.states import ChainState

_LIGHTS = {"green": "bold green", "amber": "bold yellow", "red": "bold red", "grey": "bold"}


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text. Line ends and tabs are kept; other control characters are escaped."""
    click.echo(printable(text, keep="\n\t"), err=err, nl=nl)


def tell(quiet: bool, text: str) -> None:
    """Print a text on standard error, unless asked to be quiet."""
    if not quiet:
        say(text, err=True)


def shown_path(path: Path | str) -> str:
    """A path for use within a line."""
    return printable(str(path))


def json_text(value: Any, *, indent: int | None = None, default: Any = None) -> str:
    """A value as JSON with escaped control characters."""
    # Such characters occur only in strings here, in which JSON allows \uXXXX for any character.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    if text.isprintable():
        return text
    return "".join(
        json.dumps(letter)[1:-1] if letter != "\n" and printable(letter) != letter else letter
        for letter in text
    )


NEAR = 4
"""Numbers of signatures printed on each side of the chosen one."""
WIDTH_OF_A_FILE = 132
"""Width of the table in columns if there is no terminal."""


def plain_table() -> Table:
    """A table as all commands print it, without columns."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def table_console() -> Console:
    """Where tables are printed: standard output, with a fixed width if it is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)


def table_of(columns: Iterable[Column]) -> Table:
    """A table of these columns."""
    table, cells = plain_table(), []
    for one in columns:
        table.add_column(
            Text(printable(one.title, keep="\n")), justify="left" if one.words else "right",
            style="dim" if one.faint else "", overflow="fold", no_wrap=not (one.words or one.folds),
        )  # fmt: skip
        # As text, so that a term like "[bold]" isn't markup, and escape sequences don't reach the terminal.
        labels = one.labels or [""] * len(one.cells)
        cells.append([_labelled(label, text) for label, text in zip(labels, one.cells, strict=True)])
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    return table


def _labelled(label: str, text: str) -> Text:
    """The label, if there is one, and the text."""
    plain = printable(text)
    return Text.assemble((f"{printable(label)}: ", "bold"), plain) if label else Text(plain)


def echo_csv(columns: Columns) -> None:
    """Print a table as CSV."""
    for text in table_text(columns):
        say(text, nl=False)


def echo_listing(listing: Listing) -> None:
    """Print the tables of a listing, and its lines."""
    console = table_console()
    for place, columns in enumerate(listing.tables):
        if place:
            say("")
        console.print(table_of(columns))
    for line in listing.lines:
        say(line)


def echo_verdicts(found: Diagnosis | None) -> None:
    """Print the verdicts, each with its light, and what helps."""
    if found is None:
        return
    console = Console(soft_wrap=True)
    for question, verdict in found.verdicts:
        light = Text(f"[{verdict.light}]", style=_LIGHTS[verdict.light])
        console.print(Text.assemble(light, " ", printable(f"{question} {verdict.sentence}")))
    if found.advice:
        say(f"What helps: {found.advice}")


def state_facts(state: ChainState, seed: int | None) -> dict[str, Any]:
    """Hyperparameters, score, sweep and seed, by name."""
    franchise = state.franchise
    values: dict[str, Any] = {}
    for shared in franchise.hyperparameters.sharers:
        theta = franchise.concentration(shared.name)
        values[f"concentration/{shared.name}"] = theta if isinstance(theta, float) else theta.tolist()
    for name, value in franchise.measure.parameters.items():
        values[parameter_key(name)] = value.tolist() if hasattr(value, "tolist") else value
    return values | {"log_likelihood": franchise.log_likelihood(), "sweep": franchise.sweep, "seed": seed}


def echo_ranks(choice: RankChoice) -> None:
    """Print the scores of numbers of signatures near the chosen one, and why it was chosen, to stderr."""
    best = float(choice.ranks[choice.scores.argmax()])
    ranks = [int(rank) for rank in choice.ranks]
    near = [i for i, n in enumerate(ranks) if choice.rank - NEAR <= n <= max(choice.rank, best) + NEAR]
    scores, errors, stability = choice.scores, choice.errors, choice.stability
    columns = [
        Column("signatures", [f"{ranks[i]}{' *' if ranks[i] == choice.rank else '  '}" for i in near]),
        Column("held-out score", [f"{scores[i]:,.0f}" for i in near]),
        Column("standard error", ["" if ranks[i] == best else f"{errors[i]:,.0f}" for i in near]),
        Column("stability", ["" if math.isnan(stability[i]) else f"{stability[i]:.2f}" for i in near]),
    ]
    Console(stderr=True).print(table_of(columns))
    say(f"the start has {choice}", err=True)
