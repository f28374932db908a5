"""The distribution from which the root's children draw: a restaurant, atoms, weights or fixed weights.

`ROOTS` pairs the compiled roots with the readable ones; the walk computes everything below from them. Weights
are a part of the state. The store has the same counts of the root with and without them, so a state can be
transferred from one kind of root to the other. Hyperparameters whose conditional distribution needs the
restaurant are updated while the weights are integrated out (`Root.integrated`), and then the weights are
drawn given everything else. Under fixed weights of K dishes all new dishes together have weight (K - n) / K,
exactly 0 when all K have customers: a sweep then never draws a new dish, even if rounding leaves no weight
for the others.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

import hdpkit.steps._walk as compiled
import hdpkit.steps.root as readable
from hdpkit._franchise_lock import Block
from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import choice, instance, number_array
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.declarations import FixedWeights, Restaurant, kind_of_root
from hdpkit.franchise.guard import Locked, unguarded
from hdpkit.franchise.population import Parts
from hdpkit.franchise.scores import ROOT_WEIGHTS, log_seating_of_restaurant
from hdpkit.numerics import add_up, lgamma, log, log_each
from hdpkit.parts import Attached, IntegrablePart, Part, TablePart, inconsistent, unfitting
from hdpkit.random import ChoiceSource
from hdpkit.steps._walk import WeightTable


def log_dishes(k: int, n_dishes: int, n_customers: int) -> float:
    """Log probability of the partition of the root's customers by dish: K (K-1) ... (K-n+1) / K^m."""
    # m customers of the root have n of the K dishes of the model.
    return math.fsum(log((k - i) / k) for i in range(n_dishes)) - (n_customers - n_dishes) * log(k)


class FixedTable(Attached, Part):
    """The weight 1/K of each dish that has customers, and the total weight (K - n) / K of all others."""

    name = "fixed root weights"
    enumerable = True

    def __init__(self, state: Any, declared: FixedWeights) -> None:
        super().__init__(state)
        self.n_dishes = declared.n_dishes
        self.table: WeightTable = WeightTable()

    def _remainder(self, n: int) -> float:
        return max(self.n_dishes - n, 0) / self.n_dishes

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """Move 1/K from the remainder to a new dish."""
        n = len(self.state.slots)  # including the new one
        self.table.fix(slot, 1.0 / self.n_dishes, self._remainder(n))
        if n > self.n_dishes:
            raise StateError(
                "dishes", n, f"at most {self.n_dishes}, the dishes of hk.FixedWeights",
                "Open no further dish: compare franchise.n_dishes with franchise.root.most_dishes.",
            )  # fmt: skip

    def died(self, slot: int) -> None:
        self.table.fix(slot, 0.0, self._remainder(len(self.state.slots)))

    def relabelled(self, mapping: Int32s) -> None:
        self.reset(np.asarray(mapping)[np.asarray(mapping) >= 0])

    def reset(self, slots: Int32s) -> None:
        self.table.clear()
        for slot in slots.tolist():
            self.table.fix(slot, 1.0 / self.n_dishes, self._remainder(len(slots)))

    def broken(self, least: float, source: ChoiceSource) -> tuple[Floats, float]:
        """The weights of all dishes without customers, and remainder 0; see `Weights.broken`."""
        return np.full(self.n_dishes - len(self.state.slots), 1.0 / self.n_dishes), 0.0

    def births_given(self) -> contextlib.AbstractContextManager[None]:
        """See `Weights.births_given`: a birth draws nothing here."""
        return contextlib.nullcontext()

    def take(self, slots: Int32s, weights: Floats) -> None:
        """See `Weights.take`; the weights don't change."""

    def audit(self, slots: Int32s) -> None:
        """Check that each dish has 1/K and the others have the remainder."""
        expected = np.append(np.full(len(slots), 1.0 / self.n_dishes), self._remainder(len(slots)))
        if len(slots) > self.n_dishes or not np.array_equal(self.table.many(slots), expected):
            raise inconsistent(self.name, self.table.many(slots), repr(expected.tolist()))

    def memory_bytes(self) -> int:
        return int(self.table.memory_bytes())


