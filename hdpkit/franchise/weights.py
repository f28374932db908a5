"""The weights of the root's dishes as a part of the state."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hdpkit._compiled.walk.root import WeightTable
from hdpkit.checks import number_array
from hdpkit.errors import AuditError, DataError, StateError
from hdpkit.franchise.owner import Owner
from hdpkit.franchise.state import State
from hdpkit.numerics import add_up, lgamma, log_each
from hdpkit.parts import IntegrablePart
from hdpkit.random import ChoiceSource

__all__ = ["NAME", "Weights"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

NAME = "root weights"


class Weights(Owner, IntegrablePart):
    """Weights (beta_1, ..., beta_K, beta_u) of the dishes and of all new dishes; their sum is 1.

    Given the seating they are Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0), where m_k customers of
    the root eat dish k (Teh et al. 2006, section 5.2; discounts: Pitman 1996). A new dish takes the share nu
    ~ Beta(1 - d_0, theta_0 + K d_0) of the remainder, where K includes the new dish; the weight of a dish
    that dies returns to the remainder.
    """

    name = NAME

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.table: WeightTable = state._own(WeightTable())
        self._given = False  # whether new dishes already have weights, which are set at the end

    def _numbers(self) -> tuple[float, float]:
        present = self.state.hyperparameters
        return float(present.theta[0]), float(present.d[0])

    def born(self, slot: int, source: ChoiceSource | None, customers: Ints) -> None:
        """Draw the weight of a new dish as a share of the remainder."""
        if self.integrated is not None or self._given:
            return
        if source is None:
            raise StateError(
                "source", None, "a choice source, because the weight of a new dish is drawn",
                "Pass one: open_dish(source).",
            )  # fmt: skip
        theta, d = self._numbers()
        k = len(self.state.slots)
        self.table.split(slot, source.beta(1.0 - d, theta + k * d))

    def died(self, slot: int) -> None:
        """Return its weight to the remainder."""
        self.table.bring_home(slot)

    def relabelled(self, mapping: Ints) -> None:
        """Move weights to the new slots of their dishes."""
        old = np.flatnonzero(np.asarray(mapping) >= 0).astype(np.int32)
        self.table.put(np.asarray(mapping)[old], self.table.many(old))

    def reset(self, slots: Ints) -> None:
        """Set the weights of these dishes to their expectations given the seating, until the next draw.

        When the complete state is replaced, this follows immediately; after a failure, the next move that
        draws weights does it.
        """
        if len(slots) == 0:
            self.table.clear()
            return
        theta, d = self._numbers()
        m = self._customers(slots)
        total = theta + float(m.sum())
        weights = np.append(m - d, theta + len(slots) * d) / total
        self.table.put(slots, np.clip(weights, 0.0, 1.0))

    def _customers(self, slots: Ints) -> Floats:
        """Customers of the root by dish."""
        seating = self.state.seating
        return np.array([seating.customers(0, slot) for slot in slots.tolist()], dtype=float)

    def draw(self, source: ChoiceSource) -> None:
        """Draw all weights given the seating."""
        slots = self.state.slots.occupied_slots()
        if len(slots) == 0:
            self.table.clear()
            return
        theta, d = self._numbers()
        shapes = np.append(self._customers(slots) - d, theta + len(slots) * d)
        self.table.put(slots, source.dirichlet(shapes))

    def broken(self, least: float, source: ChoiceSource) -> tuple[Floats, float]:
        """Break the remainder into weights of dishes without customers, until less than ``least`` is left.

        Given the seating the remainder is divided by stick breaking as in a Dirichlet process (Sethuraman
        1994): each dish takes the share nu ~ Beta(1, theta_0) of the rest.

        Returns
        -------
        weights : float64 array, in the order in which they are broken off
        remainder : float
        """
        theta, d = self._numbers()
        if d != 0.0:
            raise StateError(
                "discount of the root", d, "0 where the remainder is divided",
                "With a discount the remainder is never small: use TableGibbs.",
            )  # fmt: skip
        rest = float(self.table.remainder)
        found = []
        while rest >= least:
            log_share, log_rest = source.log_beta(1.0, theta)
            found.append(rest * float(np.exp(log_share)))
            rest *= float(np.exp(log_rest))
        return np.array(found), rest

    @contextmanager
    def births_given(self) -> Iterator[None]:
        """A block in which new dishes draw no weights: `take` is called at its end."""
        self._given = True
        try:
            yield
        finally:
            self._given = False

    def take(self, slots: Ints, weights: Floats) -> None:
        """Replace all weights by those of these slots and, last, the remainder."""
        self.table.put(slots, weights)

    def started(self, state: Any, source: ChoiceSource) -> None:
        """Draw the weights given the new seating."""
        self.draw(source)

    def audit(self, slots: Ints) -> None:
        """Check that each dish, and no other slot, has a weight, and that the sum is 1."""
        weights = self.table.many(slots)
        if np.any(weights < 0.0) or abs(float(weights.sum()) - 1.0) > 1e-9:
            raise AuditError(
                "root weights", weights, "not negative, with a sum of 1",
                "The state is inconsistent: report the move that ran last.",
            )  # fmt: skip

    def freeze(self) -> dict[str, Any]:
        """The weights of the occupied slots, ascending, and the remainder, last."""
        return {"weights": self.table.many(self.state.slots.occupied_slots())}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """Restore frozen weights."""
        slots = self.state.slots.occupied_slots()
        weights = number_array(frozen.get("weights") if isinstance(frozen, Mapping) else None)
        if (
            weights is None
            or weights.shape != (len(slots) + 1,)
            or not np.all(weights >= 0.0)
            or not abs(float(np.sum(weights)) - 1.0) < 1e-6
        ):
            raise DataError(
                "root weights, in the frozen state", frozen, f"{len(slots) + 1} weights with a sum of 1",
                "Thaw a state over the same data and declarations.",
            )  # fmt: skip
        self.table.put(slots, weights)

    def clone(self, state: Any) -> Self:
        """Not used: a copy of the franchise creates its own."""
        raise NotImplementedError

    def memory_bytes(self) -> int:
        """Bytes of the weights."""
        return int(self.table.memory_bytes())

    def log_density(self, state: Any) -> float:
        """Log density of the weights given the seating: Dirichlet, with respect to the first K of them."""
        slots = state.slots.occupied_slots()
        if len(slots) == 0:
            return 0.0
        theta, d = self._numbers()
        shapes = np.append(self._customers(slots) - d, theta + len(slots) * d)
        terms = add_up(lgamma(shape) for shape in shapes.tolist())
        logs = log_each(self.table.many(slots))
        return float(lgamma(math.fsum(shapes)) - terms + math.fsum((shapes - 1.0) * logs))

    def scalars(self, state: Any) -> Mapping[str, float]:
        """The remainder."""
        return {"remainder": float(self.table.remainder)}
