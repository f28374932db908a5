"""New documents where topics differ by document, and held-out terms that are new in their document."""

import copy
import math

import numpy as np
import pytest
import scipy.sparse as sp
from cvb0 import learned_probabilities
from evaluation_checks import fixed_point, row_of, two_levels
from new_groups import NewGroupLaw

import hdpkit as hk
from hdpkit import moves
from hdpkit.evaluation import fit_proportions
from hdpkit.posterior.evaluation.completion import PASSES
from hdpkit.testing.exact import outcomes

DOCUMENTS = [[0, 0, 1, 3], [1, 2, 2], [2, 0, 4], [4, 4, 4, 3]]
OBSERVED, HELD = [[0, 0, 1], [], [2], [3, 3, 3]], [[2, 0, 1], [1, 1], [], [3, 0, 4, 4]]
V = 5


def corpus(documents, **options):
    return hk.Corpus.from_documents(documents, n_terms=V, **options)


def bursty(b, a, kernel="auto"):
    measure = hk.Bursty(hk.DirichletMultinomial(0.5), b, a)
    root = hk.Restaurant(measure, concentration=1.5, name="root")
    document = hk.Restaurant(root, concentration=0.9, each="document", name="document")
    franchise = hk.Franchise(document, corpus(DOCUMENTS), kernel=kernel)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=2)
    return franchise


def phi_of(franchise):
    """Topics and a new one: shape (K + 1, V)."""
    slots = franchise.slots.occupied_slots()
    phi = franchise.measure.posterior_means(franchise.bank, slots, franchise.dishes)
    return np.vstack([phi, np.full(V, 1 / V)])


def prior_of(franchise):
    return 0.9 * row_of(franchise, ("root", None))


def counted(words):
    terms, counts = np.unique(np.array(words, dtype=int), return_counts=True)
    return terms, counts.astype(float)


def probabilities(franchise, words):
    """Probability of every term after these words, by the readable fixed point."""
    phi, prior, (terms, counts) = phi_of(franchise), prior_of(franchise), counted(words)
    theta = fit_proportions(phi[:, terms], prior, counts, 1e-13)
    mass = np.full(len(prior), np.inf)
    repeats = float(franchise.measure.concentration), float(franchise.measure.discount)
    return learned_probabilities(phi, prior, mass, theta, terms, counts, np.arange(V), PASSES, repeats)


LAWS = [(0.1, 0.0), (0.8, 0.3), (30.0, 0.0)]


@pytest.mark.parametrize("kernel", ["auto", "reference"])
@pytest.mark.parametrize(("b", "a"), LAWS)
def test_completion_by_em_is_the_fixed_point_given_the_observed_words(b, a, kernel):
    franchise = bursty(b, a, kernel=kernel)
    found = hk.evaluate(franchise, corpus(OBSERVED), held_out=corpus(HELD), tolerance=1e-13)
    p = [probabilities(franchise, words) for words in OBSERVED]
    assert [round(one.sum(), 9) for one in p] == [1.0] * 4
    expected = [sum(math.log(one[v]) for v in held) for one, held in zip(p, HELD, strict=True)]
    assert found.fit == "em"
    assert found.group_log_probability == pytest.approx(expected, abs=1e-8)
    new = [[v for v in held if v not in words] for held, words in zip(HELD, OBSERVED, strict=True)]
    rest = [1 - sum(one[v] for v in set(words)) for one, words in zip(p, OBSERVED, strict=True)]
    expected = [
        sum(math.log(one[v] / left) for v in own) for one, own, left in zip(p, new, rest, strict=True)
    ]
    assert found.group_new_tokens.tolist() == [1, 2, 0, 3]
    assert found.group_new_log_probability == pytest.approx(expected, abs=1e-8)
    assert found.new_perplexity == pytest.approx(math.exp(-sum(expected) / 6))


@pytest.mark.parametrize(("b", "a"), LAWS)
def test_scores_by_gibbs_are_exact_predictives_on_average(b, a):
    franchise = bursty(b, a)
    found = hk.evaluate(
        franchise, corpus(OBSERVED), held_out=corpus(HELD), fit="gibbs", particles=400, sweeps=10, rng=1
    )

    def p(words):
        repeats = float(franchise.measure.concentration), float(franchise.measure.discount)
        above = row_of(franchise, ("root", None))
        density = phi_of(franchise)[:, words].T if words else np.zeros((0, len(above)))
        return NewGroupLaw(density, above, 0.9, 0.0, words, repeats).evidence

    for group, (words, held) in enumerate(zip(OBSERVED, HELD, strict=True)):
        each = [p([*words, v]) / p(words) for v in range(V)]
        assert sum(each) == pytest.approx(1.0, abs=1e-12)
        expected = sum(math.log(each[v]) for v in held)
        assert found.group_log_probability[group] == pytest.approx(expected, abs=0.03)
        rest = math.log(1 - sum(each[v] for v in set(words)))
        expected = sum(math.log(each[v]) - rest for v in held if v not in words)
        assert found.group_new_log_probability[group] == pytest.approx(expected, abs=0.03)


