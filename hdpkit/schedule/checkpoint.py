"""When a run is saved, and the saving of one chain."""

from __future__ import annotations

import time
from typing import Any

import attrs

from hdpkit.checks import positive_number, whole_number
from hdpkit.franchise import Franchise
from hdpkit.record import ChainWriter

__all__ = ["Checkpoint", "Keeper"]

DEFAULT_SECONDS = 60.0


def _sweeps(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        whole_number("sweeps", value, 1, remedy="For instance 100.")


def _seconds(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        positive_number("seconds", value, remedy="For instance 60.")


@attrs.frozen
class Checkpoint:
    """How often a run with a folder saves its state; whichever comes first.

    It also does right after the start, at the end and on Ctrl-C.

    Parameters
    ----------
    sweeps : int, optional
        After this many sweeps.
    seconds : float, optional
        After this many seconds. Without either, 60.
    """

    sweeps: int | None = attrs.field(default=None, validator=_sweeps)
    seconds: float | None = attrs.field(default=None, validator=_seconds)

    def due(self, sweeps: int, seconds: float) -> bool:
        """Whether it is time, so many sweeps and seconds after the last one.

        Parameters
        ----------
        sweeps : int
            Sweeps since the last one.
        seconds : float
            Seconds since the last one.

        Returns
        -------
        bool
        """
        limit = DEFAULT_SECONDS if self.sweeps is None and self.seconds is None else self.seconds
        return (self.sweeps is not None and sweeps >= self.sweeps) or (limit is not None and seconds >= limit)


class Keeper:
    """Keeps the state after the last whole sweep, and writes it when it is time.

    The copy costs less than a hundredth of a sweep. For it, Ctrl-C in mid-sweep loses nothing but that
    sweep, and the run that is resumed is the one that was never interrupted.
    """

    def __init__(self, franchise: Franchise, writer: ChainWriter, checkpoint: Checkpoint) -> None:
        self._franchise = franchise
        self._writer = writer
        self._checkpoint = checkpoint
        self._frozen: dict[str, Any] | None = None
        self._saved_sweep = -1
        self._saved_at = 0.0

    def begun(self) -> None:
        """The chain stands at its start, or where it is resumed."""
        self._frozen = self._franchise.freeze()
        self.save()

    def swept(self) -> None:
        """A sweep is done and in the trace."""
        self._writer.swept()
        self._frozen = self._franchise.freeze()
        if self._checkpoint.due(self._franchise.sweep - self._saved_sweep, time.monotonic() - self._saved_at):
            self.save()

    def save(self, stopped: bool = False) -> None:
        """Write a checkpoint of the state after the last whole sweep."""
        if self._frozen is not None:
            self._writer.checkpoint(self._frozen, stopped)
            self._saved_sweep, self._saved_at = self._frozen["sweep"], time.monotonic()

    def end(self, stopped: bool) -> None:
        """Write the last checkpoint, unless it is there: the other generation is worth more than a copy."""
        if stopped or (self._frozen is not None and self._frozen["sweep"] != self._saved_sweep):
            self.save(stopped)

    def undo(self) -> None:
        """Take back a sweep that was interrupted: the franchise stands where its trace ends."""
        frozen, there = self._frozen, self._franchise
        if frozen is not None and (there.sweep, there.attempt) != (frozen["sweep"], frozen["attempt"]):
            there.thaw(frozen)
