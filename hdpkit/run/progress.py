"""Progress of a run: ticks, the clock that makes them, and bars on terminals and in notebooks."""

from __future__ import annotations

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

import attrs

from hdpkit.checks import as_float, function, instance, text
from hdpkit.errors import ParameterError

if TYPE_CHECKING:  # only progress bars need them, and they take a tenth of the time of importing hdpkit
    from rich.console import Console
    from rich.progress import Progress, TaskID


@attrs.frozen
class Tick:
    """The progress of a run.

    Attributes
    ----------
    sweep, sweeps : int
        Sweeps completed in this run, and to be completed.
    fraction : float
        Completed fraction of the current sweep, 0 to 1.
    n_dishes : int
    log_likelihood : float or None
        After the last completed sweep, in nats.
    customers_per_second, seconds_left : float or None
        Estimated from the sweeps of this run so far.
    finished : bool
        Whether this is the last tick (of its chain).
    chain, chains : int
        Number of the chain, from 0, and number of chains.
    log_joint : float or None
        After the last completed sweep, in nats.
    observed : bool
        Whether dishes are observed. Their number is then uninformative, and the log joint shows the progress.
    """

    sweep: int
    sweeps: int
    fraction: float
    n_dishes: int
    log_likelihood: float | None
    customers_per_second: float | None
    seconds_left: float | None
    finished: bool
    chain: int = 0
    chains: int = 1
    log_joint: float | None = None
    observed: bool = False


SECONDS_BETWEEN_TICKS = 0.1


class Clock:
    """Makes ticks: at most ten a second, and one at the end of every sweep."""

    def __init__(
        self, progress: Callable[[Tick], Any] | None, n_customers: int, sweeps: int, observed: bool
    ) -> None:
        self._progress = progress
        self._n_customers = n_customers
        self._observed = observed
        self._sweeps = sweeps
        self._done = 0
        self._began = time.perf_counter()
        self._last = 0.0
        self._log_likelihood: float | None = None
        self._log_joint: float | None = None

    def begin(self) -> None:
        """Called after the start: time is measured from here."""
        self._began = time.perf_counter()

    def pulse(self, fraction: float, n_dishes: Callable[[], int]) -> None:
        """Part of a sweep is done."""
        if self._progress is None:
            return
        now = time.perf_counter()
        if now - self._last >= SECONDS_BETWEEN_TICKS:
            self._tick(now, fraction, n_dishes(), False)

    def swept(self, values: Mapping[str, Any], finished: bool) -> None:
        """A sweep is done."""
        self._done += 1
        self._log_likelihood = float(values["log_likelihood"])
        self._log_joint = float(values["log_joint"])
        now = time.perf_counter()
        if self._progress is not None and (finished or now - self._last >= SECONDS_BETWEEN_TICKS):
            self._tick(now, 0.0, int(values["n_dishes"]), finished)

    def _tick(self, now: float, fraction: float, n_dishes: int, finished: bool) -> None:
        assert self._progress is not None
        self._last = now
        done, spent = self._done + fraction, now - self._began
        known = done > 0 and spent > 0
        self._progress(
            Tick(
                sweep=self._done,
                sweeps=self._sweeps,
                fraction=fraction,
                n_dishes=n_dishes,
                log_likelihood=self._log_likelihood,
                customers_per_second=self._n_customers * done / spent if known else None,
                seconds_left=(self._sweeps - done) * spent / done if known else None,
                finished=finished,
                log_joint=self._log_joint,
                observed=self._observed,
            )
        )


