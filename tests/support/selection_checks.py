"""Deterministic checks of selected terms, also used by the tests of planted bugs."""

import numpy as np
import pytest
from exact_points import check_balance, spread_of_log_joint
from exact_selection import ExactSelectionModel
from marginals import selected_numbers, sparse_dirichlet_multinomial_log_marginal
from one_sample import one_sample_p

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference
from hdpkit.random import Streams
from hdpkit.testing import measure_contract
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact

CORNER = Corner(0.9, 0.7, 0.3, 0.6)
SHAPES = (1.3, 0.8)


def readable(scheme="integrated", selection=None):
    selection = selection or hk.Beta(*SHAPES)
    return SparseDirichletMultinomialReference(0.5, selection, scheme, n_terms=3)


def tiny(shape, measure, values=None):
    store = {"store": "explicit-reference", "kernel": "reference"}
    return tiny_franchise(shape, measure, corner=CORNER, values=values, **store)


def check_selected_terms():
    """Steps of moves leave the posterior alone, whose marginals go through all subsets of the vocabulary."""
    for measure, law in ((readable(), {"shapes": SHAPES}), (readable(selection=0.4), {"proportion": 0.4})):
        model = ExactModel(tiny("2+1", measure), sparse_dirichlet_multinomial_log_marginal(0.5, 3, **law))
        for move in (moves.TableGibbs(), moves.DishGibbs()):
            check_exact(model, move)


def check_stored_selections():
    """Detailed balance of single steps in seating and proportions, births and deaths of dishes among them."""
    model = ExactSelectionModel(tiny("2+1", readable("stored")))
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_balance(model, move)


def check_selectors():
    """Both moves leave the law of a dish's proportion alone; the joint one draws from it, whatever it was."""
    # Of a single term, so that there is more than one selection of a number of terms.
    model = ExactSelectionModel(tiny("flat 3", readable("stored"), [0, 0, 0]))
    alone = next(i for i, mixture in enumerate(model.mixtures) if len(mixture) == 1)

    def density(move, before, after):
        ends = model.transitions(move, 0, alone, [before], after)
        return sum(flow for flow, _ in ends.values())

    for before, after in ((0.3, 0.8), (0.9, 0.2)):
        there = model.density(alone, [before]) * density(moves.Selectors(), before, after)
        again = model.density(alone, [after]) * density(moves.Selectors(), after, before)
        assert there == pytest.approx(again, rel=1e-12)
        exact = model.density(alone, [after]) / model.pi[alone]
        assert density(moves.SelectorCounts(), before, after) == pytest.approx(exact, rel=1e-12)


def check_density_of_selections():
    """The log joint has the density of the proportions, and the likelihood is given them."""
    assert spread_of_log_joint(ExactSelectionModel(tiny("2+1", readable("stored")))) < 1e-9


def check_drawn_topics():
    """Topics drawn from a sample: their numbers of terms, and an entry's square, by enumeration."""
    V, terms, size = 5, [0, 2], 0.5
    corpus = hk.Corpus.from_documents([terms], n_terms=V)
    measure = hk.SparseDirichletMultinomial(size, hk.Beta(*SHAPES))
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1e-30), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0, init="one")
    number = np.array(selected_numbers(size, V, terms, SHAPES))
    number /= number.sum()
    sample, source = franchise.sample(), Streams(1).source(1)
    drawn = np.array([sample.draw_topics(source)[0] for _ in range(4000)])
    found = np.bincount(np.count_nonzero(drawn, axis=1), minlength=V + 1)
    assert one_sample_p(found, number) > 1e-6
    total, a = size * np.arange(V + 1) + 2.0, size + 1.0
    square = float(number @ (a * (a + 1.0) / (total * (total + 1.0))))
    for entries in (drawn[:, 0], sample.topic_law(0).draw_each(np.array([0]), 40_000, source)[0]):
        error = (entries**2).std() / len(entries) ** 0.5
        assert abs((entries**2).mean() - square) < 5.0 * error


def check_contract_of_selections():
    """Predictives sum to the probability that a term is selected, and values are drawn given that one is."""
    measure_contract.check_contract(readable())
