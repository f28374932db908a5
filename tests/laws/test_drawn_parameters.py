"""Drawn parameters of dishes: their law, densities given them, and sweeps over documents with them."""

import math

import marginals
import numpy as np
import pytest
from one_sample import one_sample_p
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference, base_measures
from hdpkit.random import Streams
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.measure_contract import check_contract
from hdpkit.testing.normalisation import MeasureFailure, statistics_of
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
DRAWS = 3000

MEASURES = {
    f"{name} {number}": measure
    for name in base_measures
    for number, measure in enumerate(base_measures[name].examples())
    # Compiled measures have these methods from their readable twins.
    if measure.supports("draw_parameters") and not name.endswith("-reference")
}
MEASURES["sparse, one smoothing a dish"] = hk.SparseDirichletMultinomial(hk.Each(hk.Gamma(2, 4)), n_terms=3)
DISHES = {"a new dish": 0, "a dish with three values": 3}
CASES = {f"{one}, {dish}": (one, n) for one in MEASURES for dish, n in DISHES.items()}
for case in CASES:
    FAMILY.register(case, ("first", "second", "last", "first and second"))

SPARSE = {
    "integrated": {},
    "fixed": {"selection": 0.4},
    "stored": {"proportions": "stored"},
    "smoothing of each dish": {"smoothing": hk.Each(hk.Gamma(2.0, 4.0))},
    "smoothing of each dish, stored": {"smoothing": hk.Each(hk.Gamma(2.0, 4.0)), "proportions": "stored"},
}
KINDS = {"compiled": hk.SparseDirichletMultinomial, "readable": SparseDirichletMultinomialReference}
SELECTED = {
    f"sparse topics: {scheme}, {kind}, {by}": (scheme, kind, by)
    for scheme in SPARSE
    for kind in (KINDS if scheme in ("integrated", "stored") else ["compiled"])
    for by in ("a move", "a sample", "a sample, each term")
}
for one in SELECTED:
    FAMILY.register(one, ("mass", "first", "third", "last"))


def _ready(name):
    franchise = tiny_franchise("flat 5", MEASURES[name])
    return franchise.measure, list(franchise.data.values)


def _statistics(measure, values):
    statistics = statistics_of(measure, values)
    if hasattr(statistics, "smoothing") and not measure.conjugate:
        statistics.smoothing = 0.4
    return statistics


@pytest.mark.parametrize("case", CASES)
def test_the_mean_likelihood_is_the_predictive(case):
    name, n = CASES[case]
    measure, values = _ready(name)
    given = _statistics(measure, values[2 : 2 + n])
    sought = [[values[0]], [values[1]], [values[-1]], values[:2]]
    expected = [float(np.exp(measure.log_block(block, [given])[0])) for block in sought]

    def run(more, seed):
        source = Streams(seed).source(1)
        found = np.empty((DRAWS * more, len(sought)))
        for row in found:
            drawn = measure.draw_parameters(given, source)
            first, second, last = (measure.log_likelihood(values[i], drawn) for i in (0, 1, -1))
            row[:] = np.exp([first, second, last, first + second])
        error = found.std(axis=0) / math.sqrt(len(found))
        z = (found.mean(axis=0) - expected) / np.maximum(error, 1e-12)
        return 2 * stats.norm.sf(np.abs(z))

    FAMILY.check(case, run)


def _first_dish(franchise):
    """The smoothing of the first dish, and log pi and log(1 - pi) where they are given."""
    measure = franchise.measure
    smoothing = measure.smoothing if measure.conjugate else franchise.bank.parameter(0)
    if isinstance(measure.selection, float):
        return float(smoothing), {"proportion": measure.selection}
    if measure.proportions == "stored":
        return float(smoothing), {
            "proportion": franchise.measure_parts["selection proportions"].proportions()[0]
        }
    return float(smoothing), {"shapes": (measure.selection.r, measure.selection.s)}


