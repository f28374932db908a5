"""``hdpkit report``: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import (
    Parsed,
    ShownTopics,
    not_negative,
    path_type,
    periods_option,
    positive,
    topics_type,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.errors import ParameterError
from hdpkit.run.reading import texts_like


def where(page: Path) -> str:
    """The line with the location of a page."""
    return f"Report: {shown_path(page)}\nOpen it in a browser: {page.as_uri()}"


def _parse_axes(text: str) -> list[int | str]:
    """Two dimensions, by number or name."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(parts):
        raise ParameterError(
            "axes", text, "two dimensions", "For instance --axes 0,1 or --axes weight,height."
        )
    return [int(part) if part.isdecimal() else part for part in parts]


@click.command()
@run_argument
@click.option(
    "--out", type=path_type, metavar="PAGE",
    help="File to write; an existing file is replaced.  [default: report.html in RUN]",
)  # fmt: skip
@click.option("--title", help="Title of the page.  [default: the name of the folder]")
@click.option(
    "--chain", type=not_negative,
    help="Chain whose topics to show.  [default: that with the highest log probability of model and data]",
)  # fmt: skip
@click.option(
    "--topics", type=topics_type, default="500", show_default=True,
    help="Largest number of topics; about:N merges similar topics until N are left.",
)  # fmt: skip
@click.option("--terms", type=positive, default=30, show_default=True, help="Terms of each topic.")
@click.option("--documents", type=positive, default=20, show_default=True, help="Documents of each topic.")
@click.option(
    "--axes", type=Parsed("DIMENSION,DIMENSION", _parse_axes),
    help="Dimensions in which to draw components of numbers, by name or number from 0.  [default: principal "
    "components]",
)  # fmt: skip
@periods_option
@click.option(
    "--texts",
    type=path_type,
    metavar="FILE",
    help="The texts of the corpus: show the beginnings of the documents of each topic.",
)
@allow_option
def report(run: Path, out: Path | None, topics: ShownTopics, allow: tuple[str, ...], **options: Any) -> None:
    """Write a report of a run: topics, documents, groups, a map, traces, and how to reproduce it.

    The report is one HTML file that needs no network: open it in a browser, or send it to others. It
    contains terms, names of documents and shares, and texts only with --texts. For a mixture of numbers it
    shows the components in the plane, their parameters, and their weights by group. Needs the extra
    hdpkit[report].

    \b
    Examples:
      hdpkit report run
      hdpkit report run --texts posts.csv
      hdpkit report run --out topics.html --title "Reports of 2025"
    """
    from hdpkit.pages.write import write_report

    if topics.most is not None:
        options["topics"] = topics.most
    if options["texts"] is not None:
        options["texts"] = texts_like(run, options["texts"], allow)
    place = run / "report.html" if out is None else out
    page = write_report(open_corpus_run(run, allow), place, about=topics.about, **options)
    say(where(page))
