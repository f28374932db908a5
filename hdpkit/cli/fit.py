"""``hdpkit fit``: topics of a corpus, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.backends import BACKENDS
from hdpkit.cli.corpus import corpus_argument, corpus_options, given_corpus, group_labels
from hdpkit.cli.fit_shards import fit_shards
from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.options import (
    Command,
    above_zero,
    base_measure_of,
    filled_in,
    group,
    init_option,
    kept_options,
    model_options,
    moves_option,
    option_of,
    out_option,
    positive,
    restaurants_of,
    root_of,
    run_options,
)
from hdpkit.cli.runs import carry_out, check_until, first_run, in_rounds
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.topic_parts import default_moves
from hdpkit.run.run_folder import READING
from hdpkit.run.scheduler import Scheduler
from hdpkit.stores import stores

_COMMON = (
    "out", "text_column", "id_column", "group_column", "stop_words", "min_documents", "max_document_share",
    "for", "sweeps", "until", "at_most", "chains", "seed", "eta", "bursty", "terms",
)  # fmt: skip


@click.command(cls=Command, first=_COMMON)
@corpus_argument
@out_option
@run_options(None, None, ("until readable, at most 500; for prediction 500", "2; for prediction 1"))
@click.option("--terms", type=positive, default=10, show_default=True, help="Top terms of each topic.")
@corpus_options
@model_options
@group(
    "Model",
    click.option(
        "--topics", type=click.IntRange(1, 2**30), metavar="K",
        help="A finite model with K topics of equal weight: latent Dirichlet allocation.",
    ),
)  # fmt: skip
@group(
    "Sampler",
    moves_option(
        "table-gibbs,dish-gibbs:until=20,dish-gibbs:after=20:every=5,split-merge:until=50, "
        "and updates of all parameters with a prior"
    ),
    init_option("clusters:K", "factors:K"),
    option_of(Franchise, "store", click.Choice(sorted(stores)), help="How seating is stored."),
    option_of(
        Franchise, "root", click.Choice(["restaurant", "weights"]),
        help="Root shared by all documents: a restaurant, or sampled weights, which slice-gibbs needs.",
    ),
    option_of(Franchise, "kernel", click.Choice(["auto", "fused", "generic", "reference"])),
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

    A number for a parameter is fixed; gamma(shape,rate) is a prior, and the parameter is resampled. Moves
    are names of the registry with their arguments and the time tables until, after, every, repeat.

    A smaller eta gives more and narrower topics. Give eta a number. With a prior, eta decreases as the
    number of topics grows, and a smaller eta allows more topics, until there are hundreds with a few dozen
    tokens each. The command warns if at the end there are more topics than an average topic has tokens.

    With --sparse each topic selects its own terms, with a Dirichlet parameter --smoothing over these (Wang
    & Blei 2009): sparsity and smoothness of topics have separate parameters. --eta is not used then.

    With --topics K documents draw their topics from K topics of equal weight: with --document-concentration
    A the proportions of a document are Dirichlet(A/K, ..., A/K). The number of topics that is shown counts
    only topics with tokens.

    With --shards the sampler is slice-gibbs over counts, with sampled weights of the root. The same command
    continues a run that was stopped, with any number of processes; so does hdpkit resume.

    With --until the run ends when its verdict is green, when two rounds in a row made no progress, or after
    --at-most, instead of after a number of sweeps.

    Ctrl-C stops the run, and hdpkit resume RUN continues it. The same seed gives the same chain.

    \b
    Examples:
      hdpkit fit reports/ --min-documents 5 --out run
      hdpkit fit posts.csv --text-column body --id-column post --group-column author --out run
      hdpkit fit ap.dat --vocabulary vocab.txt --chains 4 --sweeps 1000 --out run
      hdpkit fit posts.csv --text-column body --until readable --at-most 10min --out run
      hdpkit fit ap.dat --sparse --smoothing "gamma(1,1)" --out run
      hdpkit fit counts.mtx.gz --eta 0.1 --root-concentration "gamma(1,0.1)" --out run
      hdpkit fit ap.dat --moves table-gibbs,split-merge:until=50:repeat=2,concentration --out run
      hdpkit fit ap.dat --store counts --root weights --moves slice-gibbs,root-weights --threads 2 --out run
      hdpkit fit --config study.toml --seed 7 --out run-7
      mpiexec -n 4 hdpkit fit --shards shards/ --eta 0.1 --sweeps 200 --out run
    """
    options = filled_in(options)
    if options.pop("shards"):
        fit_shards(corpus, options)
        return
    for name, default in (("backend", "auto"), ("spool", None), ("patience", None)):
        if options[name] != default:
            raise ParameterError(name, options[name], "left out without --shards", "Add --shards.")
    folder: Path = options["out"]
    check_until(options)
    base, root = base_measure_of(options), root_of(options)
    check_new_folder(folder)
    quiet = options["quiet"]
    read = given_corpus(corpus, options, quiet)
    data = read.corpus
    groups = group_labels(read, options)
    restaurant = restaurants_of(base, options, groups if options["group_concentration"] is not None else ())
    store, kernel = options["store"], options["kernel"]
    franchise = Franchise(restaurant, data, store=store, kernel=kernel, root=root)
    moves = options["moves"] or default_moves(restaurant)
    scheduler = Scheduler(moves, threads=options["threads"])

    run = first_run(scheduler, franchise, options, folder, options["init"])
    with held_for_a_run(folder, {READING: read.settings.as_data()}):
        carry_out(in_rounds(options, folder, run), folder, options["terms"], quiet)
