"""The default start of topic models: terms that occur in the same documents begin with one dish."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError
from hdpkit.franchise import starts
from hdpkit.franchise.starts import FEWEST
from hdpkit.random import Purpose, Streams


def two_subjects(n_documents=60, length=50, seed=0):
    """Documents of two subjects with ten terms each and no term in common."""
    rng = np.random.default_rng(seed)
    documents = [10 * (i % 2) + rng.integers(0, 10, length) for i in range(n_documents)]
    return hk.Corpus.from_documents(documents, n_terms=20)


def franchise_of(data, **options):
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    return hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), data, **options)


def started(franchise, init, seed=0):
    """The state after the start and a sweep of no step."""
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=seed, init=init)
    return franchise


def test_subjects_without_a_common_term_come_apart():
    corpus = two_subjects()
    franchise = started(franchise_of(corpus), hk.init.TermClusters(2))
    dishes = franchise.dishes
    first, second = dishes[corpus.terms < 10], dishes[corpus.terms >= 10]
    assert set(np.unique(first)).isdisjoint(np.unique(second))
    franchise.audit()


def test_one_seed_one_start():
    corpus = two_subjects()
    a, b = (started(franchise_of(corpus), hk.init.TermClusters(5), seed=3).dishes for _ in range(2))
    assert np.array_equal(a, b)


@pytest.mark.parametrize("n_dishes", [1, 2, 7, 500])
def test_any_number_of_dishes(n_dishes):
    """More than there are terms: each term a dish."""
    franchise = started(franchise_of(two_subjects(10, 20)), hk.init.TermClusters(n_dishes))
    franchise.audit()
    assert franchise.n_dishes >= 1


def test_unused_terms_and_empty_documents_are_legal():
    corpus = hk.Corpus.from_documents([[0, 0, 3], [], [3, 5]], n_terms=9)
    started(franchise_of(corpus), hk.init.TermClusters(2)).audit()


def test_the_default_is_this_start_for_topic_models_with_enough_data():
    corpus = two_subjects()
    assert len(corpus) >= FEWEST
    default, same = (
        started(franchise_of(corpus), "auto"),
        started(franchise_of(corpus), hk.init.TermClusters()),
    )
    assert np.array_equal(default.dishes, same.dishes)
    little = two_subjects(4, 10)
    default, same = started(franchise_of(little), "auto"), started(franchise_of(little), "sequential")
    assert np.array_equal(default.dishes, same.dishes)


def test_sparse_topics_start_sequentially_by_default():
    sparse = [
        hk.Franchise(
            hk.Restaurant(hk.Restaurant(hk.SparseDirichletMultinomial(0.1)), each="document"), two_subjects()
        )
        for _ in range(2)
    ]
    default, same = started(sparse[0], "auto"), started(sparse[1], "sequential")
    assert np.array_equal(default.dishes, same.dishes)
    started(sparse[0], hk.init.TermClusters(3))


def test_other_data_are_refused_and_start_sequentially_by_default():
    rng = np.random.default_rng(0)
    data = hk.Groups.from_arrays([rng.poisson(3, 200) for _ in range(15)])
    root = hk.Restaurant(base=hk.GammaPoisson(1.0, 1.0), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="group"), data)
    with pytest.raises(ParameterError, match="TermClusters"):
        started(franchise, hk.init.TermClusters(3))
    started(franchise, "auto")


def labels(corpus, k=None):
    franchise = franchise_of(corpus)
    return starts.labels_of_terms(hk.init.TermClusters(k), franchise, Streams(3).source(Purpose.OTHER))


def test_clusters_of_blocks_of_terms_are_those_of_all_terms(monkeypatch):
    rng = np.random.default_rng(1)
    subjects = rng.dirichlet(np.full(400, 0.05), 8)
    shares = rng.dirichlet(np.full(8, 0.2), 120)
    corpus = hk.Corpus.from_counts([rng.multinomial(80, one) for one in shares @ subjects])
    seen = corpus.to_counts().sum(axis=0) > 0
    for k in (None, 8):
        at_once = labels(corpus, k)
        with monkeypatch.context() as patch:
            patch.setattr(starts, "_NUMBERS", 1600)
            in_blocks = labels(corpus, k)
        assert np.mean(at_once[seen] == in_blocks[seen]) > 0.95


def test_memory_of_the_start_does_not_grow_with_terms_times_clusters(monkeypatch):
    corpus = hk.Corpus.from_counts(
        sp.coo_array((np.ones(20_000, int), (np.arange(20_000) % 200, np.arange(20_000))))
    )
    franchise = franchise_of(corpus)
    monkeypatch.setattr(starts, "_NUMBERS", 2**19)
    tracemalloc.start()
    starts.labels_of_terms(hk.init.TermClusters(200), franchise, Streams(0).source(Purpose.OTHER))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16e6  # 20,000 x 200 doubles are 32 MB
