"""The fused sweep of observed dishes in states of real size: batches, and the law of single steps."""

import functools

import numpy as np
import pytest
from fused_cases import drawn, p_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.freezing import take_over
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.steps import _sweeps as generic
from hdpkit.testing.exact import TOLERANCE
from hdpkit.testing.machines import same
from hdpkit.testing.pvalues import SampledTests

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


# d and theta from the root down.
HYPERPARAMETERS = {
    "discounts": ((0.4, 0.6, 0.7), (1.0, 0.5, -0.2)),
    "large discounts": ((0.9, 0.2, 0.9), (0.0, 3.0, 0.0)),
    "no discounts": ((0.0, 0.0, 0.0), (5.0, 2.0, 0.5)),
}


def sizes(franchise, customer):
    """Sizes of the tables of a customer's dish in every restaurant on its way, and all their tables."""
    dish, node, found = int(franchise.data.values[customer]), int(franchise.topology.home[customer]), []
    while node >= 0:
        of_dish = franchise.store.table_sizes(node, dish)
        found.append((franchise.store.node_tables(node), *sorted(of_dish.tolist())))
        node = int(franchise.topology.parent[node])
    return tuple(found)


def law_of(franchise, customer, state, step):
    """Exact law of the sizes after a step, every branch of it walked through."""
    law, source = {}, ScriptedSource()
    while True:
        take_over(franchise, state)
        step(franchise, customer, source)
        outcome = sizes(franchise, customer)
        law[outcome] = law.get(outcome, 0.0) + source.probability
        if not source.advance():
            franchise.thaw(state)
            return law


def fused_step(franchise, customer, source):
    franchise.reseat(customer, customer + 1, source)


def generic_step(franchise, customer, source):
    generic.reseat(franchise.walk("generic"), franchise.bank, customer, customer + 1, source)


@functools.cache
def fused_laws(store, name):
    """A franchise, its state, and the law of every customer's step."""
    franchise = franchise_of(store, 3, *HYPERPARAMETERS[name])
    state = franchise.freeze()
    laws = [law_of(franchise, customer, state, fused_step) for customer in range(len(franchise.data))]
    return franchise, state, laws


CASES = [(name, store) for name in HYPERPARAMETERS for store in STORES]


# Both stores with discounts, each with one of the other corners; the rest with -m long.
@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_every_customer_has_the_generic_law(case):
    name, store = case
    (franchise, state, laws), branches = fused_laws(store, name), 0
    for customer, fused in enumerate(laws):
        expected = law_of(franchise, customer, state, generic_step)
        branches += len(fused)
        assert abs(sum(fused.values()) - 1.0) <= TOLERANCE
        keys = fused.keys() | expected.keys()
        assert max(abs(fused.get(key, 0.0) - expected.get(key, 0.0)) for key in keys) <= TOLERANCE, customer
    assert branches > 3 * len(franchise.data)
    franchise.audit()


SITES = {
    f"one step: {store}, {name}, {kind}": (store, name, kind)
    for store in STORES
    for name in HYPERPARAMETERS
    for kind in ("nobody alone", "somebody alone")  # at a table of the customer's dish and restaurant
}
FAMILY = SampledTests()
for name_ in SITES:
    FAMILY.register(name_)
# Held against the law of planted faults (base left out, removal by table, ...) 20 of 20 runs with 4,000 draws
# failed, the largest p-value 5.5e-44.
DRAWS = 1_000


@functools.cache
def site(name):
    """A franchise, its state, the customer of a kind whose step is least certain, and the law of the step."""
    store, hyperparameters, kind = SITES[name]
    franchise, state, of_all = fused_laws(store, hyperparameters)
    alone = [1 in sizes(franchise, customer)[0][1:] for customer in range(len(franchise.data))]
    laws = {i: law for i, law in enumerate(of_all) if alone[i] == (kind == "somebody alone")}
    customer = min(laws, key=lambda i: sum(p * p for p in laws[i].values()))
    return franchise, state, customer, laws[customer]


@pytest.mark.parametrize("name", SITES)
def test_one_step_of_production(name):
    franchise, state, customer, law = site(name)
    assert max(law.values()) < 0.75

    def step(source):
        take_over(franchise, state)
        fused_step(franchise, customer, source)

    def outcome():
        return sizes(franchise, customer)

    FAMILY.check(name, lambda more, seed: [p_of(drawn(step, outcome, more * DRAWS, seed), law)])
