"""Time per token of TableGibbs for the sparse topic model and for the plain one.

    python benchmarks/sparse.py TRAIN.ldac [--dishes 100] [--settle 60] [--rounds 15] [--sweeps 4]
    python benchmarks/sparse.py TRAIN.ldac --vocabulary 100000

For each store a chain of each model starts with the same number of random dishes and runs a burn-in. Then
they take turns, and each round gives a ratio. alpha = gamma = 1; eta = 0.1 and smoothing = 0.1; proportions
are integrated out under Beta(1, 1). With --vocabulary the terms of the corpus are placed at random in a
vocabulary of this size, for both models. Nanoseconds are processor time, which depends less on other programs
than wall-clock time.
"""

import argparse
import statistics
import time

import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves


def spread(corpus, n_terms):
    """The corpus with its terms at random positions of a larger vocabulary."""
    place = np.random.default_rng(1).permutation(n_terms)[: corpus.n_terms]
    counts = corpus.to_counts().tocoo()
    wide = type(counts)((counts.data, (counts.row, place[counts.col])), shape=(counts.shape[0], n_terms))
    return hk.Corpus.from_counts(wide.tocsr())


def chain(measure, corpus, store, options):
    """A franchise after burn-in."""
    root = hk.Restaurant(base=measure, concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    franchise = hk.Franchise(document, corpus, store=store)
    start = hk.init.Random(options.dishes)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=options.settle, rng=0, init=start)
    return franchise


def nanoseconds(franchise, n_tokens, sweeps, rng):
    """Nanoseconds of processor time per token; the median of these sweeps."""
    found, move = [], moves.TableGibbs()
    for _ in range(sweeps):
        began = time.process_time()
        move.apply(franchise, rng)
        found.append(time.process_time() - began)
    return statistics.median(found) / n_tokens * 1e9


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", help="LDA-C file, plain or gzipped")
    parser.add_argument("--dishes", type=int, default=100)
    parser.add_argument("--settle", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--sweeps", type=int, default=4, help="of either model in a round")
    parser.add_argument("--vocabulary", type=int, help="terms, at least those of the corpus")
    options = parser.parse_args()

    corpus = hk.Corpus.from_ldac(options.train)
    if options.vocabulary:
        corpus = spread(corpus, options.vocabulary)
    print(block())
    print(f"{corpus!r}")
    print("| store | V | K, plain | K, sparse | ns, plain | ns, sparse | ratio (smallest to largest) |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for store in ("explicit", "histogram"):
        both = [
            chain(measure, corpus, store, options)
            for measure in (hk.DirichletMultinomial(0.1), hk.SparseDirichletMultinomial(0.1))
        ]
        taken, rng = ([], []), hk.random.RandomStream((0, 1))
        for each in range(options.rounds):
            for which in (0, 1) if each % 2 else (1, 0):
                taken[which].append(nanoseconds(both[which], len(corpus), options.sweeps, rng))
        ratios = [sparse / plain for plain, sparse in zip(*taken, strict=True)]
        print(
            f"| {store} | {corpus.n_terms:,} | {both[0].n_dishes} | {both[1].n_dishes} "
            f"| {statistics.median(taken[0]):.1f} | {statistics.median(taken[1]):.1f} "
            f"| {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |"
        )


if __name__ == "__main__":
    main()
