"""Deterministic checks of fold-in and evaluation, also used by the tests of planted bugs."""

import math

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams
from hdpkit.testing.exact import outcomes


def three_levels(kernel="auto", discount=0.3, store="histogram"):
    corpus = hk.Corpus.from_documents(
        [[0, 0, 1], [1, 2, 2], [2, 0]], n_terms=3, groups={"journal": ["A", "A", "B"]}
    )
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5, discount=0.2, name="root")
    journal = hk.Restaurant(root, concentration=0.8, discount=0.1, each="journal", name="journal")
    document = hk.Restaurant(journal, concentration=0.6, discount=discount, each="document", name="document")
    franchise = hk.Franchise(document, corpus, kernel=kernel, store=store)
    start(franchise, "sequential", Streams(3).source(STARTS))
    return franchise


def two_levels(seed=0, kernel="auto", **options):
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2, 2], [2, 0]], n_terms=3)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5, name="root")
    document = hk.Restaurant(root, concentration=0.9, each="document", name="document")
    franchise = hk.Franchise(document, corpus, kernel=kernel, **options)
    start(franchise, "sequential", Streams(seed).source(STARTS))
    return franchise


def row_of(franchise, *path):
    """The predictive row of a restaurant, from the root's down, worked out by hand: path of (name, key)."""
    n_dishes = franchise.n_dishes
    row = np.append(np.zeros(n_dishes), 1.0)
    for name, key in path:
        r = franchise.restaurant(name, key)
        n = np.array([r.customers_of(k) for k in range(n_dishes)] + [0])
        t = np.array([r.tables_of(k) for k in range(n_dishes)] + [0])
        row = (n - r.discount * t + (r.concentration + r.discount * t.sum()) * row) / (
            r.concentration + n.sum()
        )
    return row


def topics_of(franchise):
    """phi of each dish and the new one, shape (K + 1, V), for eta = 0.5 and three terms."""
    counts = np.vstack([franchise.dish_counts, np.zeros(3)]) + 0.5
    return counts / counts.sum(axis=1, keepdims=True)


def check_one_token():
    """Documents of one word: left-to-right is exact, in two levels and three, and so is fold-in."""
    franchise = three_levels(kernel="reference")
    new = hk.Corpus.from_documents([[0], [2], [1]], n_terms=3, groups={"journal": ["B", "A", None]})
    phi = topics_of(franchise)
    paths = [[("root", None), ("journal", "B")], [("root", None), ("journal", "A")], [("root", None)]]
    joint = np.array([row_of(franchise, *path) * phi[:, v] for path, v in zip(paths, (0, 2, 1), strict=True)])
    found = hk.evaluate(franchise, new, method="left-to-right", particles=2)
    assert found.group_log_probability == pytest.approx(np.log(joint.sum(axis=1)), abs=1e-12)
    assert found.standard_error == pytest.approx(0.0, abs=1e-9)

    # Posterior means: each dish of the one customer in turn.
    posterior = joint / joint.sum(axis=1, keepdims=True)
    theta, d = 0.6, 0.3
    expected = ((1 - d) * posterior + (theta + d) * np.array([row_of(franchise, *p) for p in paths])) / (
        1 + theta
    )
    for j, journal in enumerate(("B", "A", None)):
        one = hk.Corpus.from_documents([[(0, 2, 1)[j]]], n_terms=3, groups={"journal": [journal]})
        total = np.zeros(len(expected[j]))
        for outcome, probability in outcomes(
            lambda source, one=one: franchise.fold_in(one, 1, burn_in=0, rng=source).proportions[0]
        ):
            total += probability * outcome
        assert total == pytest.approx(expected[j], abs=1e-12)


def check_topics_of_tables():
    """Where topics differ by document, those of a new one are the topics of tables."""
    measure = hk.Bursty(hk.DirichletMultinomial(0.5), 0.8, 0.3)
    corpus = hk.Corpus.from_documents([[0, 0, 0, 0, 1], [1, 2, 2], [2, 0]], n_terms=3)
    root = hk.Restaurant(measure, concentration=1.5, name="root")
    franchise = hk.Franchise(hk.Restaurant(root, concentration=0.9, each="document"), corpus)
    start(franchise, "one", Streams(0).source(STARTS))
    opens = franchise.bank.freeze()["opens"] > 0
    assert opens.sum() < len(opens)
    tables = np.bincount(corpus.values[opens], minlength=3)
    phi = np.vstack([(tables + 0.5) / (tables.sum() + 1.5), np.full(3, 1 / 3)])
    new = hk.Corpus.from_documents([[0], [1], [2]], n_terms=3)
    found = hk.evaluate(franchise, new, method="left-to-right", particles=1)
    expected = np.log(row_of(franchise, ("root", None)) @ phi)
    assert found.group_log_probability == pytest.approx(expected, abs=1e-12)