def notebook_bars(text: Callable[[Tick], str]) -> NotebookBars | None:
    """Bars with the text of each tick, if this is a notebook and tqdm is installed; else None."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return NotebookBars(tqdm, text)


class NotebookBars:
    """A bar for each chain."""

    def __init__(self, tqdm: Any, text: Callable[[Tick], str]) -> None:
        self._tqdm, self._text = tqdm, text
        self._bars: dict[int, Any] = {}

    def show(self, tick: Tick) -> None:
        """Show the progress of a chain."""
        bar = self._bars.get(tick.chain)
        if bar is None:
            form = "{percentage:3.0f}%|{bar}| {desc}"
            bar = self._bars[tick.chain] = self._tqdm(total=tick.sweeps, bar_format=form, leave=True)
        bar.n = min(round(tick.sweep + tick.fraction, 2), tick.sweeps)
        bar.set_description_str(self._text(tick), refresh=True)

    def close(self) -> None:
        """Stop drawing; the bars remain visible."""
        for bar in self._bars.values():
            bar.close()
        self._bars = {}


def format_seconds(seconds: float | None) -> str:
    """A duration in readable form: ``7 s``, ``2 min 05 s``, ``3 h 07 min``; ``?`` if unknown."""
    if seconds is None or not 0 <= seconds < float("inf"):
        return "?"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def format_tick(tick: Tick, unit: str = "tokens") -> str:
    """One line of plain text: sweep, K, log probability, tokens per second, time left."""
    chain = f"chain {tick.chain}: " if tick.chains > 1 else ""
    parts = [f"{chain}sweep {tick.sweep}/{tick.sweeps}"]
    if not tick.observed:
        parts.append(f"K = {tick.n_dishes}")
    if tick.log_joint is not None:
        parts.append(f"log probability {tick.log_joint:,.0f}")
    # The first sweep also seats all customers, so its speed doesn't predict the others.
    if tick.customers_per_second is not None and tick.sweep > 0:
        parts.append(f"{tick.customers_per_second:,.0f} {unit}/s")
    if not tick.finished and tick.sweep > 0:
        parts.append(f"{format_seconds(tick.seconds_left)} left")
    return ", ".join(parts)


def bar_of(progress: Any) -> AbstractContextManager[Any]:
    """The argument ``progress`` as a context manager: a bar, closed at the end, for True; None for False."""
    if progress is True:
        return ProgressBar()
    if progress is not None and progress is not False:
        function("progress", progress, remedy="True shows a bar.")
    return contextlib.nullcontext(None if progress is False else progress)


class ProgressBar:
    """Shows the ticks of a run on standard error.

    Pass it to a run: ``scheduler.run(franchise, sweeps=500, progress=ProgressBar())``. The bar appears with
    the first tick and closes with the last. As a context manager it also closes, and restores the terminal,
    when the run ends early. On a terminal it is one line for each chain, which is updated in place; in a file
    or a pipe it writes a plain line every few seconds. In a notebook it is tqdm's bar (``pip install
    'hdpkit[notebook]'``; plain lines without it).

    Parameters
    ----------
    file : text file, optional
        Where to write; by default the standard error at the first tick.
    seconds_between_lines : float
        The shortest time between plain lines if there is no terminal.
    unit : str
        What a customer is called in the plural.
    """

    def __init__(
        self,
        file: TextIO | None = None,
        *,
        seconds_between_lines: float = 5.0,
        unit: str = "tokens",
    ) -> None:
        if file is not None and (isinstance(file, type) or not callable(getattr(file, "write", None))):
            raise ParameterError("file", file, "a text file open for writing, or None", "Leave it out.")
        if not 0.0 <= as_float(seconds_between_lines) < float("inf"):
            raise ParameterError(
                "seconds_between_lines", seconds_between_lines, "finite and at least 0", "5.0 is usual."
            )
        self._file = file
        self._seconds_between_lines = seconds_between_lines
        self._format = functools.partial(format_tick, unit=text("unit", unit, remedy="For instance tokens."))
        self._console: Console | None = None
        self._bar: Progress | None = None
        self._notebook: NotebookBars | None = None
        self._tasks: dict[int, TaskID] = {}
        self._last_line: dict[int, float] = {}
        self._finished: set[int] = set()

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the interpreter may be shutting down
            self.close()

    def __call__(self, tick: Tick) -> None:
        """Show a tick."""
        instance("tick", tick, Tick, "a Tick", remedy="Pass the bar as progress= of a run.")
        if self._console is None:
            self._start()
        if self._notebook is not None:
            self._notebook.show(tick)
        elif self._bar is not None:
            for chain in range(tick.chains):  # lines are in the order of chains, not of their first ticks
                if chain not in self._tasks:
                    waiting = f"chain {chain}: waiting" if tick.chains > 1 else ""
                    self._tasks[chain] = self._bar.add_task(waiting, total=tick.sweeps)
            self._bar.update(
                self._tasks[tick.chain],
                total=tick.sweeps,
                completed=min(tick.sweep + tick.fraction, tick.sweeps),
                description=self._format(tick),
                refresh=True,
            )
        else:
            self._write_line(tick)
        if tick.finished:
            self._finished.add(tick.chain)
            if len(self._finished) >= tick.chains:
                self.close()

    def close(self) -> None:
        """Stop drawing; the last lines remain. A later tick starts a new bar."""
        notebook, self._notebook = self._notebook, None
        if notebook is not None:
            notebook.close()
        bar, self._bar, self._console = self._bar, None, None
        if bar is not None:
            bar.stop()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        self._tasks, self._last_line, self._finished = {}, {}, set()
        self._console = Console(file=self._file or sys.stderr)
        self._notebook = notebook_bars(self._format) if self._file is None else None
        if self._notebook is None and self._console.is_terminal:
            # Redrawn by ticks, not by a thread, so nothing keeps running if the bar isn't closed.
            self._bar = Progress(
                BarColumn(bar_width=24),
                TextColumn("{task.description}", markup=False),
                console=self._console,
                auto_refresh=False,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._bar.start()

    def _write_line(self, tick: Tick) -> None:
        now = time.monotonic()
        last = self._last_line.get(tick.chain, -float("inf"))
        if self._console is not None and (tick.finished or now - last >= self._seconds_between_lines):
            self._last_line[tick.chain] = now
            self._console.file.write(self._format(tick) + "\n")
            self._console.file.flush()
