"""``hdpkit schedules``: several schedules over one corpus for the same time."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.status import Status

from hdpkit.cli.corpus import corpus_argument, corpus_options, given_corpus, group_labels
from hdpkit.cli.folders import INTERRUPTED
from hdpkit.cli.options import (
    Command,
    Parsed,
    base_measure_of,
    config_option,
    model_options,
    parse_init,
    parse_moves,
    path_type,
    positive,
    quiet_option,
    restaurants_of,
    seed_option,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.comparison.candidates import Candidate
from hdpkit.comparison.chains import CLOCKS, Standing
from hdpkit.comparison.ready_made import all_names, parts_of, ready_made
from hdpkit.errors import InterruptedRunWarning, ParameterError, printable
from hdpkit.formats.writing import check_place
from hdpkit.franchise import Franchise
from hdpkit.models.topic_parts import updates_of
from hdpkit.moves import Move
from hdpkit.plots.canvas import check_picture
from hdpkit.record.inference_data import load_arviz

__all__ = ["ChainProgress", "schedules"]

_DEFAULT = "crf-explicit,crf-histogram,direct"


def _parse_schedules(text: str) -> list[str]:
    names: list[str] = []
    for part in (part.strip() for part in text.split(",")):
        for name in all_names() if part == "all" else [part]:
            parts_of(name)
            names.append(name)
    return list(dict.fromkeys(names))


def _parse_own(text: str) -> tuple[str, list[Move]]:
    name, equals, moves = text.partition("=")
    if not name.strip() or not equals:
        raise ParameterError("own", text, "NAME=MOVE,...", "For instance a=table-gibbs,split-merge:repeat=5.")
    return name.strip(), parse_moves(moves)


@click.command(cls=Command)
@corpus_argument
@corpus_options
@config_option
@model_options
@click.option(
    "--schedules", type=Parsed("NAME,...", _parse_schedules), default=_DEFAULT, show_default=True,
    help="SCHEME or SCHEME+ADDITION+..., or all: see below.",
)  # fmt: skip
@click.option(
    "--own", type=Parsed("NAME=MOVE[:KEY=VALUE]...,...", _parse_own), multiple=True,
    help="A schedule of your own; moves are written as for hdpkit fit.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
    help="Seconds of sampling for each chain of each schedule.",
)  # fmt: skip
@click.option("--chains", type=positive, default=2, show_default=True, help="Chains of each schedule.")
@click.option(
    "--init", type=Parsed("START,...", lambda text: [parse_init(part) for part in text.split(",")]),
    help="Starts of the chains in turn, written as for hdpkit fit.  [default: auto,one,sequential]",
)  # fmt: skip
@click.option(
    "--burn-in", type=click.FloatRange(0, 1, max_open=True), default=0.5, show_default=True,
    help="Share of each chain's time to discard.",
)  # fmt: skip
@click.option(
    "--clock", type=click.Choice(CLOCKS), default="wall", show_default=True,
    help="Wall-clock or processor seconds; use processor if other programs run on the machine.",
)  # fmt: skip
@click.option(
    "--threads", type=positive, default=1, show_default=True,
    help="Threads, for schemes that can use them (slices). Chains don't depend on the number.",
)  # fmt: skip
@seed_option
@click.option("--csv", type=path_type, metavar="FILE", help="Write the complete table to this file.")
@click.option("--states", type=path_type, metavar="FILE", help="Write all recorded states to this file.")
@click.option("--plot", type=path_type, metavar="FILE", help="Write a figure to this file: .png, .pdf, .svg.")
@quiet_option
def schedules(corpus: Path, **options: Any) -> None:
    """Compare schedules by the effective draws per second from the posterior of CORPUS.

    For each schedule the table has: effective draws per second (ESS/s) of the log joint, the number of
    topics K and the shares of the largest topics; R-hat over chains from different starts; the time until
    the log joint is within 0.1 % of that of the best chain; time and acceptance rate of each move. If a
    schedule has not converged, the table shows the reasons and no ESS/s. Needs the extra hdpkit[arviz]; a
    figure needs hdpkit[plots].

    Schemes: crf-explicit, crf-histogram (table-gibbs and dish-gibbs over tables with customers, or over
    sizes of tables), table-gibbs (the latter without dish-gibbs), direct (direct assignment), indicators
    (table indicators), slices (documents in parallel). Additions: dish-gibbs, dish-gibbs-10 (every 10th
    sweep), split-merge, reseat-groups (every 20th sweep). All sample the same posterior.

    The running time is schedules x chains x seconds, and slightly more for starts and records. Ctrl-C ends
    the comparison and shows the results so far.

    \b
    Examples:
      hdpkit schedules reports/ --seconds 30
      hdpkit schedules ap.dat --schedules all --chains 3 --csv table.csv --plot schedules.png
      hdpkit schedules ap.dat --eta 0.1 --schedules crf-histogram,direct+split-merge --init one,random:100
      hdpkit schedules ap.dat --own "often=table-gibbs,split-merge:repeat=10,concentration"
    """
    import hdpkit as hk

    base = base_measure_of(options)
    load_arviz()
    for name in ("csv", "states"):
        if options[name] is not None:
            check_place(options[name])
    if options["plot"] is not None:
        check_picture(options["plot"])
    quiet = options["quiet"]
    own: dict[str, list[Move]] = {}
    for name, moves in options["own"]:
        if name in own or name in options["schedules"]:
            raise ParameterError("own", name, "a name that no other schedule has", "Choose another one.")
        own[name] = moves
    read = given_corpus(corpus, options, quiet)
    data, groups = read.corpus, group_labels(read, options)
    restaurant = restaurants_of(base, options, groups)
    candidates = ready_made(
        options["schedules"],
        restaurant,
        data,
        lambda: updates_of(restaurant),
        options["threads"],
    )
    candidates |= {name: Candidate(Franchise(restaurant, data), moves) for name, moves in own.items()}
    with ChainProgress(quiet) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", InterruptedRunWarning)  # printed below
        comparison = hk.compare_schedules(
            candidates, seconds=options["seconds"], chains=options["chains"], rng=options["seed"],
            inits=options["init"], burn_in=options["burn_in"], clock=options["clock"], progress=progress,
        )  # fmt: skip
    say(str(comparison))
    for name, rows in (("csv", "schedules"), ("states", "states")):
        if options[name] is not None:
            comparison.to_csv(options[name], rows)
    if options["plot"] is not None:
        comparison.plot(options["plot"])
    if not quiet:
        written = [
            shown_path(options[name]) for name in ("csv", "states", "plot") if options[name] is not None
        ]
        if written:
            say(f"written: {', '.join(written)}", err=True)
    if comparison.interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    if comparison.failures:
        raise click.exceptions.Exit(1)


class ChainProgress:
    """A line on standard error at the end of each chain; on a terminal also a line of current progress."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._console = Console(file=sys.stderr)
        self._status: Status | None = None

    def __enter__(self) -> ChainProgress:
        return self

    def __exit__(self, *error: Any) -> None:
        self._end()

    def _end(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, standing: Standing) -> None:
        """Show the progress of the comparison."""
        if self._quiet:
            return
        if standing.finished:
            self._end()
            say(_line(standing), err=True)
        elif self._console.is_terminal:
            if self._status is None:
                self._status = self._console.status("")
                self._status.start()
            self._status.update(_line(standing).replace("[", r"\["))


def _line(standing: Standing) -> str:
    number = standing.chain * standing.schedules + standing.place + 1
    return (
        f"{number}/{standing.chains * standing.schedules} {printable(standing.schedule)}, chain "
        f"{standing.chain} from {standing.init}: {standing.seconds:.1f} s, {standing.sweeps:,} sweeps, "
        f"K = {standing.n_dishes:,}, log joint = {standing.log_joint:,.0f}"
    )
