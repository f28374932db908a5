"""``hdpkit topics`` and ``resume``: commands on a run folder, and where runs over shards work."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from hdpkit import shards
from hdpkit.cli.folders import allow_option, end_interrupted, go_on, is_language_model, ran, worked_on
from hdpkit.cli.lm import resume_training
from hdpkit.cli.options import (
    ShownTopics,
    not_negative,
    path_type,
    positive,
    quiet_option,
    topics_type,
    until_options,
)
from hdpkit.cli.output import echo_listing, echo_verdicts, json_text, say, state_facts, tell
from hdpkit.data.files.tables import table_of_rows
from hdpkit.data.sharded import in_shards
from hdpkit.errors import DataError, MissingExtraError, ParameterError, RunError, printable
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.diagnosis import diagnose
from hdpkit.kinds.listing import SHOWN, WORTH_A_ROW, Nouns
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.progress import ProgressBar
from hdpkit.run.runs import Run, open_run
from hdpkit.run.states import ChainState

BACKENDS = "auto|local|mpi|tcp://HOST:PORT"

LAUNCHERS = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "MPI_LOCALRANKID")
"""Environment variables that MPI launchers set for their processes."""


def backend_of(name: str, patience: float | None = None) -> shards.Backend:
    """The backend with this name; "auto" is MPI if an MPI launcher has started this process."""
    if name == "auto":
        name = "mpi" if any(variable in os.environ for variable in LAUNCHERS) else "local"
    if name == "local":
        return shards.Local()
    if name == "mpi":
        return shards.MPI(patience=patience)
    if "://" not in name:
        raise ParameterError("backend", name, BACKENDS, "Give the address of a scheduler of Dask.")
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingExtraError(
            "backend", name, "with distributed installed", 'pip install "hdpkit[dask]"'
        ) from error
    return shards.Dask(Client(name), patience=patience)


@contextmanager
def ended_together(backend: shards.Backend | None) -> Iterator[None]:
    """End all processes of a run if this one ends the block with an error."""
    try:
        yield
    except BaseException:
        if backend is not None:
            backend.give_up()
        raise


run_argument = click.argument("run", type=path_type, metavar="RUN", callback=worked_on)
terms_option = click.option(
    "--terms", type=positive, default=10, show_default=True, help="Top terms to print for each topic."
)


def carry_out(
    run: Callable[[Any], Any],
    folder: Path,
    n_terms: int,
    quiet: bool,
    allow: tuple[str, ...] = (),
    *,
    unit: str = "tokens",
) -> None:
    """Run with a progress bar, print topics and facts, and print how to continue an interrupted run."""
    trace, interrupted = ran(run, folder, quiet, ProgressBar(unit=unit))
    failures = getattr(trace, "failures", {})
    if interrupted:
        failures = {chain: error for chain, error in failures.items() if error.original is not None}
    hint = None
    try:
        hint = _report(folder, trace, n_terms, allow)
    except Exception as error:  # for instance a MemoryError; the run itself has ended well
        what = printable(f"{type(error).__name__}: {error}".rstrip(": "))
        say(
            f"The run is saved in {printable(str(folder))}, but it couldn't be summarised ({what}).", err=True
        )
        say(f"To print its topics: hdpkit topics {shlex.quote(str(folder))}", err=True)
    if not (interrupted or failures) and trace is not None and trace.n_draws:
        echo_verdicts(_verdicts(open_run(folder, allow)))
    if hint is not None:
        say(hint)
    for failure in failures.values():
        say(f"Error: {failure}", err=True)
    if failures:
        say(f"{len(failures)} of the chains failed. {go_on(folder)}", err=True)
        raise click.exceptions.Exit(1)
    if interrupted:
        end_interrupted(folder)


def check_until(options: dict[str, Any]) -> None:
    """Raise a ParameterError for --at-most without --until."""
    if options["until"] is None and options["at_most"] is not None:
        raise ParameterError(
            "at-most", options["at_most"], "left out without --until", "Give --until readable, or --sweeps."
        )


def in_rounds(
    options: dict[str, Any], folder: Path, begin: Callable[..., Any] | None, allow: tuple[str, ...] = ()
) -> Callable[[Any], Any]:
    """What runs, given its progress: ``begin``, or rounds of which it is the first (None: resuming)."""
    if options["until"] is None and begin is not None:
        return begin
    from hdpkit.posterior.rounds import FEWEST_CHAINS, Until, samples_of_round

    def run(progress: Any) -> Any:
        until = Until(options["until"], options["at_most"], options["sweeps"])
        number = options["samples"]
        if begin is not None and options["chains"] < FEWEST_CHAINS and not options["quiet"]:
            say(f"{FEWEST_CHAINS} chains are run: --until compares chains", err=True)

        def step(begun: int, sweeps: int) -> tuple[Any, int]:
            rule = samples_of_round(number, begun, sweeps)
            if begun == 0 and begin is not None:
                chains = max(options["chains"], FEWEST_CHAINS)
                trace = begin(progress, sweeps=sweeps, samples=rule, chains=chains, callbacks=until.callbacks)
            else:
                there = open_run(folder, allow)
                trace = there.resume(sweeps, samples=rule, callbacks=until.callbacks, progress=progress)
            return trace, max(sweep for sweep in open_run(folder, allow).sweeps if sweep is not None)

        def judge(_: Any) -> Diagnosis:
            return diagnose(open_run(folder, allow), commands=True)

        def told(reached: int, found: Diagnosis) -> None:
            verdict = getattr(found, options["until"])
            tell(options["quiet"], f"after {reached:,} sweeps: [{verdict.light}] {verdict.sentence}")

        begun = 0 if begin is not None else max((s for s in open_run(folder, allow).sweeps if s), default=0)
        return until.run(begun, step, judge, told)

    return run


def _report(folder: Path, trace: Any, n_terms: int, allow: tuple[str, ...]) -> str | None:
    """Print what was found and facts of a run, and return a hint at what could be better about the data."""
    hint = None
    numbers = getattr(trace, "numbers", (0,)) if trace is not None else ()
    there = open_run(folder, allow) if numbers else None
    kind = None
    for number in numbers:
        assert there is not None
        try:
            state = there.state(number)
        except RunError:  # it ended before its start was complete
            continue
        if kind is None:
            kind = kind_of_run(there)
            found = kind.results(there)
            echo_listing(kind.listing(found, n_terms))
            # With few topics there is nothing to hide.
            hint = kind.hint(state, folder) if len(found) > _FEW else None
        which = f"chain {number}: " if hasattr(trace, "numbers") else ""
        say(which + _facts_text(state, trace.seed, kind.nouns))
    return hint


_FEW = 10
"""With so few topics a hint at boilerplate is not worth a line."""


def _verdicts(run: Run) -> Diagnosis | None:
    """Whether the run can be read and quoted; None before the first sweep."""
    try:
        return diagnose(run, commands=True)
    except DataError:
        return None


def _facts_text(state: ChainState, seed: int | None, nouns: Nouns) -> str:
    facts = state_facts(state, seed)
    parts = []
    for key, value in facts.items():
        if "/" in key and not isinstance(value, list):
            what, name = key.split("/", 1)
            name = nouns.level(name)
            parts.append(printable(f"{name if what == 'base' else f'{name} {what}'} = {value:.4g}"))
    parts.append(f"log likelihood = {facts['log_likelihood']:,.1f}")
    return ", ".join([*parts, f"seed = {seed}", f"{facts['sweep']} sweeps"])


def open_corpus_run(folder: Path, allow: tuple[str, ...]) -> Run:
    """Open a run over a corpus."""
    if is_language_model(folder):
        raise RunError(
            f"run {folder}", "a language model", "a run with topics, signatures, states or components",
            f"Look at the model: hdpkit lm sample {shlex.quote(str(folder))}, or hdpkit lm score.",
        )  # fmt: skip
    return open_run(folder, allow)


@click.command()
@run_argument
@terms_option
@click.option(
    "--topics", "n_topics", type=topics_type,
    help="Topics to print; about:N merges similar topics until N are left.  "
    f"[default: those with at least {WORTH_A_ROW:.1%} of the tokens, {SHOWN} at most]",
)  # fmt: skip
@click.option("--all", "every", is_flag=True, help="Print all topics.")
@click.option(
    "--chain", type=not_negative,
    help="Print the topics of this chain.  [default: all chains]",
)  # fmt: skip
@click.option(
    "--format",
    type=click.Choice(["table", "csv", "json"]),
    default="table",
    show_default=True,
    help="CSV and JSON have all topics unless --topics says how many.",
)
@allow_option
def topics(run: Path, terms: int, chain: int | None, allow: tuple[str, ...], **options: Any) -> None:
    """Print the topics of a run at its newest checkpoint, signatures of a cohort, or components of numbers.

    Topics are those that at least half of the samples of all chains have; topics that are
    nearly the same are one. Shares are means over the samples. Of a run of hdpkit
    signatures this prints its signatures; with --chain the components of one chain.

    If there are many topics, the table begins with groups of similar ones, as the report does. With --topics
    about:N the tree of these groups is cut into N, and each group is counted as one topic: merged topics
    are a coarser view, not topics of a model with fewer of them.

    \b
    Examples:
      hdpkit topics run
      hdpkit topics run --all
      hdpkit topics run --topics about:30
      hdpkit topics run --terms 20 --topics 5 --chain 2
      hdpkit topics run --format json > topics.json
    """
    there = open_corpus_run(run, allow)
    kind = kind_of_run(there).of_part(there.data, chain)
    asked, format = options["n_topics"] or ShownTopics(), options["format"]
    most, about = asked.most, asked.about
    found = kind.results(there, chain, about)
    if format == "csv":
        table = kind.table(found, terms)
        say(table_of_rows([list(table), *list(zip(*table.values(), strict=True))[:most]]), nl=False)
        return
    numbers = getattr(there.trace, "numbers", (0,)) if chain is None else (chain,)
    state = there.state(numbers[0])
    if format == "json":
        judged = _verdicts(there)
        facts = state_facts(state, state.seed) | {"verdicts": None if judged is None else judged.as_data()}
        say(json_text(facts | kind.content(found, terms, most), indent=1))
        return
    echo_listing(kind.listing(found, terms, len(found) if options["every"] or about is not None else most))
    if len(numbers) == 1 and kind.of_documents:
        say(_facts_text(state, state.seed, kind.nouns))


@click.command()
@run_argument
@click.option("--sweeps", type=positive, help="More sweeps to run.  [default: what is missing]")
@until_options
@terms_option
@quiet_option
@allow_option
def resume(run: Path, sweeps: int | None, quiet: bool, allow: tuple[str, ...], **options: Any) -> None:
    """Continue a run, or the training of a language model, from its newest checkpoint.

    The chain equals that of an uninterrupted run, bit for bit. More sweeps of a language model give new
    samples for predictions, which replace the old ones.

    \b
    Examples:
      hdpkit resume run                 the rest of the planned sweeps
      hdpkit resume run --sweeps 200    200 more, also if the run is complete
      hdpkit resume run --until quotable --at-most 1h
    """
    check_until(options)
    until = options["until"]
    if is_language_model(run):
        if until is not None:
            raise ParameterError("until", until, "left out for a language model", "Give --sweeps N.")
        resume_training(run, sweeps, quiet, allow)
        return
    there = open_run(run, allow)
    before = there.sweeps
    backend = backend_of("auto", None) if in_shards(there.data) else None
    with ended_together(backend):
        if backend is not None and not backend.leads:  # the first rank tells
            there.resume(sweeps, backend=backend)
            return
        continued = _continued(there, options | {"sweeps": sweeps, "quiet": quiet}, allow)
        carry_out(
            continued or (lambda progress: there.resume(sweeps, progress=progress, backend=backend)),
            run, options["terms"], quiet, allow, unit=kind_of_run(there).nouns.tokens,
        )  # fmt: skip
    if sweeps is None and until is None and there.sweeps == before:
        say("The run was already complete; --sweeps N runs N more.", err=True)


def _continued(run: Run, options: dict[str, Any], allow: tuple[str, ...]) -> Callable[[Any], Any] | None:
    """What continues a run until a verdict is green, at once if it is; None without --until."""
    until = options["until"]
    if until is None:
        return None
    n_chains = len(run.sweeps)
    if n_chains < 2:
        raise ParameterError(
            "until", until, "of a run with several chains", "Begin again: --chains 2, or more."
        )
    judged = _verdicts(run)
    if judged is not None and getattr(judged, until).light == "green":
        return lambda progress: run.trace
    begun = max((sweep for sweep in run.sweeps if sweep is not None), default=0)
    options["sweeps"] = begun + (options["sweeps"] or begun)
    options["samples"] = max(2, len(run.samples) // n_chains)
    return in_rounds(options, run.folder, None, allow)
