"""Fixed weights of the root's dishes, in the form used by sweeps: none of them is drawn."""

from __future__ import annotations

import contextlib
import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.walk.root import WeightTable
from hdpkit.errors import AuditError, StateError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.state import State
from hdpkit.numerics import log
from hdpkit.parts import Part
from hdpkit.random import ChoiceSource

__all__ = ["FixedTable", "log_dishes"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


def log_dishes(k: int, n_dishes: int, n_customers: int) -> float:
    """Log probability of the partition of the root's customers by dish: K (K-1) ... (K-n+1) / K^m.

    Parameters
    ----------
    k : int
        K, the number of dishes of the model.
    n_dishes : int
        n, the number of dishes that have customers.
    n_customers : int
        m, the number of customers of the root.
    """
    return math.fsum(log((k - i) / k) for i in range(n_dishes)) - (n_customers - n_dishes) * log(k)


class FixedTable(Owner, Part):
    """The weight 1/K of each dish that has customers, and the total weight (K - n) / K of all others.

    Parameters
    ----------
    state : State
    declared : FixedWeights
    """

    name = "fixed root weights"
    enumerable = True

    def __init__(self, state: State, declared: FixedWeights) -> None:
        super().__init__(state)
        self.n_dishes = declared.n_dishes
        self.table: WeightTable = state._own(WeightTable())

    def _remainder(self, n: int) -> float:
        return max(self.n_dishes - n, 0) / self.n_dishes

    def born(self, slot: int, source: ChoiceSource | None, customers: Ints) -> None:
        """Move 1/K from the remainder to a new dish."""
        n = len(self.state.slots)  # including the new one
        self.table.fix(slot, 1.0 / self.n_dishes, self._remainder(n))
        if n > self.n_dishes:
            raise StateError(
                "dishes", n, f"at most {self.n_dishes}, the dishes of hk.FixedWeights",
                "Open no further dish: compare franchise.n_dishes with franchise.root.most_dishes.",
            )  # fmt: skip

    def died(self, slot: int) -> None:
        """Return its weight to the remainder."""
        self.table.fix(slot, 0.0, self._remainder(len(self.state.slots)))

    def relabelled(self, mapping: Ints) -> None:
        """Set the weights at the new slots."""
        self.reset(np.asarray(mapping)[np.asarray(mapping) >= 0])

    def reset(self, slots: Ints) -> None:
        """Set the weights of exactly these slots."""
        self.table.clear()
        for slot in slots.tolist():
            self.table.fix(slot, 1.0 / self.n_dishes, self._remainder(len(slots)))

    def broken(self, least: float, source: ChoiceSource) -> tuple[Floats, float]:
        """The weights of all dishes without customers, and remainder 0; see `Weights.broken`."""
        return np.full(self.n_dishes - len(self.state.slots), 1.0 / self.n_dishes), 0.0

    def births_given(self) -> contextlib.AbstractContextManager[None]:
        """See `Weights.births_given`: a birth draws nothing here."""
        return contextlib.nullcontext()

    def take(self, slots: Ints, weights: Floats) -> None:
        """See `Weights.take`; the weights don't change."""

    def audit(self, slots: Ints) -> None:
        """Check that each dish has 1/K and the others have the remainder."""
        expected = np.append(np.full(len(slots), 1.0 / self.n_dishes), self._remainder(len(slots)))
        if len(slots) > self.n_dishes or not np.array_equal(self.table.many(slots), expected):
            raise AuditError(
                self.name, self.table.many(slots), repr(expected.tolist()),
                "The state is inconsistent: report the move that ran last.",
            )  # fmt: skip

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError

    def memory_bytes(self) -> int:
        """Bytes of the weights."""
        return int(self.table.memory_bytes())
