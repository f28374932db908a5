"""Known components in runs: samples, folders, chains, new groups, starts."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import check_start, start
from hdpkit.random import STARTS, Streams

V = 7
TOPICS = np.random.default_rng(0).dirichlet(np.ones(V), size=3)
TOPICS[0, 2] = 0.0
TOPICS[0] /= TOPICS[0].sum()
KNOWN = hk.Known(TOPICS, counts=[5, 20, 40], frozen=[True, False, False], names=["a", "b", "c"])
COUNTS = np.random.default_rng(1).poisson(2.0, size=(8, V))
SCHEDULES = {
    "cells": ("counts", "weights", [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights()]),
    "counts": ("counts", "weights", [moves.SliceGibbs(), moves.TableCounts(), moves.RootWeights()]),
    "customers": ("counts", "weights", [moves.TableGibbs(), moves.DishGibbs(), moves.RootWeights()]),
    "indicators": ("counts", "restaurant", [moves.TableGibbs(), moves.SplitMerge()]),
    "sizes": ("histogram", "restaurant", [moves.TableGibbs(), moves.SplitMerge(), moves.ReseatGroups()]),
    "seats": ("explicit", "weights", [moves.TableGibbs(), moves.DishGibbs(), moves.RootWeights()]),
    "finite": ("counts", hk.FixedWeights(5), [moves.CountGibbs(), moves.TableCounts()]),
}
HYPER = [moves.Concentration(), moves.BaseMeasureParameters()]


def franchise_of(store="counts", root="weights", known=KNOWN, data=None):
    prior = 1.0 if isinstance(root, hk.FixedWeights) else hk.Gamma(1, 1)
    base = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(1, 1)), concentration=prior)
    document = hk.Restaurant(base, concentration=hk.Gamma(1, 1), each="document")
    corpus = hk.Corpus.from_counts(COUNTS) if data is None else data
    return hk.Franchise(document, corpus, store=store, root=root, known=known)


@pytest.mark.parametrize("name", SCHEDULES)
def test_chains_keep_known_components_and_what_is_read_is_of_the_data(name):
    store, root, schedule = SCHEDULES[name]
    franchise = franchise_of(store, root)
    assert franchise.n_dishes == 3
    trace = hk.Scheduler(schedule + HYPER).run(franchise, sweeps=12, rng=1, audit_every=1)
    assert trace["n_dishes"].min() >= 3
    assert franchise.dish_ids[:3].tolist() == [0, 1, 2]
    assert franchise.known.labels == ("a", "b", "c")
    n = COUNTS.sum()
    assert franchise.dish_counts.sum() == n
    assert len(franchise.dishes) == n
    assert franchise.dish_counts[0, 2] == 0
    topics = franchise.dish_parameters()
    assert np.array_equal(topics[0], KNOWN.matrix[0])
    eta = franchise.base_parameters["eta"]
    seen = franchise.dish_counts[1] + KNOWN.pseudo_counts[1] + eta
    assert topics[1] == pytest.approx(seen / seen.sum())
    sample = franchise.sample()
    assert sample.sizes.sum() == n
    assert sample.counts.sum() == n
    assert sample.group_counts.sum() == n
    assert sample.topics() == pytest.approx(topics)
    assert sample.sizes.tolist() == franchise.dish_counts.sum(axis=1).tolist()


def test_a_start_with_dishes_names_known_ones_and_refuses_terms_that_they_cannot_have():
    franchise = franchise_of("histogram", "restaurant")
    terms = np.asarray(franchise.data.values)
    dishes = np.where(terms == 2, 1, 0)
    start(franchise, dishes, Streams(1).source(STARTS))
    assert franchise.dishes.tolist() == dishes.tolist()
    with pytest.raises(hk.errors.ParameterError, match="'a' is frozen"):
        check_start(np.zeros(len(terms), int), franchise)


def test_new_groups_are_folded_in_beside_them():
    franchise = franchise_of("histogram", "restaurant")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=5, rng=1)
    more = hk.Corpus.from_counts(COUNTS[:2] + 1)
    found = franchise.fold_in(more, 1)
    assert len(found.dishes) == len(more)
    assert np.isfinite(hk.evaluate(franchise, more, rng=1).perplexity)
    grown = franchise.with_documents(franchise.data.plus(more), 1)
    assert grown.n_dishes >= 3
    grown.audit()
