"""The parts of one franchise: notified of births and deaths, frozen, thawed, integrated out."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hdpkit.checks import instance, text
from hdpkit.errors import DataError, HdpkitError, ParameterError, ReturnValueError
from hdpkit.numerics import add_up
from hdpkit.parts import IntegrablePart, Part
from hdpkit.random import ChoiceSource
from hdpkit.returned import one_of_kind

__all__ = ["Parts", "cloned"]


def cloned(name: str, part: Part, state: Any) -> Part:
    """Return a clone of a part for a franchise.

    Raises
    ------
    ReturnValueError
        If the part's `clone` fails or doesn't return a part of this class.
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


class Parts:
    """The parts of one franchise, by name.

    Attributes
    ----------
    by_name : dict
        All parts, in the order of registration.
    lost : list of Part
        Parts that failed when they were notified of a new seating.
    """

    def __init__(self, slots: Any) -> None:
        self.slots = slots
        self.by_name: dict[str, Part] = {}
        self.lost: list[Part] = []

    def values(self) -> list[Part]:
        """Return all parts, in the order of registration."""
        return list(self.by_name.values())

    def register(self, name: str, part: Part) -> None:
        """See `Franchise.register`."""
        text("name", name, remedy="It is the component's name in saved states.")
        instance("component", part, Part, "a Part", remedy="Derive it from hk.Part.")
        if name in self.by_name:
            raise ParameterError("name", name, "a name that is not taken", f"Taken: {sorted(self.by_name)}.")
        part.reset(self.slots.occupied_slots())  # first, because user code may fail
        self.by_name[name] = part
        self.slots.add_part(part)

    def replaced(self, *first: Callable[[], Any]) -> None:
        """Call these functions, notify all parts of the occupied slots, and then raise the first error."""
        self.lost = self.values()
        _call_all([*first, *(functools.partial(self._found, part) for part in self.values())])

    def _found(self, part: Part) -> None:
        part.reset(self.slots.occupied_slots())
        self.lost.remove(part)

    def find_lost(self) -> None:
        """Notify parts that failed of the occupied slots; parts that fail again are notified later."""
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
        """Restore the state of every part; a missing state is drawn, if there is a source.

        Raises
        ------
        DataError
            If a part rejects its state: the first error, after all parts have been tried.
        """
        _call_all(
            [
                functools.partial(_thaw, state, name, part, frozen, source)
                for name, part in self.by_name.items()
            ]
        )

    def integrate(self, source: ChoiceSource, parts: Sequence[Any]) -> list[IntegrablePart]:
        """Integrate out those of these parts for which it is possible and not done yet; return them."""
        begun = [part for part in parts if isinstance(part, IntegrablePart) and part.integrated is None]
        for part in begun:
            part.integrated = source
        return begun

    def draw(self, begun: Sequence[IntegrablePart]) -> None:
        """Draw these parts again. Each is drawn before it is marked as drawn, so this can be repeated."""
        for part in begun:
            if part.integrated is not None:
                part.draw(part.integrated)
                part.integrated = None

    def draw_all(self) -> None:
        """Draw all parts that are integrated out."""
        self.draw([part for part in self.values() if isinstance(part, IntegrablePart)])

    def log_density(self, state: Any) -> float:
        """Log density of all parts given the rest of the state, in nats."""
        return add_up(part.log_density(state) for part in self.values())


def _thaw(state: Any, name: str, part: Part, frozen: Mapping[str, Any], source: ChoiceSource | None) -> None:
    if name not in frozen:
        if source is not None:
            part.started(state, source)
        return
    try:
        part.thaw(frozen[name])
    except HdpkitError:
        raise
    except Exception as error:  # any exception of the part's code
        raise DataError(
            f"component {name!r}, in the frozen state", f"{type(error).__name__}: {error}",
            "what its freeze returned", "Thaw a state of the same part.",
        ) from error  # fmt: skip


def _call_all(acts: Sequence[Callable[[], Any]]) -> None:
    """Call all functions, and then raise the first error."""
    errors: list[BaseException] = []
    for act in acts:
        try:
            act()
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
