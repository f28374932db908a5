"""``hdpkit export``: a run's topics, shares and trace for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import (
    ShownTopics,
    not_negative,
    path_type,
    periods_option,
    positive,
    quiet_option,
    raw_option,
    topics_type,
)
from hdpkit.cli.output import shown_path, tell
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.errors import ParameterError
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.posterior.export import EXPORTS


@click.command()
@run_argument
@click.option("--to", type=click.Choice([*EXPORTS, "signatures", "pdf"]), required=True, help="The format.")
@click.option(
    "--out", type=path_type, required=True, metavar="PATH",
    help="A new folder (csv, parquet, signatures) or a file (excel, json, pyldavis, pdf, arviz: .nc).",
)  # fmt: skip
@click.option(
    "--terms", "n_terms", type=positive, default=100, show_default=True, help="Terms to write for each topic."
)
@click.option("--chain", type=not_negative, help="Use the topics of this chain only.")
@click.option(
    "--topics", "n_topics", type=topics_type, metavar="about:N",
    help="Merge similar topics until N are left.",
)  # fmt: skip
@periods_option
@raw_option
@allow_option
@quiet_option
def export(run: Path, to: str, out: Path, allow: tuple[str, ...], quiet: bool, **options: Any) -> None:
    """Write the topics and document shares of a run, or its trace, for other programs.

    \b
    csv, parquet  a folder with tables: topics (share, group, top terms), terms (their probabilities),
                  groups of similar topics, documents (date, groups, one column per topic), trends (shares
                  by date) and document_groups (shares by group of documents); if the run kept samples, also
                  credible intervals of shares and probabilities, and the share of the samples that have a
                  topic
    excel         one workbook (.xlsx) with the same tables as sheets; of a run of hdpkit signatures, those
                  of the format signatures
    json          one file with the same content as csv, without the shares by date and by group
    pyldavis      one JSON file with the arguments of pyLDAvis.prepare(**data)
    arviz         the trace, for arviz.from_netcdf
    signatures    a folder with signatures and exposures in the format of SigProfiler, and tables with
                  intervals
    pdf           one file with a page for each signature: spectrum, best match, exposures

    Topics are numbered from 1 in descending order of their shares. They are those of hdpkit topics: what at
    least half of the samples of all chains have. Shares, terms and documents are averages over the samples.

    Of a run of hdpkit mixture csv, parquet, excel and json have tables of the components, their parameters,
    the weights of groups, and the points with their components; of hdpkit hmm also of the transitions between
    states.

    \b
    Examples:
      hdpkit export run --to csv --out tables
      hdpkit export run --to csv --out coarse --topics about:30
      hdpkit export run --to pyldavis --out topics.json
      hdpkit export run --to arviz --out trace.nc
      hdpkit export cohort --to pdf --out signatures.pdf
    """
    asked: ShownTopics | None = options.pop("n_topics")
    if asked is not None and asked.about is None:
        raise ParameterError("topics", asked.most, "about:N", "All topics are written without it.")
    there = open_corpus_run(run, allow)
    about = None if asked is None else asked.about
    told, written = kind_of_run(there).export(there, to, out, about=about, **options)
    tell(quiet, f"{told}: {', '.join(shown_path(path) for path in written)}")
