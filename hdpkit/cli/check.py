"""``hdpkit check``: whether chains of a run disagree because the model doesn't fit or the sampler is slow."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from hdpkit.cli.folders import allow_option
from hdpkit.cli.options import Command, Parsed, not_negative, parse_init, positive, quiet_option, seed_option
from hdpkit.cli.output import json_text, say
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.errors import printable
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.posterior.comparison.chains import CLOCKS, Standing
from hdpkit.posterior.comparison.mixing import SECONDS, check_mixing, report


@click.command(cls=Command)
@run_argument
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True),
    help=f"Seconds of sampling for each of about twelve chains.  [default: {SECONDS:g}]",
)  # fmt: skip
@click.option(
    "--sweeps", type=positive,
    help="Sweeps of each chain in place of seconds: the same seed then gives the same result.",
)  # fmt: skip
@seed_option
@click.option("--chain", type=not_negative, default=0, show_default=True, help="The chain that is checked.")
@click.option(
    "--init", type=Parsed("START,...", lambda text: [parse_init(part) for part in text.split(",")]),
    help="Starts of the chains, written as for hdpkit fit.  [default: auto,one,sequential]",
)  # fmt: skip
@click.option(
    "--copies", type=click.IntRange(10), default=20, show_default=True,
    help="Copies of the data that are drawn for the statistics at the end of each chain.",
)  # fmt: skip
@click.option(
    "--clock", type=click.Choice(CLOCKS), default="wall", show_default=True,
    help="Wall-clock or processor seconds; use processor if other programs run on the machine.",
)  # fmt: skip
@click.option("--format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@quiet_option
@allow_option
def check(run: Path, **options: Any) -> None:
    """Find out why chains of RUN disagree: the model doesn't fit the data, or the sampler is too slow.

    Chains from the same starts run for the same time over the data, over a copy that is simulated from the
    fitted model, and over a copy in which every word is drawn again from its topic. Statistics of the data
    are compared with those of copies drawn from the model. The answer is one of: converged, the sampler is
    too slow for these data, the model does not fit. RUN is not changed. The command takes twelve times
    --seconds, and the time of twelve starts and of the copies, which is more for large data.

    \b
    Examples:
      hdpkit check run
      hdpkit check run --seconds 60 --clock processor
      hdpkit check run --sweeps 200 --seed 1 --format json > check.json
    """
    there = open_corpus_run(run, options["allow"])
    nouns = kind_of_run(there).nouns
    with _progress(options["quiet"]) as progress:
        found = check_mixing(
            there, seconds=options["seconds"], sweeps=options["sweeps"], rng=options["seed"],
            inits=options["init"], chain=options["chain"], copies=options["copies"], clock=options["clock"],
            progress=progress,
        )  # fmt: skip
    if options["format"] == "json":
        say(json_text(found.to_dict(), indent=1))
        return
    say(report(found, {"document": nouns.document, "term": nouns.term, "topic": nouns.dish}))


@contextmanager
def _progress(quiet: bool) -> Iterator[Callable[[Standing], None]]:
    """A line on standard error at the end of each chain; on a terminal also a line of current progress."""
    console = Console(file=sys.stderr, quiet=quiet)
    with console.status("") if console.is_terminal else nullcontext() as status:

        def show(standing: Standing) -> None:
            if standing.finished and not quiet:
                say(_line(standing), err=True)
            elif status is not None:
                status.update(_line(standing).replace("[", r"\["))

        yield show


def _line(standing: Standing) -> str:
    number = standing.chain * standing.schedules + standing.place + 1
    return (
        f"{number}/{standing.chains * standing.schedules} {printable(standing.schedule)}, chain "
        f"{standing.chain} from {standing.init}: {standing.seconds:.1f} s, {standing.sweeps:,} sweeps, "
        f"K = {standing.n_dishes:,}, log joint = {standing.log_joint:,.0f}"
    )
