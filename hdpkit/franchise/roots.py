"""What may stand above the root's children, in C and in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

import hdpkit._compiled.walk.root as compiled
import hdpkit.franchise.reference.root as readable

__all__ = ["ROOTS", "RootKind"]


@attrs.frozen
class RootKind:
    """How a walk gets what the root's children draw from: by the bank, and by the table of weights."""

    compiled: Callable[[Any, Any], Any]
    readable: Callable[[Any, Any], Any]


ROOTS = {
    "restaurant": RootKind(
        lambda bank, table: compiled.LatentRoot(), lambda bank, table: readable.LatentRoot()
    ),
    "atoms": RootKind(
        lambda bank, table: compiled.AtomRoot(bank.base, bank.values),
        lambda bank, table: readable.AtomRoot(bank.base),
    ),
    "weights": RootKind(
        lambda bank, table: compiled.WeightedRoot(table), lambda bank, table: readable.WeightedRoot(table)
    ),
}
