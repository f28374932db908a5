"""Parts: what belongs to the state beside the seating (a weight, a selector, a drawn topic)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, HdpkitError, ReturnValueError

if TYPE_CHECKING:
    from hdpkit.franchise.franchise import Franchise
    from hdpkit.random import ChoiceSource

__all__ = ["Component", "Part", "cloned", "thaw_part"]

Ints = npt.NDArray[np.int32]


class Part:
    """A part of the state that belongs to dishes. Override what you need and `Franchise.register` it.

    Births, deaths and new numbers are announced inside the step that causes them, after the statistics of the
    dish have changed. A part must not use the franchise in these calls.

    Attributes
    ----------
    enumerable : bool
        Whether all that the part draws comes from ``choose``, ``bernoulli`` and ``index`` of the choice
        source. Then moves over a franchise with this part can be tested by enumeration, with `key` as the
        part's state; otherwise they are tested by one step from exact draws and by Geweke's test.
    """

    enumerable: bool = False

    def born(self, slot: int, source: ChoiceSource | None, customers: Ints) -> None:
        """A dish was born.

        A class may also define ``born(self, slot)``.

        Parameters
        ----------
        slot : int
        source : ChoiceSource or None
            Of the verb that runs; None where a dish was opened outside of one.
        customers : int32 array
            Data customers who bring the dish to life; empty where they are not known yet.
        """

    def died(self, slot: int) -> None:
        """The dish of this slot lost its last customer."""

    def holds(self, slot: int) -> bool:
        """Whether the slot of a dish that died must stay taken, empty, until `DishSlots.release`."""
        return False

    def relabelled(self, mapping: Ints) -> None:
        """Slot s has the new number mapping[s] (-1: it was free). Between sweeps only."""

    def reset(self, slots: Ints) -> None:
        """All seating was replaced (a start, a thawed state): exactly these slots are occupied."""

    def started(self, state: Franchise, source: ChoiceSource) -> None:
        """A start has seated everybody, or a state without this part was thawed: draw the part."""

    def simulate(self, state: Franchise, source: ChoiceSource) -> None:
        """Draw the part from its prior given a seating that was just drawn from the prior.

        By default what the births of that seating have drawn stays.
        """

    def audit(self, slots: Ints) -> None:
        """Raise an AuditError unless the part fits these occupied slots."""

    def freeze(self) -> dict[str, Any]:
        """Return the part's state as arrays and numbers."""
        return {}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take over a frozen state; `reset` has been called before."""

    def clone(self, state: Franchise) -> Self:
        """Return a part for a copy of the franchise; what `freeze` keeps is thawed into it afterwards."""
        return copy.deepcopy(self)

    def memory_bytes(self) -> int:
        """Bytes held, as far as known."""
        return 0

    def log_density(self, state: Franchise) -> float:
        """Log density of the part given the rest of the state, in nats: a term of `Franchise.log_joint`."""
        return 0.0

    def scalars(self, state: Franchise) -> Mapping[str, float]:
        """Numbers for the trace, recorded under "<name of the part>/<key>"."""
        return {}

    def key(self) -> Any:
        """Return a hashable value that tells states of an `enumerable` part apart."""
        return None


def cloned(name: str, part: Part, state: Any) -> Part:
    """Return a clone of a part for a franchise.

    Raises
    ------
    ReturnValueError
        If the part's `clone` fails or returns no part of this class.
    """
    remedy = "Define clone(self, state): it returns a part for a copy of the franchise."
    try:
        made = part.clone(state)
    except (TypeError, copy.Error, NotImplementedError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ReturnValueError(f"clone() of the part {name!r}", what, "a part", remedy) from error
    if not isinstance(made, Part):
        raise ReturnValueError(f"clone() of the part {name!r}", made, "a part", remedy)
    return made


def thaw_part(
    state: Any, name: str, part: Part, frozen: Mapping[str, Any], source: ChoiceSource | None
) -> None:
    """Give a part its state out of those of all parts; one without draws it, if there is a source.

    Raises
    ------
    DataError
        If the part can't make sense of it.
    """
    if name not in frozen:
        if source is not None:
            part.started(state, source)
        return
    try:
        part.thaw(frozen[name])
    except HdpkitError:
        raise
    except Exception as error:  # whatever the part's own code raises
        raise DataError(
            f"component {name!r}, in the frozen state", f"{type(error).__name__}: {error}",
            "what its freeze returned", "Thaw a state of the same part.",
        ) from error  # fmt: skip


class Component(Part):
    """The name of `Part` before; kept for programs that derive from it."""
