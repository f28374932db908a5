"""The examples of sparse topics: true terms are found; folds, complexity and noise topics are right."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import hdpkit as hk

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def topics():
    return runpy.run_path(str(EXAMPLES / "sparse_topics.py"))


@pytest.fixture(scope="module")
def study():
    return runpy.run_path(str(EXAMPLES / "sparse_study.py"))


def test_the_sparse_model_recovers_the_planted_terms(topics):
    # A fixed seed; the figures measured are 0.99 and 0.97 of the sparse model, sparsity 0.76 (0.75 planted).
    found = topics["compare"](topics["plant"](0), 60, 0)
    precision, recall, fit = found["sparse"]
    assert precision > 0.95
    assert recall > 0.9
    assert abs(fit.sparsity - 0.75) < 0.05
    assert 5 <= fit.n_topics <= 8
    assert 0.5 < fit.parameter < 3.0  # smoothing 1 was planted; the eta of the plain model is far below
    assert found["plain"][2].parameter < 0.2
    assert np.isnan(found["plain"][2].sparsity)


def test_precision_and_recall_by_hand(topics):
    planted = np.array([[0.5, 0.4995, 0.0005, 0.0]])
    score = topics["precision_and_recall"]
    assert score(np.array([[True, True, True, False]]), planted) == (1.0, 1.0)
    assert score(np.array([[True, False, False, True]]), planted) == (0.5, 0.5)
    assert topics["f_score"]((0.5, 0.5)) == 0.5
    assert topics["best_in_hindsight"](np.array([[0.4, 0.3, 0.0, 0.2]]), planted) == (1.0, 1.0)


def tiny_corpus(n_documents=23):
    generator = np.random.default_rng(3)
    kinds = np.array([[5, 4, 3, 2, 0, 0, 0, 0], [0, 0, 0, 1, 4, 5, 2, 2]]) / 14
    counts = np.array([generator.multinomial(12, kinds[d % 2]) for d in range(n_documents)])
    return hk.Corpus.from_counts(counts, vocabulary=[f"word{v}" for v in range(8)])


def test_every_document_is_in_one_test_corpus(study):
    corpus = tiny_corpus()
    pairs = list(study["folds_of"](corpus, 5, 0))
    assert [train.n_documents + test.n_documents for train, test in pairs] == [23] * 5
    together = sum(np.asarray(test.to_counts().sum(axis=0)).ravel() for _, test in pairs)
    assert np.array_equal(together, np.asarray(corpus.to_counts().sum(axis=0)).ravel())


def test_complexity_is_topics_and_their_terms(study):
    assert study["complexity"](np.array([[3, 0, 1], [0, 2, 0]])) == 2 + 3


def test_rare_terms_are_left_out(study):
    counts = np.array([[3, 0, 1, 0], [2, 1, 4, 0]])
    corpus = study["frequent"](hk.Corpus.from_counts(counts, vocabulary=["a", "b", "c", "d"]), 2)
    assert np.array_equal(corpus.to_counts().toarray(), counts[:, [0, 2]])
    assert list(corpus.vocabulary) == ["a", "c"]


def test_noise_topics_are_of_rare_terms(study):
    frequency = np.array([10, 10, 5, 1, 1])
    assert study["is_noise"](np.array([3, 4]), frequency)
    assert not study["is_noise"](np.array([0, 1]), frequency)


def test_the_study_in_small(study, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    counts = tiny_corpus().to_counts().tocsr()
    path = tmp_path / "corpus.ldac"
    with path.open("w", encoding="utf-8") as file:
        for row in range(counts.shape[0]):
            cells = slice(counts.indptr[row], counts.indptr[row + 1])
            pairs = zip(counts.indices[cells], counts.data[cells], strict=True)
            file.write(" ".join([str(cells.stop - cells.start), *(f"{v}:{n}" for v, n in pairs)]) + "\n")
    options = ["--folds", "2", "--least", "2", "--sweeps", "4"]
    options += ["--samples", "2", "--thin", "2", "--particles", "2"]
    monkeypatch.setattr(sys, "argv", ["sparse_study.py", str(path), "--out", str(tmp_path / "out"), *options])
    study["main"]()
    rows = json.loads((tmp_path / "out" / "study.json").read_text())["rows"]
    assert {name: len(found) for name, found in rows.items()} == {"sparse": 2, "plain": 2}
    for row in rows["sparse"] + rows["plain"]:
        assert 1.0 < row["perplexity"] < 50.0
        assert len(row["complexity"]) == len(row["topics"]) == len(row["terms"]) == 2
        assert row["complexity"][0] == pytest.approx(row["topics"][0] * (1.0 + row["terms"][0]))
    text = (tmp_path / "out" / "topics.txt").read_text()
    assert "Similar topics" in text
    assert "Noise topics, plain" in text
    assert (tmp_path / "out" / "study.png").stat().st_size > 3_000
