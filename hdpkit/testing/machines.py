"""A state machine (hypothesis) that compares a store, including your own, with a plain model.

A failure is reported as the shortest sequence of operations that hypothesis finds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from hdpkit.random import RandomStream
from hdpkit.stores import Detail, detail_of
from hdpkit.testing.states import counted, same, seen

seeds = st.integers(0, 2**32 - 1)


def deterministic(examples: int, steps: int, shrink: bool = True) -> settings:
    """Settings under which a machine runs the same way everywhere, every time."""
    return settings(
        derandomize=True,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[phase for phase in Phase if shrink or phase not in (Phase.shrink, Phase.explain)],
        max_examples=examples,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
    )


def _possible(step: str, tables: Any) -> list[Any]:
    """What may become of tables when a customer is seated or removed."""
    if isinstance(tables, tuple):
        n, t = tables
        return [{"join": (n + 1, t), "open": (n + 1, t + 1), "remove": (n - 1, t - (n == t))}[step]]
    found = []
    for size in [0] if step == "open" else tables:
        after = tables.copy()
        after[size] -= 1
        after[size + (-1 if step == "remove" else 1)] += 1
        after[0] = 0
        found.append(+after)
    return found


Picture = frozenset[tuple[int, frozenset[int]]]
"""Of a store of seats, the restaurant of each table and the data customers below it."""


class StoreMachine(RuleBasedStateMachine):
    """Runs operations on a store, and keeps what it should return of the tables of every restaurant and dish.

    What the store draws is read from it, and must be possible.
    """

    store_class: ClassVar[type]  # set it in a subclass
    parent: ClassVar[Sequence[int]] = (-1, 0, 0, 1, 1, 0)
    home: ClassVar[Sequence[int]] = (3, 3, 3, 3, 4, 4, 4, 1, 2, 2, 2, 5, 0, 0)
    n_dishes: ClassVar[int] = 4

    def __init__(self) -> None:
        super().__init__()
        self.store: Any = self.store_class(len(self.home), len(self.parent))
        self.detail = detail_of(self.store_class)
        self.nothing: Any = (0, 0) if self.detail is Detail.COUNTS else Counter()
        self.labels = list(range(self.n_dishes))  # the store's numbers of the dishes
        self.dish: list[int | None] = [None] * len(self.home)
        self.served: dict[tuple[int, int], Any] = {}  # tables by restaurant and dish, as in `seen`

    # ------------------------------------------------------------------ rules

    @precondition(lambda self: None in self.dish)
    @rule(
        who=st.lists(
            st.tuples(st.integers(0, 13), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=6
        ),
        discount=st.sampled_from([0.0, 0.4, 0.95]),
        seed=seeds,
    )
    def seat(self, who: list[tuple[int, int, int]], discount: float, seed: int) -> None:
        """Seat customers from their restaurants upwards: open some tables, then share one if there is any."""
        source = RandomStream((seed, 1))
        for which, dish, opens in who:
            waiting = [i for i, eats in enumerate(self.dish) if eats is None]
            if waiting:
                customer = waiting[which % len(waiting)]
                assert self.store.dish_of(customer) == -1
                self._climb(customer, self.home[customer], dish, opens, discount, source)
                self.dish[customer] = dish

    @precondition(lambda self: any(dish is not None for dish in self.dish))
    @rule(who=st.lists(st.integers(0, 13), min_size=1, max_size=4), seed=seeds)
    def unseat(self, who: list[int], seed: int) -> None:
        """Take customers out, and every table that closes on the way to the root."""
        source = RandomStream((seed, 2))
        for which in who:
            seated = [i for i, eats in enumerate(self.dish) if eats is not None]
            if seated:
                customer = seated[which % len(seated)]
                dish, self.dish[customer] = self.dish[customer], None
                assert dish is not None
                self._descend(customer, self.home[customer], dish, source)
                assert self.store.dish_of(customer) == -1

    @precondition(lambda self: self.detail is Detail.SEATS and any(node > 0 for node, _ in self._picture()))
    @rule(which=st.integers(0, 1000), dish=st.integers(0, 3), opens=st.integers(0, 2), seed=seeds)
    def resample_dish(self, which: int, dish: int, opens: int, seed: int) -> None:
        """Take a table out of its parent and give it another dish, with all that is below it."""
        movable = sorted((node, sorted(members)) for node, members in self._picture() if node > 0)
        node, members = movable[which % len(movable)]
        source, parent, old = RandomStream((seed, 3)), self.parent[node], self.dish[members[0]]
        assert old is not None

        def below() -> list[int]:
            """The table, and all below it."""
            paths = [self._path(i) for i in members]
            ends = [[self.store.table_node(table) for table in path].index(node) for path in paths]
            whole = [path[end::-1] for path, end in zip(paths, ends, strict=True)]
            return list(dict.fromkeys(table for path in whole for table in path))

        self._descend(~below()[0], parent, old, source)
        assert self.store.table_at(~below()[0]) == -1
        for table in below():
            self.store.serve_dish(table, self.labels[dish])
            one = Counter([self.store.table_size(table)])
            here = self.store.table_node(table)
            self._serve(here, old, self.served[here, old] - one)
            self._serve(here, dish, self.served.get((here, dish), self.nothing) + one)
        self._climb(~below()[0], parent, dish, opens, 0.2, source)
        for customer in members:
            self.dish[customer] = dish

    @precondition(lambda self: self.detail is Detail.COUNTS and any(node > 0 for node, _ in self.served))
    @rule(which=st.integers(0, 1000), tables=st.integers(0, 13))
    def set_tables(self, which: int, tables: int) -> None:
        """Give a dish of a restaurant another number of tables; the parent's customers follow."""
        pairs = sorted(pair for pair in self.served if pair[0] > 0)
        node, dish = pairs[which % len(pairs)]
        parent, (own, before) = self.parent[node], self.served[node, dish]
        customers, above = self.served[parent, dish]
        # The caller must ensure that the parent has at most as many tables as customers.
        fewest = max(1, before - (customers - above))
        n = fewest + tables % (own - fewest + 1)
        self.store.set_tables(node, self.labels[dish], n, parent)
        self.served[node, dish], self.served[parent, dish] = (own, n), (customers + n - before, above)

    @rule(gaps=st.lists(st.integers(1, 3), min_size=4, max_size=4))
    def relabel(self, gaps: list[int]) -> None:
        """Rename the dishes, keeping their order."""
        fresh = (np.cumsum(gaps) - 1).tolist()
        mapping = np.full(max(self.labels) + 1, -1, dtype=np.int32)
        mapping[self.labels] = fresh
        self.store.relabel_dishes(mapping)
        self.labels = fresh

    @precondition(lambda self: hasattr(self.store, "compact"))
    @rule(share=st.sampled_from([0.0, 0.0, 0.5]))
    def compact(self, share: float) -> None:
        """Releasing memory (an optional method) changes only `memory_bytes`."""
        frozen, held = self.store.freeze(), self.store.memory_bytes()
        moved = self.store.compact(share)
        assert same(self.store.freeze(), frozen), "compact changes the state"
        assert moved or self.store.memory_bytes() == held
        self.store.compact(0.2)  # the reserve that it keeps is less than a fifth
        assert not self.store.compact(0.2), "compact does not reach what it is asked for"

    @rule()
    def freeze_and_thaw(self) -> None:
        """A thawed copy is equal, and replaces the original."""
        frozen = self.store.freeze()
        twin = self.store_class(len(self.home), len(self.parent))
        twin.thaw(frozen)
        assert same(twin.freeze(), frozen), "freeze, thaw, freeze changes the state"
        self.store = twin

    @rule(customers=st.lists(st.integers(0, 13), max_size=6, unique=True), seed=seeds)
    def undo(self, customers: list[int], seed: int) -> None:
        """A thaw undoes everything that was done after the freeze."""
        frozen = self.store.freeze()
        source = RandomStream((seed, 4))
        for customer in customers:
            if self.dish[customer] is None:
                continue
            node, code, closed = self.home[customer], customer, True
            dish = self.labels[self.dish[customer] or 0]
            while closed and node >= 0:
                closed, code = self.store.remove(node, dish, code, source)
                node = self.parent[node]
        self.store.thaw(frozen)
        assert same(self.store.freeze(), frozen), "a thaw doesn't undo"

    @rule(really=st.integers(0, 3))
    def clear(self, really: int) -> None:
        """Remove all customers at once."""
        if really < 3:  # not too often
            return
        self.store.clear()
        self.dish, self.served = [None] * len(self.home), {}

    # ------------------------------------------------------------------ store and model, in step

    def _climb(
        self, code: int, node: int, dish: int, opens: int, discount: float, source: RandomStream
    ) -> None:
        for opened in range(len(self.parent)):
            if node < 0:
                return
            if opened >= opens and (node, dish) in self.served:
                self._change("join", node, dish, code, discount, source)
                return
            code = self._change("open", node, dish, code)
            assert code < 0, "a table is a negative customer of the parent"
            node = self.parent[node]

    def _descend(self, code: int, node: int, dish: int, source: RandomStream) -> None:
        closed = True
        while closed and node >= 0:
            _, before = counted(self.served[node, dish])
            closed, code = self._change("remove", node, dish, code, source)
            assert code < 0, "a table is a negative customer of the parent"
            _, after = counted(self.served.get((node, dish), self.nothing))
            assert closed == (after < before), f"remove says closed = {closed}"
            node = self.parent[node]

    def _change(self, step: str, node: int, dish: int, code: int, *arguments: Any) -> Any:
        """Seat or remove a customer, and check that what has become of the tables is possible."""
        labelled, before = self.detail is Detail.SEATS, self.served.get((node, dish), self.nothing)
        pictures = self._pictures(step, node, dish, code) if labelled else []
        returned = getattr(self.store, step)(node, self.labels[dish], code, *arguments)
        after = seen(self.store, node, self.labels[dish])
        assert after in _possible(step, before), f"{step} turned {before} into {after}"
        self._serve(node, dish, after)
        assert not labelled or self._picture() in pictures, f"{step} changed the seats of other customers"
        return returned

    def _serve(self, node: int, dish: int, tables: Any) -> None:
        self.served[node, dish] = tables
        if tables == self.nothing:
            del self.served[node, dish]

    def _path(self, customer: int) -> list[int]:
        """Numbers of the tables above a data customer."""
        path, table = list[int](), self.store.table_at(customer)
        while table >= 0 and len(path) < len(self.parent):
            path.append(table)
            table = self.store.table_at(~table)
        return path

    def _picture(self) -> Picture:
        below: dict[int, set[int]] = defaultdict(set)
        for i in range(len(self.home)):
            for table in self._path(i):
                below[table].add(i)
        return frozenset((self.store.table_node(table), frozenset(who)) for table, who in below.items())

    def _pictures(self, step: str, node: int, dish: int, code: int) -> list[Picture]:
        """What may become of the picture when a customer is seated or removed."""
        now = self._picture()
        who = frozenset([code] if code >= 0 else [i for i in range(len(self.home)) if ~code in self._path(i)])
        path = [node]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        if step == "open":
            return [now | {(node, who)}]
        if step == "remove":
            left = ((n, members - who if n in path else members) for n, members in now)
            return [frozenset((n, members) for n, members in left if members)]
        tables = [members for n, members in now if n == node and self.dish[min(members)] == dish]
        return [
            frozenset((n, members | who if n in path and members >= table else members) for n, members in now)
            for table in tables
        ]

    # ------------------------------------------------------------------ invariants

    @invariant()
    def dishes_agree(self) -> None:
        """Every data customer has the dish of the model."""
        expected = [-1 if dish is None else self.labels[dish] for dish in self.dish]
        dishes = self.store.dishes()
        assert dishes.dtype == np.int32
        assert dishes.tolist() == expected
        assert [self.store.dish_of(i) for i in range(len(self.home))] == expected

    @invariant()
    def counts_agree(self) -> None:
        """Sizes, customers and tables of every restaurant and dish; a parent's customers are tables below."""
        store, labels = self.store, self.labels
        below: Counter[tuple[int, int]] = Counter()
        for i, dish in enumerate(self.dish):
            if dish is not None:
                below[self.home[i], dish] += 1
        for (node, dish), tables in self.served.items():
            below[self.parent[node], dish] += counted(tables)[1]
        for node in range(len(self.parent)):
            served = sorted(dish for n, dish in self.served if n == node)
            assert store.node_dishes(node).tolist() == [labels[dish] for dish in served]
            for dish, label in enumerate(labels):
                expected = self.served.get((node, dish), self.nothing)
                n, t = store.customers(node, label), store.tables(node, label)
                assert seen(store, node, label) == expected
                assert (n, t) == counted(expected)
                assert n == below[node, dish], "a parent's customers are the tables below"
                assert (n == t == 0) or 1 <= t <= n
                if self.detail is not Detail.COUNTS:
                    sizes = store.table_sizes(node, label)
                    assert sizes.dtype == np.int32
                    assert sizes.tolist() == sorted(sizes.tolist()), "sizes ascend"
            assert store.node_customers(node) == sum(store.customers(node, label) for label in labels)
            assert store.node_tables(node) == sum(store.tables(node, label) for label in labels)

    @invariant()
    def tables_agree(self) -> None:
        """A store with table numbers returns every table's restaurant, size and seat."""
        if self.detail is not Detail.SEATS:
            return
        sitting: dict[tuple[int, int], set[int]] = defaultdict(set)
        for i, dish in enumerate(self.dish):
            code, node = i, -1 if dish is None else self.home[i]
            for table in self._path(i):
                assert self.store.table_node(table) == node
                sitting[table, dish or 0].add(code)
                code, node = ~table, self.parent[node]
            assert node == -1, "a customer sits in every restaurant up to the root"
        sizes: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
        for (table, dish), who in sitting.items():
            assert self.store.table_size(table) == len(who)
            sizes[self.store.table_node(table), dish][len(who)] += 1
        assert sizes == self.served

    @invariant()
    def totals_agree(self) -> None:
        """The optional `totals` agrees with the restaurants, and `memory_bytes` is plausible."""
        assert self.store.memory_bytes() >= 0
        totals = hasattr(self.store, "totals")
        if totals:
            customers, tables = self.store.totals()
            nodes = range(len(self.parent))
            assert customers.tolist() == [self.store.node_customers(node) for node in nodes]
            assert tables.tolist() == [self.store.node_tables(node) for node in nodes]


def run_store_machine(store_class: type, examples: int, steps: int, shrink: bool) -> None:
    """Run the state machine over a store class, the same way every time."""
    made = type(f"{store_class.__name__}Machine", (StoreMachine,), {"store_class": store_class})
    run_state_machine_as_test(made, settings=deterministic(examples, steps, shrink))
