"""Seconds of a sweep of TableGibbs over vectors of the size of embeddings, beside its triangular solves.

    python benchmarks/embeddings.py [--points 10000] [--dimensions 50] [--dishes 30] [--sweeps 5]

Points are drawn from normal distributions with random covariance matrices and means of each coordinate with
the given distance. The floor is one triangular solve for each point and dish by BLAS on one thread: called
once for each pair (dtrsv, the time of a call for one dimension subtracted), as a sampler that moves one point
after the other needs them, and once for each dish (dtrsm), as if no point moved. All times are processor
times. Sweeps follow one from the dishes that the points were drawn from ("settled"), or from random ones
("mixing").
"""

import argparse
import statistics
import time

import numpy as np
from machine import block
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream


def points(n, D, dishes, distance, generator):
    """Vectors, and the number of the normal distribution that each is drawn from."""
    which = generator.integers(dishes, size=n)
    X = np.empty((n, D))
    for k in range(dishes):
        root = np.linalg.cholesky(np.cov(generator.normal(size=(D, 4 * D))))
        own = which == k
        X[own] = generator.normal(size=D) * distance + generator.normal(size=(own.sum(), D)) @ root.T
    return X, which


def seconds(function, times=1):
    """Processor time of one call."""
    begin = time.process_time()
    for _ in range(times):
        function()
    return (time.process_time() - begin) / times


def floors(X, dishes):
    """Seconds of the solves: by dtrsv for each point and dish, and by dtrsm for each dish."""
    n = len(X)
    factor = np.asfortranarray(np.linalg.cholesky(np.cov(X.T)))
    one, x, right = np.asfortranarray(factor[:1, :1]), X[0].copy(), np.asfortranarray(X.T)
    each, together = [], []
    for _ in range(5):
        calls = seconds(lambda: blas.dtrsv(one, x[:1], lower=1), 5000)
        each.append(seconds(lambda: blas.dtrsv(factor, x, lower=1), 5000) - calls)
        together.append(seconds(lambda: blas.dtrsm(1.0, factor, right, lower=1)))
    return max(statistics.median(each), 1e-9) * n * dishes, statistics.median(together) * dishes


def sweeps(measure, X, start, n):
    """Median seconds of a sweep, the number of dishes, and the share of points that the last sweep moved."""
    franchise = hk.Franchise(hk.Restaurant(base=measure, concentration=1.0), hk.Groups.from_labels(X, {}))
    source, move, times = RandomStream((1, 1)), moves.TableGibbs(), []
    hk.Scheduler([move]).run(franchise, sweeps=1, rng=0, init=start)
    for _ in range(n):
        before = franchise.dishes
        times.append(seconds(lambda: move.apply(franchise, source)))
        moved = float(np.mean(franchise.dishes != before))
        franchise.settle()
    return statistics.median(times), franchise.n_dishes, moved


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--dimensions", type=int, default=50)
    parser.add_argument("--dishes", type=int, default=30)
    parser.add_argument("--distance", type=float, default=3.0)
    parser.add_argument("--sweeps", type=int, default=5)
    options = parser.parse_args()

    X, which = points(
        options.points, options.dimensions, options.dishes, options.distance, np.random.default_rng(0)
    )
    with threadpool_limits(1):
        each, together = floors(X, options.dishes)
        print(block())
        print(f"{options.points} points, {options.dimensions} dimensions, {options.dishes} dishes\n")
        print("| measure | start | s / sweep | / dtrsv | / dtrsm | dishes | moved |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        print(f"| a solve for each point and dish | | {each:.4f} | 1 | {each / together:.2f} | | |")
        print(f"| the same, once for each dish | | {together:.4f} | {together / each:.2f} | 1 | | |")
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        for measure, values in (
            (hk.NormalInverseWishart.weakly_informative(X, options.dishes), X),
            (hk.NormalGamma.weakly_informative(X, options.dishes), X),
            (hk.VonMisesFisher(float(hk.VonMisesFisher.weakly_informative(unit).concentration)), unit),
        ):
            for name, start in (("settled", which), ("mixing", hk.init.Random(options.dishes))):
                took, dishes, moved = sweeps(measure, values, start, options.sweeps)
                print(
                    f"| {type(measure).__name__} | {name} | {took:.4f} | {took / each:.2f} | "
                    f"{took / together:.2f} | {dishes} | {moved:.2f} |"
                )


if __name__ == "__main__":
    main()
