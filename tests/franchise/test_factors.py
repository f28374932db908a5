"""The start by a factorisation of the counts."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError

LAWS = np.random.default_rng(3).dirichlet(np.full(20, 0.1), size=3)


def corpus(by_cell=True):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(3, 0.3), size=25)
    counts = np.stack(
        [rng.multinomial(n, p @ LAWS) for n, p in zip(rng.integers(50, 5000, 25), shares, strict=True)]
    )
    if by_cell:
        return hk.Corpus.from_counts(counts)
    return hk.Corpus.from_documents(
        [np.repeat(np.arange(20), row // 10).tolist() for row in counts], n_terms=20
    )


def started(data, init, seed=0, **options):
    """One sweep that leaves who eats what over cells, and Table Gibbs where there are none."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), data, **options)
    move = moves.TableCounts() if "store" in options else moves.TableGibbs()
    hk.Scheduler([move]).run(franchise, sweeps=1, rng=seed, init=init)
    return franchise


@pytest.mark.parametrize("by_cell", [True, False])
def test_dishes_begin_as_the_components(by_cell):
    options = {"store": "counts", "root": "weights"} if by_cell else {}
    franchise = started(corpus(by_cell), hk.init.Factors(3), **options)
    franchise.audit()
    topics = franchise.sample().topics()
    cosine = topics @ LAWS.T / np.outer(np.linalg.norm(topics, axis=1), np.linalg.norm(LAWS, axis=1))
    assert cosine.max(axis=0).min() > 0.95
    again = started(corpus(by_cell), hk.init.Factors(3), **options)
    assert np.array_equal(again.dish_counts, franchise.dish_counts)
    other = started(corpus(by_cell), hk.init.Factors(3), seed=1, **options)
    assert not np.array_equal(other.dish_counts, franchise.dish_counts)


def test_any_number_of_dishes_and_empty_documents():
    data = hk.Corpus.from_counts([[3, 0, 2, 0], [0, 0, 0, 0], [0, 4, 1, 0]])
    for init in (hk.init.Factors(1), hk.init.Factors(9), hk.init.Factors()):
        started(data, init, store="counts", root="weights").audit()
    limited = started(data, hk.init.Factors(), store="counts", root=hk.FixedWeights(2))
    assert limited.n_dishes <= 2


@pytest.mark.parametrize("by_cell", [True, False])
@pytest.mark.parametrize("init", [hk.init.Factors(4), hk.init.Factors(topics=LAWS[2:])], ids=["n", "topics"])
def test_known_components_begin_with_what_is_theirs(by_cell, init):
    options = {"store": "counts", "root": "weights"} if by_cell else {}
    known = hk.Known(LAWS[:2], counts=50, frozen=[True, False])
    franchise = started(corpus(by_cell), init, known=known, **options)
    franchise.audit()
    topics = franchise.sample().topics()
    cosine = topics @ LAWS.T / np.outer(np.linalg.norm(topics, axis=1), np.linalg.norm(LAWS, axis=1))
    assert np.array_equal(topics[0], franchise.known.matrix[0])
    assert np.diag(cosine)[:2].min() > 0.95
    assert franchise.dish_counts[:2].sum(axis=1).min() > 0.05 * len(franchise.data)


@pytest.mark.parametrize("by_cell", [True, False])
def test_terms_that_no_known_component_has_begin_with_a_dish_of_their_own(by_cell):
    options = {"store": "counts", "root": "weights"} if by_cell else {}
    laws = np.zeros((2, 20))
    laws[0, :8], laws[1, 8:15] = 1 / 8, 1 / 7
    none = hk.init.Factors(topics=np.empty((0, 20)))
    franchise = started(corpus(by_cell), none, known=hk.Known(laws, frozen=True), **options)
    franchise.audit()
    assert franchise.n_dishes > 2
    with pytest.raises(ParameterError, match="no component is known"):
        started(corpus(by_cell), none, **options)
