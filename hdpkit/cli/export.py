"""``hdpkit export``: a run's topics, shares and trace for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import path_type, positive, quiet_option
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.data import Corpus
from hdpkit.io.export import EXPORTS, export_topics, export_trace
from hdpkit.io.run_topics import topics_of_run
from hdpkit.signatures import write_signatures
from hdpkit.signatures.settings import signatures_of_run

__all__ = ["export"]


@click.command()
@run_argument
@click.option("--to", type=click.Choice([*EXPORTS, "signatures"]), required=True, help="The format.")
@click.option(
    "--out", type=path_type, required=True, metavar="PATH",
    help="A new folder (csv, parquet, signatures), or a file (json, pyldavis; arviz: .nc, or .zarr).",
)  # fmt: skip
@click.option("--terms", type=positive, default=100, show_default=True, help="Terms of a topic to write.")
@click.option("--chain", type=click.IntRange(min=0), help="The topics of this chain alone.")
@allow_option
@quiet_option
def export(
    run: Path, to: str, out: Path, terms: int, chain: int | None, allow: tuple[str, ...], quiet: bool
) -> None:
    """Write a run's topics and the shares of its documents, or its trace, for other programs.

    \b
    csv, parquet  a folder with three tables: topics (share, top terms), terms (their probabilities) and
                  documents (a column a topic); with credible intervals of shares and probabilities, and
                  the share of the samples that have a topic, where the run kept samples
    json          one file with the same
    pyldavis      one JSON file with what pyLDAvis.prepare(**data) takes
    arviz         the trace, for arviz.from_netcdf
    signatures    a folder with signatures and exposures as SigProfiler has them, and tables with intervals

    Topics are numbered by falling share, from 1. Those of several chains are aligned: a topic is written if
    most chains have it, and its share, terms and documents are averages over the samples that have it. Those
    of one chain are of its newest state, with intervals over the samples that the chain kept.

    \b
    Examples:
      hdpkit export run --to csv --out tables
      hdpkit export run --to pyldavis --out topics.json
      hdpkit export run --to arviz --out trace.nc
    """
    there = open_corpus_run(run, allow)
    if to == "arviz":
        written, told = [export_trace(there.trace, out)], "the trace"
    elif to == "signatures":
        found, settings = signatures_of_run(there)
        written, told = write_signatures(found, out, known=settings.known), f"{len(found)} signatures"
    else:
        topics, _ = topics_of_run(there, chain, intervals=True)
        told = f"{topics.n_topics} topics of {topics.source}"
        written = export_topics(topics, cast(Corpus, there.data), to, out, terms)
    if not quiet:
        say(f"{told}: {', '.join(shown_path(path) for path in written)}", err=True)
