"""A state machine (hypothesis) that compares a store, including your own, with a plain model.

`StoreMachine` is a class to subclass, and `run_store_machine` runs it with deterministic settings. A failure
is reported as the shortest sequence of operations that hypothesis finds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, ClassVar

import attrs
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
from hdpkit.testing.states import same

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


# ---------------------------------------------------------------------------------------------- stores


@attrs.define(eq=False)
class _Table:
    """A table of the model. Customers are data customers (their numbers) or tables of child restaurants."""

    node: int
    dish: int
    customers: list[Any]
    seat: _Table | None = None

    def first(self) -> tuple[int, int]:
        """Some data customer below it, and how many tables lie between the two."""
        customer, depth = self.customers[0], 0
        while isinstance(customer, _Table):
            customer, depth = customer.customers[0], depth + 1
        return customer, depth


class StoreMachine(RuleBasedStateMachine):
    """Runs operations on a store of any class and keeps a model of what it should contain.

    The model of a store with table numbers has tables with members. In the model of a store without, a
    table is only a size: the size that the store drew is read from the store (it must be one that existed),
    and the model is updated with it.
    """

    store_class: ClassVar[type]  # set it in a subclass
    parent: ClassVar[Sequence[int]] = (-1, 0, 0, 1, 1, 0)
    home: ClassVar[Sequence[int]] = (3, 3, 3, 3, 4, 4, 4, 1, 2, 2, 2, 5, 0, 0)
    n_dishes: ClassVar[int] = 4

    def __init__(self) -> None:
        super().__init__()
        self.store: Any = self.store_class(len(self.home), len(self.parent))
        self.labelled = detail_of(self.store_class) is Detail.SEATS
        self.labels = list(range(self.n_dishes))  # the store's numbers of the dishes
        self.dish: list[int | None] = [None] * len(self.home)
        self.tables: list[_Table] = []  # of a store with table numbers
        self.sizes: dict[tuple[int, int], Counter[int]] = {}  # of one without

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

    @precondition(lambda self: self.labelled and any(table.seat is not None for table in self.tables))
    @rule(which=st.integers(0, 1000), dish=st.integers(0, 3), opens=st.integers(0, 2), seed=seeds)
    def resample_dish(self, which: int, dish: int, opens: int, seed: int) -> None:
        """Take a table out of its parent and give it another dish, with all that is below it."""
        movable = [table for table in self.tables if table.seat is not None]
        table = movable[which % len(movable)]
        source, parent = RandomStream((seed, 3)), self.parent[table.node]
        self._descend(table, parent, table.dish, source)
        assert self.store.table_at(~self._number(table)) == -1
        for below in self._below(table):
            self.store.serve_dish(self._number(below), self.labels[dish])
            below.dish = dish
        self._climb(table, parent, dish, opens, 0.2, source)
        for customer in self._data(table):
            self.dish[customer] = dish

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
        self.dish, self.tables, self.sizes = [None] * len(self.home), [], {}

    # ------------------------------------------------------------------ store and model, in step

    def _climb(
        self, who: Any, node: int, dish: int, opens: int, discount: float, source: RandomStream
    ) -> None:
        label = self.labels[dish]
        code = ~self._number(who) if isinstance(who, _Table) else who
        for opened in range(len(self.parent)):
            if node < 0:
                return
            before = Counter(self.store.table_sizes(node, label).tolist())
            if opened >= opens and before:
                self.store.join(node, label, code, discount, source)
                self._joined(node, dish, who, before)
                return
            code = self.store.open(node, label, code)
            assert code < 0, "a table is a negative customer of the parent"
            self._opened(node, dish, who)
            who = self.tables[-1] if self.labelled else -1
            node = self.parent[node]

    def _descend(self, who: Any, node: int, dish: int, source: RandomStream) -> None:
        label, closed = self.labels[dish], True
        code = ~self._number(who) if isinstance(who, _Table) else who
        while closed and node >= 0:
            before = Counter(self.store.table_sizes(node, label).tolist())
            seat = self._seat_of(who) if self.labelled else None
            assert seat is None or (seat.node, seat.dish) == (node, dish)
            closed, code = self.store.remove(node, label, code, source)
            assert code < 0, "a table is a negative customer of the parent"
            gone = self._removed(node, dish, who, before, seat)
            assert closed == gone, f"remove says closed = {closed}"
            who, node = seat, self.parent[node]

    def _opened(self, node: int, dish: int, who: Any) -> None:
        if self.labelled:
            table = _Table(node, dish, [who])
            self.tables.append(table)
            if isinstance(who, _Table):
                who.seat = table
        else:
            self.sizes.setdefault((node, dish), Counter())[1] += 1

    def _joined(self, node: int, dish: int, who: Any, before: Counter[int]) -> None:
        after = Counter(self.store.table_sizes(node, self.labels[dish]).tolist())
        lost, gained = sorted((before - after).elements()), sorted((after - before).elements())
        assert len(lost) == len(gained) == 1, f"join turned {before} into {after}"
        assert gained[0] == lost[0] + 1, f"join turned {before} into {after}"
        if self.labelled:
            # The model reads from the store which table was chosen; the size must be that of a table that
            # grew.
            code = ~self._number(who) if isinstance(who, _Table) else who
            number = self.store.table_at(code)
            here = [t for t in self.tables if (t.node, t.dish) == (node, dish) and self._number(t) == number]
            assert len(here) == 1, f"join put the customer at table {number}, which isn't one of the dish's"
            (table,) = here
            assert len(table.customers) == lost[0]
            table.customers.append(who)
            if isinstance(who, _Table):
                who.seat = table
        else:
            sizes = self.sizes[node, dish]
            sizes[lost[0]] -= 1
            sizes[gained[0]] += 1
            self.sizes[node, dish] = +sizes

    def _removed(self, node: int, dish: int, who: Any, before: Counter[int], seat: _Table | None) -> bool:
        after = Counter(self.store.table_sizes(node, self.labels[dish]).tolist())
        lost, gained = sorted((before - after).elements()), sorted((after - before).elements())
        assert len(lost) == 1, f"remove turned {before} into {after}"
        assert gained == ([lost[0] - 1] if lost[0] > 1 else []), f"remove turned {before} into {after}"
        if seat is not None:
            assert len(seat.customers) == lost[0], "remove freed the seat of another customer"
            seat.customers.remove(who)
            if isinstance(who, _Table):
                who.seat = None
            if not seat.customers:
                self.tables.remove(seat)
        else:
            sizes = self.sizes[node, dish]
            sizes[lost[0]] -= 1
            if gained:
                sizes[gained[0]] += 1
            self.sizes[node, dish] = +sizes
        return lost[0] == 1

    def _seat_of(self, who: Any) -> _Table:
        if isinstance(who, _Table):
            assert who.seat is not None
            return who.seat
        return next(table for table in self.tables if who in table.customers)

    def _number(self, table: _Table) -> int:
        """The store's number of a table: climb from a data customer below it."""
        customer, depth = table.first()
        number = self.store.table_at(customer)
        for _ in range(depth):
            number = self.store.table_at(~number)
        return int(number)

    def _below(self, table: _Table) -> list[_Table]:
        children = [below for below in table.customers if isinstance(below, _Table)]
        return [table, *(deeper for child in children for deeper in self._below(child))]

    def _data(self, table: _Table) -> list[int]:
        return [who for t in self._below(table) for who in t.customers if not isinstance(who, _Table)]

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
        expected: dict[tuple[int, int], Counter[int]] = {}
        if self.labelled:
            for table in self.tables:
                expected.setdefault((table.node, table.dish), Counter())[len(table.customers)] += 1
        else:
            expected = {pair: sizes for pair, sizes in self.sizes.items() if sizes}
        below: Counter[tuple[int, int]] = Counter()
        for i, dish in enumerate(self.dish):
            if dish is not None:
                below[self.home[i], dish] += 1
        for (node, dish), sizes in expected.items():
            if node > 0:
                below[self.parent[node], dish] += sizes.total()
        for node in range(len(self.parent)):
            self._check_node(node, expected, below)

    def _check_node(
        self, node: int, expected: dict[tuple[int, int], Counter[int]], below: Counter[tuple[int, int]]
    ) -> None:
        store, served = self.store, sorted(dish for n, dish in expected if n == node)
        assert store.node_dishes(node).tolist() == [self.labels[dish] for dish in served]
        for dish, label in enumerate(self.labels):
            sizes = store.table_sizes(node, label)
            customers, tables = store.customers(node, label), store.tables(node, label)
            assert sizes.dtype == np.int32
            assert sizes.tolist() == sorted(sizes.tolist()), "sizes ascend"
            assert Counter(sizes.tolist()) == expected.get((node, dish), Counter())
            assert int(sizes.sum()) == customers == below[node, dish], "sizes, customers, those below"
            assert len(sizes) == tables
            assert (customers == tables == 0) or 1 <= tables <= customers
        labels = self.labels
        assert store.node_customers(node) == sum(store.customers(node, label) for label in labels)
        assert store.node_tables(node) == sum(store.tables(node, label) for label in labels)

    @invariant()
    def tables_agree(self) -> None:
        """A store with table numbers returns every table's restaurant, size and seat."""
        if not self.labelled:
            return
        numbers = {id(table): self._number(table) for table in self.tables}
        assert len(set(numbers.values())) == len(numbers), "two tables have one number"
        for table in self.tables:
            number = numbers[id(table)]
            assert self.store.table_node(number) == table.node
            assert self.store.table_size(number) == len(table.customers)
            seat = -1 if table.seat is None else numbers[id(table.seat)]
            assert self.store.table_at(~number) == seat
            for who in table.customers:
                assert self.store.table_at(~numbers[id(who)] if isinstance(who, _Table) else who) == number

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


