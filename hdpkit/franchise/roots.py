"""What may stand above the root's children, in C and in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

import hdpkit._compiled.walk.root as compiled
import hdpkit.franchise.reference.root as readable

if TYPE_CHECKING:
    from hdpkit.franchise.core import FranchiseCore

__all__ = ["ROOTS", "RootKind"]


@attrs.frozen
class RootKind:
    """How a walk gets what the root's children draw from."""

    compiled: Callable[[FranchiseCore], Any]
    readable: Callable[[FranchiseCore], Any]


def _bank(franchise: FranchiseCore) -> Any:
    return franchise.bank


def _table(franchise: FranchiseCore) -> Any:
    assert franchise._weights is not None
    return franchise._weights.table


ROOTS = {
    "restaurant": RootKind(lambda f: compiled.LatentRoot(), lambda f: readable.LatentRoot()),
    "atoms": RootKind(
        lambda f: compiled.AtomRoot(_bank(f).base, _bank(f).values),
        lambda f: readable.AtomRoot(_bank(f).base),
    ),
    "weights": RootKind(
        lambda f: compiled.WeightedRoot(_table(f)), lambda f: readable.WeightedRoot(_table(f))
    ),
}
