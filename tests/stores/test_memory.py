"""Memory of the stores, and that releasing memory changes nothing else."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
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


PROCESS = """
    import sys

    import hdpkit as hk
    from hdpkit import moves

    def private():
        lines = open("/proc/self/status").read().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    small = hk.Corpus.from_documents([[0, 1, 2]] * 50)  # what the code itself takes is there from now on
    hk.Scheduler([moves.TableGibbs()]).run(hk.Franchise(document, small, store=sys.argv[2]), sweeps=1, rng=0)
    data = hk.Corpus.open(sys.argv[1])
    before = private()
    franchise = hk.Franchise(document, data, store=sys.argv[2])
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0, init=hk.init.Random(30))
    print(private() - before, franchise.memory_bytes(), sum(franchise.memory_parts().values()))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has for itself")
@pytest.mark.parametrize("store", STORES)
def test_the_process_grows_by_what_is_reported(tmp_path, store):
    """What the process has for itself grows by `memory_bytes`: nothing is held that it doesn't know of."""
    n_documents, terms, each = 1200, 40, 25
    generator = np.random.default_rng(0)
    with open(tmp_path / "text", "w") as file:
        for _ in range(n_documents):
            first = int(generator.integers(0, 8)) * terms
            file.write(f"{terms} " + " ".join(f"{v}:{each}" for v in range(first, first + terms)) + "\n")
    n = len(hk.Corpus.convert(tmp_path / "text", tmp_path / "folder"))
    assert n == n_documents * terms * each
    # The C library otherwise keeps arrays that are gone, the larger the longer it runs.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROCESS), str(tmp_path / "folder"), store],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    grown, reported, parts = map(int, done.stdout.split())
    assert parts == reported
    assert 4 * n <= reported <= 9 * n
    assert 0.7 * reported <= grown <= 1.1 * reported + (2 << 20)
    assert 1.1 * reported + (2 << 20) < reported + 4 * n, (
        "an array of four bytes a customer would not be seen"
    )
