"""Franchises in the state of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hdpkit.data import GroupedData
from hdpkit.franchise.parts import cloned

__all__ = ["maker"]


def maker(franchise: Any, data: GroupedData) -> Callable[[dict[str, Any]], Any]:
    """Return a function that makes a `Franchise` like this one over data of the same shape, in a given state.

    Parts are cloned twice: now, since the franchise may go on in another thread, and for each copy.
    """
    kind, declared, measure = type(franchise), franchise.restaurant_declared, franchise.measure
    store, kernel, root = franchise.store_type, franchise.forced_kernel, franchise.root.declared
    parts = {name: cloned(name, part, franchise) for name, part in franchise.components.items()}
    # The package's compiled stores freeze whole states, unless somebody changed them from outside.
    whole = not franchise.foreign_store and not getattr(franchise.store, "touched", True)

    def make(frozen: dict[str, Any]) -> Any:
        twin = kind(declared, data, store=store, kernel=kernel, root=root, measure=measure)
        for name, part in parts.items():
            twin.register(name, cloned(name, part, twin))
        (twin._freezing.take_over if whole else twin.thaw)(frozen)
        return twin

    return make