def test_a_training_document_without_its_word_gets_its_dish():
    """A document of one word: table Gibbs of it, the rest given, against fold-in with the word taken out."""
    franchise = bursty(0.6, 0.2)
    view, customer = franchise.restaurant("document", 1), 4
    for other in (5, 6):
        view.unseat(other, rng=0)
    kept = franchise.freeze()

    def reseat(source):
        franchise.thaw(kept)
        franchise.reseat(customer, customer + 1, source)
        dishes = franchise.dishes
        others = np.flatnonzero((dishes == dishes[customer]) & (np.arange(len(dishes)) != customer))
        return int(others[0]) if len(others) else None

    gibbs, folded = {}, {}
    for other, p in outcomes(reseat):
        gibbs[other] = gibbs.get(other, 0.0) + p
    franchise.thaw(kept)
    view.unseat(customer, rng=1)
    first = {k: int(np.flatnonzero(franchise.dishes == k)[0]) for k in range(franchise.n_dishes)}
    named = {**first, franchise.n_dishes: None}
    new = corpus([[1]])
    for dish, p in outcomes(lambda source: int(franchise.fold_in(new, 1, burn_in=0, rng=source).dishes[0])):
        folded[named[dish]] = folded.get(named[dish], 0.0) + p
    assert folded == pytest.approx(gibbs, abs=1e-12)


def test_new_terms_are_scored_given_that_they_are_new():
    """By EM in two states: probabilities, and those of all new terms together, are averaged over states."""
    states = [two_levels(seed) for seed in (0, 1)]
    new = [[2], [0, 1, 1]]
    halves = [hk.Corpus.from_documents(half, n_terms=3) for half in ([[0, 0, 1], []], [[2, 0], [0, 1, 1]])]
    found = hk.evaluate(states, halves[0], held_out=halves[1], tolerance=1e-13)
    assert found.n_new_tokens == 4
    p = np.zeros((2, 3))
    for franchise in states:
        counts = np.vstack([franchise.dish_counts, np.zeros(3)]) + 0.5
        phi, prior = counts / counts.sum(axis=1, keepdims=True), 0.9 * row_of(franchise, ("root", None))
        p[0] += fixed_point(phi, prior, [0, 0, 1]) @ phi / 2
        p[1] += prior / prior.sum() @ phi / 2
    rest = [p[0, 2], 1.0]
    expected = [
        sum(math.log(one[v] / left) for v in own) for one, own, left in zip(p, new, rest, strict=True)
    ]
    assert expected[0] == pytest.approx(0.0)  # one term is left
    assert found.group_new_log_probability == pytest.approx(expected, abs=1e-9)
    assert found.new_perplexity == pytest.approx(math.exp(-sum(expected) / 4), rel=1e-9)
    assert math.isnan(hk.evaluate(states, halves[0], method="left-to-right", particles=1).new_perplexity)


@pytest.fixture
def bursty_model(monkeypatch):
    """A fitted model whose topics differ by document."""
    measure = hk.Bursty(hk.DirichletMultinomial(0.3), 0.9, 0.2)
    monkeypatch.setattr("hdpkit.kinds.topics.topic_measure", lambda *given, **options: measure)
    counts = np.random.default_rng(1).poisson(0.5, size=(16, 8))
    options = {"transform_tolerance": 1e-10, "schedule": [moves.TableGibbs()], "concentration": 0.9}
    return hk.TopicModel(
        purpose="prediction", sweeps=6, partial_sweeps=3, samples=0, random_state=0, **options
    ).fit(counts)


HALVES = [np.random.default_rng(seed).poisson(0.6, size=(5, 8)) for seed in (2, 3)]


@pytest.mark.parametrize("samples", [0, 2])
def test_a_joint_score_is_that_of_the_documents_own_topics(bursty_model, samples):
    one = bursty_model.set_params(score_method="joint", samples=samples)
    score = one.perplexity(*HALVES)
    assert one.perplexity(*HALVES) == score
    seen = []

    def look(franchise):
        """Predictive of each new document, from the words and the tables of the state."""
        slots, n_dishes = franchise.slots.occupied_slots(), franchise.n_dishes
        phi = np.vstack([franchise.measure.posterior_means(franchise.bank, slots, None), np.full(8, 1 / 8)])
        opens, lengths = franchise.bank.freeze()["opens"], franchise.data.document_lengths
        document = np.repeat(np.arange(len(lengths)), lengths)
        rows = np.zeros((5, 8))
        for j, shares in enumerate(franchise.sample().group_weights(slice(16, None))):
            for k in range(n_dishes + 1):
                here = (document == 16 + j) & (franchise.dishes == k)
                c = np.bincount(franchise.data.values[here], minlength=8)
                t = np.bincount(franchise.data.values[here], opens[here], minlength=8)
                f = (c - 0.2 * t + (0.9 + 0.2 * t.sum()) * phi[k]) / (c.sum() + 0.9)
                rows[j] += shares[k] * f
        seen.append((franchise.sweep, rows))
        return 0.0

    copy.copy(bursty_model)._extend(sp.csr_array(HALVES[0]), record={"seen": look})
    chosen = [rows for sweep, rows in seen if samples or sweep == 9][-2 if samples else -1 :]
    logs = np.log(np.mean(chosen, axis=0))
    assert score == pytest.approx(math.exp(-(HALVES[1] * logs).sum() / HALVES[1].sum()), rel=1e-9)
    assert chosen[-1].sum(axis=1) == pytest.approx(np.ones(5))
    assert 1 < one.perplexity(*HALVES, new_terms=True) < 20
