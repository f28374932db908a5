"""``hdpkit fit``: topics of a corpus, also in shards, in a run folder; ``hdpkit demo``."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click

from hdpkit import shards
from hdpkit.cli.corpus import corpus_argument, corpus_options, given_corpus, group_labels
from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.kind import kind_options, made, named, run_kind
from hdpkit.cli.options import (
    Command,
    Parsed,
    above_zero,
    group,
    init_option,
    kept_options,
    moves_option,
    option_of,
    out_option,
    path_type,
    positive,
    quiet_option,
    run_options,
    seed_option,
)
from hdpkit.cli.output import say, tell
from hdpkit.cli.report import where
from hdpkit.cli.runs import BACKENDS, backend_of, carry_out, check_until, ended_together, terms_option
from hdpkit.data import ShardedCorpus
from hdpkit.data.files.corpora import ReadingSettings
from hdpkit.data.files.installed_docs import demo_corpus
from hdpkit.errors import MissingExtraError, ParameterError, RunError, short_repr
from hdpkit.files import to_json
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.kinds.kind import FiniteOrNot
from hdpkit.kinds.topics import Topics, topic_updates
from hdpkit.kinds.values import NumberOrPrior
from hdpkit.moves import RootWeights, SliceGibbs
from hdpkit.run.collect import Checkpoint
from hdpkit.run.describe import describe, described_franchise
from hdpkit.run.run_folder import RUN, RunFolder, holding
from hdpkit.run.runs import Scheduler, open_run

_PRIOR = NumberOrPrior()
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
        type=Parsed(_PRIOR.metavar, lambda text: _PRIOR.parse("burst-concentration", text)),
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


SERVING = frozenset(
    {
        *(field.name for field in attrs.fields(FiniteOrNot)),
        *("corpus", "out", "eta", "moves"),
        *("threads", "sweeps", "init", "seed", "checkpoint_sweeps", "terms", "quiet", "shards", "backend"),
        *("root", "store", "config", "spool", "patience", "bursty", "burst_concentration", "purpose"),
    }
)
"""Options of ``hdpkit fit`` that apply to a run over shards."""


def fit_shards(corpus: Path, model: Topics, options: dict[str, Any]) -> None:
    """Run a chain over a corpus in shards."""
    _check_options(options)
    backend, out = backend_of(options["backend"], options["patience"]), options["out"]
    with ended_together(backend), ExitStack() as stack:
        source = ShardedCorpus.open(corpus)
        if backend.leads:
            tell(options["quiet"], f"{model.said(source)}, {source.n_shards:,} shards, {backend}")
        backend.lead(partial(_hold, stack, out))
        if backend.leads:
            carry_out(partial(_fit, source, backend, model, options), out, options["terms"], options["quiet"])
        else:
            _fit(source, backend, model, options, None)


def _hold(stack: ExitStack, folder: Path) -> None:
    """Hold the folder of a run, which may be there already."""
    if (folder / RUN).exists():
        stack.enter_context(holding(folder))
    else:
        reading = ReadingSettings(format="shards")
        stack.enter_context(held_for_a_run(folder, {"reading": reading.as_data()}))


def _fit(
    source: ShardedCorpus, backend: shards.Backend, model: Topics, options: dict[str, Any], progress: Any
) -> Any:
    """Begin the run, or go on with it if the folder has one of the same command."""
    finite, restaurant = model.n_components, named(Topics, lambda: model.declare(source))
    weights = [] if finite is not None else [RootWeights()]
    scheduler = Scheduler(
        options["moves"] or [SliceGibbs(), *weights, *topic_updates(restaurant)], options["threads"]
    )
    franchise = shards.ShardedFranchise(
        restaurant, source, root="weights" if finite is None else FixedWeights(finite), spool=options["spool"]
    )
    checkpoint = Checkpoint(sweeps=options["checkpoint_sweeps"] or 10)
    out, sweeps, seed = options["out"], options["sweeps"], options["seed"]
    if not backend.lead(lambda: (out / RUN).exists()):
        return scheduler.run(
            franchise, sweeps, seed, options["init"], folder=out, checkpoint=checkpoint, progress=progress,
            backend=backend, on_interrupt="raise",
        )  # fmt: skip
    backend.lead(partial(_check_same, RunFolder.open(out), franchise, scheduler, seed))
    there = open_run(out)
    left = sweeps - backend.lead(lambda: there.sweeps[0] or 0)
    if left < 1:
        return there.trace
    return there.resume(
        left, franchise=franchise, checkpoint=checkpoint, progress=progress, backend=backend,
        on_interrupt="raise",
    )  # fmt: skip


def _check_same(
    files: RunFolder, franchise: shards.ShardedFranchise, scheduler: Scheduler, seed: int
) -> None:
    """Raise a RunError unless the folder is that of a run with these arguments; threads may differ."""
    declared, moves = files.declared()
    given = described_franchise(franchise.declared())
    now = [describe(move, "moves") for move in scheduler.moves]
    digest = franchise.corpus.digest
    for name, kept, own, shown in (
        ("corpus", files.corpus_in_shards, digest, digest),
        ("root", declared["root"], given["root"], franchise.root),
        ("restaurant", declared, given, franchise.restaurant),
        ("moves", *map(_without_threads, (moves, now)), scheduler.moves),
        ("rng, the seed", files.settings.seed, seed, seed),
    ):
        if to_json(kept) != to_json(own):
            raise RunError(
                f"{name}, in {files.path}", short_repr(kept), f"the argument given now, {shown}",
                "Give the arguments that the run began with, or another folder.",
            )  # fmt: skip


def _without_threads(described: Any) -> Any:
    if isinstance(described, dict):
        return {key: _without_threads(one) for key, one in described.items() if key != "threads"}
    return [_without_threads(one) for one in described] if isinstance(described, list) else described


def _check_options(options: dict[str, Any]) -> None:
    """Raise an error for options that don't apply to a run over shards."""
    context = click.get_current_context()
    for name in options:
        given = context.get_parameter_source(name)
        if name not in SERVING and given not in (None, click.core.ParameterSource.DEFAULT):
            raise ParameterError(
                name.replace("_", "-"), options[name], "left out with --shards",
                "A run over shards is one chain of a topic model over documents, and keeps no samples.",
            )  # fmt: skip


