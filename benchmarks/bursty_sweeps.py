"""Sweeps of TableGibbs over words that repeat within documents, against plain ones with the same topics.

    OPENBLAS_NUM_THREADS=1 python benchmarks/bursty_sweeps.py CORPUS.ldac.gz [--stores NAME ...] [--rounds 11]
        [--settle 20] [--bursts 100]

For each store a plain chain runs --settle sweeps; the bursty franchise begins in its state, with one table
for each term of a topic in a document. Then both make one sweep in turn, and go back to their states, so
that both have the same number of topics. Seconds are of processor time, medians; memory is that of the
stores and banks, with what the sweeps keep. `generic` is the compiled sweep of any measure, once.
"""

import argparse
import statistics
import time

from machine import block

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

STORES = {
    "histogram": ("histogram", "restaurant"),
    "explicit": ("explicit", "restaurant"),
    "histogram, weights": ("histogram", "weights"),
    "counts, weights": ("counts", "weights"),
}


def franchise_over(corpus, measure, store, root, kernel="auto"):
    top = hk.Restaurant(measure, concentration=2.0)
    below = hk.Restaurant(top, each="document", concentration=2.0)
    return hk.Franchise(below, corpus, store=store, root=root, kernel=kernel)


def begin(corpus, measure, store, root, frozen, kernel="auto"):
    """A franchise in the state of another one."""
    made = franchise_over(corpus, measure, store, root, kernel)
    state = made.freeze()
    made.thaw({**frozen, "bank": state["bank"] and None, "measure": state["measure"]})
    return made


def seconds(franchise, turn):
    """Processor time of a sweep."""
    began = time.process_time()
    moves.TableGibbs().apply(franchise, RandomStream((turn, 1)))
    return time.process_time() - began


def memory(franchise):
    return franchise.store.memory_bytes() + franchise.bank.memory_bytes()


def compare(corpus, name, options):
    """A row of the table."""
    store, root = STORES[name]
    plain = hk.DirichletMultinomial(0.1)
    franchise = franchise_over(corpus, plain, store, root)
    schedule = [moves.TableGibbs(), moves.DishGibbs()]
    if root == "weights":
        schedule.append(moves.RootWeights())
    hk.Scheduler(schedule).run(franchise, sweeps=options.settle, rng=1)
    frozen = franchise.freeze()
    bursty = hk.Bursty(plain, float(options.bursts))
    pair = [begin(corpus, measure, store, root, frozen) for measure in (plain, bursty)]
    assert pair[1].kernel("reseat") == "fused"
    for one in pair:
        seconds(one, 0)
    states = [one.freeze() for one in pair]
    times = ([], [])
    for turn in range(options.rounds):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            pair[i].thaw(states[i])
            times[i].append(seconds(pair[i], turn + 1))
    generic = begin(corpus, bursty, store, root, frozen, "generic")
    slow = seconds(generic, 1)
    a, b = (statistics.median(each) for each in times)
    bytes_of = [memory(one) / len(corpus.values) for one in pair]
    return (
        f"| {name} | {franchise.n_dishes} | {a:.3f} | {b:.3f} | {a / b:.2f} | {slow:.2f} "
        f"| {bytes_of[0]:.1f} | {bytes_of[1]:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--stores", nargs="*", choices=STORES, default=list(STORES))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--settle", type=int, default=20)
    parser.add_argument("--bursts", type=float, default=100.0)
    options = parser.parse_args()
    corpus = hk.Corpus.from_ldac(options.corpus)
    print(block())
    print(
        "| store | topics | seconds a sweep, plain | bursty | speed | generic "
        "| bytes a token, plain | bursty |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in options.stores:
        print(compare(corpus, name, options), flush=True)


if __name__ == "__main__":
    main()
