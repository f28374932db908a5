"""Full Gibbs on counts: seconds of a sweep over cells, and memory.

    python benchmarks/cells_of_counts.py TRAIN.ldac [--dishes 50] [--eta 0.5] [--settle 50] [--sweeps 50]
        [--threads 1] [--finite]

One process over a corpus of counts in LDA-C: alpha = gamma = 1 fixed, CountGibbs, TableCounts, RootWeights
and DrawTopics, starting with random dishes. The model is infinite, so the number of dishes varies; with
--finite it is fixed (hk.FixedWeights), and no weights are drawn. Printed: dishes (median, smallest and
largest of the timed sweeps), seconds per sweep and move (median; smallest and largest for sweeps), and the
peak memory of the process.
"""

import argparse
import resource
import statistics
import sys

from machine import block

import hdpkit as hk
from hdpkit import moves


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--dishes", type=int, default=50)
    parser.add_argument("--eta", type=float, default=0.5)
    parser.add_argument("--settle", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--finite", action="store_true")
    options = parser.parse_args()

    corpus = hk.Corpus.from_ldac(options.corpus)
    base = hk.Restaurant(base=hk.DirichletMultinomial(options.eta), concentration=1.0)
    document = hk.Restaurant(base=base, concentration=1.0, each="document")
    root = hk.FixedWeights(options.dishes) if options.finite else "weights"
    franchise = hk.Franchise(document, corpus, store="counts", root=root)
    weights = [] if options.finite else [moves.RootWeights()]
    schedule = [moves.CountGibbs(), moves.TableCounts(), *weights, moves.DrawTopics()]
    scheduler = hk.Scheduler(schedule, threads=options.threads)
    if options.settle:
        scheduler.run(franchise, sweeps=options.settle, rng=0, init=hk.init.Random(options.dishes))
    trace = scheduler.run(
        franchise,
        sweeps=options.sweeps,
        rng=None if options.settle else 0,
        init=None if options.settle else hk.init.Random(options.dishes),
    )
    print(block())
    dishes = trace["n_dishes"]
    print(f"{len(corpus):,} customers in {len(franchise.topology.cells.count):,} cells, eta = {options.eta}")
    between = f"{dishes.min()} to {dishes.max()}"
    print(f"dishes: {statistics.median(dishes):g} ({between}); threads: {options.threads}")
    rows = {move.name: trace.moves["seconds"][trace.moves["move"] == move.name] for move in schedule}
    for name, seconds in {**rows, "sweep": sum(rows.values())}.items():
        print(f"{name:12} {statistics.median(seconds):.4f} s ({seconds.min():.4f} to {seconds.max():.4f})")
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory: {most / (1e6 if sys.platform == 'darwin' else 1e3):.0f} MB at most")


if __name__ == "__main__":
    main()
