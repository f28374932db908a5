"""The default start of topic models: terms that occur in the same documents begin with one dish."""

import subprocess
import sys

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


def labels(corpus, k=None, threads=1, seed=3):
    """Clusters of the terms of a corpus."""
    source = Streams(seed).source(Purpose.OTHER)
    return starts.labels_of_terms(hk.init.TermClusters(k), franchise_of(corpus), source, threads)


def many_subjects(n_documents=120, n_terms=400, seed=1):
    rng = np.random.default_rng(seed)
    subjects = rng.dirichlet(np.full(n_terms, 0.05), 8)
    shares = rng.dirichlet(np.full(8, 0.2), n_documents)
    return hk.Corpus.from_counts([rng.multinomial(80, one) for one in shares @ subjects])


def unit(rows):
    return rows / np.maximum(1e-300, np.linalg.norm(rows, axis=1, keepdims=True))


@pytest.mark.parametrize("n_documents", [3, 30, 48])
def test_clusters_are_those_of_numpy(n_documents, monkeypatch):
    """With no more documents than coordinates, the singular vectors span all that the counts span."""
    seen, plain = {}, starts.cluster_terms

    def spied(*arguments):
        seen.update(order=arguments[4], first=arguments[6])
        return plain(*arguments)

    monkeypatch.setattr(starts, "cluster_terms", spied)
    corpus = many_subjects(n_documents)
    found = labels(corpus, 12)
    across = np.log1p(corpus.to_counts().toarray().T[seen["order"]])
    # A A^T Q has the inner products of A A^T, if the columns of Q are a basis of those of A.
    places = unit(across @ across.T)
    centres = places[seen["first"]]
    for round_ in range(starts.ROUNDS + 1):
        products = places @ centres.T
        wanted = np.argmax(products, axis=1)
        if round_ < starts.ROUNDS:
            centres = unit(np.eye(12)[wanted].T @ places)
    two = np.sort(products, axis=1)[:, -2:]
    apart = two[:, 1] - two[:, 0] > 1e-4
    assert apart.mean() > 0.5
    assert np.mean(found[seen["order"]][apart] == wanted[apart]) > 0.99


def test_clusters_do_not_depend_on_threads_or_the_width_of_registers(monkeypatch):
    corpus = many_subjects(700, 3000)
    for placed in (starts.PLACED, 500):
        monkeypatch.setattr(starts, "PLACED", placed)
        one = labels(corpus)
        assert len(np.unique(one)) > 20
        for threads in (2, 5):
            assert np.array_equal(labels(corpus, threads=threads), one)
        monkeypatch.setattr(starts, "instruction_set", lambda: "baseline")
        assert np.array_equal(labels(corpus), one)
        monkeypatch.undo()


def test_a_start_does_not_depend_on_threads():
    corpus = many_subjects(300)
    found = []
    for threads in (1, 2, 3):
        franchise = franchise_of(corpus)
        hk.Scheduler([moves.TableGibbs()], threads=threads).run(franchise, sweeps=1, rng=4)
        found.append(franchise.dishes)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_terms_of_few_documents_join_a_cluster_of_their_documents(monkeypatch):
    rng = np.random.default_rng(2)
    law = 1.0 / np.arange(1, 11)
    documents = [10 * (i % 2) + rng.choice(10, 8, p=law / law.sum()) for i in range(200)]
    monkeypatch.setattr(starts, "PLACED", 8)
    found = labels(hk.Corpus.from_documents(documents, n_terms=20), 8)
    assert len(np.unique(found)) > 2
    assert set(found[:10]).isdisjoint(found[10:])


def test_customers_copy_another_one_of_their_document():
    corpus = hk.Corpus.from_documents([[0] * 30_000 + [1] * 10_000, [], [2], [1, 1]], n_terms=4)
    begins = np.array([0, 40_000, 40_000, 40_001, 40_003])
    of_terms = np.array([5, 7, 9, 0], dtype=np.int32)
    found = starts.copied_labels(of_terms, corpus.terms, begins, 0.8, 1, 2, 2)
    assert found[40_000:].tolist() == [9, 7, 7]
    assert np.mean(found[:30_000] == 7) == pytest.approx(0.8 * 0.25, abs=0.015)
    assert np.mean(found[30_000:40_000] == 5) == pytest.approx(0.8 * 0.75, abs=0.025)


def test_many_terms_begin_with_fewer_topics():
    """Each topic has a count of every term."""
    corpus = hk.Corpus.from_counts(sp.coo_array(([10**6], ([0], [0])), shape=(1, 10**6)))
    assert labels(corpus).max() == 0
    n = 300_000
    corpus = hk.Corpus.from_counts(sp.coo_array((np.ones(n, int), (np.arange(n) % 2000, np.arange(n)))))
    assert labels(corpus).max() < 2**26 / n


@pytest.mark.parametrize(
    ("n_tokens", "n_used", "expected"),
    [
        (348_884, 10_391, 306),  # 3 sqrt(terms)
        (10_000, 10_391, 100),  # no more than sqrt(tokens)
        (7_170_400, 15_061, 1_339),  # half of sqrt(tokens)
        (100_000_000, 15_061, 1_506),  # ten terms each
        (764_425, 96, 29),  # few terms: 3 sqrt(terms) again
        (1, 1, 1),
    ],
)
def test_long_corpora_begin_with_more_topics(n_tokens, n_used, expected):
    assert starts.usual_clusters(n_tokens, n_used, n_used) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="the largest size of a process is read from /proc")
def test_memory_of_the_start_does_not_grow_with_terms_times_clusters():
    program = """if True:
        import re
        import numpy as np, scipy.sparse as sp, hdpkit as hk
        from hdpkit.franchise import starts
        from hdpkit.random import Purpose, Streams
        n = 100_000
        counts = sp.coo_array((np.ones(n, int), (np.arange(n) % 200, np.arange(n))))
        root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
        franchise = hk.Franchise(hk.Restaurant(root, each="document"), hk.Corpus.from_counts(counts))

        def most():
            return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1])

        open("/proc/self/clear_refs", "w").write("5")
        before = most()
        starts.labels_of_terms(hk.init.TermClusters(300), franchise, Streams(0).source(Purpose.OTHER))
        print(most() - before)
        """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40_000  # kB; 100,000 x 300 doubles are 240 MB
