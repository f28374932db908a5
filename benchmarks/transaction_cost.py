"""What the transaction of a sweep costs: copying the state, against the sweep itself.

    OPENBLAS_NUM_THREADS=1 python benchmarks/transaction_cost.py CORPUS.ldac.gz [--rounds 21]

A run keeps the frozen state after each sweep, to go back to it after an exception (docs/architecture.md).
This prints the medians of the seconds of the copy and of a sweep of one move, and of their ratios in pairs,
after ten sweeps from the default start, for the first documents of the corpus that have 1,000, 10,000 and
100,000 tokens together, and for the whole corpus.
"""

import argparse
import statistics
import time

import numpy as np
from machine import block

import hdpkit as hk

CASES = {
    "TableGibbs, histogram": ("histogram", "restaurant", "TableGibbs"),
    "TableGibbs, explicit": ("explicit", "restaurant", "TableGibbs"),
    "TableGibbs, counts and weights": ("counts", "weights", "TableGibbs"),
    "SliceGibbs, counts and weights": ("counts", "weights", "SliceGibbs"),
}


def first_documents(corpus, tokens):
    """The first documents that have together at least this number of tokens."""
    lengths = np.bincount(corpus.document, minlength=corpus.n_documents)
    n = int(np.searchsorted(np.cumsum(lengths), tokens)) + 1
    return hk.Corpus.from_counts(corpus.to_counts()[:n])


def franchise_of(corpus, store, root):
    top = hk.Restaurant(hk.DirichletMultinomial(0.05), concentration=hk.Gamma(1.0, 1.0))
    model = hk.Restaurant(top, each="document", concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(model, corpus, store=store, root=root)


def measure(corpus, case, rounds):
    """Medians of the seconds of a copy and of a sweep, and of their ratio."""
    store, root, name = CASES[case]
    franchise = franchise_of(corpus, store, root)
    scheduler = hk.Scheduler([getattr(hk.moves, name)()])
    scheduler.run(franchise, sweeps=10, rng=1)
    copies, sweeps = [], []
    for _ in range(rounds):
        began = time.perf_counter()
        with franchise.transaction():  # copies the state, as a run does after each sweep
            copies.append(time.perf_counter() - began)
        trace = scheduler.run(franchise, sweeps=1, rng=None, init=None)
        sweeps.append(float(trace.moves["seconds"][-1]))
    ratios = [copy / sweep for copy, sweep in zip(copies, sweeps, strict=True)]
    return statistics.median(copies), statistics.median(sweeps), statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--rounds", type=int, default=21)
    options = parser.parse_args()
    whole = hk.Corpus.from_ldac(options.corpus)
    print(block())
    print("| tokens | case | copy, ms | sweep, ms | copy / sweep |")
    print("| --- | --- | --- | --- | --- |")
    sizes = [tokens for tokens in (1_000, 10_000, 100_000) if tokens < whole.n_tokens]
    for corpus in [*(first_documents(whole, tokens) for tokens in sizes), whole]:
        for case in CASES:
            copy, sweep, ratio = measure(corpus, case, options.rounds)
            print(
                f"| {corpus.n_tokens} | {case} | {1e3 * copy:.3g} | {1e3 * sweep:.3g} | {ratio:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
