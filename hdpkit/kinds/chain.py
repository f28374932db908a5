"""The chain of a language model: sweeps, and the states that are kept for predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from hdpkit.checks import LARGEST, MOST_SAMPLES, whole_number
from hdpkit.data import NGrams
from hdpkit.errors import CorruptRunError, LockedRunError, RunError, StateError
from hdpkit.files import reading
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.sample import SeatingSample
from hdpkit.kinds.language import Language
from hdpkit.moves import Move
from hdpkit.random import STARTS, RandomStream
from hdpkit.run.run_folder import RunFolder, holding
from hdpkit.run.runs import Run, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.scheduler import Scheduler
from hdpkit.run.trace import Draw, Trace


def spread(begun: int, sweeps: Any, burn_in: Any, samples: Any) -> Samples:
    """Spread samples evenly over the sweeps after the burn-in, including the last one.

    ``begun`` is the number of earlier sweeps.
    """
    sweeps = whole_number("sweeps", sweeps, 1, LARGEST - begun, remedy="Say how many to run now.")
    burn_in = whole_number(
        "burn_in", burn_in, 0, sweeps - 1, remedy="At least one sweep must follow the burn-in."
    )
    left = sweeps - burn_in
    samples = whole_number(
        "samples", samples, 1, min(left, MOST_SAMPLES),
        remedy="At most one per sweep after the burn-in: run more sweeps.",
    )  # fmt: skip
    after = begun + burn_in
    return Samples(after, at=[after + (i + 1) * left // samples for i in range(samples)])


class ModelChain:
    """A franchise over n-grams with its schedule, the trace of all sweeps, and samples.

    ``rule`` says after which sweeps samples (sweep -> state) are taken; earlier ones than ``rule.after`` are
    removed when there is a new one. ``target`` is the last sweep, ``lost`` has the sweeps of samples without
    files.
    """

    def __init__(
        self, franchise: Franchise, moves: Iterable[Move], settings: Language, allow: Any = ()
    ) -> None:
        self.franchise = franchise
        self.scheduler = Scheduler(moves)
        self.trace = Trace()
        self.rule, self.target = Samples(0), 0
        self.samples: dict[int, Snapshot] = {}
        self.lost: list[int] = []
        self.folder: Path | None = None
        self.changes = 0
        self._settings = settings
        self._allow = allow

    # ------------------------------------------------------------------ sweeps

    def begin(
        self, rule: Samples, target: int, seed: int | None, init: Any, folder: Path | None = None, **how: Any
    ) -> None:
        """Begin a run in memory or in a new folder, up to the target; ``how`` is as in `Scheduler.run`."""
        sweeps = target - (self.franchise.sweep if init is None else 0)
        begun = partial(self.scheduler.run, self.franchise, sweeps, seed, init)
        if folder is None:
            self._run(rule, target, partial(begun, **how))
            return
        with holding(folder, {"model": self._settings.as_data(), "sentences": {"changes": self.changes}}):
            self.folder = folder
            self._run(rule, target, partial(begun, samples=rule, folder=folder, **how))

    def go_on(self, rule: Samples, target: int, **how: Any) -> None:
        """Run more sweeps, in the folder if there is one."""
        if self.folder is None:
            self.begin(rule, target, None, None, **how)
            return
        run = open_run(self.folder, self._allow)
        (stands,) = run.sweeps
        if stands is not None and stands > self.franchise.sweep:
            raise StateError(
                "folder", f"at sweep {stands}", f"at sweep {self.franchise.sweep}, as this model",
                "The run was continued elsewhere: open it again with NGramModel.open(folder).",
            )  # fmt: skip
        left = None if stands in (None, target) else target - stands
        self._run(rule, target, partial(run.resume, left, samples=rule, franchise=self.franchise, **how))
        self.lost = [sweep for sweep in self.lost if sweep > rule.after]

    def resume(self, **how: Any) -> None:
        """Run the remaining sweeps up to the target."""
        here, streams = self.franchise.sweep, self.franchise.streams
        rule, target = self.rule, self.target
        if self.folder is None and here == 0 and streams is not None:  # perhaps nothing is seated yet
            self.begin(rule, target, streams.seed, "sequential", **how)
            return
        if rule.wanted(here) and here not in self.samples:
            # The run was ended between the sweep and the taking of its sample.
            self.samples[here] = self.franchise.snapshot()
        if self.folder is not None or here < target:
            self.go_on(rule, target, **how)
        else:
            self.trace.interrupted = False

    def _run(self, rule: Samples, target: int, sweeps: Callable[..., Any]) -> None:
        before = self.rule, self.target
        self.rule, self.target = rule, target
        try:
            self.trace = joined(self.trace, sweeps(callbacks=[self._swept]))
        except (LockedRunError, StateError):  # before any sweep
            self.rule, self.target = before
            raise
        except (RunError, KeyboardInterrupt) as error:
            if getattr(error, "trace", None) is not None:
                self.trace = joined(self.trace, error.trace)  # type: ignore[union-attr]
            raise

    def _swept(self, draw: Draw) -> None:
        if self.rule.wanted(draw.sweep):
            sample = draw.franchise.snapshot()
            self.samples = {sweep: one for sweep, one in self.samples.items() if sweep > self.rule.after}
            self.samples[draw.sweep] = sample

    # ------------------------------------------------------------------ adding and removing data

    def extend(self, data: NGrams) -> None:
        """Replace the data by longer data that begin with them; samples given the old data are dropped."""
        self.franchise.extend(data, self._source())
        self._changed()

    def discard(self, first: int, last: int) -> None:
        """Remove sentences first .. last - 1; samples given them are dropped."""
        self.franchise.discard(first, last, self._source())
        self._changed()

    def _changed(self) -> None:
        self.samples, self.lost = {}, []
        self.folder = None  # its run is over the old data

    def _source(self) -> RandomStream:
        """A new stream for each change, also for a change that failed and is tried again."""
        streams = self.franchise.streams
        assert streams is not None  # it has been run
        self.changes += 1
        return streams.source(STARTS, self.franchise.sweep, self.changes)


def joined(before: Trace, after: Trace) -> Trace:
    """One trace: the sweeps of the first before the beginning of the second, and then the second."""
    n = before.n_draws
    if n and after.n_draws:
        begun = after.columns()["sweep"][0]
        n = sum(sweep < begun for sweep in before.columns()["sweep"])
    if n:
        last = before.columns()["sweep"][n - 1]
        for key, values in before.columns().items():
            after.columns()[key] = [*values[:n], *after.columns().get(key, [])]
        after.records()[:0] = [record for record in before.records() if record.sweep <= last]
        after.exact = before.exact and after.exact
    return after


def opened(run: Run, settings: Language, changes: int, allow: Any) -> ModelChain:
    """The chain in a folder at its newest checkpoint.

    Samples of later sweeps are left out; `ModelChain.resume` draws them again.
    """
    folder, data = run.folder, run.data
    trace: Any = run.trace
    files = RunFolder.open(folder)
    state = files.chain(0).state()
    # Without a state the run ended before its first checkpoint.
    franchise = settings.franchise(data) if state is None else run.franchise()
    of_words = isinstance(data, NGrams) and isinstance(trace, Trace)
    if not (of_words and data.order == len(franchise.declarations) == settings.order):
        raise CorruptRunError(
            str(folder), f"{data!r}, order {settings.order}", "a run of the model in it",
            "Files of several folders were mixed: restore copies of them.",
        )  # fmt: skip
    chain = ModelChain(franchise, run.moves, settings, allow)
    chain.changes, chain.folder, chain.trace = changes, folder, trace
    rule = None if state is None else state.rule
    chain.rule = Samples(**files.settings.samples or {"after": 0}) if rule is None else rule
    chain.target = files.settings.target if state is None else state.target
    for file in files.chain(0).samples(state):
        sample = file.read()
        with reading(file.path):
            if not isinstance(sample, SeatingSample):
                raise ValueError("a sample of latent dishes")
            chain.samples[file.sweep] = Snapshot(franchise, sample.arrays)
    chain.lost = [] if state is None else sorted(set(state.samples).difference(chain.samples))
    if chain.lost:
        warnings.warn(
            f"there are no samples of the sweeps {chain.lost}: their files were removed; sweep() draws new "
            "ones",
            UserWarning,
            stacklevel=4,
        )
    return chain
