"""Components: whatever else hangs on a dish (a selector, a drawn topic, a root weight)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Component"]


class Component:
    """Something that hangs on dishes. Override what you need and `Franchise.register` it.

    It is told inside the very step that causes the change, so that it never meets a slot it doesn't know.
    """

    def born(self, slot: int) -> None:
        """A dish was born in this slot."""

    def died(self, slot: int) -> None:
        """The dish of this slot lost its last customer."""

    def holds(self, slot: int) -> bool:
        """Whether the slot of a dish that died must stay taken, empty, until `DishSlots.release`."""
        return False

    def relabelled(self, mapping: npt.NDArray[np.int32]) -> None:
        """Slot s has the new number mapping[s] (-1: it was free). Between sweeps only."""

    def reset(self, slots: npt.NDArray[np.int32]) -> None:
        """All seating was replaced (a start, a thawed state): exactly these slots are occupied."""

    def audit(self, slots: npt.NDArray[np.int32]) -> None:
        """Raise an AuditError unless the component fits these occupied slots."""

    def freeze(self) -> dict[str, Any]:
        """The component's state as arrays."""
        return {}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take over a frozen state."""
