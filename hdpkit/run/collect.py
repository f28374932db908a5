"""From draws to a trace: recording, callbacks, checkpoints, Ctrl-C, and what is said at the end of a run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
from attrs.validators import optional

from hdpkit._franchise_lock import HeldInterrupt
from hdpkit.checks import choice, function, items, positive_number, real_number, validator, whole_number
from hdpkit.errors import InterruptedRunWarning, ManyTopicsWarning, RunError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample, SeatingSample, kept_of
from hdpkit.franchise.starts import serves_term_clusters
from hdpkit.run.run_folder import ChainWriter
from hdpkit.run.samples import Samples
from hdpkit.run.sweeps import Chain, Order, Progress
from hdpkit.run.trace import Draw, Trace

DEFAULT_SECONDS = 60.0


@attrs.frozen
class Checkpoint:
    """How often a run with a folder saves its state; with both limits, whichever comes first.

    The state is also saved right after the start, at the end and on Ctrl-C.

    Parameters
    ----------
    sweeps : int, optional
        After this many sweeps.
    seconds : float, optional
        After this many seconds. If neither is given, 60.
    """

    sweeps: int | None = attrs.field(
        default=None, validator=optional(validator(whole_number, 1, remedy="For instance 100."))
    )
    seconds: float | None = attrs.field(
        default=None, validator=optional(validator(positive_number, remedy="For instance 60."))
    )

    def due(self, sweeps: int, seconds: float) -> bool:
        """Whether a checkpoint is due.

        Parameters
        ----------
        sweeps : int
            Sweeps since the last one.
        seconds : float
            Seconds since the last one.
        """
        sweeps, seconds = whole_number("sweeps", sweeps), real_number("seconds", seconds)
        limit = DEFAULT_SECONDS if self.sweeps is None and self.seconds is None else self.seconds
        return (self.sweeps is not None and sweeps >= self.sweeps) or (limit is not None and seconds >= limit)


class CheckpointWriter:
    """Writes the state after the last recorded sweep when a checkpoint is due."""

    def __init__(self, chain: Chain, writer: ChainWriter | None, checkpoint: Checkpoint) -> None:
        self._chain = chain
        self._writer = writer  # of the leading process
        self._checkpoint = checkpoint
        self._state: Callable[[], Mapping[str, Any] | None] | None = None
        self._sweep = -1  # of that state
        self._saved_sweep = -1
        self._saved_at = 0.0

    def begun(self) -> None:
        """Called when the chain is at its start, or at the state from which it is resumed."""
        self._stands()
        self.save()

    def keep(self, sample: Sample | SeatingSample) -> None:
        """Write a sample."""
        assert self._writer is not None
        self._writer.keep(sample)

    def swept(self) -> None:
        """Called when a sweep is complete and in the trace."""
        if self._writer is not None:
            self._writer.swept()
        self._stands()
        due = self._checkpoint.due(self._sweep - self._saved_sweep, time.monotonic() - self._saved_at)
        if self._chain.agreed(due)[0]:
            self.save()

    def _stands(self) -> None:
        self._state, self._sweep = self._chain.state(), self._chain.franchise.sweep

    def save(self, stopped: bool = False) -> None:
        """Write a checkpoint of the state after the last complete sweep."""
        frozen = None if self._state is None else self._state()
        if frozen is None:
            return

        def write() -> None:
            assert self._writer is not None
            self._writer.checkpoint(frozen, stopped)
            self._chain.saved(self._sweep)

        self._chain.lead(write)
        self._saved_sweep, self._saved_at = self._sweep, time.monotonic()

    def end(self, stopped: bool) -> None:
        """Write the last checkpoint unless it exists."""
        if stopped or self._sweep != self._saved_sweep:
            self.save(stopped)
        self._chain.lead(lambda: self._chain.saved(self._saved_sweep))  # whose files alone are kept then

    def undo(self) -> None:
        """Undo a sweep that was not recorded: the franchise returns to the state at the end of its trace."""
        if self._state is not None and self._chain.franchise.sweep != self._sweep:
            frozen = self._state()
            if frozen is not None:
                self._chain.franchise.thaw(frozen)


@attrs.frozen(kw_only=True)
class Plan:
    """What a run does besides its moves; attributes as the parameters of `Scheduler.run`."""

    record: Mapping[str, Callable[[Franchise], Any]] = attrs.field(factory=dict)
    thin: int = 1
    callbacks: Sequence[Callable[[Draw], Any]] = ()
    progress: Progress | None = None
    audit_every: int | None = None
    checkpoint: Checkpoint = attrs.field(factory=Checkpoint)
    samples: Samples | None = None  # the rule, with sweeps counted from the start of the chain
    stop: Callable[[], bool] | None = None  # called after every sweep: whether to end early


def checked_callbacks(callbacks: Any) -> Sequence[Callable[[Draw], Any]]:
    """The argument ``callbacks``, or a ParameterError."""
    found = items("callbacks", callbacks, "a sequence of functions", remedy="Put a single one in a list.")
    for one in found:
        function("callbacks", one)
    return found


def collect(
    chain: Chain,
    sweeps: int,
    init: Any,
    plan: Plan,
    trace: Trace,
    checkpoints: CheckpointWriter | None = None,
) -> Trace:
    """Run one chain and record it in a trace, and in its folder; a `RunError` has the trace so far."""
    collected: Trace = chain.prepare(_collect, chain, sweeps, init, plan, trace, checkpoints)
    return collected


def _collect(
    chain: Chain, sweeps: int, init: Any, plan: Plan, trace: Trace, checkpoints: CheckpointWriter | None
) -> Trace:
    begun = None if checkpoints is None else checkpoints.begun
    draws = chain.draws(Order(sweeps, init, plan.progress, plan.audit_every, begun))
    trace.own(plan.record)
    trace.exact = all(move.exact for move in chain.moves)
    trace.interrupted = False
    trace.seed = chain.streams.seed
    stopped = False
    try:
        try:
            with chain.hold() as answer:
                for draw in draws:
                    with HeldInterrupt():  # a draw is recorded completely or not at all
                        if draw.sweep % plan.thin == 0:
                            trace.append(draw)
                        trace.append_moves(draw)
                        if plan.samples is not None and plan.samples.wanted(draw.sweep):
                            (trace if checkpoints is None else checkpoints).keep(_sample(draw))
                        if checkpoints is not None:
                            checkpoints.swept()
                    answers = [listener(draw) for listener in plan.callbacks]
                    stops = any(isinstance(one, (bool, np.bool_)) and bool(one) for one in answers)
                    asked = _was_pressed(answer) or (plan.stop is not None and plan.stop())
                    stopped, trace.interrupted = chain.agreed(stops, asked)
                    if stopped or trace.interrupted:
                        break
        except KeyboardInterrupt:
            trace.interrupted = True
        finally:
            draws.close()
        if checkpoints is not None:
            try:
                with HeldInterrupt():
                    checkpoints.undo()
                    checkpoints.end(stopped)
            except KeyboardInterrupt:  # during the last checkpoint, which is complete nevertheless
                trace.interrupted = True
    except RunError as error:
        error.trace = trace
        raise
    except BaseException as error:
        if chain.rescues:
            _rescue(checkpoints, error)
        raise
    return trace


def _was_pressed(answer: Callable[[], None]) -> bool:
    """Whether a Ctrl-C was deferred."""
    try:
        answer()
    except KeyboardInterrupt:
        return True
    return False


def _sample(draw: Draw) -> Sample | SeatingSample:
    franchise = draw.franchise
    with franchise.lock():
        sample: Sample | SeatingSample = kept_of(franchise, draw.values["log_joint"])
    return sample


def _rescue(checkpoints: CheckpointWriter | None, error: BaseException) -> None:
    """Save the state after the last complete sweep when a move or a callback has failed."""
    if checkpoints is not None:
        try:
            checkpoints.end(False)
        except RunError as second:
            error.add_note(f"The state could not be saved either: {second}")


FEWEST_TOKENS = 2_000  # with fewer, the square root is a handful of topics, and a few more mean nothing


def too_many_topics(n_topics: int, n_tokens: int) -> bool:
    """Whether there are more topics than an average topic has tokens, in a corpus of 2,000 tokens or more."""
    return n_tokens >= FEWEST_TOKENS and n_topics**2 > n_tokens


def warn_of_many_topics(franchise: Franchise, n_tokens: int, trace: Any) -> None:
    """Warn if the last recorded state of a topic model has too many topics, in one of its chains."""
    if not (serves_term_clusters(franchise) and franchise.topology.n_levels > 1) or not trace.n_draws:
        return
    n_topics = int(np.max(trace["n_dishes"][..., -1]))
    if not too_many_topics(n_topics, n_tokens):
        return
    measure = franchise.measure
    shared = measure.conjugate or measure.seats_values
    name = next(iter(measure.parameters)) if shared else "smoothing"  # eta, or smoothing
    if name in measure.priors or not shared:
        cause = (
            f"{name} has a prior: it decreases as the number of topics grows, and a smaller {name} gives "
            f"more topics. Give it a number, for instance {name} = 0.1."
        )
    else:
        cause = f"A larger {name} gives fewer topics; so does a smaller concentration of the root."
    warnings.warn(
        f"{n_topics:,} topics for {n_tokens:,} tokens, {n_tokens / n_topics:,.0f} tokens each on average: "
        f"there are more topics than an average topic has tokens. {cause}",
        ManyTopicsWarning,
        stacklevel=3,
    )


_ON_INTERRUPT = ("return", "raise")


def check_on_interrupt(value: Any) -> str:
    """Return ``on_interrupt`` if it is one of the two allowed values."""
    return choice(
        "on_interrupt", value, _ON_INTERRUPT,
        remedy='"return" returns what was done, with a warning; "raise" raises KeyboardInterrupt.',
    )  # fmt: skip


def ended(trace: Any, on_interrupt: str, sweeps: str) -> Any:
    """Return the trace of a run; if Ctrl-C ended it early, warn ("return") or raise ("raise")."""
    if not trace.interrupted:
        return trace
    last: Any = trace["sweep"] if trace.n_draws else ()
    done = f"after sweep {int(last.max())}" if len(last) else "before a sweep was recorded"
    text = f"Ctrl-C ended the run {done}; {sweeps} had been asked for"
    if on_interrupt == "raise":
        error: Any = KeyboardInterrupt(text)
        error.trace = trace
        raise error
    warnings.warn(
        f"{text}. Go on with init=None (in a folder with resume()); "
        'on_interrupt="raise" raises KeyboardInterrupt instead.',
        InterruptedRunWarning,
        stacklevel=3,
    )
    return trace