class Weights(TablePart):
    """Weights (beta_1, ..., beta_K, beta_u) of the dishes and of all new dishes; their sum is 1."""

    # Dirichlet(m_1 - d_0, ..., m_K - d_0, theta_0 + K d_0) given the m_k customers of the root with dish k
    # (Teh et al. 2006, section 5.2; discounts: Pitman 1996). A new dish takes the share nu ~ Beta(1 - d_0,
    # theta_0 + K d_0) of the remainder, K with the new dish; a dish that dies returns its weight.

    name = ROOT_WEIGHTS

    def __init__(self, state: Any) -> None:
        super().__init__(state)
        self.table: WeightTable = WeightTable()
        self._given = False  # whether new dishes already have weights, which are set at the end

    def _numbers(self) -> tuple[float, float]:
        current = self.state.hyperparameters
        return float(current.theta[0]), float(current.d[0])

    def born(self, slot: int, source: ChoiceSource | None, customers: Int32s) -> None:
        """Draw the weight of a new dish as a share of the remainder."""
        if self.integrated is not None or self._given:
            return
        assert source is not None  # `open_dish` asks for one
        theta, d = self._numbers()
        k = len(self.state.slots)
        self.table.split(slot, source.beta(1.0 - d, theta + k * d))

    def died(self, slot: int) -> None:
        self.table.bring_home(slot)

    def reset(self, slots: Int32s) -> None:
        """Set the weights of these dishes to their expectations given the seating, until they are drawn."""
        if len(slots) == 0:
            self.table.clear()
            return
        theta, d = self._numbers()
        m = self._customers(slots)
        total = theta + float(m.sum())
        weights = np.append(m - d, theta + len(slots) * d) / total
        self.table.put(slots, np.clip(weights, 0.0, 1.0))

    def _customers(self, slots: Int32s) -> Floats:
        """Customers of the root by dish, without override tables."""
        seating = self.state.seating
        m = np.array([seating.customers(0, slot) for slot in slots.tolist()], dtype=float)
        return m - self.state.topology.overrides(slots)

    def draw(self, source: ChoiceSource) -> None:
        slots = self.state.slots.occupied_slots()
        if len(slots) == 0:
            self.table.clear()
            return
        theta, d = self._numbers()
        shapes = np.append(self._customers(slots) - d, theta + len(slots) * d)
        self.table.put(slots, source.dirichlet(shapes))

    def broken(self, least: float, source: ChoiceSource) -> tuple[Floats, float]:
        """Break the remainder into weights of dishes without customers, until less than ``least`` is left."""
        # As in a Dirichlet process (Sethuraman 1994) each takes the share nu ~ Beta(1, theta_0) of the rest.
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

    def take(self, slots: Int32s, weights: Floats) -> None:
        """Replace all weights by those of these slots and, last, the remainder."""
        self.table.put(slots, weights)

    def audit(self, slots: Int32s) -> None:
        """Check that each dish, and no other slot, has a weight, and that the sum is 1."""
        weights = self.table.many(slots)
        if np.any(weights < 0.0) or abs(float(weights.sum()) - 1.0) > 1e-9:
            raise inconsistent("root weights", weights, "not negative, with a sum of 1")

    def freeze(self) -> dict[str, Any]:
        """The weights of the occupied slots, ascending, and the remainder, last."""
        return {"weights": self.table.many(self.state.slots.occupied_slots())}

    def thaw(self, frozen: dict[str, Any]) -> None:
        slots = self.state.slots.occupied_slots()
        weights = number_array(frozen.get("weights") if isinstance(frozen, Mapping) else None)
        if (
            weights is None
            or weights.shape != (len(slots) + 1,)
            or not np.all(weights >= 0.0)
            or not abs(float(np.sum(weights)) - 1.0) < 1e-6
        ):
            raise unfitting("root weights", frozen, f"{len(slots) + 1} weights with a sum of 1")
        self.table.put(slots, weights)

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
        return {"remainder": float(self.table.remainder)}


ROOTS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "restaurant": (lambda bank, part: compiled.LatentRoot(), lambda bank, part: readable.LatentRoot()),
    "atoms": (
        lambda bank, part: compiled.AtomRoot(bank.base, bank.values),
        lambda bank, part: readable.AtomRoot(bank.base),
    ),
    "weights": (
        lambda bank, part: compiled.WeightedRoot(part.table),
        lambda bank, part: readable.WeightedRoot(part.table),
    ),
    "fixed": (
        lambda bank, part: compiled.FixedRoot(part.table, part.n_dishes),
        lambda bank, part: readable.FixedRoot(part.n_dishes),
    ),
}
"""The compiled and the readable root of a walk, given the bank and the part that has the weights."""


def check_root(root: Any, restaurant: Restaurant) -> None:
    """Raise an error unless ``root`` is possible with these declarations, of which this is the deepest."""
    if not isinstance(root, FixedWeights):
        choice("root", root, ("restaurant", "weights"), remedy="Or pass hk.FixedWeights(K); see Franchise.")
        return
    declared = restaurant.chain()[0]
    for name, read in zip(("concentration", "discount"), declared.hyperparameters, strict=True):
        if read.prior is not None or (name == "discount" and read.start != 0.0):
            raise DeclarationError(
                f"{name} of {declared.name!r}", getattr(declared, name),
                f"{'a number, which is not used,' if name == 'concentration' else '0'} under fixed weights",
                f"Leave the {name} of the root out.",
            )  # fmt: skip


