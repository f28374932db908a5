"""Every registered store satisfies the contract, and the contract detects stores that don't."""

import numpy as np
import pytest
from hdpkit.stores._labelled_seating import aggregate_seats, draw_seats

import hdpkit as hk
from hdpkit.random import RandomStream
from hdpkit.stores import (
    Detail,
    ExplicitReference,
    ExplicitStore,
    FrozenSeating,
    HistogramReference,
    TakesBack,
    detail_of,
    stores,
)
from hdpkit.testing.cases import SHAPES, tiny_franchise
from hdpkit.testing.store_contract import check_store


@pytest.mark.quick
@pytest.mark.parametrize("name", list(stores))
def test_registered_store_keeps_its_contract(name):
    report = check_store(stores[name].thing)
    kind = stores[name].thing
    assert len(report) == 7 - (detail_of(kind) is Detail.COUNTS) + issubclass(kind, TakesBack)


class SharesByCount(HistogramReference):
    """Blunsom's algorithm 1 as printed: one more table of the larger size, the smaller one stays."""

    def join(self, node, dish, customer, discount, source):
        size = self._draw_size(node, dish, discount, source)
        self._change(node, dish, size + 1, 1)
        self._label(customer, dish)
        self._count(node, dish, customers=1)


class JoinsWithoutDiscount(HistogramReference):
    def join(self, node, dish, customer, discount, source):
        super().join(node, dish, customer, 0.0, source)


class RemovesWithDiscount(HistogramReference):
    def remove(self, node, dish, customer, source):
        self._draw_size, draw = lambda n, k, d, s: draw(n, k, 0.5, s), self._draw_size
        try:
            return super().remove(node, dish, customer, source)
        finally:
            del self._draw_size


class RemovesByTable(HistogramReference):
    def _draw_size(self, node, dish, discount, source):
        sizes = sorted(self._histograms[node, dish].items())
        weights = [count if discount == 0.0 else (size - discount) * count for size, count in sizes]
        return sizes[source.choose(weights)][0]


class RemovesAnotherOne(ExplicitReference):
    """Takes whoever sits at a table drawn by size."""

    def remove(self, node, dish, customer, source):
        tables = self._serving[node, dish]
        table = tables[source.choose([self._tables[t].size for t in tables])]
        self._sit(customer, table)
        return super().remove(node, dish, customer, source)


class JoinsTheNewest(ExplicitReference):
    def join(self, node, dish, customer, discount, source):
        tables = self._serving[node, dish]
        largest = max(tables, key=lambda t: self._tables[t].size)
        self._tables[largest].size += 1
        self._sit(customer, largest)
        self._count(node, dish, customers=1)


class ForgetsClosedTables(HistogramReference):
    def remove(self, node, dish, customer, source):
        closed, code = super().remove(node, dish, customer, source)
        if closed:
            self._n_tables[node][dish] += 1
        return closed, code


class CountsClosedTables(ExplicitReference):
    def node_tables(self, node):
        return len([t for t in self._tables.values() if t.node == node])


class ServesWithoutCounting(ExplicitReference):
    def serve_dish(self, table, dish):
        record = self._tables[table]
        self._serving[record.node, record.dish].remove(table)
        record.dish = dish
        self._serving.setdefault((record.node, dish), []).append(table)


class RelabelsCountsOnly(HistogramReference):
    def relabel_dishes(self, mapping):
        dishes = self._dish
        super().relabel_dishes(mapping)
        self._dish = dishes


class ThawsInAnotherOrder(ExplicitReference):
    def thaw(self, frozen):
        super().thaw(frozen)
        for tables in self._serving.values():
            tables.reverse()


class ThawsSizesOnly(HistogramReference):
    def thaw(self, frozen):
        super().thaw(frozen)
        self._dish = [-1] * self.n_customers


class NeverReopensTheThird(ExplicitReference):
    """Only two of the tables of a dish can be shared."""

    def join(self, node, dish, customer, discount, source):
        every = self._serving[node, dish]
        self._serving[node, dish] = every[:2]
        try:
            super().join(node, dish, customer, discount, source)
        finally:
            self._serving[node, dish] = every


class Leaks(HistogramReference):
    held = 0

    def open(self, node, dish, customer):
        self.held += 100
        return super().open(node, dish, customer)

    def memory_bytes(self):
        return self.held


class WeighsNothing(HistogramReference):
    def memory_bytes(self):
        return 10 - self._customers[1].total()


class ForgetsPlaces(ExplicitReference):
    """A table that comes back is the first of its list."""

    def place_after(self, table, before):
        pass


class ReopensUnderAnotherNumber(ExplicitReference):
    def reopen(self, node, dish, customer, table):
        self.open(node, dish, customer)


class SitsWithoutCounting(ExplicitReference):
    def sit(self, customer, table):
        self._tables[table].size += 1
        self._sit(customer, table)


WRONG = [
    ForgetsPlaces,
    ReopensUnderAnotherNumber,
    SitsWithoutCounting,
    SharesByCount,
    JoinsWithoutDiscount,
    RemovesWithDiscount,
    RemovesByTable,
    RemovesAnotherOne,
    JoinsTheNewest,
    ForgetsClosedTables,
    CountsClosedTables,
    ServesWithoutCounting,
    RelabelsCountsOnly,
    ThawsInAnotherOrder,
    ThawsSizesOnly,
    NeverReopensTheThird,
    Leaks,
    WeighsNothing,
]


@pytest.mark.parametrize("store", WRONG, ids=lambda store: store.__name__)
def test_wrong_store_is_caught(store):
    # The error may also be the store's own.
    with pytest.raises((AssertionError, KeyError, IndexError, ValueError)):
        check_store(store, examples=30, steps=25, shrink=False)


@pytest.mark.parametrize("shape", ["2+2", "three levels", "2+1 with one at the root"])
@pytest.mark.parametrize("observed", [False, True])
def test_seats_pass_between_stores_as_by_their_frozen_forms(shape, observed):
    measure = hk.Categorical([0.5, 0.25, 0.25]) if observed else hk.DirichletMultinomial(0.5, n_terms=3)
    franchise = tiny_franchise(shape, measure, store="histogram")
    t, source, store = franchise.topology, RandomStream((4, 6)), franchise.store
    for sweep in range(30):
        franchise.reseat(0, SHAPES[shape].n_customers, source)
        sizes = FrozenSeating.of(store.freeze())
        seats = sizes.to(Detail.SEATS, t, RandomStream((4, sweep)))
        expected, labelled = ExplicitStore(t.n_all, t.n_nodes), ExplicitStore(t.n_all, t.n_nodes)
        expected.thaw(seats.arrays())
        draw_seats(store, labelled, t.home, t.parent, t.level, RandomStream((4, sweep)))
        assert_equal(labelled.freeze(), expected.freeze())
        for table in range(len(seats.table_node)):  # the tables of a dish may be in any order
            labelled.serve_dish(table, int(seats.table_dish[table]))
        store.clear()
        aggregate_seats(labelled, store)
        assert_equal(store.freeze(), sizes.arrays())
        assert all(np.array_equal(*pair) for pair in zip(store.totals(), labelled.totals(), strict=True))


def assert_equal(found, expected):
    assert list(found) == list(expected)
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
