"""Tokens per second of TableGibbs for each store and kernel.

    python benchmarks/table_gibbs.py corpus.ldac [--dishes 100] [--sweeps 5] [--documents 50]

alpha = gamma = 1 and eta = 0.1, fixed; from the given number of random dishes; a few sweeps to settle, then
the median of the timed ones. The readable kernels run on the first documents only: they are for reading.
"""

import argparse
import platform
import statistics
import time

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.stores import stores


def head(corpus, n_documents):
    counts = corpus.to_counts()[:n_documents]
    return hk.Corpus.from_counts(counts)


def measure(corpus, store, kernel, dishes, settle, sweeps):
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.1), concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    franchise = hk.Franchise(document, corpus, store=store, kernel=kernel)
    trace = hk.Scheduler([moves.TableGibbs()]).run(
        franchise, sweeps=settle + sweeps, rng=0, init=hk.init.Random(dishes)
    )
    rates = len(corpus) / trace.moves["seconds"][settle:]
    return statistics.median(rates), int(np.median(trace["n_dishes"][settle:])), franchise.memory_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file, plain or gzipped")
    parser.add_argument("--dishes", type=int, default=100)
    parser.add_argument("--settle", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--documents", type=int, default=20, help="for the readable kernels")
    options = parser.parse_args()

    corpus = hk.Corpus.from_ldac(options.corpus)
    small = head(corpus, options.documents)
    print(f"{corpus!r}; Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}")
    print(f"{'store':<22}{'kernel':<12}{'tokens':>10}{'K':>6}{'tokens/s':>14}{'bytes/token':>13}")
    began = time.perf_counter()
    for store in stores:
        for kernel in ("generic", "reference"):
            if kernel == "generic" and "reference" in store:
                continue
            data = corpus if kernel == "generic" else small
            rate, k, size = measure(data, store, kernel, options.dishes, options.settle, options.sweeps)
            print(f"{store:<22}{kernel:<12}{len(data):>10,}{k:>6}{rate:>14,.0f}{size / len(data):>13.1f}")
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
