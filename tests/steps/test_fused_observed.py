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
