"""Base of the owners of which a franchise is composed."""

from __future__ import annotations

import weakref

from hdpkit.errors import StateError
from hdpkit.franchise.state import State

__all__ = ["Owner"]


class Owner:
    """A component of a franchise.

    It has a weak reference to the state, so the memory of an unused franchise is released at once, without
    garbage collection of cycles.
    """

    def __init__(self, state: State) -> None:
        self._of = weakref.ref(state)

    @property
    def state(self) -> State:
        """The franchise that it belongs to."""
        state = self._of()
        if state is None:
            raise StateError(
                "franchise",
                None,
                "one that still exists",
                "Keep a reference to the franchise while its parts are in use.",
            )
        return state
