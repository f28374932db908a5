"""``hdpkit demo``: topics of the documentation of the installed NumPy and SciPy."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import attrs
import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hdpkit.cli.options import path_type, positive, quiet_option, seed_option
from hdpkit.cli.output import (
    SHOWN,
    WORTH_A_ROW,
    echo_table,
    echo_verdicts,
    in_groups,
    listed,
    say,
    state_topics,
)
from hdpkit.cli.report import where
from hdpkit.data import Corpus
from hdpkit.errors import DataError, MissingExtraError, printable
from hdpkit.formats.writing import check_place
from hdpkit.io.installed_docs import DemoDocuments, demo_documents
from hdpkit.record import ChainTrace
from hdpkit.schedule.progress import ProgressBar, format_seconds
from hdpkit.schedule.states import state_of
from hdpkit.summaries import Diagnosis, diagnose
from hdpkit.summaries.run_topics import topics_of_state

_CHAINS = 2  # the fewest that show whether another one would find the same topics
_SAMPLES = 10


@attrs.frozen(kw_only=True)
class RunFacts:
    """The facts printed below the table."""

    n_topics: int
    document_concentration: float
    root_concentration: float
    log_likelihood: float
    seed: int
    sweeps: int
    interrupted: bool
    n_tokens: int
    n_documents: int
    n_vocabulary: int
    n_docstrings: int
    n_words: int
    n_failed: int
    seconds_reading: float
    seconds_fitting: float


def facts_text(facts: RunFacts) -> str:
    """The lines below the table."""
    sweeps = f"{facts.sweeps} sweeps"
    modules = "1 module" if facts.n_failed == 1 else f"{facts.n_failed} modules"
    reading, fitting = format_seconds(facts.seconds_reading), format_seconds(facts.seconds_fitting)
    return "\n".join(
        [
            f"K = {facts.n_topics} topics, alpha = {facts.document_concentration:.3f}, "
            f"gamma = {facts.root_concentration:.2f}, log likelihood = {facts.log_likelihood:,.1f}, "
            f"seed = {facts.seed}, {f'stopped after {sweeps}' if facts.interrupted else sweeps}",
            f"{facts.n_tokens:,} tokens, {facts.n_documents:,} documents, "
            f"vocabulary of {facts.n_vocabulary:,} terms "
            f"(from {facts.n_docstrings:,} docstrings, {facts.n_words:,} words)",
            f"{modules} could not be imported; {reading} to read, {fitting} to fit",
        ]
    )


def _read(quiet: bool) -> DemoDocuments:
    """Collect the corpus, with a bar on standard error."""
    if quiet:
        return demo_documents()
    console = Console(file=sys.stderr)  # the stream itself, since sys.stderr is replaced during imports
    if not console.is_terminal:
        console.print("reading the documentation of NumPy and SciPy")
        return demo_documents()
    columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(
        *columns, console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        task = bar.add_task("reading the documentation")

        def show(done: int, total: int, what: str) -> None:
            at_end = done == total
            text = "modules read; cleaning the text" if at_end else f"modules read; now {printable(what)}"
            if at_end or done % 5 == 0:
                bar.update(task, completed=done, total=total, description=text, refresh=True)

        documents = demo_documents(progress=show)
        bar.update(task, description="modules read", refresh=True)
    return documents


@click.command()
@click.option("--sweeps", type=positive, default=150, show_default=True, help="Sweeps to run.")
@seed_option
@click.option(
    "--store",
    type=click.Choice(["histogram", "explicit"]),
    default="histogram",
    show_default=True,
    help="How seating is stored.",
)
@click.option(
    "--terms",
    type=positive,
    default=10,
    show_default=True,
    help="Top terms to print for each topic.",
)
@click.option(
    "--topics",
    type=positive,
    default=None,
    help=f"Topics to print.  [default: those with at least {WORTH_A_ROW:.1%} of the tokens, {SHOWN} at most]",
)
@click.option(
    "--page",
    type=path_type,
    default="hdpkit-demo.html",
    show_default=True,
    help="HTML file for the report; an existing file is replaced.",
)
@quiet_option
def demo(sweeps: int, seed: int, store: str, terms: int, topics: int | None, page: Path, quiet: bool) -> None:
    """Find topics in the documentation of your installed NumPy and SciPy.

    Nothing is downloaded: the corpus consists of the docstrings of the two installed packages. Two chains
    run at the same time, so that they can be compared; the topics are those of one of them. Ctrl-C during
    the fit stops it and prints the topics so far. At the end the command writes a report to open in
    a browser (with the extra hdpkit[report]).
    """
    import hdpkit as hk
    from hdpkit.models.topic_parts import default_moves
    from hdpkit.report.write import write_report

    check_place(page.absolute())

    began = time.perf_counter()
    docs = _read(quiet)
    seconds_reading = time.perf_counter() - began

    corpus = hk.Corpus.from_documents(
        docs.documents,
        vocabulary=docs.vocabulary,
        names=docs.names,
        groups={"package": [_package(name) for name in docs.names]},
    )
    G0 = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.05), concentration=hk.Gamma(1.0, 1.0))
    Gj = hk.Restaurant(base=G0, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(Gj, corpus, store=store)
    scheduler = hk.Scheduler(default_moves(Gj))
    began = time.perf_counter()
    with ProgressBar() as bar:
        trace = scheduler.run(
            franchise, sweeps=sweeps, rng=seed, chains=_CHAINS, samples=_SAMPLES,
            progress=None if quiet else bar,
        )  # fmt: skip
    seconds_fitting = time.perf_counter() - began
    chain = trace.numbers[
        int(np.argmax([one["log_joint"][-1] if one.n_draws else -np.inf for one in trace.chains]))
    ]
    franchise = trace.franchises[trace.numbers.index(chain)]

    state = state_of(franchise)
    found, groups = in_groups(topics_of_state(state, f"chain {chain}"), state_topics(state, terms), terms)
    echo_table(found, listed(found, topics), groups=groups)
    say(
        facts_text(
            RunFacts(
                n_topics=franchise.n_dishes,
                document_concentration=float(franchise.concentration("document")),
                root_concentration=float(franchise.concentration("root")),
                log_likelihood=franchise.log_likelihood(),
                seed=seed,
                sweeps=trace.n_draws,
                interrupted=bool(trace.interrupted),
                n_tokens=docs.n_tokens,
                n_documents=len(docs.documents),
                n_vocabulary=len(docs.vocabulary),
                n_docstrings=docs.n_docstrings,
                n_words=docs.n_words,
                n_failed=len(docs.failed),
                seconds_reading=seconds_reading,
                seconds_fitting=seconds_fitting,
            )
        )
    )
    echo_verdicts(_verdicts(trace, corpus))
    command = f"hdpkit demo --sweeps {sweeps} --seed {seed} --store {store}"
    title = "Topics of the documentation of NumPy and SciPy"
    try:
        written = write_report(franchise, page, trace=trace, chain=chain, title=title, command=command)
    except MissingExtraError as error:
        say(f"No page was written: {error.parameter} is missing. {error.remedy}")
    else:
        say(where(written))


def _verdicts(trace: ChainTrace, corpus: Corpus) -> Diagnosis | None:
    """Whether the topics can be read and quoted; None before the first sweep."""
    try:
        return diagnose(trace, data=corpus, commands=True)
    except DataError:
        return None


def _package(name: str) -> str:
    """The package of a documented object: "scipy.stats" for "scipy.stats.norm.pdf"."""
    parts = name.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]