class Root(Attached, Locked):
    """The distribution of the root's children: a restaurant of latent dishes or of atoms, or weights."""

    def __init__(self, state: Any, parts: Parts, declared: str | FixedWeights) -> None:
        super().__init__(state)
        self._parts = parts
        self.access = state.access
        self.declared = declared
        self._weights: Weights | FixedTable | None = None
        if isinstance(declared, FixedWeights):
            self._weights = FixedTable(state, declared)
        elif declared == "weights":
            self._weights = Weights(state)

    def __repr__(self) -> str:
        return f"<Root {self.declared}>"

    def _outside(self, aside: bool = False) -> None:
        self.state._outside(aside)

    @property
    def kind(self) -> str:
        """The distribution from which the root's children currently draw: a key of `ROOTS`."""
        return self._kind()

    def _kind(self) -> str:
        """`kind`, for owners: every step uses it, within its lock."""
        if self._weights is None:
            return self.state.dish_kind.root_kind("restaurant")
        integrated = isinstance(self._weights, Weights) and self._weights.integrated is not None
        return self.state.dish_kind.root_kind("restaurant" if integrated else kind_of_root(self.declared))

    @property
    def weights(self) -> Weights | FixedTable | None:
        """The part of the state that has the weights; None if they are always integrated out."""
        return self._weights

    @property
    def most_dishes(self) -> int | None:
        """Largest possible number of dishes; None if there is no limit."""
        return self.declared.n_dishes if isinstance(self.declared, FixedWeights) else None

    @property
    def concentration(self) -> float:
        """Concentration of the root."""
        return float(self.state.hyperparameters.theta[0])

    @property
    def discount(self) -> float:
        """Discount of the root."""
        return float(self.state.hyperparameters.d[0])

    @unguarded
    def integrated(self, source: ChoiceSource) -> Block:
        """Integrate out the weights of the root within a block, and draw them again at its end."""
        # Followed by a draw of the weights, a move that leaves the posterior without them invariant leaves
        # the joint posterior invariant. Without weights, with fixed ones, and nested, it does nothing.
        instance("source", source, ChoiceSource, "a choice source", remedy="Moves are given one.")
        self._outside()
        return Block(self.access, lambda: self.state.access.change(self._integrate, source), self._parts.draw)

    def _kept(self) -> tuple[Any, Floats | None]:
        """A separate root for a stored state, and H if dishes are atoms."""
        bank, weights = self.state.bank, self._weights
        if self.state.measure.atomic:
            base: Floats = bank.base.copy()
            return compiled.AtomRoot(base, bank.values), base
        if weights is None:
            return compiled.LatentRoot(), None
        table = weights.table.copy()
        if isinstance(weights, FixedTable):
            return compiled.FixedRoot(table, weights.n_dishes), None
        return compiled.WeightedRoot(table), None

    def _log_of_dishes(self, store: Any) -> float:
        """Term of log p(seating) for the root: without it, all its customers sit in a restaurant."""
        # Override tables are not among the customers who have dishes of the root.
        dishes = store.node_dishes(0)
        overrides = self.state.topology.overrides(dishes)
        if not isinstance(self.declared, FixedWeights) and not overrides.any():
            return 0.0
        sizes = np.array([store.customers(0, dish) for dish in dishes.tolist()], dtype=np.int64)
        of_restaurant = log_seating_of_restaurant(sizes, self.concentration, self.discount)
        sizes = sizes - overrides
        if isinstance(self.declared, FixedWeights):
            return log_dishes(self.declared.n_dishes, len(sizes), int(sizes.sum())) - of_restaurant
        return log_seating_of_restaurant(sizes, self.concentration, self.discount) - of_restaurant

    def _check_number(self, name: str, n_dishes: int, *, frozen: bool = False) -> None:
        """Raise an error if there are more dishes than possible."""
        if self.most_dishes is not None and n_dishes > self.most_dishes:
            error = DataError if frozen else ParameterError
            raise error(
                name, f"{n_dishes} dishes", f"at most {self.most_dishes} dishes, as root={self.declared}",
                "Start with fewer, or declare hk.FixedWeights with more.",
            )  # fmt: skip

    def _integrate(self, source: ChoiceSource) -> list[IntegrablePart]:
        return self._parts.integrate(source, [self._weights])

    def _check_restaurant(self, step: str) -> None:
        """Raise an error if the root currently has weights and a step needs a restaurant."""
        if self.kind == "weights":
            raise StateError(
                "root", "weights", "a restaurant while this step runs",
                f"Call {step} inside `with franchise.root_integrated(rng):`.",
            )  # fmt: skip
