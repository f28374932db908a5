"""Statements of benchmarks/results/fuentes.md about the paper, by transition matrices and enumeration."""

import math
import runpy
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import hdpkit as hk

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fuentes.py"
ALPHAS = [(0.5, 0.5), (1.0, 1.0), (0.05, 2.0), (0.2,) * 5, (3.0, 3.0, 1.0, 1.0, 1.0), (1e-3, 5.0, 0.7)]


@pytest.fixture(scope="module")
def fuentes():
    return runpy.run_path(str(EXAMPLE))


def test_the_covariances_of_two_variables(fuentes):
    law, full, sweep, _ = fuentes["transition_matrices"](np.array([0.5, 0.5]))
    h = np.array([1.0, 1.0, 0.0, 0.0])
    assert fuentes["lag_one"](h, law, full) == pytest.approx(1 / 8, abs=1e-15)
    assert fuentes["lag_one"](h, law, sweep) == pytest.approx(1 / 16, abs=1e-15)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_is_false_and_reversed(fuentes, alpha):
    law, full, sweep, site = fuentes["transition_matrices"](np.array(alpha))
    for matrix in (full, sweep, site):
        assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-14
        assert np.abs(law @ matrix - law).max() < 1e-14
    least, largest = fuentes["ratio_range"](law, sweep, full)
    total = sum(alpha)
    assert least > -1e-9
    assert largest == pytest.approx(((total + 2.0) / (2.0 * total + 2.0)) ** 2, abs=1e-9)  # below 1
    assert fuentes["ratio_range"](law, site, full)[1] > 1.0


def test_the_order_of_table_2_is_that_of_one_site(fuentes):
    found = {name: many for name, (_, many) in fuentes["table_two"](np.full(5, 0.2), 1, repeats=20).items()}
    assert found["sweep"] < 0.8 * found["full, averaged"]
    assert found["sweep"] < 0.8 * found["full"]
    for one_site in ("one site, in turn", "one site, random"):
        assert found[one_site] > 1.4 * found["full"]


def test_the_scheme_with_the_models_alpha_has_the_posterior_and_the_printed_one_has_not(fuentes):
    counts, law = np.array([[2, 1, 0], [0, 1, 1]]), np.array([0.03487, 0.49886, 0.46628])
    away = {}
    for as_printed in (False, True):
        chain, found = fuentes["FullGibbs"](counts, np.full(3, 0.5), 0.5, 0, as_printed), np.zeros(4)
        for _ in range(6000):
            chain.sweep()
            found[chain.n_topics()] += 1
        away[as_printed] = 0.5 * np.abs(found[1:] / 6000 - law).sum()
    assert away[False] < 0.025  # 0.005
    assert away[True] > 0.06  # 0.09


def log_joint(z, n_topics, a, b):
    """log p(z, w) by products, no logarithm of a gamma function in sight."""

    def rising(x, n):
        return math.prod(x + i for i in range(n))

    words, home, p = [0, 0, 1, 1, 2], [0, 0, 0, 1, 1], 1.0
    for owners, cells, x, n_cells in ((home, z, a, n_topics), (z, words, b, 3)):
        for owner in set(owners):
            own = Counter(cell for cell, by in zip(cells, owners, strict=True) if by == owner)
            p *= math.prod(rising(x, n) for n in own.values()) / rising(n_cells * x, sum(own.values()))
    return math.log(p)


@pytest.mark.parametrize(("n_topics", "a", "b"), [(2, 0.5, 0.5), (3, 0.5, 0.5), (3, 2.0, 0.1)])
def test_ranks_of_allocations_are_those_of_the_posterior(fuentes, n_topics, a, b):
    """Equation 3 as printed lacks the denominators of the topics, and ranks 00000 first."""
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    every = np.array(list(product(range(n_topics), repeat=5)))
    rows, logs = fuentes["ranked_allocations"](corpus, every, n_topics, a, b)
    assert len(rows) == len(np.unique(rows, axis=0)) == {2: 16, 3: 41}[n_topics]
    assert logs == pytest.approx([log_joint(z, n_topics, a, b) for z in rows.tolist()], abs=1e-12)
    assert np.all(np.diff(logs) <= 0.0)
    assert fuentes["topics_of_documents"](corpus, [[0, 1, 2, 2, 2], [1, 1, 1, 0, 1]]).tolist() == [
        [3, 1],
        [1, 2],
    ]
    if (n_topics, a, b) == (2, 0.5, 0.5):
        values, home = np.asarray(corpus.values), np.asarray(corpus.codes("document"))
        assert rows[0].tolist() == [0, 0, 0, 1, 1]
        printed = [fuentes["printed_score"](z, values, home, a, b) for z in rows]
        assert rows[int(np.argmax(printed))].tolist() == [0, 0, 0, 0, 0]
