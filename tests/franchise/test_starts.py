"""Starts of topic models: by terms that occur in the same documents, and by a factorisation of the counts."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError
from hdpkit.franchise import starts
from hdpkit.random import Purpose, Streams

LAWS = np.random.default_rng(3).dirichlet(np.full(20, 0.1), size=3)
CELLS = {"store": "counts", "root": "weights"}


def started(data, init, seed=0, **options):
    """One sweep that leaves who eats what over cells, and Table Gibbs where there are none."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), data, **options)
    move = moves.TableCounts() if "store" in options else moves.TableGibbs()
    hk.Scheduler([move]).run(franchise, sweeps=1, rng=seed, init=init)
    franchise.audit()
    return franchise


def two_subjects(n_documents=60, length=50):
    """Documents of two subjects with ten terms each and no term in common."""
    rng = np.random.default_rng(0)
    documents = [10 * (i % 2) + rng.integers(0, 10, length) for i in range(n_documents)]
    return hk.Corpus.from_documents(documents, n_terms=20)


def test_subjects_without_a_common_term_come_apart():
    corpus = two_subjects()
    dishes = started(corpus, hk.init.TermClusters(2)).dishes
    assert set(dishes[corpus.terms < 10]).isdisjoint(dishes[corpus.terms >= 10])


def test_the_default_is_by_terms_for_topic_models_with_enough_data():
    for corpus, same in ((two_subjects(), hk.init.TermClusters()), (two_subjects(4, 10), "sequential")):
        assert np.array_equal(started(corpus, "auto").dishes, started(corpus, same).dishes)


def test_clusters_do_not_depend_on_threads_or_the_width_of_registers(monkeypatch):
    rng = np.random.default_rng(1)
    laws = rng.dirichlet(np.full(8, 0.2), 700) @ rng.dirichlet(np.full(3000, 0.05), 8)
    corpus = hk.Corpus.from_counts([rng.multinomial(80, law) for law in laws])

    def labels(threads=1):
        source = Streams(3).source(Purpose.OTHER)
        return starts.labels_of_terms(hk.init.TermClusters(), corpus, None, source, threads)

    one = labels()
    assert len(np.unique(one)) > 20
    for threads in (2, 5):
        assert np.array_equal(labels(threads), one)
    monkeypatch.setattr(starts, "instruction_set", lambda: "baseline")
    assert np.array_equal(labels(), one)


def mixed(options):
    """Documents of three components, by cell where the franchise is."""
    rng = np.random.default_rng(0)
    shares, lengths = rng.dirichlet(np.full(3, 0.3), size=25), rng.integers(50, 5000, 25)
    counts = np.stack([rng.multinomial(n, p @ LAWS) for n, p in zip(lengths, shares, strict=True)])
    if options:
        return hk.Corpus.from_counts(counts)
    documents = [np.repeat(np.arange(20), row // 10).tolist() for row in counts]
    return hk.Corpus.from_documents(documents, n_terms=20)


def cosines(topics):
    return topics @ LAWS.T / np.outer(np.linalg.norm(topics, axis=1), np.linalg.norm(LAWS, axis=1))


EACH_WAY = pytest.mark.parametrize("options", [CELLS, {}], ids=["cells", "customers"])


@EACH_WAY
def test_dishes_begin_as_the_components_of_a_factorisation(options):
    franchise, again, other = (
        started(mixed(options), hk.init.Factors(3), seed, **options) for seed in (0, 0, 1)
    )
    assert cosines(franchise.sample().topics()).max(axis=0).min() > 0.95
    assert np.array_equal(again.dish_counts, franchise.dish_counts)
    assert not np.array_equal(other.dish_counts, franchise.dish_counts)


def test_any_number_of_dishes_and_empty_documents():
    data = hk.Corpus.from_counts([[3, 0, 2, 0], [0, 0, 0, 0], [0, 4, 1, 0]])
    for init in (hk.init.Factors(1), hk.init.Factors(9), hk.init.Factors()):
        started(data, init, **CELLS)
    assert started(data, hk.init.Factors(), store="counts", root=hk.FixedWeights(2)).n_dishes <= 2


@EACH_WAY
@pytest.mark.parametrize("init", [hk.init.Factors(4), hk.init.Factors(topics=LAWS[2:])], ids=["n", "topics"])
def test_known_components_begin_with_what_is_theirs(options, init):
    known = hk.Known(LAWS[:2], counts=50, frozen=[True, False])
    franchise = started(mixed(options), init, known=known, **options)
    topics = franchise.sample().topics()
    assert np.array_equal(topics[0], franchise.known.matrix[0])
    assert np.diag(cosines(topics))[:2].min() > 0.95
    assert franchise.dish_counts[:2].sum(axis=1).min() > 0.05 * len(franchise.data)


@EACH_WAY
def test_terms_that_no_known_component_has_begin_with_a_dish_of_their_own(options):
    laws = np.zeros((2, 20))
    laws[0, :8], laws[1, 8:15] = 1 / 8, 1 / 7
    none = hk.init.Factors(topics=np.empty((0, 20)))
    assert started(mixed(options), none, known=hk.Known(laws, frozen=True), **options).n_dishes > 2
    with pytest.raises(ParameterError, match="no component is known"):
        started(mixed(options), none, **options)
