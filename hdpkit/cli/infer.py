"""``hdpkit infer``: shares of the topics of a run in new documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

from hdpkit.cli.corpus import format_option, given_layout, given_table, layout_options, say_notes
from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import (
    Command,
    given_limits,
    limit_options,
    not_negative,
    path_type,
    positive,
    quiet_option,
    raw_option,
    seed_option,
)
from hdpkit.cli.output import echo_csv, shown_path, tell
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.data.files.corpora import ReadCorpus
from hdpkit.data.files.tables import Table, table_suffix, write_table
from hdpkit.data.files.text_files import Layout
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.run.reading import load_reading, read_like


@click.command(cls=Command)
@run_argument
@click.argument("new", type=path_type)
@click.option(
    "--out", type=path_type, metavar="FILE",
    help="File for the shares: .csv, .tsv, .parquet or .jsonl.  [default: CSV on standard output]",
)  # fmt: skip
@raw_option
@format_option
@layout_options
@click.option(
    "--sweeps", type=positive, default=50, show_default=True, help="Sweeps over the new documents to average."
)
@click.option("--burn-in", type=not_negative, default=20, show_default=True, help="Sweeps before them.")
@click.option("--chain", type=not_negative, help="Use the topics of this chain only.")
@seed_option
@limit_options
@allow_option
@quiet_option
def infer(run: Path, new: Path, out: Path | None, **options: Any) -> None:
    """Find the shares of the topics of a run in new documents, or the components of new points.

    NEW is read in the same way as the corpus of the run: with the same words, stop words and tokenizer, and
    for tables with the same columns, unless an option changes them. Words outside the vocabulary of the run
    are ignored, and their number is reported. The topics don't change, and their numbers are those of the
    commands topics and export. Topics of several chains are aligned, and shares are averaged over the chains.
    The last column, "other", is the share of everything that belongs to no topic.

    Of a run of hdpkit mixture NEW is a table with the columns of the run. Each point gets its log density,
    the number of its most probable component, and the probabilities of all components, averaged over the
    states of the run. The column of the groups may be absent: points then have the weights of a new group.

    \b
    Examples:
      hdpkit infer run new.csv --out shares.csv
      hdpkit infer run more-reports/ --out shares.parquet
      hdpkit infer mixture-run new-points.csv --out components.csv
    """
    quiet = options["quiet"]
    if out is not None:
        table_suffix(out)
    there = open_corpus_run(run, options["allow"])
    asked = {name: options[name] for name in ("chain", "sweeps", "burn_in", "seed")}
    told, found = kind_of_run(there).infer(there, _New(run, new, options), partial(tell, quiet), **asked)
    if out is None:
        echo_csv(found)
        return
    write_table(out, found, raw=options["raw"])
    tell(quiet, f"{told} in {shown_path(out)}")


@attrs.frozen
class _New:
    """New data, read as the options say."""

    run: Path
    path: Path
    options: Mapping[str, Any]

    def table(self) -> Table:
        """As a table."""
        return given_table(self.path, self.options)

    def corpus(self) -> ReadCorpus:
        """As documents, read like those of the run where the options don't say otherwise."""
        given, allow = dict(self.options), self.options["allow"]
        own = given_layout(given)
        known = None if own is None else load_reading(self.run, allow).layout
        if own is not None and known is not None:  # other fields are those of the run
            plain, asked = Layout(), attrs.asdict(own, recurse=False)
            own = attrs.evolve(
                known, **{name: one for name, one in asked.items() if one != getattr(plain, name)}
            )
        read = read_like(
            self.run, self.path, format=given["format"], layout=own, allow=allow, limits=given_limits(given)
        )
        say_notes(read.notes, given["quiet"])
        return read