def check_average_over_states():
    """Probabilities are averaged over states, not their logarithms: one word per document, by hand."""
    states = [two_levels(seed) for seed in (0, 1, 2)]
    new = hk.Corpus.from_documents([[0], [2]], n_terms=3)
    p = np.array([[row_of(f, ("root", None)) @ topics_of(f)[:, v] for v in (0, 2)] for f in states])
    assert np.ptp(p, axis=0).min() > 1e-3
    for method in ("left-to-right", "predictive"):
        found = hk.evaluate(states, new, method=method, particles=1)
        assert found.group_log_probability == pytest.approx(np.log(p.mean(axis=0)), abs=1e-12)
        assert found.perplexity == pytest.approx(np.prod(p.mean(axis=0)) ** -0.5, rel=1e-12)
        influence = (p / p.mean(axis=0)).sum(axis=1)
        assert found.standard_error == pytest.approx(np.std(influence, ddof=1) / math.sqrt(3), rel=1e-9)


def fixed_point(phi, prior, observed):
    theta = np.full(len(prior), 1 / len(prior))
    for _ in range(5000):
        expected = sum(theta * phi[:, v] / (theta @ phi[:, v]) for v in observed)
        theta = (prior + expected) / (prior.sum() + len(observed))
    return theta


def check_completion_by_em():
    """Proportions are the fixed point given the observed half alone, the new dish included."""
    franchise = two_levels()
    observed, held = [[0, 0, 1], [], [2]], [[2], [1, 1], []]
    phi, prior = topics_of(franchise), 0.9 * row_of(franchise, ("root", None))
    thetas = [fixed_point(phi, prior, these) if these else prior / prior.sum() for these in observed]
    expected = [sum(math.log(t @ phi[:, v]) for v in these) for t, these in zip(thetas, held, strict=True)]
    found = hk.evaluate(
        franchise,
        hk.Corpus.from_documents(observed, n_terms=3),
        held_out=hk.Corpus.from_documents(held, n_terms=3),
        tolerance=1e-14,
    )
    assert found.fit == "em"
    assert found.group_tokens.tolist() == [1, 2, 0]
    assert found.group_log_probability == pytest.approx(expected, abs=1e-10)
    assert math.isnan(found.standard_error)


def check_halves():
    """Halves that are made here: each word is in one of them, and the scored one has no part in the fit."""
    franchise = two_levels()
    documents = [[0, 1], [1, 2], [2], [0, 1, 2]] * 4
    found = hk.evaluate(franchise, hk.Corpus.from_documents(documents, n_terms=3), tolerance=1e-14, rng=5)
    assert found.group_tokens.tolist() == [1, 1, 1, 2] * 4
    phi, prior = topics_of(franchise), 0.9 * row_of(franchise, ("root", None))
    taken = set()
    for document, log in zip(documents, found.group_log_probability.tolist(), strict=True):
        possible = []
        for kept in document if len(document) > 1 else [None]:
            theta = prior / prior.sum() if kept is None else fixed_point(phi, prior, [kept])
            rest = list(document)
            if kept is not None:
                rest.remove(kept)
            possible.append(sum(math.log(theta @ phi[:, v]) for v in rest))
        nearest = int(np.argmin(np.abs(np.array(possible) - log)))
        assert log == pytest.approx(possible[nearest], abs=1e-10)
        taken.add((len(document), nearest))
    assert len(taken) > 4  # not always the same half


def check_new_terms():
    """The terms that the observed half lacks, given that they are not in it."""
    franchise = two_levels()
    halves = [hk.Corpus.from_documents(half, n_terms=3) for half in ([[0, 0]], [[1, 0, 2, 2]])]
    theta = fixed_point(topics_of(franchise), 0.9 * row_of(franchise, ("root", None)), [0, 0])
    p = theta @ topics_of(franchise)
    found = hk.evaluate(franchise, halves[0], held_out=halves[1], tolerance=1e-14)
    expected = math.log(p[1] / (p[1] + p[2])) + 2 * math.log(p[2] / (p[1] + p[2]))
    assert found.group_new_tokens.tolist() == [3]
    assert found.group_new_log_probability == pytest.approx([expected], abs=1e-9)
