"""A sample agrees with its franchise, and is independent of it."""

import copy
import pickle

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference, SparseDirichletMultinomialReference
from hdpkit.posterior.alignment import merged_sample
from hdpkit.random import as_source

WORDS = [["a", "b", "b", "c"], ["c", "d", "d"], ["a", "a", "e"], ["f", "e", "d", "d"], ["b", "c"]]
AUTHORS = ["ann", "ann", "bob", None, "bob"]
ETA = np.array([0.2, 0.4, 0.1, 0.3, 0.5, 0.7])


def corpus():
    return hk.Corpus.from_documents(WORDS * 3, groups={"author": AUTHORS * 3})


def two_levels(measure=None, discount=0.0, **options):
    measure = hk.DirichletMultinomial(0.3) if measure is None else measure
    root = hk.Restaurant(base=measure, concentration=2.0, discount=discount)
    document = hk.Restaurant(
        base=root, concentration=hk.Each(hk.Gamma(2.0, 1.0)), discount=discount, each="document"
    )
    return hk.Franchise(document, corpus(), **options)


def three_levels():
    root = hk.Restaurant(base=hk.DirichletMultinomial(ETA), concentration=2.0)
    author = hk.Restaurant(base=root, concentration=1.5, discount=0.2, each="author")
    document = hk.Restaurant(base=author, concentration=0.5, discount=hk.Beta(1.0, 3.0), each="document")
    return hk.Franchise(document, corpus())


def sparse(**options):
    return two_levels(hk.SparseDirichletMultinomial(**options))


FRANCHISES = {
    "two levels": two_levels,
    "discounts": lambda: two_levels(discount=0.3, store="explicit"),
    "three levels": three_levels,
    "flat": lambda: hk.Franchise(
        hk.Restaurant(base=hk.DirichletMultinomial(0.3), concentration=2.0), corpus()
    ),
    "counts": lambda: two_levels(store="counts"),
    "weights": lambda: two_levels(store="counts", root="weights"),
    "fixed weights": lambda: two_levels(root=hk.FixedWeights(7)),
    "reference": lambda: two_levels(DirichletMultinomialReference(0.3), kernel="reference"),
    "sparse": lambda: sparse(smoothing=0.2),
    "sparse, stored": lambda: sparse(smoothing=0.2, selection=hk.Beta(2.0, 1.0), proportions="stored"),
    "bursty": lambda: two_levels(hk.Bursty(hk.DirichletMultinomial(0.3), 0.5, 0.2)),
    "bursty, sparse": lambda: two_levels(hk.Bursty(hk.SparseDirichletMultinomial(0.2), 0.5)),
    "sparse, reference": lambda: two_levels(SparseDirichletMultinomialReference(0.2)),
}


def begun(make, sweeps=5):
    franchise = make()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps, rng=1, init=hk.init.Random(4))
    return franchise


@pytest.mark.parametrize("name", FRANCHISES)
def test_a_sample_says_what_the_franchise_says(name):
    franchise = begun(FRANCHISES[name])
    sample = franchise.sample()
    assert (sample.chain, sample.sweep) == (0, 5)
    assert np.array_equal(sample.ids, franchise.dish_ids)
    assert np.array_equal(sample.sizes, np.bincount(franchise.dishes))
    assert np.array_equal(sample.counts.toarray(), franchise.dish_counts)
    assert np.allclose(sample.topics(), franchise.dish_parameters(), rtol=1e-12)
    assert np.allclose(sample.topics().sum(axis=1), 1.0)
    assert not sample.parameters  # nothing as large as K times V
    weights, rest = franchise.root_weights()
    assert np.allclose(sample.root_weights, [*weights, rest])
    deepest = franchise.declarations[-1]
    assert np.allclose(sample.group_weights(), franchise.group_weights(deepest.name), rtol=1e-12)
    assert np.allclose(sample.group_weights().sum(axis=1), 1.0)
    assert np.allclose(sample.shares(), sample.sizes / len(franchise.data))
    assert sample.log_joint == franchise.log_joint()
    if "sparse" in name:
        assert (franchise.selected_terms() <= len(ETA)).all()
    assert set(sample.hyperparameters) >= {"concentration/root", "discount/root"}
    assert list(sample.names) == franchise.keys(deepest.name)
    if deepest.each == "document":
        codes = franchise.data.codes("document")
        for document, row in enumerate(sample.group_counts.toarray()):
            assert np.array_equal(
                row, np.bincount(franchise.dishes[codes == document], minlength=franchise.n_dishes)
            )
        assert sample.label == "document"


