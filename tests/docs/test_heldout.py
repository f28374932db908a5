"""The score for comparisons of topic models, `benchmarks/heldout.py`: values computed by hand."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import hdpkit as hk
from hdpkit import moves

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "heldout.py"
spec = importlib.util.spec_from_file_location("heldout", SCRIPT)
heldout = importlib.util.module_from_spec(spec)
spec.loader.exec_module(heldout)

PHI = np.array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])


def test_topics_that_share_no_term():
    # theta = (1 + 2, 1/2 + 1) / (9/2) = (2/3, 1/3): the held-out words have 1/3, 1/6, 1/6.
    phi = [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]]
    score = heldout.perplexity(phi, [1.0, 0.5], sp.csr_array([[2, 0, 1, 0]]), sp.csr_array([[0, 1, 0, 2]]))
    assert score == pytest.approx(108 ** (1 / 3), rel=1e-12)


def test_proportions_are_the_fixed_point():
    # 2 t = p1 + t/2 / (t/2 + (1 - t)/4) with p = (1/3, 2/3) has the root t = 1/2.
    theta = heldout.proportions(PHI, np.array([1, 2]) / 3, np.array([0]), np.array([1]), tolerance=1e-12)
    assert theta == pytest.approx([0.5, 0.5], abs=1e-9)


def test_words_are_weighted_alike_and_empty_halves_are_legal():
    # First document: theta = (1/2, 1/2), words 3/8, 1/4, 1/4. Second: theta = prior = (1/3, 2/3): 1/3.
    observed = sp.csr_array([[1, 0, 0], [0, 0, 0], [5, 1, 2]])
    held = sp.csr_array([[1, 2, 0], [1, 0, 0], [0, 0, 0]])
    score = heldout.perplexity(PHI, np.array([1, 2]) / 3, observed, held, tolerance=1e-12)
    assert score == pytest.approx((3 / 8 / 16 / 3) ** (-1 / 4), rel=1e-9)


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_a_smaller_step_changes_little(tolerance):
    rng = np.random.default_rng(1)
    phi = rng.dirichlet(np.full(50, 0.1), size=20)
    observed, held = (sp.csr_array(rng.poisson(0.5, size=(10, 50))) for _ in range(2))
    scores = [heldout.perplexity(phi, np.full(20, 0.1), observed, held, step) for step in (tolerance, 1e-10)]
    assert scores[0] == pytest.approx(scores[1], rel=20 * tolerance)


def test_halves_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="fit"):
        heldout.perplexity(PHI, [1.0, 1.0], sp.csr_array([[1, 0, 0]]), sp.csr_array([[1, 0]]))


def test_a_franchise_is_scored_with_its_unseen_topic():
    corpus = hk.Corpus.from_documents([[0, 0, 1, 0], [1, 2, 2], [2, 2, 2, 1]], n_terms=4)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=3.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=0.7, each="document"), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=4, init=hk.init.Random(3))
    observed, held = np.array([1, 2, 0, 0]), np.array([0, 1, 0, 1])

    shared = franchise.restaurant("root")
    tables = np.array([shared.customers_of(k) for k in range(franchise.n_dishes)])
    prior = 0.7 * np.append(tables, 3.0) / (tables.sum() + 3.0)
    phi = (franchise.dish_counts + 0.5) / (franchise.dish_counts.sum(axis=1, keepdims=True) + 2.0)
    phi = np.vstack([phi, np.full(4, 0.25)])
    theta = np.full(len(prior), 1 / len(prior))
    for _ in range(10_000):
        expected = np.zeros(len(prior))
        for term, count in enumerate(observed):
            expected += count * theta * phi[:, term] / np.sum(theta * phi[:, term])
        theta = (prior + expected) / (0.7 + 3)
    by_hand = math.exp(-np.mean([math.log(theta @ phi[:, term]) for term in (1, 3)]))

    score = heldout.of_franchise(franchise, sp.csr_array([observed]), sp.csr_array([held]), tolerance=1e-10)
    assert score == pytest.approx(by_hand, rel=1e-6)
    one = hk.Franchise(hk.Restaurant(base=hk.DirichletMultinomial()), corpus)
    with pytest.raises(ValueError, match="two-level"):
        heldout.topics_of(one)


def test_the_halves_are_found_beside_the_training_documents(tmp_path):
    files = {"train": "1 0:2\n1 1:1\n", "test_obs": "1 1:1\n0\n", "test_held": "1 3:1\n1 0:1\n"}
    for name, text in files.items():
        (tmp_path / f"a.{name}.ldac").write_text(text, encoding="utf-8")
    corpus, observed, held = heldout.read(tmp_path / "a.train.ldac")
    assert corpus.n_terms == 4
    assert observed.toarray().tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]
    assert held.toarray().tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    named = heldout.read(tmp_path / "a.train.ldac", held=tmp_path / "a.test_obs.ldac")
    assert named[2].toarray().tolist() == [[0, 1], [0, 0]]
    (tmp_path / "b.ldac").write_text("1 0:2\n", encoding="utf-8")
    assert heldout.read(tmp_path / "b.ldac")[1:] == (None, None)
