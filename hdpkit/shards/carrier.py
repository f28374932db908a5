"""What carries a run over shards: scatter, sweep, reduce and gather, whatever processes there are."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable
from typing import Any

from hdpkit.errors import StateError
from hdpkit.shards.job import Job
from hdpkit.shards.messages import Failed, Swept

__all__ = ["Carrier", "checked"]


class Carrier(abc.ABC):
    """Parts of a run in threads or processes, each with the documents of some shards.

    A part is a ``hdpkit.shards.worker.Worker``. A carrier has it do things (`_call`), and adds up or collects
    what it answers; how is all that carriers differ in.

    Attributes
    ----------
    leads : bool
        Whether this process has what `gather` collects, and writes files.
    sent : int
        Bytes that a part sent in the last sweep, the largest of the parts that this process knows of.
    """

    leads: bool = True
    sent: int = 0
    _blocks: int = 1  # of terms, in which the changes of counts of a sweep are told

    def scatter(self, job: Job) -> None:
        """Give every part its shards and the state that the chain begins in.

        Parts on one machine have the memory of topics in common from here on, and each draws some of them.
        """
        self._place(job)
        self._call("enter")
        self._call("begin", self._total())
        self._total()
        self._call("share")
        self._total()

    def sweep(self) -> None:
        """Have every part draw topics and, when all are drawn, sweep over its documents; then `reduce`."""
        self._call("draw")
        self._total()
        self._call("sweep", self._blocks)

    def reduce(self) -> dict[str, Any]:
        """Add up what the sweep has changed, and end it in every part; returns the numbers of a trace."""
        total = self._swept()
        if not isinstance(total, Swept):
            raise StateError("reduce", type(total).__name__, "after a sweep", "Call sweep() first.")
        self._call("finish", total)
        values: dict[str, Any] = self._total().values
        return values

    def gather(self, what: str, *arguments: Any) -> list[Any]:
        """Collect the answers of all parts to a method of `Worker`, in order; empty where others lead."""
        self._call(what, *arguments)
        return self._collected()

    def lead(self, act: Callable[[], None]) -> None:
        """Have the process that leads do something; all wait for it, and all raise its error."""
        act()

    def give_up(self) -> None:  # noqa: B027 - a process that drives the others ends them anyway
        """End the other processes too when this one ends: it has an error that they don't know of."""

    def _swept(self) -> Any:
        """Wait for the sweep of all parts and return what they have changed."""
        return self._total()

    def _added_up(self, answers: Iterable[Any]) -> Any:
        """The sum of messages, added up as they come; raises an error that one of them is."""
        total, sent = None, 0
        for answer in answers:
            if isinstance(answer, Swept):
                sent = max(sent, answer.changes.nbytes)
            total = answer if total is None else total.plus(answer)
        if isinstance(total, Failed):
            raise total.error
        self.sent = sent or self.sent
        return total

    # ------------------------------------------------------------------ what carriers differ in

    @abc.abstractmethod
    def _place(self, job: Job) -> None:
        """Make the parts."""

    @abc.abstractmethod
    def _call(self, verb: str, *arguments: Any) -> None:
        """Have every part begin with a method of its own."""

    @abc.abstractmethod
    def _total(self) -> Any:
        """Wait for all answers and return their sum; raise the error of a part, in every process."""

    @abc.abstractmethod
    def _collected(self) -> list[Any]:
        """Wait for all answers and return them where this process leads; raise as `_total`."""


def checked(answers: list[Any]) -> list[Any]:
    """The answers; raises an error that one of them is."""
    for answer in answers:
        if isinstance(answer, Failed):
            raise answer.error
    return answers
