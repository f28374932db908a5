"""Handling Ctrl-C at places where the state is consistent."""

from __future__ import annotations

import warnings
from typing import Any

from hdpkit._compiled.support.interrupt import HeldInterrupt
from hdpkit.checks import choice
from hdpkit.errors import InterruptedRunWarning

__all__ = ["check_on_interrupt", "deferred_interrupt", "ended"]

_ON_INTERRUPT = ("return", "raise")


def check_on_interrupt(value: Any) -> str:
    """Return ``on_interrupt`` if it is one of the two allowed values."""
    return choice(
        "on_interrupt", value, _ON_INTERRUPT,
        remedy='"return" returns what was done, with a warning; "raise" raises KeyboardInterrupt.',
    )  # fmt: skip


def ended(trace: Any, on_interrupt: str, sweeps: str) -> Any:
    """Return the trace of a run; if Ctrl-C ended it early, warn or raise.

    Parameters
    ----------
    trace : Trace or ChainTrace
    on_interrupt : str
        "return" warns; "raise" raises a KeyboardInterrupt that has the trace as its attribute ``trace``.
    sweeps : str
        The requested sweeps, as a text.
    """
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


def deferred_interrupt() -> HeldInterrupt:
    """Defer Ctrl-C inside the block; calling the yielded function raises a deferred KeyboardInterrupt.

    It has an effect only in the main thread, where Python delivers signals, and only if Ctrl-C would raise
    KeyboardInterrupt.
    """
    return HeldInterrupt()