@pytest.mark.parametrize("case", SELECTED)
def test_sparse_topics_have_their_law(case):
    """By enumeration of selections: given their number R, an entry is beta, or 0 if it isn't selected."""
    scheme, kind, by = SELECTED[case]
    terms, V = [0, 2], 5
    measure = KINDS[kind](
        **{"smoothing": 0.5, "selection": hk.Beta(1.3, 0.8), "n_terms": V, **SPARSE[scheme]}
    )
    corpus = hk.Corpus.from_documents([terms], n_terms=V)
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1e-30), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0, init="one")
    assert franchise.n_dishes == 1
    smoothing, given = _first_dish(franchise)
    number = np.array(marginals.selected_numbers(smoothing, V, terms, **given))
    number, R = number / number.sum(), np.arange(V + 1)
    counts, n = np.bincount(terms, minlength=V), len(terms)
    selected = np.where(counts > 0, 1.0, (np.maximum(R - 2, 0) / 3.0)[:, None])  # (V + 1, V)

    def uniform(term, entries, generator):
        """Distribution function of an entry; uniform at random where it is 0."""
        a = counts[term] + smoothing
        p = number * selected[:, term]
        below = [
            stats.beta.cdf(entries, a, smoothing * r + n - a) if r > 1 else 0.0 * entries for r in R[p > 0]
        ]
        zero = 1.0 - p.sum()
        return np.where(
            entries > 0.0, zero + p[p > 0] @ np.array(below), generator.random(len(entries)) * zero
        )

    def run(more, seed):
        source, draws = Streams(seed).source(1), DRAWS * more // 2
        sample = franchise.sample()
        if by == "a sample, each term":
            drawn = sample.topic_law(0).draw_each(np.arange(V), draws, source).T
        elif by == "a sample":
            drawn = np.array([sample.draw_topics(source)[0] for _ in range(draws)])
        else:
            drawn = np.empty((draws, V))
            for row in drawn:
                franchise.draw_topics(source)
                row[:] = franchise.drawn_topics()[0]
        assert np.allclose(
            sample.topics()[0], number @ (selected * _means(counts + smoothing, smoothing * R + n))
        )
        massless = np.bincount((drawn[:, 4] == 0.0).astype(int), minlength=2)
        law = [number @ selected[:, 4], 1.0 - number @ selected[:, 4]]
        found = [one_sample_p(massless, np.maximum(law, 0.0))]
        for term in (0, 2, 4):
            u = uniform(term, drawn[:, term], source.generator)
            found.append(
                one_sample_p(np.bincount(np.minimum((u * 20).astype(int), 19), minlength=20), [0.05] * 20)
            )
        return found

    FAMILY.check(case, run)


def _means(shapes, totals):
    return shapes / np.maximum(totals, 1e-9)[:, None]


def _franchise(measure, values, **options):
    base = hk.Restaurant(base=measure, concentration=1.0)
    document = hk.Restaurant(base=base, concentration=1.0, each="document")
    data = hk.Groups.from_labels(values, {"document": np.repeat(np.arange(3), len(values) // 3)})
    return hk.Franchise(document, data, store="counts", root="weights", **options)


def test_densities_beyond_the_floats_are_compared():
    # Of 400 dimensions a log density is below -1000: its exponential is 0.
    generator = np.random.default_rng(1)
    values = 30.0 + 10.0 * generator.normal(size=(12, 400))
    franchise = _franchise(hk.NormalGamma(0.0, 1.0, 2.0, 2.0), values)
    hk.Scheduler([moves.SliceGibbs(), moves.RootWeights()]).run(franchise, sweeps=3, rng=0)
    assert np.isfinite(franchise.log_joint())


class _Forgetful(hk.GammaPoisson):
    def draw_parameters(self, statistics, source):
        return super().draw_parameters(self.make(), source)


class _Unfinished(hk.BetaBernoulli):
    log_likelihood = hk.BaseMeasure.log_likelihood


@pytest.mark.parametrize(
    ("measure", "what"), [(_Forgetful(1.5, 0.8), "mean likelihoods"), (_Unfinished(0.7, 1.2), "is missing")]
)
def test_the_contract_finds_wrong_draws(measure, what):
    with pytest.raises(MeasureFailure, match=what):
        check_contract(measure)


def test_a_drawn_covariance_has_its_mean_and_its_density():
    measure, values = _ready("normal-inverse-wishart 1")
    given = statistics_of(measure, values)
    _, _, dof, scale = measure._posterior(given)
    source = Streams(5).source(1)
    drawn = [measure.draw_parameters(given, source) for _ in range(4000)]
    found = np.mean([one.covariance for one in drawn], axis=0)
    assert found == pytest.approx(scale / (dof - 3.0), rel=0.1)
    law = stats.multivariate_normal(drawn[0].mean, drawn[0].covariance)
    assert measure.log_likelihood(values[0], drawn[0]) == pytest.approx(law.logpdf(values[0]), rel=1e-9)