def test_tables_teach_topics_where_terms_repeat():
    franchise = begun(FRANCHISES["bursty"])
    sample = franchise.sample()
    assert begun(FRANCHISES["two levels"]).sample().tables is None
    # Tables are those that the frozen state has, of every term at least one for each document with it.
    opens = franchise.freeze()["bank"]["opens"]
    tables = np.zeros(sample.counts.shape, dtype=int)
    np.add.at(tables, (franchise.dishes, franchise.data.values), opens)
    assert np.array_equal(sample.tables.toarray(), tables)
    assert np.array_equal(franchise.topic_counts, tables)
    assert np.array_equal(sample.topic_counts.toarray(), tables)
    assert 0 < tables.sum() < sample.sizes.sum() == franchise.dish_counts.sum()
    assert np.allclose(sample.topics(), (tables + 0.3) / (tables + 0.3).sum(axis=1, keepdims=True))
    drawn = drawn_topics(sample)
    error = drawn.std(axis=0) / DRAWS**0.5
    assert np.abs((drawn.mean(axis=0) - sample.topics()) / np.maximum(error, 1e-9)).max() < 5.0
    # Merged topics are those of merged tables.
    merged = merged_sample(sample, np.zeros(sample.n_dishes, dtype=int))
    assert np.allclose(merged.topics()[0], (tables.sum(axis=0) + 0.3) / (tables.sum() + 0.3 * 6))
    assert np.array_equal(merged.counts.toarray()[0], franchise.dish_counts.sum(axis=0))
    for array in (sample.tables.data, sample.tables.indptr):
        assert not array.flags.writeable


def test_samples_change_no_more_and_travel():
    franchise = begun(three_levels)
    sample, weights = franchise.sample(), franchise.group_weights("document")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 3, init=None)
    for twin in (sample, pickle.loads(pickle.dumps(sample)), copy.deepcopy(sample)):
        assert np.allclose(twin.group_weights(), weights)
        assert twin.group_counts is twin.levels[-1].counts
        for array in (twin.ids, twin.sizes, twin.counts.data, twin.root_weights, twin.group_counts.indptr):
            assert not array.flags.writeable
        with pytest.raises(TypeError):
            twin.hyperparameters["mine"] = 1.0


DRAWS = 1000


def drawn_topics(sample):
    source = as_source(0)
    drawn = np.array([sample.draw_topics(source) for _ in range(DRAWS)])
    assert np.allclose(drawn.sum(axis=-1), 1.0)
    return drawn


KNOWN = hk.Known(
    np.array([[0.7, 0.1, 0.1, 0.05, 0.05], [0.05, 0.05, 0.2, 0.3, 0.4]]), counts=40, frozen=[True, False]
)


@pytest.mark.parametrize("base", [
    hk.DirichletMultinomial(0.3), hk.DirichletMultinomial([0.1, 0.2, 0.3, 0.4, 0.5]),
    hk.SparseDirichletMultinomial(0.5, 0.6),
], ids=["symmetric", "asymmetric", "sparse"])  # fmt: skip
@pytest.mark.parametrize("known", [None, KNOWN], ids=["new", "known"])
def test_drawn_topics_have_the_posterior_mean(base, known):
    if known is not None and isinstance(base, hk.SparseDirichletMultinomial):
        known = None  # known components are of Dirichlet-multinomial topics
    data = hk.Corpus.from_documents([[0, 1, 1, 0, 0, 4], [3, 3, 4, 4], [2, 2, 0]], n_terms=5)
    document = hk.Restaurant(hk.Restaurant(base=base, concentration=1.0), concentration=1.0, each="document")
    franchise = hk.Franchise(document, data, known=known)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 3, rng=1)
    sample = franchise.sample()
    drawn = drawn_topics(sample)
    error = drawn.std(axis=0) / DRAWS**0.5
    assert np.abs((drawn.mean(axis=0) - sample.topics()) / np.maximum(error, 1e-9)).max() < 5.0
    if known is not None:
        assert np.allclose(drawn[:, 0], KNOWN.matrix[0])  # frozen
        mean, n = sample.topics()[1], sample.sizes[1] + 40 + 1.5  # the sum of eta
        assert np.allclose(drawn[:, 1].var(axis=0), mean * (1 - mean) / (n + 1), rtol=0.25)
    restored = pickle.loads(pickle.dumps(sample))
    assert np.array_equal(restored.draw_topics(3), sample.draw_topics(3))
