"""Downsampling of the largest documents."""

import numpy as np
import pytest
import scipy.stats

import hdpkit as hk
from hdpkit.errors import DataError

COUNTS = np.array([[400, 300, 200, 100], [3, 0, 2, 1], [0, 60, 0, 60]])


def corpus():
    return hk.Corpus.from_counts(
        COUNTS, vocabulary=list("abcd"), names=["x", "y", "z"], groups={"type": ["p", None, "q"]}
    )


def test_large_documents_have_as_many_tokens_as_are_asked_for():
    full = corpus()
    fewer = hk.downsample(full, 100, rng=1)
    assert fewer.document_lengths.tolist() == [100, 6, 100]
    counts = fewer.to_counts().toarray()
    assert (counts <= COUNTS).all()
    assert np.array_equal(counts[1], COUNTS[1])
    assert (fewer.names, fewer.vocabulary) == (full.names, full.vocabulary)
    codes, keys = fewer.document_labels["type"]
    assert (codes.tolist(), list(keys)) == ([0, -1, 1], ["p", "q"])
    assert fewer.cells is not None
    assert np.array_equal(hk.downsample(full, 100, rng=1).to_counts().toarray(), counts)
    assert not np.array_equal(hk.downsample(full, 100, rng=2).to_counts().toarray(), counts)
    assert hk.downsample(full, 1000) is full


def test_it_is_hypergeometric():
    full = hk.Corpus.from_counts([[7, 3, 5]])
    drawn = np.array([hk.downsample(full, 6, rng=seed).to_counts().toarray()[0, 0] for seed in range(600)])
    law = scipy.stats.hypergeom(15, 7, 6).pmf(np.arange(7))
    seen = np.bincount(drawn, minlength=7)
    there = law * len(drawn) > 5
    expected = law[there] * seen[there].sum() / law[there].sum()
    assert scipy.stats.chisquare(seen[there], expected).pvalue > 1e-4


def test_more_than_can_be_drawn_from():
    with pytest.raises(DataError, match="document 0"):
        hk.downsample(hk.Corpus.from_counts([[10**9, 5]]), 100)
