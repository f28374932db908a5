"""Which moves, stores and kernels combine, read from the registries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hdpkit._compiled.measure import CompiledBank
from hdpkit.base_measures import BaseMeasure, base_measures
from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.franchise.kernels import is_compiled
from hdpkit.moves import Move
from hdpkit.moves.registry import moves
from hdpkit.stores import stores
from hdpkit.testing.cases import tiny_franchise

__all__ = ["example_measures", "example_moves", "kernels_of", "serves", "stores_and_kernels"]


def example_moves(continuous: bool | None = None) -> list[Move]:
    """Examples of every registered move; only those with or without a continuous part if asked."""
    found = [move for entry in moves.values() for move in entry.examples()]
    return [move for move in found if continuous is None or move.continuous == continuous]


def example_measures() -> list[BaseMeasure]:
    """Examples of every registered base measure."""
    return [measure for entry in base_measures.values() for measure in entry.examples()]


def kernels_of(store: type, measure: BaseMeasure) -> list[str]:
    """Kernels that can be forced for a store and a measure."""
    compiled = is_compiled(store) and isinstance(tiny_franchise("2+2", measure).bank, CompiledBank)
    return ["generic", "reference"] if compiled else ["reference"]


def stores_and_kernels(measure: BaseMeasure) -> Iterator[tuple[str, str]]:
    """Every registered store with every kernel that it has with this measure."""
    for name, entry in stores.items():
        for kernel in kernels_of(entry.thing, measure):
            yield name, kernel


def serves(franchise: Franchise, move: Any) -> bool:
    """Whether the franchise leaves the move something to do."""
    try:
        move.check(franchise)
    except ScheduleError:
        return False
    return True
