"""``hdpkit demo``: topics of the documentation of the installed NumPy."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.kind import run_kind
from hdpkit.cli.options import path_type, positive, quiet_option, seed_option
from hdpkit.cli.output import say
from hdpkit.cli.report import where
from hdpkit.cli.runs import terms_option
from hdpkit.data.files.installed_docs import DemoDocuments, demo_documents
from hdpkit.errors import MissingExtraError, printable

_PACKAGES = ("numpy",)


def _read(quiet: bool) -> DemoDocuments:
    """Collect the corpus, with a bar on standard error."""
    if quiet:
        return demo_documents(_PACKAGES)
    console = Console(file=sys.stderr)  # the stream itself, since sys.stderr is replaced during imports
    if not console.is_terminal:
        console.print("reading the documentation of NumPy")
        return demo_documents(_PACKAGES)
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

        documents = demo_documents(_PACKAGES, progress=show)
        bar.update(task, description="modules read", refresh=True)
    return documents


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
    import hdpkit as hk
    from hdpkit.kinds.topics import Topics
    from hdpkit.pages.write import write_report

    folder = _free() if out is None else out
    check_new_folder(folder)
    model = Topics()
    options |= model.run_settings(options)
    options |= {"at_most": None, "samples": 10, "checkpoint_seconds": 60.0, "init": "auto", "moves": None}
    options |= {"threads": 1, "out": folder}
    docs = _read(options["quiet"])
    corpus = hk.Corpus.from_documents(
        docs.documents,
        vocabulary=docs.vocabulary,
        names=docs.names,
        groups={"package": [_package(name) for name in docs.names]},
    )
    say(f"{docs.n_docstrings:,} docstrings, {docs.n_words:,} words; {len(docs.failed)} modules not imported")
    run_kind(model, corpus, options, n_terms=options["terms"])
    title = "Topics of the documentation of NumPy"
    try:
        written = write_report(hk.open_run(folder), folder / "report.html", title=title)
    except MissingExtraError as error:
        say(f"No page was written: {error.parameter} is missing. {error.remedy}")
    else:
        say(where(written))


def _free() -> Path:
    """The first folder of this name that isn't there."""
    names = itertools.chain(["hdpkit-demo"], (f"hdpkit-demo-{number}" for number in itertools.count(2)))
    return next(path for path in map(Path, names) if not path.exists())


def _package(name: str) -> str:
    """The package of a documented object: "scipy.stats" for "scipy.stats.norm.pdf"."""
    parts = name.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]
