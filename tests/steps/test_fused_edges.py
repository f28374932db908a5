"""The fused sweep of topic models at the edges: odd documents, growth, extreme numbers."""

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, lockstep

import hdpkit as hk
from hdpkit.data import Groups
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps.fused import _fused_topics as fused_topics
from hdpkit.testing.machines import same

both_stores = pytest.mark.parametrize("store", ["explicit", "histogram"])


def sweep(franchise, seed, sweeps=5):
    """Some sweeps, every piece of them audited."""
    assert franchise.kernel("reseat") == "fused"
    n, source = franchise.topology.n_customers, RandomStream((seed, 1))
    for _ in range(sweeps):
        franchise.reseat(0, n // 2, source)
        franchise.audit()
        franchise.reseat(n // 2, n, source)
        franchise.audit()
        franchise.settle()
        franchise.audit()
    assert (franchise.dishes >= 0).all()


@both_stores
@pytest.mark.parametrize(
    "documents",
    [
        [[0]],
        [[0], [1], [0]],
        [[], [2, 2, 2, 1], [], [0], []],
        [[v] for v in range(40)],
        [[0] * 60],
        [[0, 1], [], [1] * 30, [2]],
    ],
    ids=["one token", "one each", "empty ones", "forty", "one term", "mixed"],
)
@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_odd_documents(documents, store, discount):
    data = hk.Corpus.from_documents(documents, n_terms=40)
    franchise = franchise_over(data, store, root=(2.0, discount), below=(0.7, discount), sweeps=0)
    sweep(franchise, 1)
    if all(documents):
        lockstep(franchise)


@both_stores
@pytest.mark.parametrize(
    ("root", "below"),
    [
        ((-0.1, 0.3), (-0.2, 0.5)),
        ((0.5, 0.0), (0.0, 0.4)),
        ((0.0, 0.4), (1.0, 0.0)),
        ((1e-8, 0.0), (1e8, 0.0)),
        ((1e8, 0.0), (1e-8, 0.0)),
        ((1.0, 0.99), (1.0, 0.99)),
    ],
    ids=str,
)
def test_concentrations_and_discounts(store, root, below):
    franchise = franchise_over(corpus(8, 20, 10), store, root=root, below=below, eta=0.3, sweeps=0)
    sweep(franchise, 2)
    lockstep(franchise)


@both_stores
def test_customers_of_the_root_among_others(store):
    generator = np.random.default_rng(1)
    documents = [None if generator.random() < 0.2 else int(j) for j in np.repeat(np.arange(12), 15)]
    data = Groups.from_labels(generator.integers(0, 9, size=180), {"document": documents})
    root = hk.Restaurant(base=hk.DirichletMultinomial(0.2, n_terms=9), concentration=9.0)
    document = hk.Restaurant(base=root, concentration=1.5, discount=0.2, each="document")
    franchise = hk.Franchise(document, data, store=store)
    start(franchise, "sequential", Streams(1).source(STARTS))
    sweep(franchise, 3)
    twin = franchise.copy()
    franchise.reseat(0, 180, RandomStream((1, 2)))
    source = RandomStream((1, 2))
    for i in range(180):
        twin.reseat(i, i + 1, source)
    assert same(franchise.freeze(), twin.freeze())


@both_stores
@pytest.mark.parametrize("eta", [1e-20, 1e-9, 1e5])
def test_rows_that_grow_under_odd_priors(store, eta):
    """A new dish has its table before its first customer: eta is all that there is to divide by."""
    data = corpus(10, 40, 50)
    franchise = franchise_over(data, store, root=(1e3, 0.1), below=(10.0, 0.1), eta=eta, init="one")
    sweep(franchise, 4)
    if eta < 1.0:
        assert len(fused_topics.bounds(franchise.bank)[0]) > 16
