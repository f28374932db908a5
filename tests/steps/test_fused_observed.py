"""The fused sweep of observed dishes computes ahead in batches, which doesn't change results."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

STORES = ["explicit", "histogram"]


def sentences(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [[f"w{int(w)}" for w in rng.zipf(1.6, rng.integers(1, 12)) % 25] for _ in range(n)]


def franchise_of(store, order=3, discounts=(0.4, 0.6, 0.7), thetas=(1.0, 0.5, -0.2), kernel="auto"):
    data = hk.NGrams.from_sentences(sentences(), order=order)
    restaurant = hk.Restaurant(hk.Uniform(), concentration=thetas[0], discount=discounts[0])
    for level in range(1, order):
        restaurant = hk.Restaurant(
            restaurant, each=f"context {level}", concentration=thetas[level], discount=discounts[level]
        )
    franchise = hk.Franchise(restaurant, data, store=store, kernel=kernel)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=1, init="sequential")
    assert franchise.kernel("reseat") == ("fused" if kernel == "auto" else kernel)
    return franchise


def swept(franchise, pieces):
    """The seating after a sweep in these pieces."""
    source = RandomStream((5, 6), (7, 8, 9))
    n = len(franchise.data)
    for first, last in zip([0, *pieces], [*pieces, n], strict=True):
        franchise.reseat(first, last, source)
    franchise.audit()
    return franchise.store.freeze()


def same(a, b):
    return all(np.array_equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("order", [1, 2, 3])
def test_a_sweep_is_its_steps_whatever_the_batches(store, order):
    """Single steps are what the exact tests enumerate; all at once is what production runs."""
    franchise = franchise_of(store, order)
    n = len(franchise.data)
    whole = swept(franchise.copy(), [])
    assert same(whole, swept(franchise.copy(), list(range(1, n))))
    rng = np.random.default_rng(order)
    for _ in range(3):
        assert same(
            whole, swept(franchise.copy(), sorted(rng.choice(np.arange(1, n), 12, replace=False).tolist()))
        )
    assert not same(whole, franchise.store.freeze())


@pytest.mark.parametrize("store", STORES)
def test_one_seed_one_chain(store):
    a, b = franchise_of(store), franchise_of(store)
    assert same(a.store.freeze(), b.store.freeze())


@pytest.mark.parametrize("store", STORES)
def test_growing_and_shrinking_between_sweeps(store):
    franchise = franchise_of(store)
    source = RandomStream((1, 2), (3, 4, 5))
    n = len(franchise.data)
    franchise.leave(n // 2, n, source)
    franchise.reseat(0, n // 2, source)
    franchise.enter(n // 2, n, source)
    franchise.reseat(0, n, source)
    franchise.audit()


def restaurants(order):
    restaurant = hk.Restaurant(hk.Uniform(), concentration=1.0, discount=0.3)
    for level in range(1, order):
        restaurant = hk.Restaurant(restaurant, each=f"context {level}", concentration=0.4, discount=0.8)
    return restaurant


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_thousands_of_contexts_come_and_go_between_sweeps(store, order):
    """Every array of the seating moves while addresses into it are held for one call only."""
    data = hk.NGrams.from_sentences([["w0"]], order=order)
    franchise = hk.Franchise(restaurants(order), data, store=store)
    franchise.enter(0, len(data), RandomStream((0, order)))
    assert franchise.kernel("reseat") == "fused"
    source = RandomStream((order, 1))
    for round_ in range(4):
        franchise.extend(franchise.data.plus(sentences(150, seed=round_)), rng=source)
        for _ in range(2):
            n = len(franchise.data)
            middle = int(np.random.default_rng(round_).integers(0, n))
            franchise.reseat(middle, n, source)
            franchise.reseat(0, middle, source)
            franchise.audit()
        if round_ % 2:
            franchise.store.compact(0.0)
            franchise.discard(100 * round_, 100 * round_ + 40, rng=source)
            franchise.reseat(0, len(franchise.data), source)
            franchise.audit()
    twin = franchise.copy()
    for one in (franchise, twin):
        one.reseat(0, len(one.data), RandomStream((3, 3)))
    assert same(franchise.store.freeze(), twin.store.freeze())


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("sizes", ["one dish", "few tables", "many tables"])
def test_tables_of_one_restaurant_open_and_close_by_the_thousand(store, sizes):
    """Long lists of tables and histograms of many sizes, which grow and shrink within a sweep."""
    theta, d, words = {
        "one dish": (50.0, 0.9, 1),
        "few tables": (1e-3, 0.01, 3),
        "many tables": (1e4, 0.5, 2),
    }[sizes]
    data = hk.NGrams.from_sentences([[f"w{i % words}" for i in range(1500)]], order=2, end=None)
    root = hk.Restaurant(hk.Uniform(), concentration=theta, discount=d)
    franchise = hk.Franchise(
        hk.Restaurant(root, each="context 1", concentration=theta, discount=d), data, store=store
    )
    source = RandomStream((2, words))
    franchise.enter(0, len(data), source)
    for _ in range(6):
        franchise.reseat(0, len(data), source)
        franchise.audit()
