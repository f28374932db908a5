"""``hdpkit demo``: topics of the documentation of the installed NumPy."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.kind import run_kind
from hdpkit.cli.options import path_type, positive, quiet_option, seed_option
from hdpkit.cli.output import say
from hdpkit.cli.report import where
from hdpkit.cli.runs import terms_option
from hdpkit.data.files.installed_docs import demo_corpus
from hdpkit.errors import MissingExtraError


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
    if not options["quiet"]:
        say("reading the documentation of NumPy", err=True)
    corpus = demo_corpus(["numpy"])
    say(f"{corpus.n_documents:,} docstrings, {corpus.n_tokens:,} words")
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
