"""Allocations ranked by their exact posterior, and topics by document, held against enumeration."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves

DOCUMENTS = [[0, 0, 1], [1, 2]]
HOME = [0, 0, 0, 1, 1]


def finite(n_dishes=2, documents=DOCUMENTS, a=0.5, eta=0.5, root=None, **options):
    corpus = hk.Corpus.from_documents(documents, n_terms=3)
    G0 = hk.Restaurant(hk.DirichletMultinomial(eta))
    Gj = hk.Restaurant(G0, concentration=n_dishes * a, each="document", **options)
    return hk.Franchise(Gj, corpus, store="histogram", root=root or hk.FixedWeights(n_dishes))


def every(n_dishes, n=5):
    return np.array(list(product(range(n_dishes), repeat=n)))


def rising(a, n):
    return math.prod(a + i for i in range(n))


def log_joint(z, n_dishes, a, b, n_terms=3):
    """log p(z, w) by products, no logarithm of a gamma function in sight."""
    words, p = [v for document in DOCUMENTS for v in document], 1.0
    for j in (0, 1):
        here = Counter(k for k, home in zip(z, HOME, strict=True) if home == j)
        p *= math.prod(rising(a, n) for n in here.values()) / rising(n_dishes * a, sum(here.values()))
    for k in set(z):
        seen = Counter(v for v, own in zip(words, z, strict=True) if own == k)
        p *= math.prod(rising(b, n) for n in seen.values()) / rising(n_terms * b, sum(seen.values()))
    return math.log(p)


@pytest.mark.parametrize(("n_dishes", "a", "eta"), [(2, 0.5, 0.5), (3, 0.5, 0.5), (3, 2.0, 0.1)])
def test_the_posterior_of_every_allocation(n_dishes, a, eta):
    ranked = hk.rank_allocations(finite(n_dishes, a=a, eta=eta), every(n_dishes))
    for row, log in zip(ranked.dishes.tolist(), ranked.log_posterior.tolist(), strict=True):
        assert log == pytest.approx(log_joint(row, n_dishes, a, eta), abs=1e-12)
    assert np.all(np.diff(ranked.log_posterior) <= 0.0)
    assert np.exp(ranked.log_partition - ranked.log_posterior) == pytest.approx(ranked.count.astype(float))
    total = math.fsum(math.exp(log_joint(z, n_dishes, a, eta)) for z in every(n_dishes).tolist())
    assert math.fsum(np.exp(ranked.log_partition)) == pytest.approx(total, rel=1e-12)


def test_the_best_allocation_is_not_that_of_the_paper():
    """Equation 3 as printed lacks the denominators of the topics, and ranks 00000 first."""
    ranked = hk.rank_allocations(finite(2), every(2))
    assert ranked.dishes[0].tolist() == [0, 0, 0, 1, 1]

    def printed(z):
        words = [v for document in DOCUMENTS for v in document]
        cells = Counter(zip(z, words, strict=True)), Counter(zip(z, HOME, strict=True))
        topics = sum(math.lgamma(cells[0][k, v] + 0.5) for k in (0, 1) for v in range(3))
        return topics + sum(math.lgamma(cells[1][k, j] + 0.5) for k in (0, 1) for j in (0, 1))

    assert max(ranked.dishes.tolist(), key=printed) == [0, 0, 0, 0, 0]


def test_ranks_of_a_sampled_trace_follow_how_often_they_came():
    franchise = finite(2)
    trace = hk.Scheduler([moves.TableGibbs()]).run(
        franchise, sweeps=4000, rng=0, record={"dishes": lambda f: f.dishes}
    )
    ranked = hk.rank_allocations(franchise, trace["dishes"])
    assert ranked.count.sum() == 4000
    total = math.fsum(math.exp(log_joint(z, 2, 0.5, 0.5)) for z in every(2).tolist())
    law = np.exp(ranked.log_partition) / total
    assert 0.5 * np.abs(ranked.count / 4000 - law).sum() < 0.05
    # Topics of each document: their laws by enumeration.
    counted = hk.dishes_per_group(franchise, trace["dishes"])
    for j in (0, 1):
        exact = math.fsum(
            math.exp(log_joint(z, 2, 0.5, 0.5))
            for z in every(2).tolist()
            if len({k for k, home in zip(z, HOME, strict=True) if home == j}) == 2
        )
        assert abs((counted[:, j] == 2).mean() - exact / total) < 0.04


def test_dishes_by_group_at_every_level():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], []], n_terms=3, groups={"farm": ["a", "a", "b"]})
    root = hk.Restaurant(hk.DirichletMultinomial(0.5))
    farm = hk.Restaurant(root, each="farm")
    franchise = hk.Franchise(hk.Restaurant(farm, each="document"), corpus)
    z = [[7, 7, 7, 2, 9], [0, 1, 2, 2, 2]]
    assert hk.dishes_per_group(franchise, z).tolist() == [[1, 2, 0], [3, 1, 0]]
    assert hk.dishes_per_group(franchise, z, "farm").tolist() == [[3, 0], [3, 0]]
    assert hk.dishes_per_group(franchise, z, "root").tolist() == [[3], [3]]


def test_models_without_a_formula_are_refused():
    for franchise in (finite(2, root="restaurant"), finite(2, root="weights"), finite(2, discount=0.3)):
        with pytest.raises(errors.DeclarationError, match="ranked"):
            hk.rank_allocations(franchise, every(2))
    with pytest.raises(errors.ParameterError, match="at most 2"):
        hk.rank_allocations(finite(2), every(3))
    for wrong in ([0, 1], [[0, 1]], [[0, 0, 0, 0, -1]], [[0, 0, 0, 0, 0.5]], "z", None, np.zeros((0, 5))):
        with pytest.raises(errors.ParameterError, match="allocations"):
            hk.rank_allocations(finite(2), wrong)
        with pytest.raises(errors.ParameterError, match="allocations"):
            hk.dishes_per_group(finite(2), wrong)