@click.command()
@click.option("--sweeps", type=positive, help="Sweeps to run.  [default: until readable, at most 500]")
@seed_option
@terms_option
@click.option(
    "--out", type=path_type, metavar="RUN",
    help="Folder for the run; must be new or empty.  [default: hdpkit-demo, or hdpkit-demo-2 and so on]",
)  # fmt: skip
@quiet_option
def demo(out: Path | None, **options: Any) -> None:
    """Find topics in the documentation of your installed NumPy.

    Nothing is downloaded: the corpus consists of the docstrings of the installed package. The fit is
    that of hdpkit fit without options; other commands take the folder of the run. Ctrl-C stops it, and
    prints the topics so far. At the end the command writes a report to open in a browser (with the extra
    hdpkit[report]).
    """
    from hdpkit.pages.write import write_report

    folder = _free() if out is None else out
    check_new_folder(folder)
    model = Topics()
    options |= model.run_settings(options)
    options |= {"at_most": None, "samples": 10, "checkpoint_seconds": 60.0, "init": "auto", "moves": None}
    options |= {"threads": 1, "out": folder}
    tell(options["quiet"], "reading the documentation of NumPy")
    corpus = demo_corpus(["numpy"])
    say(f"{corpus.n_documents:,} docstrings, {corpus.n_tokens:,} words")
    run_kind(model, corpus, options, n_terms=options["terms"])
    title = "Topics of the documentation of NumPy"
    try:
        written = write_report(open_run(folder), folder / "report.html", title=title)
    except MissingExtraError as error:
        say(f"No page was written: {error.parameter} is missing. {error.remedy}")
    else:
        say(where(written))


def _free() -> Path:
    """The first folder of this name that isn't there."""
    names = itertools.chain(["hdpkit-demo"], (f"hdpkit-demo-{number}" for number in itertools.count(2)))
    return next(path for path in map(Path, names) if not path.exists())
