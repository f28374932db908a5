"""State machine (hypothesis) that drives a franchise over any store, kernel and measure."""

from typing import Any, ClassVar, cast

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from hdpkit.base_measures import BaseMeasure, DirichletMultinomial
from hdpkit.errors import AuditError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.starts import Random, start
from hdpkit.moves import SplitMerge
from hdpkit.parts import Part
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.testing.cases import CORNERS, TinyShape, tiny_franchise
from hdpkit.testing.combinations import example_moves, serves, stores_and_kernels
from hdpkit.testing.machines import deterministic, same, seeds


class Watcher(Part):
    """A component that tracks the occupied slots from the calls that it gets inside steps."""

    def __init__(self, franchise: Franchise) -> None:
        self.slots = franchise.slots
        self.known: set[int] = set()
        self.keeping = False

    def _require(self, condition: bool, what: str, slot: Any) -> None:
        if not condition:
            raise AuditError(
                what,
                slot,
                f"one of those reported to the component: {sorted(self.known)}",
                "It was not reported.",
            )

    def born(self, slot: int, source: Any, customers: Any) -> None:
        """The slot must be new and already occupied."""
        self._require(slot not in self.known and self.slots.is_occupied(slot), "born", slot)
        self.known.add(slot)

    def died(self, slot: int) -> None:
        """The slot must be tracked and no longer occupied."""
        self._require(slot in self.known and slot not in self.slots.occupied_slots(), "died", slot)
        self.known.remove(slot)

    def holds(self, slot: int) -> bool:
        """Whether slots of dishes that died remain reserved: ``keeping``."""
        return self.keeping

    def clone(self, state: Franchise) -> "Watcher":
        """A component that tracks the copy."""
        return Watcher(state)

    def relabelled(self, mapping: Any) -> None:
        """Every tracked slot must have a new number."""
        self._require(all(mapping[slot] >= 0 for slot in self.known), "relabelled", mapping)
        self.known = {int(mapping[slot]) for slot in self.known}

    def reset(self, slots: Any) -> None:
        """Track exactly these slots."""
        self.known = {int(slot) for slot in slots}

    def audit(self, slots: Any) -> None:
        """The occupied slots must be the tracked ones."""
        self._require(self.known == set(slots.tolist()), "slots", slots)

    def freeze(self) -> dict[str, Any]:
        """The tracked slots."""
        return {"known": np.array(sorted(self.known), dtype=np.int32)}

    def thaw(self, frozen: dict[str, Any]) -> None:
        """The slots must be those given to `reset`."""
        self._require(self.known == set(frozen["known"].tolist()), "thawed", frozen)


FRANCHISE_SHAPES: dict[str, TinyShape] = {
    "one level": TinyShape({}, 7),
    "two levels": TinyShape({"document": [0, 0, 0, 0, 1, 1, 1, 2, 2]}, 9),
    "two levels, some at the root": TinyShape({"document": [0, 0, None, 0, 1, None, 1, 1]}, 8),
    "three levels": TinyShape(
        {"author": ["a"] * 6 + ["b"] * 3 + [None], "document": [0, 0, 0, 1, 1, None, 2, 2, None, None]}, 10
    ),
}


