"""Access to a franchise: one thread and one verb at a time; and the change that is in progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hdpkit._compiled.stores.seating import Seating
from hdpkit._compiled.support.turn import Claim
from hdpkit.errors import BusyError
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.state import State

__all__ = ["Turns"]


class Turns(Owner):
    """The turn of a franchise: taken by one thread, for a verb, a read, a block or a run.

    Attributes
    ----------
    torn : tuple or None
        An incomplete change: the last two arguments of `Recovery.restore`.
    verb : str or None
        The running verb.
    """

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.turn = state._turn
        self.torn: tuple[bool, tuple[int, int]] | None = None
        self.verb: str | None = None

    def claim(self) -> Claim:
        """Return the claim of a run, which excludes other runs and threads, also between its sweeps."""
        return Claim(self.turn)

    def within(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function while this thread has the turn, which is released in any case."""
        return self.turn.call(self.state, function, arguments)

    def prepare(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function that checks and then starts a run; no other run can start in between."""
        return self.turn.prepare(function, *arguments)

    def outside(self) -> None:
        """Raise an error inside a verb: methods of measures and parts can't use the franchise."""
        # If this thread has no hold of the turn, the verb was ended by an exception.
        if self.verb is not None and self.turn.held:
            raise BusyError(
                "franchise", f"inside the verb {self.verb!r}", "used by one verb at a time",
                "A method that a verb calls may read its arguments and franchise.slots only.",
            )  # fmt: skip

    def inside(self, verb: str, kernel: str, function: Any, *arguments: Any) -> Any:
        """Call the kernel of a verb; until its end nothing else may use the franchise."""
        state = self.state
        stores = () if kernel == "reference" else (state.store, state._lent)
        try:
            self.verb = verb
            for store in stores:
                if store is not None:
                    store.busy = True
            return function(*arguments)
        finally:
            self.at_rest()

    def at_rest(self) -> None:
        """Record that no verb is running."""
        state = self.state
        self.verb = None
        state.slots.source = None
        for store in (state.store, state._lent):
            if isinstance(store, Seating):
                store.busy = False

    def changing(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        everybody: bool = False,
        reseated: tuple[int, int] = (0, 0),
    ) -> Any:
        """Call a function during which the state is inconsistent.

        If it doesn't complete, the next use of the franchise repairs the state (`Recovery.restore`, with the
        other arguments).
        """
        self.outside()
        outermost = self.torn is None
        if outermost:
            # In this order: after an exception in between, the change must still be recorded.
            self.turn.whole = False
            self.torn = everybody, reseated
        done = function(*arguments)
        if outermost:
            self.torn = None
        return done
