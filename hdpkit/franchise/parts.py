"""Parts: what belongs to the state beside the seating (a weight, a selector, a drawn topic)."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit.checks import instance, text
from hdpkit.errors import DataError, HdpkitError, ParameterError, ReturnValueError
from hdpkit.random import ChoiceSource
from hdpkit.returned import one_of_kind

__all__ = ["Component", "Part", "Parts", "cloned"]

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

    def started(self, state: Any, source: ChoiceSource) -> None:
        """A start has seated everybody, or a state without this part was thawed: draw the part.

        Parameters
        ----------
        state : Franchise
        source : ChoiceSource
            For what the part draws.
        """

    def simulate(self, state: Any, source: ChoiceSource) -> None:
        """Draw the part from its prior given a seating that was just drawn from the prior.

        By default what the births of that seating have drawn stays.

        Parameters
        ----------
        state : Franchise
        source : ChoiceSource
            For what the part draws.
        """

    def audit(self, slots: Ints) -> None:
        """Raise an AuditError unless the part fits these occupied slots."""

    def freeze(self) -> dict[str, Any]:
        """Return the part's state as arrays and numbers."""
        return {}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Take over a frozen state; `reset` has been called before."""

    def clone(self, state: Any) -> Self:
        """Return a part for a copy of the franchise; what `freeze` keeps is thawed into it afterwards."""
        return copy.deepcopy(self)

    def memory_bytes(self) -> int:
        """Bytes held, as far as known."""
        return 0

    def log_density(self, state: Any) -> float:
        """Log density of the part given the rest of the state, in nats: a term of `Franchise.log_joint`."""
        return 0.0

    def scalars(self, state: Any) -> Mapping[str, float]:
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


class Component(Part):
    """The name of `Part` before; kept for programs that derive from it."""


class Parts:
    """The parts of one franchise, by name.

    Attributes
    ----------
    by_name : dict
        All parts, in the order in which they came.
    lost : list of Part
        Those that failed when they were told of a new seating.
    """

    def __init__(self, slots: Any) -> None:
        self.slots = slots
        self.by_name: dict[str, Part] = {}
        self.lost: list[Part] = []

    def values(self) -> list[Part]:
        """Return all parts, in the order in which they came."""
        return list(self.by_name.values())

    def register(self, name: str, part: Part) -> None:
        """See `Franchise.register`."""
        text("name", name, remedy="It is the component's name in saved states.")
        instance("component", part, Part, "a Part", remedy="Derive it from hk.Part.")
        if name in self.by_name:
            raise ParameterError("name", name, "a name that is not taken", f"Taken: {sorted(self.by_name)}.")
        part.reset(self.slots.occupied_slots())  # first: it is a user's, and may fail
        self.by_name[name] = part
        self.slots.add_part(part)

    def replaced(self, *first: Callable[[], Any]) -> None:
        """Call these functions, tell every part which slots are occupied; raise the first error last."""
        self.lost = self.values()
        _call_all([*first, *(functools.partial(self._found, part) for part in self.values())])

    def _found(self, part: Part) -> None:
        part.reset(self.slots.occupied_slots())
        self.lost.remove(part)

    def find_lost(self) -> None:
        """Tell parts that failed which slots are occupied now; one that fails again is told later."""
        while self.lost:
            self.lost[-1].reset(self.slots.occupied_slots())
            self.lost.pop()

    def freeze(self) -> dict[str, dict[str, Any]]:
        """The states of all parts by name."""
        return {
            name: one_of_kind(part, "freeze", part.freeze(), dict, "a dict")
            for name, part in self.by_name.items()
        }

    def thaw(self, state: Any, frozen: Mapping[str, Any], source: ChoiceSource | None) -> None:
        """Give every part its state; one without draws it, if there is a source.

        Raises
        ------
        DataError
            If a part can't make sense of it: the first error, when all have been tried.
        """
        _call_all(
            [
                functools.partial(_thaw, state, name, part, frozen, source)
                for name, part in self.by_name.items()
            ]
        )

    def log_density(self, state: Any) -> float:
        """Log density of all parts given the rest of the state, in nats."""
        return sum(part.log_density(state) for part in self.values())


def _thaw(state: Any, name: str, part: Part, frozen: Mapping[str, Any], source: ChoiceSource | None) -> None:
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


def _call_all(acts: Sequence[Callable[[], Any]]) -> None:
    """Call all, and raise the first error when all has been done."""
    errors: list[BaseException] = []
    for act in acts:
        try:
            act()
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
