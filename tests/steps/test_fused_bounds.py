"""Upper bounds with which the fused sweep of topic models skips a pass: never too low, without effect."""

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, many_dishes
from test_fused_sparse import MEASURES
from test_fused_sparse import state as sparse

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream
from hdpkit.steps.fused import _fused_topics as fused_topics
from hdpkit.testing.machines import same

both_stores = pytest.mark.parametrize("store", ["explicit", "histogram"])
UNKNOWN = np.uint64(2**64 - 1)
UNIT = 2.0**-31


def check_bounds(franchise):
    """What is kept by increments is what a recount gives, and nothing is above its bound."""
    root, ceiling, reach = fused_topics.bounds(franchise.bank)
    slots = franchise.slots.occupied_slots()
    counts = np.zeros((len(root), len(reach)), dtype=np.uint64)
    counts[slots] = franchise.bank.counts(slots)
    totals = counts.sum(axis=1)
    known = reach != UNKNOWN
    assert np.array_equal(reach[known], (ceiling @ counts)[known])
    assert np.all(root <= ceiling * UNIT)
    m = np.array([franchise.store.customers(0, slot) for slot in slots]) - franchise.hyperparameters.d[0]
    if isinstance(franchise.measure, hk.DirichletMultinomial):
        eta_sum = franchise.measure.eta_vector.sum()
        inside = 1.0 / (totals[slots] + eta_sum)
        apart = m + franchise.hyperparameters.d[0] < totals[slots]  # somebody can leave a table that stays
        most = m / (totals[slots] - 1 + eta_sum)
        assert np.all(most[apart] <= (ceiling[slots] * UNIT)[apart] * (1 + 1e-6))
    else:
        inside = franchise.bank.factors(slots)[:, 0]
        assert np.array_equal(franchise.bank.sizes(slots)[0], (franchise.bank.counts(slots) > 0).sum(axis=1))
    assert np.allclose(root[slots], m * inside, rtol=1e-6, atol=0.0)
    assert root.sum() == pytest.approx(root[slots].sum())
    return known


def lonely(store):
    """Documents of one or two tokens: tables are as many as tokens; and eta so small that sum eta < 1."""
    generator = np.random.default_rng(3)
    documents = [generator.integers(0, 20, size=1 + (j == 0)) for j in range(300)]
    data = hk.Corpus.from_documents(documents, n_terms=20)
    return franchise_over(data, store, eta=0.005, root=(4.0, 0.1), below=(5.0, 0.0))


STATES = {
    "many dishes": many_dishes,
    "tables as tokens": lonely,
    "long documents": lambda store: franchise_over(corpus(15, 120, 200), store, eta=0.05),
    "sparse": lambda store: sparse(MEASURES["integrated"](), store),
    "sparse, stored": lambda store: sparse(MEASURES["stored"](), store),
}


@both_stores
@pytest.mark.parametrize("state", STATES)
def test_bounds_hold_whatever_happens_between_sweeps(state, store):
    franchise = STATES[state](store)
    n = franchise.topology.n_customers
    source = RandomStream((4, 4))
    stored = [moves.SelectorCounts()] if state == "sparse, stored" else []
    for between in (
        lambda: None,
        lambda: franchise.set_concentration("root", 0.1),
        lambda: moves.SplitMerge().apply(franchise, source),
        lambda: franchise.set_concentration("root", 300.0),
        lambda: franchise.set_discount("root", 0.0),
        lambda: moves.DishGibbs().apply(franchise, source),
        franchise.settle,
        lambda: franchise.bank.adopt(franchise.measure),
        *(lambda move=move: move.apply(franchise, source) for move in stored),
    ):
        between()
        franchise.reseat(0, n, source)
        assert check_bounds(franchise).any()
        franchise.reseat(n // 3, 2 * n // 3, source)
        check_bounds(franchise)
    franchise.audit()


@both_stores
@pytest.mark.parametrize("state", STATES)
def test_the_chain_does_not_depend_on_what_is_remembered(state, store):
    remembers = STATES[state](store)
    forgets = remembers.copy()
    n = remembers.topology.n_customers
    sources = [RandomStream((4, 5)) for _ in range(2)]
    for first in range(0, n, n // 5 + 1):
        for franchise, source in zip((remembers, forgets), sources, strict=True):
            franchise.reseat(first, min(first + n // 5 + 1, n), source)
        fused_topics.forget(forgets.bank)
        forgets.bank.adopt(forgets.measure)
    assert same(remembers.freeze(), forgets.freeze())
