"""``hdpkit match``: the topics or signatures of two runs, matched with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.text import Text

from hdpkit.canvas import check_picture, save_picture
from hdpkit.cli.folders import allow_option, worked_on
from hdpkit.cli.options import path_type, positive
from hdpkit.cli.output import echo_csv, json_text, plain_table, say, shown_path, table_console
from hdpkit.cli.runs import open_corpus_run
from hdpkit.data.files.tables import rows_of
from hdpkit.errors import printable
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.kind import Kind
from hdpkit.kinds.listing import SHOWN
from hdpkit.pages.plots.topics import match as draw
from hdpkit.posterior.alignment import MIN_COSINE
from hdpkit.posterior.finding import match_topics
from hdpkit.posterior.matching import ComponentSet, TopicMatch


@click.command()
@click.argument("run", type=path_type, metavar="RUN1", callback=worked_on)
@click.argument("other", type=path_type, metavar="RUN2")
@click.option(
    "--min-cosine", type=click.FloatRange(0, 1),
    help=f"Smallest cosine of two that are the same.  [default: {MIN_COSINE:g}; of signatures the similarity "
    "by which RUN1 merges components]",
)  # fmt: skip
@click.option("--terms", type=positive, default=6, show_default=True, help="Terms to print for each topic.")
@click.option("--all", "every", is_flag=True, help=f"Print all rows of the table, not {SHOWN} of each kind.")
@click.option(
    "--format", type=click.Choice(["table", "csv", "json"]), default="table", show_default=True,
    help="CSV and JSON have all rows.",
)  # fmt: skip
@click.option(
    "--plot",
    type=path_type,
    metavar="FILE",
    help="Write a figure of the cosines to this file: .png, .svg, .pdf, .html.",
)
@allow_option
def match(run: Path, other: Path, allow: tuple[str, ...], **options: Any) -> None:
    """Match the topics of two runs: which are in both, which only RUN1 has, which are new in RUN2.

    Topics are those that hdpkit topics prints, with the same numbers. Each has at most one partner; pairs
    have the largest sum of cosines above --min-cosine. Terms are matched by name, so the two runs may be over
    different corpora: a term that only one of them has counts as zero in the other. Runs of hdpkit signatures
    are matched by their signatures.

    \b
    Examples:
      hdpkit match run-2024 run-2025
      hdpkit match run other-run --format csv > matched.csv
      hdpkit match run other-run --plot cosines.png
    """
    if options["plot"] is not None:
        check_picture(options["plot"])
    first, second = _Side(run, allow), _Side(other, allow)
    least = options["min_cosine"]
    found = match_topics(first, second, min_cosine=first.least if least is None else least)
    facts = _facts(found)
    if options["format"] == "csv":
        echo_csv(found.table(options["terms"]))
    elif options["format"] == "json":
        say(json_text({**facts, "rows": rows_of(found.table(options["terms"]))}, indent=1))
    else:
        _echo(found, first.kind, options["terms"], None if options["every"] else SHOWN)
        say(_sentence(found, facts, first.kind))
    if options["plot"] is not None:
        save_picture(draw(found), options["plot"])
        say(f"written: {shown_path(options['plot'])}", err=True)


class _Side:
    """One of the two runs: topics, or signatures if `hdpkit signatures` made it."""

    def __init__(self, folder: Path, allow: tuple[str, ...]) -> None:
        self.source = shown_path(folder)
        self._run = open_corpus_run(folder, allow)
        self.kind = kind_of_run(self._run)
        self.least = self.kind.least_cosine

    def component_set(self, source: str) -> ComponentSet:
        """The components, named by the folder as it was given."""
        made: ComponentSet = self.kind.results(self._run).component_set(self.source)
        return made


def _facts(found: TopicMatch) -> dict[str, Any]:
    """Numbers of the match, by name."""
    own, others, common = found.n_columns
    return {
        "run_1": found.sources[0],
        "run_2": found.sources[1],
        "min_cosine": found.min_cosine,
        "n_matched": len(found.pairs),
        "n_missing": len(found.missing),
        "n_new": len(found.new),
        "share_matched_1": found.shared[0],
        "share_matched_2": found.shared[1],
        "n_terms_1": own,
        "n_terms_2": others,
        "n_terms_common": common,
    }


def _sentence(found: TopicMatch, facts: dict[str, Any], kind: Kind) -> str:
    nouns = kind.nouns
    one, other = found.sources
    own, others, common = found.n_columns
    text = (
        f"{facts['n_matched']} {nouns.topics} in both (cosine at least {found.min_cosine:g}): "
        f"{facts['share_matched_1']:.1%} of the {nouns.tokens} of {one}, "
        f"{facts['share_matched_2']:.1%} of {other}\n"
        f"{facts['n_missing']} only in {one}, {facts['n_new']} only in {other}"
    )
    if not own == others == common:
        text += f"\n{common:,} {nouns.terms} in common, of {own:,} in {one} and {others:,} in {other}"
    return text


def _echo(found: TopicMatch, kind: Kind, n_terms: int, most: int | None) -> None:
    """Print the table: pairs, then what only one of the runs has."""
    table = plain_table()
    one, other = (printable(source) for source in found.sources)
    for title in (one, other, "cosine", f"share of\n{one}", f"share of\n{other}"):
        table.add_column(Text(title), justify="right", overflow="fold", max_width=14)
    for source in (one, other):
        table.add_column(Text(f"{kind.told_by} of {source}"), overflow="fold")
    shown: dict[str, int] = {}
    rows = rows_of(found.table(n_terms))
    for place, row in enumerate(rows):
        shown[row["status"]] = shown.get(row["status"], 0) + 1
        if most is not None and shown[row["status"]] > most:
            continue
        last = place + 1 == len(rows) or rows[place + 1]["status"] != row["status"]
        table.add_row(*_cells(row), end_section=last)
    table_console().print(table)
    if most is not None and (hidden := sum(max(0, n - most) for n in shown.values())):
        say(f"and {hidden} rows that --all prints\n")


def _cells(row: dict[str, Any]) -> list[Text]:
    cosine = "" if row["cosine"] is None else f"{row['cosine']:.3f}"
    shares = ["" if row[name] is None else f"{row[name]:.2%}" for name in ("share_1", "share_2")]
    terms = ["" if row[name] is None else printable(row[name]) for name in ("terms_1", "terms_2")]
    if row["nearest"] is not None:
        side = 1 if row["topic_1"] is not None else 0
        terms[side] = f"(nearest: {printable(row['nearest'])}, cosine {row['nearest_cosine']:.2f})"
    names = [printable(row[name] or "") for name in ("topic_1", "topic_2")]
    return [Text(cell) for cell in (*names, cosine, *shares, *terms)]
