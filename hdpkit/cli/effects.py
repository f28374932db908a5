"""``hdpkit effects``: how shares of the components depend on covariates of documents, samples or groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.corpus import given_table, table_options
from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import not_negative, path_type
from hdpkit.cli.output import echo_csv, echo_listing
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.data.files.text_files import find_name
from hdpkit.errors import DataError
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.listing import SHOWN, UNSETTLED, Column, Listing, unsettled_told

_INTERCEPT = "Intercept"


@click.command()
@run_argument
@click.option(
    "--formula", required=True, metavar="TERMS",
    help='Names of covariates, such as "year + section"; C(year) makes categories of numbers.',
)  # fmt: skip
@click.option(
    "--table", "file", type=path_type, metavar="FILE",
    help="A table of covariates.  [default: what the run keeps: --date-column, --group-column]",
)  # fmt: skip
@click.option(
    "--id-column", metavar="NAME|N",
    help="Its column with the names of the documents, samples or groups.  [default: one with a usual name, "
    "or the first]",
)  # fmt: skip
@table_options
@click.option("--chain", type=not_negative, help="Use the components of this chain only.")
@click.option(
    "--format", type=click.Choice(["table", "csv"]), default="table", show_default=True,
    help="CSV has all components, and intercepts.",
)  # fmt: skip
@allow_option
def effects(run: Path, formula: str, file: Path | None, allow: tuple[str, ...], **options: Any) -> None:
    """Print how the shares of the topics of a run depend on covariates, such as a date or a section.

    The shares in each document are drawn given the samples of the run, and regressed on the covariates; the
    coefficients are drawn, too. A coefficient is how the share changes if the covariate grows by 1, or
    between a category and the first one. Intervals of 90 % include that documents are a sample of those that
    there could be. Dates are years with a fraction. Documents without tokens or with a missing covariate are
    left out.

    Of a run of hdpkit signatures these are the signatures in its samples, of hdpkit mixture with --group the
    components in its groups.

    \b
    Examples:
      hdpkit effects run --formula "date + section"
      hdpkit effects run --formula "log(income)" --table documents.csv --id-column name
      hdpkit effects run --formula "date" --format csv > effects.csv
    """
    there = open_corpus_run(run, allow)
    kind = kind_of_run(there)
    found = kind.results(there, options["chain"])
    table = None if file is None else _covariates(file, found.names, options)
    made = found.effects(formula, table)
    columns = made.columns()
    if options["format"] == "csv":
        echo_csv(columns)
        return
    most, n_terms = min(SHOWN, len(found)), len(made.terms)
    named = [f"{k + 1}" for k in range(most)]
    if made.labels:
        named = [f"{number} {label}" for number, label in zip(named, made.labels[:most], strict=True)]
    marked = zip(named, found.unsettled[:most], strict=True)
    named = [f"{name}{UNSETTLED if one else ''}" for name, one in marked]
    rows = [i for i in range(most * n_terms) if columns["term"][i] != _INTERCEPT]
    ends = ("estimate", "lower", "upper")
    listing = [
        Column(kind.nouns.topic, [named[i // n_terms] for i in rows], words=True),
        Column("term", [columns["term"][i] for i in rows], words=True),
        *(Column(name, [f"{columns[name][i]:+.3g}" for i in rows]) for name in ends),
        Column("", ["" if columns["lower"][i] <= 0.0 <= columns["upper"][i] else "not 0" for i in rows]),
    ]  # fmt: skip
    lines = [f"and {len(found) - most} more {kind.nouns.dishes}: --format csv"] if most < len(found) else []
    lines += unsettled_told(found)
    lines.append(f"shares in {made.n_groups:,} of {len(found.names):,} {kind.nouns.documents}")
    echo_listing(Listing([listing], lines))


def _covariates(file: Path, names: Sequence[Any], options: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns of a table, in the order of the groups of these names; None where a group has no row."""
    id_column = options.pop("id_column")
    table = given_table(file, options)
    key = find_name(table.names) if id_column is None else table.column("id_column", id_column)
    chosen = [i for i in range(len(table.names)) if i != key]
    place = {str(name): i for i, name in enumerate(names)}
    columns: dict[str, list[Any]] = {table.names[i]: [None] * len(names) for i in chosen}
    seen: dict[int, int] = {}
    for number, (name, *cells) in table.rows([key, *chosen]):
        at = place.get(str(name))
        if at is None:
            continue
        if at in seen:
            raise DataError(
                table.place(number), name, f"a name of one row; line {seen[at]} has it, too", "Remove one."
            )
        seen[at] = number
        for i, cell in zip(chosen, cells, strict=True):
            columns[table.names[i]][at] = cell
    if not seen:
        raise DataError(
            table.place(table.first), f"a column {table.names[key]!r} without a name of the run",
            f"names such as {str(names[0])!r}", "Say which column has the names: --id-column NAME.",
        )  # fmt: skip
    return columns
