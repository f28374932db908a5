"""Computations of the benchmarks from their measurements: ratios, exponents, times, simulated corpora."""

import importlib
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module", autouse=True)
def beside_them():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def module(name):
    return importlib.import_module(name)


def row(topics, nanoseconds):
    return {"topics": topics, "nanoseconds": nanoseconds}


def test_the_cost_of_sweeps_over_shards_is_fitted():
    """Seconds that the model itself makes give its coefficients back; terms of its sum by hand."""
    cost = module("shards_cost")
    of = {"a": 7e-8, "b": 1e-7, "c": 5e-10, "d": 3e-7, "e": 4e-11, "f": 7e-9}
    sizes = [(1e6, 1e4, 5e4, 100.0), (8e6, 2e4, 1e4, 400.0), (3e6, 5e3, 7e4, 50.0)]
    rows = []
    for (n, v, j, k), threads in itertools.product(sizes, (1, 2)):
        row = {"tokens": n, "terms": v, "documents": j, "threads": threads, "topics": k}
        row |= {"labels": 2 * k, "slots": 4 * k}
        rows.append(row | cost.phases(of, row))
    assert cost.fitted(rows) == pytest.approx(of)
    seconds, gigabytes = cost.extrapolated(of, (1.4e9, 1e4, 100, 8, 2, 4), rows[0])
    assert seconds["documents"] == pytest.approx((7e-8 + 400 * 4e-11) * 1.4e9 / 16)
    assert seconds["topics"] == pytest.approx(1e-7 * 1e4 * 200 / 8)
    assert seconds["concentration"] == pytest.approx(3.0)
    assert seconds["messages"] == pytest.approx(20 * 2e-5 + 2 * 2.1e6 / 1.25e9)
    assert gigabytes["topics"] == pytest.approx(4e-9 * 1e4 * 400 / 4)
    assert cost.extrapolated(of, (1e9, 1e4, 100, 1, 2, 1), rows[0])[0]["messages"] == 0.0


def test_a_ratio_is_one_of_medians():
    peer, ours = row([100, 101, 99], [400, 900, 380]), row([102, 103, 104], [100, 90, 700])
    assert module("contest.speed").ratio([peer, ours], "nanoseconds") == 4.0


def test_a_ratio_at_equal_k_is_read_off_a_line():
    peer = row([100, 90, 110], [600, 600, 600])
    ours = [row([140, 150], [145.0, 155.0]), row([70, 60], [75.0, 65.0])]  # K + 5
    assert module("contest.speed").ratio([peer, *ours], "nanoseconds") == pytest.approx(600 / 105)


@pytest.mark.parametrize(("first", "last"), [(0.25, 60.0), (1.0, 1.1), (1.0, 0.5)])
def test_scoring_times_end_with_the_last(first, last):
    times = module("contest.curves").scoring_times(first, last)
    assert times[-1] == last
    assert times[0] == pytest.approx(min(first, last))
    steps = np.diff(np.log(times))
    assert np.allclose(steps, steps[:1])
    if last > first * 1.25:
        assert np.log(1.25) <= steps[0] < np.log(1.25) * 1.1


def test_points_of_others_are_those_of_this_corpus():
    published = module("contest.curves").published
    shipped = BENCHMARKS / "published_points.csv"
    (points,) = published(shipped, "ap", 348_884).values()
    assert points == [(27, 2484), (65, 2403), (113, 2391)]
    assert published(shipped, "ap", 348_885) == {}


def test_exponents_are_slopes():
    rows = [
        {"store": store, "tokens": n, "nanoseconds": 3.0 * n**power}
        for n in (10, 100, 10_000)
        for store, power in (("explicit", 0.5), ("histogram", -0.25))
    ]
    found = module("scaling").exponents(rows, "tokens")
    assert found["explicit"] == pytest.approx((0.5, 0.0), abs=1e-6)
    assert found["histogram"] == pytest.approx((-0.25, 0.0), abs=1e-6)


def test_a_larger_corpus_is_drawn_from_the_smaller():
    generator = np.random.default_rng(2)
    counts = sp.csr_array(np.kron(np.eye(2, dtype=np.int64), generator.poisson(3.0, size=(20, 6))))
    scaling = module("scaling")
    large = scaling.drawn(counts, 5_000, generator)
    assert large.shape[1] == counts.shape[1]
    assert 4_000 < large.sum() < 6_000
    # Two groups of terms that never meet in a document seldom do in what is drawn: by themselves the rarer
    # one would have two fifths of the 18 words of a document.
    dense = large.toarray()
    assert np.minimum(dense[:, :6].sum(axis=1), dense[:, 6:].sum(axis=1)).sum() < large.sum() / 5
    few = scaling.of_size(large, 500, generator)
    assert 500 <= few.sum() < 500 + dense.sum(axis=1).max()


def test_the_reference_clock_goes_by_the_median():
    clock = module("reference_second").ReferenceClock

    class Peer:
        n_tokens, seconds = 1_300_000, 0.0
        speeds = iter([2.0, 0.5, 1.0])

        def sweep(self, n):
            self.seconds += n / next(self.speeds)

    one = clock(None, Peer())
    for _ in range(3):
        one.tick()
    assert one.rates == pytest.approx([2.6e6, 0.65e6, 1.3e6])
    assert one.seconds == pytest.approx(0.5)


def test_the_likelihood_of_mallet_is_a_product_of_predictives():
    documents, terms = np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 1, 3])
    dishes, topics, alpha, beta, n_terms = np.array([0, 0, 2, 2, 0]), 7, 0.3, 0.2, 4
    expected = 0.0
    for i, (j, v, k) in enumerate(zip(documents, terms, dishes, strict=True)):
        here, same = documents[:i] == j, dishes[:i] == k
        expected += np.log((alpha + np.sum(here & same)) / (alpha * topics + here.sum()))
        expected += np.log((beta + np.sum(same & (terms[:i] == v))) / (beta * n_terms + same.sum()))
    found = module("starts").mallet_likelihood(documents, terms, dishes, n_terms, topics, alpha, beta)
    assert found == pytest.approx(expected, rel=1e-12)


def test_chains_are_read_at_times_and_agree_where_they_do():
    generator, starts = np.random.default_rng(0), module("starts")
    time = np.linspace(0.0, 10.0, 401)
    same = [np.column_stack([time, time, 2 * time, generator.normal(size=401)]) for _ in range(2)]
    apart = [same[0], same[1] + [0, 0, 0, 5]]
    assert starts.at(same[0], 2, 0, 10.01) == 5.0
    assert starts.rhat(same, 1, 3, 10.0) < 1.03
    assert starts.rhat(apart, 1, 3, 10.0) > 1.5
    assert np.isnan(starts.rhat(same, 1, 3, 0.5))  # too few states
