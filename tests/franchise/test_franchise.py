"""Franchises and declarations: names, shapes, numbers and errors."""

import gc
import weakref

import numpy as np
import pytest
from states import same_state

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import DirichletMultinomial
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.testing.cases import stores_and_kernels

MEASURE = DirichletMultinomial(0.5, n_terms=3)
STORES_AND_KERNELS = list(stores_and_kernels(MEASURE))


def corpus(**more):
    return hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3, **more)


def two_levels(eta=0.5, **more):
    root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=hk.Gamma(2.0, 4.0))
    return hk.Restaurant(root, concentration=0.7, each="document", **more)


def started(restaurant, data, init="sequential", **more):
    franchise = hk.Franchise(restaurant, data, **more)
    start(franchise, init, Streams(1).source(STARTS))
    franchise.audit()
    return franchise


def stirred(franchise, sweeps=3):
    source = RandomStream((9, 9))
    for _ in range(sweeps):
        moves.TableGibbs().apply(franchise, source)
    return franchise


def typed(error):
    """All four facts are there."""
    assert isinstance(error, errors.HdpkitError)
    assert isinstance(error.parameter, str)
    assert error.parameter
    assert isinstance(error.allowed, str)
    assert error.allowed
    assert isinstance(error.remedy, str)
    assert error.parameter in str(error)
    return True


def test_an_inner_label_must_be_a_function_of_the_outer():
    data = hk.Groups.from_labels([0, 1, 2, 0], {"author": ["a", "a", "b", "b"], "document": [0, 0, 1, 0]})
    authors = hk.Restaurant(hk.Restaurant(MEASURE), each="author")
    with pytest.raises(errors.DataError) as caught:
        hk.Franchise(hk.Restaurant(authors, each="document"), data)
    assert "document 0" in str(caught.value)
    assert typed(caught.value)


def test_a_missing_inner_label_seats_at_the_deepest_restaurant():
    data = hk.Groups.from_labels(
        [0, 1, 2, 0, 1], {"author": ["a", "a", None, None, "b"], "document": [0, None, 1, None, 2]}
    )
    authors = hk.Restaurant(hk.Restaurant(MEASURE), each="author")
    franchise = started(hk.Restaurant(authors, each="document"), data)
    assert franchise.restaurant("document", 0).customers.tolist() == [0]
    assert franchise.restaurant("author", "a").customers.tolist() == [1]
    assert franchise.restaurant("document", 1).customers.tolist() == [2]
    assert franchise.restaurant("root").customers.tolist() == [3]
    # A document without an author hangs on the root.
    t = franchise.topology
    assert t.parent[franchise.restaurant("document", 1).node] == 0
    assert t.parent[franchise.restaurant("document", 0).node] == franchise.restaurant("author", "a").node
    stirred(franchise).audit()


def test_empty_documents_are_legal():
    data = hk.Corpus.from_documents([[], [0, 1], [], [1]], n_terms=2, names=["a", "b", "c", "d"])
    franchise = stirred(started(two_levels(), data))
    keys = franchise.keys("document")
    assert len(keys) == 4
    view = franchise.restaurant("document", keys[0])
    assert (view.n_customers, view.n_tables, view.customers.tolist()) == (0, 0, [])
    assert view.table_sizes().tolist() == []
    # An empty restaurant passes its parent's row through.
    assert np.array_equal(franchise.group_weights("document")[0], franchise.group_weights("root")[0])
    trace = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]).run(
        franchise, sweeps=3, rng=0, audit_every=1
    )
    assert np.isfinite(trace["log_joint"]).all()


def test_weights_by_hand():
    franchise = started(two_levels(), corpus(), init=[0, 0, 1, 1, 1, 0, 0], store="explicit")
    root, theta = franchise.restaurant("root"), franchise.concentration("root")
    weights, remainder = franchise.root_weights()
    m = np.array([root.customers_of(k) for k in range(2)])
    assert np.allclose(weights, m / (theta + m.sum()))
    assert remainder == pytest.approx(theta / (theta + m.sum()))
    rows = franchise.group_weights("document")
    assert rows.shape == (3, 3)
    for j, view in enumerate(franchise.restaurant("document", key) for key in franchise.keys("document")):
        c = np.array([view.customers_of(k) for k in range(2)] + [0])
        by_hand = (c + 0.7 * np.append(weights, remainder)) / (view.n_customers + 0.7)
        assert np.allclose(rows[j], by_hand)
        assert np.allclose(view.probabilities(), by_hand)
        assert view.probability() == pytest.approx(by_hand[-1])
        assert view.probability(1) == pytest.approx(by_hand[1])
    assert np.allclose(rows.sum(axis=1), 1.0)


@pytest.mark.parametrize(("store", "kernel"), STORES_AND_KERNELS)
def test_weights_that_cannot_be_drawn_from(store, kernel):
    franchise = started(two_levels(), corpus(), store=store, kernel=kernel)
    for step in (
        lambda: franchise.reseat(2, 7, RandomStream((1, 1))),
        lambda: moves.DishGibbs().apply(franchise, RandomStream((1, 1))),
    ):
        before = franchise.freeze()
        with pytest.raises(errors.StateError) as caught, franchise.transaction():  # noqa: PT012
            franchise.hyperparameters.theta[:] = np.nan  # a broken move
            step()
        assert typed(caught.value)
        assert same_state(franchise.freeze(), before)
        franchise.audit()
        stirred(franchise).audit()


def test_a_franchise_is_released_without_a_collection_after_sweeps_over_documents():
    gc.disable()
    try:
        made = hk.Franchise(two_levels(), corpus(), store="counts", root="weights")
        hk.Scheduler([moves.SliceGibbs(), moves.RootWeights()]).run(made, 2, rng=0)
        there = weakref.ref(made)
        del made
        assert there() is None
    finally:
        gc.enable()