def run_store_machine(
    store_class: type,
    *,
    examples: int = 60,
    steps: int = 30,
    shrink: bool = True,
    machine: type[StoreMachine] = StoreMachine,
) -> None:
    """Run the state machine over a store class, the same way every time."""
    made = type(f"{store_class.__name__}Machine", (machine,), {"store_class": store_class})
    run_state_machine_as_test(made, settings=deterministic(examples, steps, shrink))


class CountsMachine(StoreMachine):
    """Drives a store of counts; the model has customers and tables by restaurant and dish, and no sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.counted: dict[tuple[int, int], list[int]] = {}

    @precondition(lambda self: any(node > 0 for node, _ in self.counted))
    @rule(which=st.integers(0, 1000), tables=st.integers(0, 13))
    def set_tables(self, which: int, tables: int) -> None:
        """Give a dish of a restaurant another number of tables; the parent's customers follow."""
        pairs = sorted(pair for pair in self.counted if pair[0] > 0)
        node, dish = pairs[which % len(pairs)]
        parent, own = self.parent[node], self.counted[node, dish]
        above = self.counted[parent, dish]
        # The caller must ensure that the parent has at most as many tables as customers.
        fewest = max(1, own[1] - (above[0] - above[1]))
        n = fewest + tables % (own[0] - fewest + 1)
        self.store.set_tables(node, self.labels[dish], n, parent)
        above[0] += n - own[1]
        own[1] = n

    @rule(really=st.integers(0, 3))
    def clear(self, really: int) -> None:
        """Remove all customers at once."""
        if really == 3:  # not too often
            self.store.clear()
            self.dish, self.counted = [None] * len(self.home), {}

    def _climb(
        self, who: Any, node: int, dish: int, opens: int, discount: float, source: RandomStream
    ) -> None:
        label, code = self.labels[dish], who
        for opened in range(len(self.parent)):
            if node < 0:
                return
            if opened >= opens and (node, dish) in self.counted:
                self.store.join(node, label, code, discount, source)
                self.counted[node, dish][0] += 1
                return
            code = self.store.open(node, label, code)
            assert code < 0, "a table is a negative customer of the parent"
            own = self.counted.setdefault((node, dish), [0, 0])
            own[0] += 1
            own[1] += 1
            node = self.parent[node]

    def _descend(self, who: Any, node: int, dish: int, source: RandomStream) -> None:
        code, closed = who, True
        while closed and node >= 0:
            own = self.counted[node, dish]
            closed, code = self.store.remove(node, self.labels[dish], code, source)
            assert code < 0, "a table is a negative customer of the parent"
            assert closed is (own[0] == own[1]), f"remove says closed = {closed} at {own}"
            own[0] -= 1
            own[1] -= closed
            if own[0] == 0:
                del self.counted[node, dish]
            node = self.parent[node]

    @invariant()
    def counts_agree(self) -> None:
        """Customers and tables of every restaurant and dish; a parent's customers are tables below."""
        store, labels = self.store, self.labels
        below = {
            pair: sum(1 for i, dish in enumerate(self.dish) if (self.home[i], dish) == pair)
            + sum(n[1] for (node, dish), n in self.counted.items() if (self.parent[node], dish) == pair)
            for pair in self.counted
        }
        for node in range(len(self.parent)):
            served = sorted(dish for n, dish in self.counted if n == node)
            assert store.node_dishes(node).tolist() == [labels[dish] for dish in served]
            for dish, label in enumerate(labels):
                customers, tables = self.counted.get((node, dish), [0, 0])
                assert [store.customers(node, label), store.tables(node, label)] == [customers, tables]
                assert customers == below.get((node, dish), 0), "a parent's customers are the tables below"
                assert (customers == tables == 0) or 1 <= tables <= customers
            assert store.node_customers(node) == sum(store.customers(node, label) for label in labels)
            assert store.node_tables(node) == sum(store.tables(node, label) for label in labels)
