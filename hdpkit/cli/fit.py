"""``hdpkit fit``: topics of a corpus, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

from hdpkit.cli.backends import BACKENDS
from hdpkit.cli.corpus import corpus_argument, corpus_options, given_corpus, group_labels
from hdpkit.cli.fit_shards import fit_shards
from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.kind import kind_options, made, named, run_kind
from hdpkit.cli.options import (
    Command,
    above_zero,
    group,
    init_option,
    kept_options,
    moves_option,
    option_of,
    out_option,
    positive,
    prior_type,
    run_options,
)
from hdpkit.cli.runs import check_until
from hdpkit.errors import ParameterError
from hdpkit.kinds.topics import Topics
from hdpkit.run.runs import Scheduler

_COMMON = (
    "out", "text_column", "id_column", "group_column", "stop_words", "min_documents", "max_document_share",
    "purpose", "sweeps", "until", "at_most", "chains", "seed", "eta", "bursty", "terms",
)  # fmt: skip


@click.command(cls=Command, first=_COMMON)
@corpus_argument
@out_option
@run_options(None, None, ("until readable, at most 500; for prediction 500", "2; for prediction 1"))
@click.option("--terms", type=positive, default=10, show_default=True, help="Top terms of each topic.")
@corpus_options
@kind_options(Topics)
@group(
    "Model",
    click.option(
        "--burst-concentration",
        type=prior_type("burst-concentration"),
        help="With --bursty: the larger, the less terms repeat.  [default: gamma(1,0.01)]",
    ),
)
@group(
    "Sampler",
    moves_option(
        "table-gibbs,dish-gibbs:until=20,dish-gibbs:after=20:every=5,split-merge:until=50, "
        "and updates of all parameters with a prior"
    ),
    init_option("clusters:K", "factors:K"),
    option_of(Scheduler, "threads", positive),
)  # fmt: skip
@kept_options(samples=10)
@group(
    "Corpora in shards",
    click.option(
        "--shards", is_flag=True,
        help="CORPUS is a folder of hdpkit convert --shards: every process reads its own shards. The run "
        "goes on if RUN has a checkpoint.",
    ),
    click.option(
        "--backend", default="auto", metavar=BACKENDS,
        help="Ranks of MPI, workers of the Dask cluster at this address, or this process.  "
        "[default: MPI under mpiexec, else this process]",
    ),
    click.option(
        "--spool", type=click.Path(path_type=Path),
        help="Folder on a local disk where each process keeps the terms and documents of its tokens, "
        "instead of in memory.",
    ),
    click.option(
        "--patience", type=above_zero,
        help="Seconds after which a process that doesn't answer ends the run.  [default: no limit]",
    ),
)  # fmt: skip
def fit(corpus: Path, **options: Any) -> None:
    """Find the topics of a corpus and save the run in a folder.

    CORPUS is a table (CSV, TSV, Parquet) or JSON lines with a column of texts; a file with one text per
    line; a folder of text files (*.txt); or counts: an LDA-C file, a bag-of-words file of the UCI
    repository, a Matrix Market file (documents x terms), a folder written by hdpkit convert. Files can be
    compressed with gzip. Text needs the extra hdpkit[text], Parquet hdpkit[parquet]. The run stores how
    texts were read, so that hdpkit infer counts new texts in the same way.

    A number for a parameter is fixed; gamma(shape,rate) is a prior, and the parameter is resampled. A smaller
    eta gives more and narrower topics: give it a number, since with a prior there are ever more of them. With
    --sparse each topic selects its own terms (Wang & Blei 2009).

    Ctrl-C stops the run, and hdpkit resume RUN continues it. The same seed gives the same chain.

    \b
    Examples:
      hdpkit fit reports/ --min-documents 5 --out run
      hdpkit fit posts.csv --text-column body --id-column post --group-column author --out run
      hdpkit fit ap.dat --vocabulary vocab.txt --chains 4 --sweeps 1000 --out run
      hdpkit fit posts.csv --text-column body --until readable --at-most 10min --out run
      hdpkit fit counts.mtx.gz --eta 0.1 --moves table-gibbs,concentration --seed 7 --out run-7
    """
    model = declared(options)
    options |= model.run_settings(options)
    if options.pop("shards"):
        fit_shards(corpus, model, options)
        return
    for name, default in (("backend", "auto"), ("spool", None), ("patience", None)):
        if options[name] != default:
            raise ParameterError(name, options[name], "left out without --shards", "Add --shards.")
    check_until(options)
    check_new_folder(options["out"])
    named(Topics, lambda: model.declare(None))  # before a long corpus is read
    read = given_corpus(corpus, options, options["quiet"])
    model = attrs.evolve(model, levels=tuple(group_labels(read, options)))
    run_kind(model, read.corpus, options, {"reading": read.settings.as_data()}, options["terms"])


def declared(options: dict[str, Any]) -> Topics:
    """The topic model that options declare."""
    burst = options["burst_concentration"]
    model: Any = made(Topics, options)
    if burst is not None and not model.usual("bursty"):
        raise ParameterError(
            "burst-concentration", burst, "left out without bursts", "Add --bursty, or leave it out."
        )
    return model if burst is None else attrs.evolve(model, bursty=burst)
