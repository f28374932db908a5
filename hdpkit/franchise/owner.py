"""What all owners of a franchise have in common."""

from __future__ import annotations

import weakref

from hdpkit.errors import StateError
from hdpkit.franchise.state import State

__all__ = ["Owner"]


class Owner:
    """One of the things that a franchise is composed of.

    It refers to the state weakly: a franchise that nobody uses any more gives its memory back at once, and
    doesn't wait for the collector of cycles.
    """

    def __init__(self, state: State) -> None:
        self._of = weakref.ref(state)

    @property
    def state(self) -> State:
        """The franchise that it belongs to."""
        state = self._of()
        if state is None:
            raise StateError("franchise", None, "still there", "Keep the franchise for as long as its parts.")
        return state
