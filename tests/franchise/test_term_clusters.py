"""The default start of topic models: terms that occur in the same documents begin with one dish."""

import numpy as np

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


def test_clusters_do_not_depend_on_threads_or_the_width_of_registers(monkeypatch):
    corpus = many_subjects(700, 3000)
    one = labels(corpus)
    assert len(np.unique(one)) > 20
    for threads in (2, 5):
        assert np.array_equal(labels(corpus, threads=threads), one)
    monkeypatch.setattr(starts, "instruction_set", lambda: "baseline")
    assert np.array_equal(labels(corpus), one)
