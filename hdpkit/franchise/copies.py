"""Franchises in the state of another one: copies, pickles, results of `look`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from hdpkit.checks import DAMAGED, fitting
from hdpkit.data import GroupedData
from hdpkit.franchise.parts import cloned
from hdpkit.franchise.state import State

__all__ = ["Copied", "maker"]


class Copied(State):
    """Methods that create a `Franchise` in the state of this one. `Franchise` derives from it."""

    _freezing: Any

    def copy(self) -> Self:
        """Return an independent franchise in the same state, with clones of the parts."""
        return self._twin(self.data, self._freezing.freeze())

    def _twin(self, data: GroupedData, frozen: dict[str, Any]) -> Self:
        """Return a franchise like this one over data of the same shape, in this state."""
        twin: Self = maker(self, data)(frozen)
        return twin

    def _standing(self) -> tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]:
        """The present state and a function that makes a franchise from it, for `look`."""
        return maker(self, self.data), self._freezing.freeze()

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Data and declarations don't change, so copies share them.
        twin = memo[id(self)] = self.copy()
        return twin

    def __reduce__(self) -> tuple[Any, ...]:
        # The frozen state; users' classes are pickled as usual.
        reduced: tuple[Any, ...] = self._turn.call(self, _reduced, (self,), {}, True)
        return reduced

    def __setstate__(self, kept: dict[str, Any]) -> None:
        # Parts are added after the franchise was created, because they may refer to it.
        register: Any = getattr(self, "register")  # noqa: B009 - defined in the derived class
        with fitting("pickle of Franchise", "the state of a franchise", remedy=DAMAGED):
            for name, part in kept["components"].items():
                register(name, part)
            self._freezing.thaw(kept["frozen"])


def _reduced(franchise: Any) -> tuple[Any, ...]:
    declared = (franchise.restaurant_declared, franchise.data)
    options = (franchise.store_type, franchise.forced_kernel, franchise.root.declared, franchise.measure)
    kept = {"components": dict(franchise.components), "frozen": franchise.freeze()}
    return _unpickled, (type(franchise), *declared, *options, franchise.known), kept


def _unpickled(
    kind: Any,
    restaurant: Any,
    data: GroupedData,
    store: Any,
    kernel: str,
    root: Any,
    measure: Any,
    known: Any = None,
) -> Any:
    """A franchise without seated customers."""
    with fitting("pickle of Franchise", "a franchise's arguments", remedy=DAMAGED):
        return kind(restaurant, data, store=store, kernel=kernel, root=root, measure=measure, **_with(known))


def _with(known: Any) -> dict[str, Any]:
    """The argument if there are known components: classes of earlier versions may not accept it."""
    return {} if known is None else {"known": known}


def maker(franchise: Any, data: GroupedData) -> Callable[[dict[str, Any]], Any]:
    """Return a function that makes a `Franchise` like this one over data of the same shape, in a given state.

    Parts are cloned twice: now, because the franchise may continue in another thread, and for each copy.
    """
    kind, declared, measure = type(franchise), franchise.restaurant_declared, franchise.measure
    store, kernel, root = franchise.store_type, franchise.forced_kernel, franchise.root.declared
    more = _with(franchise.known)
    parts = {name: cloned(name, part, franchise) for name, part in franchise.components.items()}
    # States frozen by the package's compiled stores are complete, unless the store was changed directly.
    whole = not franchise.foreign_store and not getattr(franchise.store, "touched", True)

    def make(frozen: dict[str, Any]) -> Any:
        twin = kind(declared, data, store=store, kernel=kernel, root=root, measure=measure, **more)
        for name, part in parts.items():
            twin.register(name, cloned(name, part, twin))
        (twin._freezing.take_over if whole else twin.thaw)(frozen)
        return twin

    return make
