"""``hdpkit fit``: topics of a corpus of one's own, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.corpus import corpus_options, given_corpus, group_labels
from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.options import (
    ARGUMENTS,
    Parsed,
    config_option,
    path_type,
    positive,
    quiet_option,
    seed_option,
)
from hdpkit.cli.parse import parse_init, parse_moves
from hdpkit.cli.priors import (
    base_measure_of,
    concentrations_of,
    default_moves,
    model_options,
    restaurants_of,
    root_of,
)
from hdpkit.cli.runs import carry_out
from hdpkit.io.reading import Reading, kept_reading
from hdpkit.record.command import kept_command
from hdpkit.stores import stores

__all__ = ["fit"]


@click.command()
@corpus_options
@click.option(
    "--out",
    required=True,
    type=path_type,
    metavar="RUN",
    help="Folder to keep the run in; a new or an empty one.",
)
@config_option
@model_options
@click.option(
    "--topics", type=click.IntRange(1, 2**30), metavar="K",
    help="A finite model of K topics of equal weights: latent Dirichlet allocation.",
)  # fmt: skip
@click.option(
    "--moves",
    type=Parsed("MOVE[:KEY=VALUE]...,...", parse_moves),
    help="What a sweep does.  [default: table-gibbs,dish-gibbs,split-merge:until=50, and the updates of all "
    "that has a prior]",
)
@click.option(
    "--store", type=click.Choice(sorted(stores)), default="histogram", show_default=True,
    help="How seating is remembered.",
)  # fmt: skip
@click.option(
    "--root", type=click.Choice(["restaurant", "weights"]), default="restaurant", show_default=True,
    help="What documents share: a restaurant, or weights that are drawn, which slice-gibbs needs.",
)  # fmt: skip
@click.option(
    "--threads", type=positive, default=1, show_default=True,
    help="For moves that can use some (slice-gibbs, count-gibbs). The chain doesn't depend on it.",
)  # fmt: skip
@click.option(
    "--kernel", type=click.Choice(["auto", "fused", "generic", "reference"]), default="auto",
    show_default=True, help="Which code runs.",
)  # fmt: skip
@click.option("--sweeps", type=positive, default=500, show_default=True, help="Sweeps to run.")
@click.option(
    "--init", type=Parsed("auto|sequential|one|random:K|clusters:K|factors:K", parse_init), default="auto",
    show_default=True, help="The start of a chain.",
)  # fmt: skip
@seed_option
@click.option("--chains", type=positive, default=1, show_default=True, help="Chains, a process each.")
@click.option("--thin", type=positive, default=1, show_default=True, help="Record every so many sweeps.")
@click.option("--checkpoint-sweeps", type=positive, help="Save the state after so many sweeps.")
@click.option(
    "--checkpoint-seconds",
    type=click.FloatRange(0, min_open=True),
    help="Save the state after so many seconds.  [default: 60, without the option above]",
)
@click.option(
    "--samples", type=click.IntRange(min=0), default=10, show_default=True,
    help="States of each chain to keep, from the second half of its sweeps, to summarise from.",
)  # fmt: skip
@click.option("--terms", type=positive, default=10, show_default=True, help="Top terms to print of a topic.")
@quiet_option
def fit(corpus: Path, **options: Any) -> None:
    """Find the topics of a corpus; keep the run in a folder.

    CORPUS is a table (CSV, TSV, Parquet) or JSON lines with a column of texts; a file with a text a line; a
    folder of text files (*.txt); or counts: an LDA-C file, a bag-of-words file of the UCI repository, a
    Matrix Market file (documents x terms), a folder that hdpkit convert made. Files may be gzip. Text needs
    the extra hdpkit[text], Parquet hdpkit[parquet]. How texts were read is kept in the run, so that hdpkit
    infer counts new ones the same way.

    A number for a parameter is fixed; gamma(shape,rate) is a prior, and the parameter is resampled. Moves are
    the names of the registry with their arguments and time tables until, after, every, repeat.

    A smaller eta gives more and narrower topics. Give it a number: where it has a prior, eta falls as topics
    multiply, and a smaller eta lets more topics in, until there are hundreds of a few dozen tokens each. The
    command warns when there are more topics at the end than an average topic has tokens.

    With --sparse each topic selects terms of its own, and is spread over these by --smoothing (Wang & Blei
    2009): how sparse topics are and how smooth they are have a parameter each. --eta is not used then.

    With --topics K documents draw their topics from K of equal weights: with --document-concentration A the
    proportions of a document are Dirichlet(A/K, ..., A/K). What is shown as the number of topics counts those
    that have tokens.

    Ctrl-C stops the run, and hdpkit resume RUN goes on with it. The same seed gives the same chain.

    \b
    Examples:
      hdpkit fit reports/ --stop-words english --min-documents 5 --out run
      hdpkit fit posts.csv --text-column body --id-column post --group-column author --out run
      hdpkit fit ap.dat --vocabulary vocab.txt --chains 4 --sweeps 1000 --out run
      hdpkit fit ap.dat --sparse --smoothing "gamma(1,1)" --out run
      hdpkit fit counts.mtx.gz --eta 0.1 --root-concentration "gamma(1,0.1)" --out run
      hdpkit fit ap.dat --moves table-gibbs,split-merge:until=50:repeat=2,concentration --out run
      hdpkit fit ap.dat --store counts --root weights --moves slice-gibbs,root-weights --threads 2 --out run
      hdpkit fit --config study.toml --seed 7 --out run-7
    """
    import hdpkit as hk

    folder: Path = options["out"]
    base, root = base_measure_of(options), root_of(options)
    check_new_folder(folder)
    quiet = options["quiet"]
    read = given_corpus(corpus, options, quiet)
    data = read.corpus
    groups = group_labels(read, options)
    restaurant = restaurants_of(base, options, groups)
    store, kernel = options["store"], options["kernel"]
    franchise = hk.Franchise(restaurant, data, store=store, kernel=kernel, root=root)
    moves = options["moves"] or default_moves(base, concentrations_of(options, groups))
    scheduler = hk.Scheduler(moves, threads=options["threads"])

    def run(progress: Any) -> Any:
        return scheduler.run(
            franchise,
            sweeps=options["sweeps"],
            rng=options["seed"],
            init=options["init"],
            thin=options["thin"],
            chains=options["chains"] if options["chains"] > 1 else None,
            samples=options["samples"] or None,
            progress=progress,
            folder=folder,
            checkpoint=hk.Checkpoint(options["checkpoint_sweeps"], options["checkpoint_seconds"]),
        )

    arguments = click.get_current_context().meta.get(ARGUMENTS, ())
    with kept_reading(folder, Reading.of(read)), kept_command(folder, arguments):
        carry_out(run, folder, options["terms"], quiet)
