"""The chain of a language model: sweeps, and the states that are kept to predict from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs

from hdpkit.checks import whole_number
from hdpkit.data import NGrams
from hdpkit.franchise import Franchise, Snapshot
from hdpkit.moves import Move
from hdpkit.random import STARTS, RandomStream
from hdpkit.record import Draw, Trace
from hdpkit.schedule import Scheduler
from hdpkit.schedule.sweeps import Progress

__all__ = ["ModelChain", "SamplePlan"]


@attrs.frozen
class SamplePlan:
    """After which sweeps the state is kept as a sample.

    Attributes
    ----------
    after : int
        Sweeps up to this one are burn-in.
    target : int
        The last sweep.
    wanted : frozenset of int
        Sweeps.
    kept : frozenset of int
        Sweeps of older samples. They stay for good if ``keep``, otherwise until there is a new one.
    keep : bool
    """

    after: int
    target: int
    wanted: frozenset[int]
    kept: frozenset[int] = frozenset()
    keep: bool = False

    @classmethod
    def spread(
        cls,
        begun: int,
        sweeps: Any,
        burn_in: Any,
        samples: Any,
        kept: Iterable[int] = (),
        keep: bool = False,
    ) -> SamplePlan:
        """Spread samples evenly over the sweeps after the burn-in, the last one included.

        ``begun`` sweeps have been done before.
        """
        sweeps = whole_number("sweeps", sweeps, 1, remedy="Say how many to run now.")
        burn_in = whole_number("burn_in", burn_in, 0, sweeps - 1, remedy="Some sweep must be left to sample.")
        left = sweeps - burn_in
        samples = whole_number(
            "samples", samples, 1, left, remedy="At most one a sweep after the burn-in: run more sweeps."
        )
        wanted = frozenset(begun + burn_in + (i + 1) * left // samples for i in range(samples))
        return cls(begun + burn_in, begun + sweeps, wanted, frozenset(kept), keep)

    def outdated(self, there: Iterable[int]) -> list[int]:
        """Which of the samples that are there go as soon as there is a new one."""
        return [] if self.keep else [sweep for sweep in there if sweep in self.kept]


class ModelChain:
    """A franchise over n-grams on its way.

    Parameters
    ----------
    franchise : Franchise
    moves : sequence of Move
    plan : SamplePlan

    Attributes
    ----------
    trace : Trace
        Of all sweeps since the first one.
    samples : dict
        Sweep -> the state after it.
    """

    def __init__(self, franchise: Franchise, moves: Iterable[Move], plan: SamplePlan) -> None:
        self.franchise = franchise
        self.scheduler = Scheduler(moves)
        self.plan = plan
        self.trace = Trace()
        self.samples: dict[int, Snapshot] = {}
        self._changes = 0

    def begin(self, rng: Any, progress: Progress | None) -> None:
        """Run from the start to the plan's last sweep."""
        self._run(self.plan.target, rng, "sequential", progress)

    def go_on(self, plan: SamplePlan, progress: Progress | None) -> None:
        """Run on by a new plan."""
        self.plan = plan
        self._run(plan.target - self.franchise.sweep, None, None, progress)

    def resume(self, progress: Progress | None) -> None:
        """Run what is missing of the plan."""
        here = self.franchise.sweep
        if here == 0:
            assert self.franchise.streams is not None
            self.begin(self.franchise.streams.seed, progress)  # nobody may be seated yet
            return
        if here in self.plan.wanted and here not in self.samples:
            self._keep(
                here, self.franchise
            )  # the run was ended between the sweep and the taking of its sample
        if here < self.plan.target:
            self._run(self.plan.target - here, None, None, progress)
        else:
            self.trace.interrupted = False

    def extend(self, data: NGrams) -> None:
        """Take in data that continue the present ones; samples given the old data are dropped."""
        self.franchise.extend(data, self._source())
        self.samples = {}

    def discard(self, first: int, last: int) -> None:
        """Let sentences first .. last - 1 go; samples given them are dropped."""
        self.franchise.discard(first, last, self._source())
        self.samples = {}

    def _source(self) -> RandomStream:
        """A stream of its own for each change, also for one that fails and is tried again."""
        assert self.franchise.streams is not None  # it has been run
        self._changes += 1
        return self.franchise.streams.source(
            STARTS, self.franchise.sweep, self._changes, self.franchise.attempt
        )

    def _run(self, sweeps: int, rng: Any, init: Any, progress: Progress | None) -> None:
        trace = self.scheduler.run(
            self.franchise, sweeps, rng, init, callbacks=[self._swept], progress=progress
        )
        assert isinstance(trace, Trace)
        self.trace = joined(self.trace, trace) if init is None else trace

    def _swept(self, draw: Draw) -> None:
        if draw.sweep in self.plan.wanted:
            self._keep(draw.sweep, draw.franchise)

    def _keep(self, sweep: int, franchise: Franchise) -> None:
        for old in self.plan.outdated(self.samples):
            del self.samples[old]
        self.samples[sweep] = franchise.snapshot()


def joined(before: Trace, after: Trace) -> Trace:
    """One trace out of two, the second of which goes on from the first."""
    if before.n_draws:
        for key, values in before.columns().items():
            after.columns()[key] = [*values, *after.columns().get(key, [])]
        after.records()[:0] = before.records()
        after.exact = before.exact and after.exact
    return after
