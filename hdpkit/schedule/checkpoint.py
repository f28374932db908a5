"""The times at which a run is saved, and saving one chain."""

from __future__ import annotations

import time
from typing import Any

import attrs

from hdpkit.checks import positive_number, real_number, whole_number
from hdpkit.franchise import Franchise
from hdpkit.record.chain_folder import ChainWriter

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
    """How often a run with a folder saves its state; with both limits, whichever comes first.

    The state is also saved right after the start, at the end and on Ctrl-C.

    Parameters
    ----------
    sweeps : int, optional
        After this many sweeps.
    seconds : float, optional
        After this many seconds. If neither is given, 60.
    """

    sweeps: int | None = attrs.field(default=None, validator=_sweeps)
    seconds: float | None = attrs.field(default=None, validator=_seconds)

    def due(self, sweeps: int, seconds: float) -> bool:
        """Whether a checkpoint is due, this many sweeps and seconds after the last one.

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
        sweeps, seconds = whole_number("sweeps", sweeps), real_number("seconds", seconds)
        limit = DEFAULT_SECONDS if self.sweeps is None and self.seconds is None else self.seconds
        return (self.sweeps is not None and sweeps >= self.sweeps) or (limit is not None and seconds >= limit)


class Keeper:
    """Keeps the state after the last complete sweep, and writes it when a checkpoint is due.

    The copy costs less than a hundredth of a sweep. With it, Ctrl-C within a sweep loses only that sweep,
    and the resumed run equals an uninterrupted one.
    """

    def __init__(self, franchise: Franchise, writer: ChainWriter, checkpoint: Checkpoint) -> None:
        self._franchise = franchise
        self._writer = writer
        self._checkpoint = checkpoint
        self._frozen: dict[str, Any] | None = None
        self._saved_sweep = -1
        self._saved_at = 0.0

    def begun(self) -> None:
        """Called when the chain is at its start, or at the state from which it is resumed."""
        self._frozen = self._franchise.freeze()
        self.save()
        if self._writer.loaded is None:  # the other generation too: from now on one that is missing is missed
            self.save()

    def swept(self) -> None:
        """Called when a sweep is complete and in the trace."""
        self._writer.swept()
        self._frozen = self._franchise.freeze()
        if self._checkpoint.due(self._franchise.sweep - self._saved_sweep, time.monotonic() - self._saved_at):
            self.save()

    def save(self, stopped: bool = False) -> None:
        """Write a checkpoint of the state after the last complete sweep."""
        if self._frozen is not None:
            self._writer.checkpoint(self._frozen, stopped)
            self._saved_sweep, self._saved_at = self._frozen["sweep"], time.monotonic()

    def end(self, stopped: bool) -> None:
        """Write the last checkpoint unless it exists; a copy would overwrite the other generation."""
        if stopped or (self._frozen is not None and self._frozen["sweep"] != self._saved_sweep):
            self.save(stopped)

    def undo(self) -> None:
        """Undo an interrupted sweep: the franchise returns to the state at the end of its trace."""
        frozen, there = self._frozen, self._franchise
        if frozen is not None and (there.sweep, there.attempt) != (frozen["sweep"], frozen["attempt"]):
            there.thaw(frozen)
