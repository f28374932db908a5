"""Pairs of components of a chain over cells that the posterior would prefer as one.

    OPENBLAS_NUM_THREADS=1 python benchmarks/pairs_of_signatures.py [--samples 100] [--most 50000]
        [--factors 20] [--sweeps 300] [--seed 0]

A simulated cohort of ``examples/signature_cohorts.py``, two levels, and a chain of CountGibbs that begins
with factors of the counts. In its last state the mutations of two components are taken together, and their
labels are summed over: with one component log p(C_1) of these counts is exact (topic integrated out), with
two components log p(C_2) has a lower bound (mean field over labels, topics, and the share of the first
component in each sample; Blei, Ng & Jordan 2003, section 5.2). Printed: the number of pairs, and the least
values of bound - log p(C_1) with the mutations of both components. If it is positive, the posterior given all
other mutations prefers two components by a factor of at least its exponential, except for a factor of the
weights of the root. A move that merges the two can then rarely be accepted, whatever its proposals are. Pairs
with fewer than 50 mutations in a component are left out.
"""

import argparse
import itertools
import runpy
from pathlib import Path

import numpy as np
from machine import block
from scipy.special import betaln, digamma, gammaln

import hdpkit as hk
from hdpkit import moves

COHORTS = runpy.run_path(str(Path(__file__).resolve().parent.parent / "examples" / "signature_cohorts.py"))
ETA = 0.5
LEAST = 50
LISTED = 5


def log_marginal(counts):
    """Of the counts of one component by channel."""
    n = len(counts)
    start = gammaln(n * ETA) - gammaln(n * ETA + counts.sum())
    return start + (gammaln(ETA + counts) - gammaln(ETA)).sum()


def gain(first, second, shapes, updates):
    """Lower bound of log p with two components, less log p with one.

    Parameters
    ----------
    first, second : arrays, shape (samples, channels)
        Mutations of both components.
    shapes : pair of float
        Of the beta law of the first component's share.
    """
    both = first + second
    seen = both.sum(axis=1) > 0
    share = np.clip(first / np.maximum(both, 1), 1e-3, 1 - 1e-3)
    for _ in range(updates):
        a, b = both * share, both * (1 - share)
        odds = digamma(shapes[0] + a.sum(axis=1)) - digamma(shapes[1] + b.sum(axis=1))
        by_topic = ETA + a.sum(axis=0), ETA + b.sum(axis=0)
        topics = [digamma(one) - digamma(one.sum()) for one in by_topic]
        share = 1 / (1 + np.exp(-(odds[:, None] + topics[0] - topics[1])))
    a, b = both * share, both * (1 - share)
    entropy = -(a * np.log(np.maximum(share, 1e-300)) + b * np.log(np.maximum(1 - share, 1e-300))).sum()
    shares = betaln(shapes[0] + a.sum(axis=1), shapes[1] + b.sum(axis=1)) - betaln(*shapes)
    two = log_marginal(a.sum(axis=0)) + log_marginal(b.sum(axis=0)) + shares[seen].sum() + entropy
    return two - log_marginal(both.sum(axis=0))


def counts_of(franchise, shape):
    """Mutations by component, sample and channel."""
    runs, dish, count = franchise.store.cell_runs()
    cells = franchise.topology.cells
    where = np.repeat(cells.documents(), runs), np.repeat(cells.term, runs)
    slots, number = np.unique(dish, return_inverse=True)
    found = np.zeros((len(slots), *shape))
    np.add.at(found, (number, *where), count)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--most", type=int, default=50_000)
    parser.add_argument("--factors", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--updates", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cohort = COHORTS["make_cohort"](options.seed, options.samples, most=options.most)
    corpus = cohort.corpus
    franchise = hk.Franchise(COHORTS["model"](), corpus, store="counts", root="weights")
    schedule = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
    init = hk.init.Factors(options.factors)
    hk.Scheduler(schedule).run(franchise, sweeps=options.sweeps, rng=options.seed, init=init)
    counts = counts_of(franchise, cohort.counts.shape)
    weights = franchise.concentration("document") * franchise.root_weights()[0]
    sizes = counts.sum(axis=(1, 2)).astype(int)
    found = []
    for i, k in itertools.combinations(np.flatnonzero(sizes >= LEAST).tolist(), 2):
        value = gain(counts[i], counts[k], (weights[i], weights[k]), options.updates)
        found.append((value, sizes[i], sizes[k]))
    found.sort()
    print(block())
    print(f"{corpus.n_tokens:,} mutations, {options.sweeps} sweeps, {len(sizes)} components")
    better = sum(value < 0 for value, *_ in found)
    print(f"of {len(found)} pairs {better} may be better as one; the least gains of two components:")
    for value, first, second in found[:LISTED]:
        print(f"{value:10.0f}  {first:,} and {second:,} mutations")


if __name__ == "__main__":
    main()
