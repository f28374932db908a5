"""What the stores hold, and that giving memory back changes nothing else."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise import start
from hdpkit.random import STARTS, Streams

STORES = ("explicit", "histogram")


def corpus(n_documents=150, length=120, n_terms=60, topics=5, seed=0):
    """Documents of two topics each."""
    generator = np.random.default_rng(seed)
    weights = generator.dirichlet(np.full(n_terms, 0.1), size=topics)
    documents = [
        generator.choice(n_terms, size=length, p=weights[generator.choice(topics, 2)].mean(axis=0)).tolist()
        for _ in range(n_documents)
    ]
    return hk.Corpus.from_documents(documents, n_terms=n_terms)


def two_levels(eta=0.1):
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=eta), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(base=root, concentration=1.0, each="document")


SCHEDULE = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()])


@pytest.mark.parametrize("store", STORES)
def test_memory_is_given_back_and_nothing_else_changes(store):
    """A chain whose store is squeezed together after every sweep is the one whose store seldom is."""
    chains = []
    for always in (False, True):
        franchise = hk.Franchise(two_levels(), corpus(), store=store)

        def after(draw, franchise=franchise, always=always):
            if always:
                frozen = franchise.freeze()["seating"]
                franchise.store.compact(0.0)
                for name, array in franchise.freeze()["seating"].items():
                    assert np.array_equal(array, frozen[name]), name

        trace = SCHEDULE.run(franchise, sweeps=15, rng=3, init=hk.init.Random(40), callbacks=[after])
        franchise.audit()
        chains.append((trace, franchise))
    (one, seldom), (other, always) = chains
    for key in ("n_dishes", "n_tables", "log_joint"):
        assert np.array_equal(one[key], other[key]), key
    for name, array in seldom.freeze()["seating"].items():
        assert np.array_equal(array, always.freeze()["seating"][name]), name


@pytest.mark.parametrize("store", STORES)
def test_what_a_random_start_took_is_given_back_between_sweeps(store):
    franchise = hk.Franchise(two_levels(), corpus(), store=store)
    scheduler = hk.Scheduler([moves.TableGibbs()])
    scheduler.run(franchise, sweeps=1, rng=0, init=hk.init.Random(60))
    start(franchise, hk.init.Random(60), Streams(0).source(STARTS))
    peak = franchise.store.memory_bytes()
    scheduler.run(franchise, sweeps=30, rng=1, init=None)
    _, _, customers, tables = franchise.store.counts()
    n = len(franchise.data)
    # Blocks are powers of two, and half of what is held may be unused.
    entries, per_table = 16 * len(customers), {"explicit": 20, "histogram": 32}[store]
    most = 4 * n + 32 * franchise.topology.n_nodes + 2 * (2 * entries + per_table * int(tables.sum())) + 5000
    assert franchise.store.memory_bytes() <= most
    assert most < peak, "the test can't fail"


@pytest.mark.parametrize("store", STORES)
def test_the_share_that_may_stay_unused(store):
    franchise = hk.Franchise(two_levels(), corpus(), store=store)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0, init=hk.init.Random(60))
    squeezed = franchise.store
    squeezed.compact(0.0)
    least = squeezed.memory_bytes()
    assert not squeezed.compact(0.5), "nothing is left to give back"
    assert squeezed.memory_bytes() == least
    squeezed.clear()
    assert squeezed.memory_bytes() <= least
    assert squeezed.compact()
    assert squeezed.memory_bytes() <= 4 * len(franchise.data) + 32 * franchise.topology.n_nodes + 2000
