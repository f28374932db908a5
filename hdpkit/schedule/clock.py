"""The clock of a run: when to report its progress, and the reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

__all__ = ["Clock", "Tick"]


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
