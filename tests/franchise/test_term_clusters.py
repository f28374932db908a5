"""The default start of topic models: terms that occur in the same documents begin with one dish."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
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


def labels(corpus, k=None, threads=1, seed=3):
    """Clusters of the terms of a corpus."""
    source = Streams(seed).source(Purpose.OTHER)
    return starts.labels_of_terms(hk.init.TermClusters(k), corpus, None, source, threads)


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
