"""Trees of topics, and components of two runs beside each other."""

import numpy as np
import pytest
import scipy

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError
from hdpkit.posterior.matching import ComponentSet
from hdpkit.summaries import group_topics, match_topics

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


class Planted:
    """Components with known rows."""

    def __init__(self, rows, columns, shares=None, names=None):
        self.rows = np.asarray(rows, dtype=float)
        self.columns = columns
        n = len(self.rows)
        self.shares = np.full(n, 1 / n) if shares is None else np.asarray(shares)
        self.names = names or tuple(str(k + 1) for k in range(n))

    def component_set(self, source):
        def words(k, n):
            return [str(v) for v in np.argsort(-self.rows[k], kind="stable")[:n]]

        return ComponentSet(
            source=source, names=self.names, shares=self.shares, columns=self.columns,
            rows=lambda which: self.rows[which], words=words,
        )  # fmt: skip


def run_over(documents, folder, seed=0, chains=2):
    corpus = hk.Corpus.from_documents(documents)
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), corpus)
    schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])
    schedule.run(
        franchise, sweeps=60, rng=seed, chains=chains, samples=10, folder=folder, init=hk.init.Random(3)
    )
    return hk.open_run(folder)


def documents_of(subjects, rng, n=30):
    return [
        [
            f"{subjects[i]}{j}"
            for i, j in zip(rng.choice(len(subjects), 40, p=shares), rng.integers(6, size=40), strict=True)
        ]
        for shares in rng.dirichlet(np.full(len(subjects), 0.2), size=n)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    rng = np.random.default_rng(0)
    place = tmp_path_factory.mktemp("runs")
    first = run_over(documents_of(["sea", "bread", "moon"], rng), place / "first")
    second = run_over(documents_of(["bread", "sea", "horse"], rng), place / "second", seed=1)
    return first, second


def test_pairs_are_the_assignment_with_the_largest_sum():
    one = Planted([[1, 0.9, 0, 0], [0.9, 1, 0.3, 0], [0, 0, 0, 1.0]], "abcd", [0.5, 0.3, 0.2])
    other = Planted([[0, 1, 0.4, 0], [1, 1, 0, 0]], "abcd", [0.6, 0.4])
    found = match_topics(one, other, min_cosine=0.5)
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    # Row 1 is most like column 1 too, but that one is row 0's.
    assert found.cosines[1, 1] > found.cosines[1, 0]
    assert found.missing.tolist() == [2]
    assert found.new.tolist() == []
    assert found.shared == pytest.approx((0.8, 1.0))
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (one.rows, other.rows)]
    np.testing.assert_allclose(found.cosines, units[0] @ units[1].T, atol=1e-12)
    np.testing.assert_allclose(found.cosine, found.cosines[[0, 1], [1, 0]])


def test_two_runs_over_corpora_with_other_words(runs):
    first, second = runs
    found = match_topics(*runs)
    assert found.sources == ("first", "second")
    pairs = {(found.words(0, i, 1)[0][:-1], found.words(1, j, 1)[0][:-1]) for i, j in found.pairs.tolist()}
    assert {("sea", "sea"), ("bread", "bread")} <= pairs
    assert all(one == other for one, other in pairs)
    # The largest without a partner; a consensus can have smaller topics of the same words.
    assert found.words(0, found.missing[0], 1)[0][:-1] == "moon"
    assert found.words(1, found.new[0], 1)[0][:-1] == "horse"
    assert found.n_columns == (18, 18, 12)
    again = match_topics(second.folder, first.folder)
    assert sorted(again.pairs[:, ::-1].tolist()) == sorted(found.pairs.tolist())
    np.testing.assert_allclose(again.cosines, found.cosines.T, atol=1e-12)
    assert "missing in second" in str(found)
    assert len(found.to_pandas(n_terms=3)) == sum(map(len, (found.pairs, found.missing, found.new)))


def mixture(folder, X, seed):
    root = hk.Restaurant(hk.NormalInverseWishart.weakly_informative(X), concentration=1.0)
    franchise = hk.Franchise(root, hk.Groups.from_labels(X))
    hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()]).run(
        franchise, sweeps=40, rng=seed, samples=10, folder=folder
    )
    return hk.open_run(folder)


def test_components_of_numbers_are_matched_by_their_customers(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.5, size=(40, 2)) for m in ([0, 0], [5, 0], [0, 5])])
    one, other = mixture(tmp_path / "one", X, 0), mixture(tmp_path / "other", X, 1)
    found = match_topics(one, other)
    assert len(found.pairs) == 3
    assert (found.cosine > 0.95).all()
    for i, j in found.pairs.tolist():
        first, second = (
            float(found.words(side, k, 1)[0].removeprefix("mean[0]=")) for side, k in ((0, i), (1, j))
        )
        assert first == pytest.approx(second, abs=0.3)
    with pytest.raises(DataError, match="same data"):
        match_topics(one, mixture(tmp_path / "third", X + 1.0, 0))