class FranchiseMachine(RuleBasedStateMachine):
    """Drives a franchise by its steps, views, moves and frozen states; the audit follows every rule."""

    store: ClassVar[str | type] = "histogram"
    kernel: ClassVar[str] = "auto"
    measure: ClassVar[BaseMeasure] = DirichletMultinomial(0.5, n_terms=3)
    shapes: ClassVar[dict[str, TinyShape]] = FRANCHISE_SHAPES

    franchise: Franchise
    watcher: Watcher

    @initialize(
        shape=st.integers(0, len(FRANCHISE_SHAPES) - 1),
        corner=st.sampled_from(sorted(CORNERS)),
        values=st.lists(st.integers(0, 2), min_size=10, max_size=10),
    )
    def found(self, shape: int, corner: str, values: list[int]) -> None:
        """A franchise in which all customers have one dish, or each customer its own value."""
        tree = self.shapes[sorted(self.shapes)[shape % len(self.shapes)]]
        examples = self.measure.example_values()
        if self.observed and examples is not None:
            examples = sorted(set(examples))
        chosen = values if examples is None else [examples[v % len(examples)] for v in values]
        self._adopt(
            tiny_franchise(
                tree,
                self.measure,
                store=self.store,
                kernel=self.kernel,
                corner=corner,
                values=np.asarray(chosen[: tree.n_customers]),
            )
        )

    @property
    def observed(self) -> bool:
        """Whether dishes are observed, so that no other dish can be proposed for a customer."""
        return self.measure.atomic

    def _adopt(self, franchise: Franchise) -> None:
        self.franchise = franchise
        if "watcher" not in franchise.components:  # a copy has a clone
            franchise.register("watcher", Watcher(franchise))
        self.watcher = cast(Watcher, franchise.components["watcher"])

    @property
    def n(self) -> int:
        """Data customers."""
        return int(self.franchise.topology.n_customers)

    def _all_seated(self) -> bool:
        return bool((self.franchise.dishes >= 0).all())

    def _view(self, customer: int) -> Any:
        t = self.franchise.topology
        node = int(t.home[customer])
        number = int(t.declaration[node])
        place = np.arange(t.n_nodes)[t.nodes(number)].tolist().index(node)
        key = t.keys_of(number)[place]
        return self.franchise.restaurant(self.franchise.declarations[number].name, key)

    # ------------------------------------------------------------------ rules

    @rule(customer=st.integers(0, 9), seed=seeds)
    def unseat(self, customer: int, seed: int) -> None:
        """Take a customer out through the view of its restaurant."""
        customer %= self.n
        if self.franchise.dishes[customer] >= 0:
            self._view(customer).unseat(customer, seed)
            assert self.franchise.dishes[customer] == -1

    @rule(customer=st.integers(0, 9), dish=st.one_of(st.none(), st.integers(0, 9)), seed=seeds)
    def seat(self, customer: int, dish: int | None, seed: int) -> None:
        """Seat a customer through the view of its restaurant, at a given dish or one that is drawn."""
        customer %= self.n
        if self.franchise.dishes[customer] < 0:
            if dish is not None and self.observed:
                dish = int(self.franchise.data.values[customer])
            elif dish is not None:
                dish %= self.franchise.n_dishes + 1
            self._view(customer).seat(customer, dish, seed)
            # Free slots are filled first, so a new dish need not be the last.
            assert self.franchise.dishes[customer] >= 0

    @rule(first=st.integers(0, 9), length=st.integers(0, 10), seed=seeds)
    def reseat(self, first: int, length: int, seed: int) -> None:
        """Table Gibbs on a range, as far as its customers are seated."""
        first %= self.n
        last = min(first + length, self.n)
        if (self.franchise.dishes[first:last] >= 0).all():
            self.franchise.reseat(first, last, RandomStream((seed, 5)))

    @rule(level=st.integers(1, 2), first=st.integers(0, 9), length=st.integers(0, 10), seed=seeds)
    def resample_dish(self, level: int, first: int, length: int, seed: int) -> None:
        """Dish Gibbs on a range of the tables of a level."""
        if level >= self.franchise.topology.n_levels:
            return
        source = RandomStream((seed, 6))
        with self.franchise.labelled_seating(source):
            units = self.franchise.units(level)
            self.franchise.audit()
            if len(units):
                first %= len(units)
                self.franchise.resample_dish(units, first, min(first + length, len(units)), source)
            self.franchise.audit()

    @rule(scans=st.sampled_from([None, 0, 1, 3]), seed=seeds)
    def split_merge(self, scans: int | None, seed: int) -> None:
        """One proposal; a rejected one restores the state exactly. None where dishes are observed."""
        if self.observed:
            assert not serves(self.franchise, SplitMerge(scans))
            return
        before, n_dishes = self.franchise.freeze(), self.franchise.n_dishes
        info = SplitMerge(scans).apply(self.franchise, RandomStream((seed, 7)))
        if info.accepted == 0:
            assert same(self.franchise.freeze(), before), "a rejected proposal leaves a trace"
        else:
            assert abs(self.franchise.n_dishes - n_dishes) == 1

    @rule(which=st.integers(0, 1000), seed=seeds)
    def move(self, which: int, seed: int) -> None:
        """Any registered move."""
        if self._all_seated():
            served = [move for move in example_moves() if serves(self.franchise, move)]
            served[which % len(served)].apply(self.franchise, RandomStream((seed, 8)))

    @rule()
    def compact(self) -> None:
        """Remove free slots: dishes keep their order, and slots become 0 .. K-1 except for reserved ones."""
        before = self.franchise.dishes
        self.franchise.settle()
        assert np.array_equal(self.franchise.dishes, before)
        taken = sorted([*self.franchise.slots.occupied_slots(), *self.franchise.slots.held_slots()])
        assert taken == list(range(len(taken)))

    @rule(keeping=st.booleans())
    def hold(self, keeping: bool) -> None:
        """Reserve slots of dishes that die from now on, or no longer."""
        self.watcher.keeping = keeping
        if not keeping:
            for slot in self.franchise.slots.held_slots():
                self.franchise.slots.release(slot)

    @rule(seed=seeds)
    def undo(self, seed: int) -> None:
        """A thaw undoes everything that was done after the freeze."""
        before = self.franchise.freeze()
        self._disturb(self.franchise, seed)
        self.franchise.thaw(before)
        assert same(self.franchise.freeze(), before), "thaw doesn't restore what was frozen"

    @rule(seed=seeds)
    def copy(self, seed: int) -> None:
        """A copy is equal and independent; it replaces the original."""
        before = self.franchise.freeze()
        twin = self.franchise.copy()
        self._disturb(self.franchise, seed)
        self.franchise.audit()
        assert same({**twin.freeze(), "components": {}}, {**before, "components": {}}), "a copy depends"
        self._adopt(twin)

    def _disturb(self, franchise: Franchise, seed: int) -> None:
        source = RandomStream((seed, 9))
        if not self.observed:
            SplitMerge().apply(franchise, source)
        if self._all_seated():
            franchise.reseat(0, self.n, source)
        franchise.settle()

    @rule(level=st.integers(0, 2), value=st.sampled_from([0.01, 0.7, 5.0, 200.0]))
    def set_concentration(self, level: int, value: float) -> None:
        """Another concentration for a declaration."""
        declarations = self.franchise.declarations
        self.franchise.set_concentration(declarations[level % len(declarations)].name, value)

    @rule(level=st.integers(0, 2), value=st.sampled_from([0.0, 0.3, 0.95]))
    def set_discount(self, level: int, value: float) -> None:
        """Another discount for a declaration."""
        declarations = self.franchise.declarations
        self.franchise.set_discount(declarations[level % len(declarations)].name, value)

    @rule(seed=seeds)
    def simulate(self, seed: int) -> None:
        """A franchise drawn from the model is consistent too."""
        if self.franchise.measure.supports("simulate"):
            self.franchise.simulate(seed).audit()

    @rule(init=st.sampled_from(["sequential", "one", Random(3)]), seed=seeds)
    def restart(self, init: Any, seed: int) -> None:
        """Start again."""
        start(self.franchise, "sequential" if self.observed else init, Streams(seed).source(STARTS))
        assert self._all_seated()

    # ------------------------------------------------------------------ invariants

    @invariant()
    def audit(self) -> None:
        """Counts, tables, statistics and components agree with recomputed ones."""
        if hasattr(self, "franchise"):
            self.franchise.audit()
            assert self.watcher.known == set(self.franchise.slots.occupied_slots().tolist())

    @invariant()
    def faces_agree(self) -> None:
        """Results of the franchise are numbered 0 .. K-1 and have the right sums."""
        if not hasattr(self, "franchise"):
            return
        franchise = self.franchise
        dishes = franchise.dishes
        served = set(dishes[dishes >= 0].tolist())
        weights, remainder = franchise.root_weights()
        if self.observed:
            assert np.all((dishes == -1) | (dishes == franchise.data.values))
            assert franchise.n_dishes == len(served)
            assert len(weights) == len(franchise.slots)
        else:
            assert served == set(range(franchise.n_dishes))
            assert len(weights) == franchise.n_dishes
        assert abs(weights.sum() + remainder - 1.0) < 1e-12
        for declaration in franchise.declarations:
            rows = franchise.group_weights(declaration.name)
            assert np.all(rows >= 0.0)
            assert np.abs(rows.sum(axis=1) - 1.0).max() < 1e-12
        assert np.isfinite(franchise.log_joint())


def run_franchise_machine(
    store: str | type,
    kernel: str = "auto",
    measure: BaseMeasure | None = None,
    *,
    examples: int = 50,
    steps: int = 30,
    shrink: bool = True,
) -> None:
    """Run the state machine over franchises of depth one to three, the same way every time."""
    measure = measure or FranchiseMachine.measure
    shapes = {
        name: shape
        for name, shape in FRANCHISE_SHAPES.items()
        if kernel in ("auto", "reference") or (store, kernel) in stores_and_kernels(measure, shape=shape)
    }
    own = {"store": store, "kernel": kernel, "measure": measure, "shapes": shapes}
    machine = type("OwnFranchiseMachine", (FranchiseMachine,), own)
    run_state_machine_as_test(machine, settings=deterministic(examples, steps, shrink))
