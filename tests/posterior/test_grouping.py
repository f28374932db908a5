"""Groups of similar topics."""

import numpy as np
import pytest
import scipy

import hdpkit as hk
from hdpkit.summaries import group_topics

RNG = np.random.default_rng(4)
CENTRES = RNG.dirichlet(np.full(30, 0.1), size=3)
MEMBERS = np.repeat([0, 1, 2], [5, 3, 2])
TOPICS = 0.9 * CENTRES[MEMBERS] + 0.1 * RNG.dirichlet(np.full(30, 0.5), size=10)
WEIGHTS = np.array([1, 1, 1, 1, 1, 10, 10, 10, 2, 2], dtype=float)


def test_planted_groups_are_found():
    found = group_topics(TOPICS, WEIGHTS, 3, vocabulary=[f"w{v}" for v in range(30)])
    assert found.cut().tolist() == [1] * 5 + [0] * 3 + [2] * 2
    assert found.shares() == pytest.approx([30 / 39, 5 / 39, 4 / 39])
    assert found.means().shape == (3, 30)
    assert found.means().sum(axis=1) == pytest.approx(1.0)
    assert found.means()[2] == pytest.approx(TOPICS[8:].mean(axis=0))
    words = found.top_terms(n_terms=2)
    assert words[0] == tuple(f"w{v}" for v in np.argsort(-found.means()[0])[:2])
    assert found.cut(1).tolist() == [0] * 10
    assert sorted(found.cut(10).tolist()) == list(range(10))
    assert scipy.cluster.hierarchy.is_valid_linkage(found.linkage)


@pytest.mark.parametrize("method", ["average", "complete", "ward"])
def test_the_tree_is_that_of_scipy(method):
    apart = scipy.spatial.distance.pdist(TOPICS, "jensenshannon")
    expected = scipy.cluster.hierarchy.linkage(apart, method)
    np.testing.assert_allclose(group_topics(TOPICS, method=method).linkage, expected)


def test_equal_topics_and_one_topic():
    same = group_topics(np.ones((4, 3)), [0.0, 0.0, 1.0, 0.0])
    assert np.isfinite(same.linkage).all()
    assert same.cut(1).tolist() == [0] * 4
    assert group_topics([[0.5, 0.5]]).cut().tolist() == [0]


def test_franchises_and_samples_bring_their_shares():
    corpus = hk.Corpus.from_documents([["a", "a", "b"], ["b", "c"], ["c", "c"]])
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 3, rng=0)
    found = group_topics(franchise)
    assert found.weights == pytest.approx(franchise.dish_counts.sum(axis=1) / 7)
    assert set(found.top_terms(1)[0]) == {"a", "b", "c"}
    assert group_topics(franchise.sample()).weights == pytest.approx(found.weights)
    aligned = hk.summaries.components([franchise.sample()])
    assert group_topics(aligned).weights == pytest.approx(aligned.shares / aligned.shares.sum())
