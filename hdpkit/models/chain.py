"""The chain of a language model: sweeps, and the states that are kept for predictions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Self

import attrs

from hdpkit.checks import LARGEST, MOST_SAMPLES, flag, whole_number, whole_numbers
from hdpkit.data import NGrams
from hdpkit.errors import CorruptRunError, LockedRunError, RunError, StateError
from hdpkit.franchise import Franchise, Snapshot
from hdpkit.models.saved import ModelFolder
from hdpkit.models.settings import ModelSettings
from hdpkit.moves import Move
from hdpkit.random import STARTS, RandomStream
from hdpkit.record import Draw, Trace
from hdpkit.schedule import Checkpoint, Run, Scheduler, open_run
from hdpkit.schedule.sweeps import Progress

__all__ = ["ModelChain", "SamplePlan", "joined", "opened"]


@attrs.frozen
class SamplePlan:
    """The sweeps after which the state is kept as a sample.

    Attributes
    ----------
    after : int
        Sweeps up to this one are burn-in.
    target : int
        The last sweep.
    wanted : frozenset of int
        The sweeps of the samples.
    kept : frozenset of int
        Sweeps of older samples. They are kept permanently if ``keep``, otherwise until there is a new sample.
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
        wanted = frozenset(begun + burn_in + (i + 1) * left // samples for i in range(samples))
        return cls(begun + burn_in, begun + sweeps, wanted, frozenset(kept), keep)

    def as_dict(self) -> dict[str, Any]:
        """The plan as a tree of values."""
        return {
            "after": self.after,
            "target": self.target,
            "wanted": sorted(self.wanted),
            "kept": sorted(self.kept),
            "keep": self.keep,
        }

    @classmethod
    def from_dict(cls, tree: Mapping[str, Any]) -> Self:
        """The plan from the result of `as_dict`."""
        after, target = (whole_number(name, tree[name]) for name in ("after", "target"))
        wanted, kept = (
            frozenset(whole_numbers(name, tree[name], 0, LARGEST, remedy="").tolist())
            for name in ("wanted", "kept")
        )
        return cls(after, target, wanted, kept, flag("keep", tree["keep"]))

    def outdated(self, there: Iterable[int]) -> list[int]:
        """Existing samples that are to be removed as soon as there is a new one."""
        return [] if self.keep else [sweep for sweep in there if sweep in self.kept]


class ModelChain:
    """A franchise over n-grams with its schedule, trace and samples.

    Parameters
    ----------
    franchise : Franchise
    moves : sequence of Move
    plan : SamplePlan
    settings : dict
        The declaration of the model, for its folder.
    allow : iterable, optional
        User code that may be imported when the folder is read.

    Attributes
    ----------
    trace : Trace
        Trace of all sweeps since the first one.
    samples : dict
        Sweep -> the state after it.
    folder : ModelFolder or None
        Folder of the run over the current data.
    """

    def __init__(
        self,
        franchise: Franchise,
        moves: Iterable[Move],
        plan: SamplePlan,
        settings: Mapping[str, Any],
        allow: Iterable[Any] = (),
    ) -> None:
        self.franchise = franchise
        self.scheduler = Scheduler(moves)
        self.plan = plan
        self.trace = Trace()
        self.samples: dict[int, Snapshot] = {}
        self.folder: ModelFolder | None = None
        self.changes = 0
        self._settings = settings
        self._allow = allow

    @property
    def missing(self) -> list[int]:
        """Sweeps up to the current one whose samples are missing."""
        here = self.franchise.sweep
        expected = {*self.plan.wanted, *(self.plan.kept if self.plan.keep else ())}
        return sorted(sweep for sweep in expected if sweep <= here and sweep not in self.samples)

    # ------------------------------------------------------------------ sweeps

    def begin(
        self,
        seed: int,
        progress: Progress | None,
        folder: Path | None = None,
        checkpoint: Checkpoint | None = None,
        on_interrupt: str = "return",
    ) -> None:
        """Run from the start to the plan's last sweep; arguments as in `Scheduler.run`."""
        self.folder = None if folder is None else ModelFolder(folder).make()
        self._run(lambda: self._first(seed, "sequential", progress, checkpoint, on_interrupt))

    def go_on(
        self,
        plan: SamplePlan,
        progress: Progress | None,
        folder: Path | None = None,
        checkpoint: Checkpoint | None = None,
        on_interrupt: str = "return",
    ) -> None:
        """Continue with a new plan; a run in a new folder begins with the current state."""
        if folder is not None:
            self.folder = ModelFolder(folder).make()
        before, self.plan = self.plan, plan
        try:
            if folder is not None or self.folder is None:
                self._run(lambda: self._first(None, None, progress, checkpoint, on_interrupt))
            else:
                self._run(lambda: self._further(progress, on_interrupt))
        except (LockedRunError, StateError):  # before any sweep
            self.plan = before
            raise

    def resume(self, progress: Progress | None, on_interrupt: str = "return") -> None:
        """Run the remaining sweeps of the plan."""
        if self.folder is not None:
            self._run(lambda: self._further(progress, on_interrupt))
            return
        here, streams = self.franchise.sweep, self.franchise.streams
        if here == 0 and streams is not None:
            self.begin(streams.seed, progress, on_interrupt=on_interrupt)  # perhaps nothing is seated yet
            return
        if here in self.plan.wanted and here not in self.samples:
            # The run was ended between the sweep and the taking of its sample.
            self.samples[here] = self.franchise.snapshot()
        if here < self.plan.target:
            self._run(lambda: self._first(None, None, progress, None, on_interrupt))
        else:
            self.trace.interrupted = False

    def _run(self, sweeps: Callable[[], Any]) -> None:
        with self.folder or nullcontext():
            try:
                self.trace = joined(self.trace, sweeps())
            except (RunError, KeyboardInterrupt) as error:
                if getattr(error, "trace", None) is not None:
                    self.trace = joined(self.trace, error.trace)  # type: ignore[union-attr]
                raise

    def _first(
        self,
        seed: int | None,
        init: Any,
        progress: Progress | None,
        checkpoint: Checkpoint | None,
        on_interrupt: str,
    ) -> Any:
        """Sweeps in memory, or the first ones in a folder."""
        self._write_plan()
        begun = self.franchise.sweep if init is None else 0
        return self.scheduler.run(
            self.franchise,
            self.plan.target - begun,
            seed,
            init,
            callbacks=[self._swept],
            progress=progress,
            folder=None if self.folder is None else self.folder.run,
            checkpoint=checkpoint,
            on_interrupt=on_interrupt,
        )

    def _further(self, progress: Progress | None, on_interrupt: str) -> Any:
        """More sweeps in a folder."""
        assert self.folder is not None
        run = open_run(self.folder.run, self._allow)
        (stands,) = run.sweeps
        if stands is not None and stands > self.franchise.sweep:
            raise StateError(
                "folder", f"at sweep {stands}", f"at sweep {self.franchise.sweep}, as this model",
                "The run was continued elsewhere: open it again with NGramModel.open(folder).",
            )  # fmt: skip
        self._write_plan()
        if stands in self.plan.wanted and stands not in self.samples:
            # The run was ended between the sweep and the taking of its sample.
            self.samples[stands] = Snapshot(self.franchise, run.franchise().snapshot().arrays())
        there = self.folder.sweeps()
        self.folder.remove(sweep for sweep in there if sweep not in self.samples)
        for sweep in set(self.samples).difference(there):
            self.folder.write_sample(sweep, self.samples[sweep], self.franchise)
        missing = None if stands is None else self.plan.target - stands
        if missing == 0:
            return run.trace
        return run.resume(
            missing,
            callbacks=[self._swept],
            progress=progress,
            franchise=self.franchise,
            on_interrupt=on_interrupt,
        )

    def _write_plan(self) -> None:
        if self.folder is not None:
            self.folder.write(self._settings, {**self.plan.as_dict(), "changes": self.changes})

    def _swept(self, draw: Draw) -> None:
        if draw.sweep not in self.plan.wanted:
            return
        outdated = self.plan.outdated(self.samples)
        sample = draw.franchise.snapshot()
        if self.folder is not None:
            self.folder.write_sample(draw.sweep, sample, draw.franchise)
            self.folder.remove(outdated)
        for old in outdated:
            del self.samples[old]
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
        self.samples = {}
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


def opened(
    run: Run,
    files: ModelFolder,
    settings: ModelSettings,
    plan: SamplePlan,
    changes: int,
    allow: Iterable[Any],
) -> ModelChain:
    """The chain in a folder at its newest checkpoint.

    Samples of later sweeps are left out; `ModelChain.resume` draws them again.
    """
    data = run.data
    (stands,) = run.sweeps
    if stands is None:  # the run ended before its first checkpoint
        franchise = Franchise(settings.restaurant(), data, store=settings.store, kernel=settings.kernel)
    else:
        franchise = run.franchise()
    if not isinstance(data, NGrams) or not data.order == len(franchise.declarations) == settings.order:
        raise CorruptRunError(
            str(files.run), f"{data!r}, order {settings.order}", "a run of the model in it",
            "Files of several folders were mixed: restore copies of them.",
        )  # fmt: skip
    chain = ModelChain(franchise, run.moves, plan, settings.as_dict(), allow)
    chain.changes = changes
    chain.folder = files
    trace = run.trace
    assert isinstance(trace, Trace)
    chain.trace = trace
    there = [sweep for sweep in files.sweeps() if stands is not None and sweep <= stands]
    new = [sweep for sweep in there if sweep in plan.wanted]
    old = [sweep for sweep in there if sweep in plan.kept] if plan.keep or not new else []
    chain.samples = {sweep: files.read_sample(sweep, franchise) for sweep in sorted({*old, *new})}
    if stands in plan.wanted and stands not in chain.samples:
        chain.samples[stands] = franchise.snapshot()  # the run ended between the sweep and its sample
    missing = chain.missing
    if missing:
        warnings.warn(
            f"there are no samples of the sweeps {missing}: the run was continued without the "
            "model; sweep() draws new ones",
            UserWarning,
            stacklevel=4,
        )
    return chain
