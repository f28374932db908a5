"""The detail kept by stores: its declaration, and conversions of frozen seatings."""

import math

import numpy as np
import pytest
from hdpkit.stores._labelled_seating import draw_sizes
from labelled_seatings import compare, seats_have_the_law_of_the_model

import hdpkit as hk
from hdpkit import errors
from hdpkit.random import RandomStream
from hdpkit.stores import (
    Detail,
    FrozenCounts,
    FrozenSeating,
    FrozenSeats,
    FrozenSizes,
)
from hdpkit.testing import tiny_franchise
from hdpkit.testing.exact import law_of

MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)


def test_seats_drawn_from_counts_have_the_law_of_the_model():
    seats_have_the_law_of_the_model(("flat 5", "2+1 with one at the root", "three levels"))


def test_forms_of_less_detail_follow():
    franchise = tiny_franchise("3+3+2", MEASURE, store="explicit")
    source, tree = RandomStream((1, 2)), franchise.topology
    for _ in range(20):
        franchise.reseat(0, 8, source)
        seats = FrozenSeating.of(franchise.store.freeze())
        assert isinstance(seats, FrozenSeats)
        assert seats.to(Detail.SEATS, tree) is seats
        sizes, counts = seats.to(Detail.SIZES, tree), seats.to(Detail.COUNTS, tree)
        assert isinstance(sizes, FrozenSizes)
        assert isinstance(counts, FrozenCounts)
        again = counts.to(Detail.SIZES, tree, source).to(Detail.SEATS, tree, source).to(Detail.COUNTS, tree)
        for form in (sizes.to(Detail.COUNTS, tree), again):
            assert all(np.array_equal(form.arrays()[name], a) for name, a in counts.arrays().items())
        for form in (seats, sizes, counts):
            assert np.array_equal(form.dishes, franchise.store.dishes())
            assert all(array.dtype == np.int32 for array in form.arrays().values())
            assert all(array.flags.c_contiguous for array in form.arrays().values())
            grown = form.with_customers(2)
            assert grown.dishes.tolist() == [*form.dishes.tolist(), -1, -1]
            shorter = grown.without(slice(8, 10), np.arange(tree.n_nodes))
            assert all(np.array_equal(shorter.arrays()[name], a) for name, a in form.arrays().items())
        for form, more in ((counts, Detail.SIZES), (counts, Detail.SEATS), (sizes, Detail.SEATS)):
            with pytest.raises(errors.StateError, match="source"):
                form.to(more, tree)


@pytest.mark.parametrize(("n", "t"), [(65, 2), (65, 64), (200, 9), (300, 120)])
def test_sizes_of_many_customers_have_the_right_mean(n, t):
    # n s(n-1, t-1) / s(n, t) customers sit alone on average: the last of a uniform order does if it opens.
    exact = [1]
    for i in range(n):
        if i == n - 1:
            before = exact
        exact = [0, *exact]
        for j in range(len(exact) - 1):
            exact[j] += i * exact[j + 1] if j else 0
    expected = n * before[t - 1] / exact[t]
    source, alone = RandomStream((n, t)), []
    dish = np.zeros(n, dtype=np.int32)
    arrays = {
        "dish": dish, "count_node": dish[:1], "count_dish": dish[:1],
        "count_customers": np.array([n], dtype=np.int32), "count_tables": np.array([t], dtype=np.int32),
    }  # fmt: skip
    for _ in range(200):
        drawn = draw_sizes(arrays, source)
        assert np.dot(drawn["bin_size"], drawn["bin_count"]) == n
        assert drawn["bin_count"].sum() == t
        alone.append(int(drawn["bin_count"][drawn["bin_size"] == 1].sum()))
    error = max(float(np.std(alone)), 0.05) / math.sqrt(len(alone))
    assert abs(np.mean(alone) - expected) < 4.5 * error


def test_sizes_drawn_are_those_of_cycles():
    # A partition into tables of a and b has weight (a - 1)! (b - 1)!: 1 + 4 has 5 * 6, 2 + 3 has 10 * 2.
    one = np.zeros(1, dtype=np.int32)
    arrays = {
        "dish": np.zeros(5, dtype=np.int32), "count_node": one, "count_dish": one,
        "count_customers": one + 5, "count_tables": one + 2,
    }  # fmt: skip
    compare(
        law_of(lambda s: tuple(draw_sizes(arrays, s)["bin_size"].tolist())),
        {(1, 4): 30 / 50, (2, 3): 20 / 50},
    )


def counted(franchise):
    frozen = franchise.freeze()
    seating = FrozenSeating.of(frozen["seating"]).to(Detail.COUNTS, franchise.topology)
    return {**frozen, "seating": seating.arrays()}


@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference", "histogram-reference"])
def test_a_state_of_counts_is_taken_over_by_drawing(store):
    franchise = tiny_franchise("3+3+2", MEASURE, store=store)
    franchise.reseat(0, 8, RandomStream((3, 3)))
    state = counted(franchise)
    with pytest.raises(errors.StateError, match="source"):
        franchise.thaw(state)
    franchise.thaw(state, RandomStream((3, 4)))
    franchise.audit()
    again = counted(franchise)["seating"]
    assert all(np.array_equal(again[name], array) for name, array in state["seating"].items())


def damaged(seating):
    """Counts that contradict themselves, the data or the slots: name of the array that is wrong, and it."""
    root = seating["count_node"] == 0
    last = len(root) - 1
    yield "count_tables", np.where(np.arange(len(root)) == last, 0, seating["count_tables"])
    yield "count_tables", seating["count_customers"] + 1
    yield "count_tables", np.where(root, 2, seating["count_tables"])
    yield "count_customers", seating["count_customers"] + 1
    yield "count_dish", seating["count_dish"][::-1]
    yield "count_dish", seating["count_dish"] + 7
    yield "count_node", seating["count_node"][::-1]
    yield "count_node", seating["count_node"] + 9
    yield "count_node", seating["count_node"][:-1]
    yield "dish", np.full_like(seating["dish"], seating["dish"][0])
    yield "dish", seating["dish"][:-1]
    yield "dish", seating["dish"] + 3
    yield "count_customers", seating["count_customers"].astype(float)


def test_a_state_of_counts_is_recounted():
    franchise = tiny_franchise("3+3+2", MEASURE, store="histogram")
    source = RandomStream((5, 3))
    while len(franchise.slots) < 2:
        franchise.reseat(0, 8, source)
    state, before = counted(franchise), franchise.freeze()
    for name, array in damaged(state["seating"]):
        wrong = {**state, "seating": {**state["seating"], name: array}}
        with pytest.raises(errors.DataError, match="in the frozen state"):
            franchise.thaw(wrong, source)
        for key, value in before["seating"].items():
            assert np.array_equal(franchise.store.freeze()[key], value), name
    for name in state["seating"]:
        fewer = {key: value for key, value in state["seating"].items() if key != name}
        with pytest.raises(errors.DataError, match="frozen state"):
            franchise.thaw({**state, "seating": fewer}, source)
    franchise.audit()
