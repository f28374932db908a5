"""Mixtures of points: agreement with known classes, held-out density and chains from opposite starts.

    python benchmarks/mixture_comparison.py [--data iris wine digits10] [--sweeps 300] [--part 1.0]

Data: iris; wine, standardised; digits on 10 and 30 principal components; 2,000 simulated points in 20
dimensions with 20 clusters and 10,000 in 50 with 30 (clusters with a covariance each, means at standard
deviation 3); 3,000 directions in 256 dimensions with 12 clusters. Every fifth point is held out.

`hk.MixtureModel` runs one chain from one component and one from k-means with twice the number of classes (or
more than ten). R-hat of the number of components and of the log joint is that of the two, over the second
half of the sweeps. The adjusted Rand index is that of the components of both chains' samples, over which the
held-out log density is averaged. scikit-learn's BayesianGaussianMixture and HDBSCAN run with default
settings (the former with 40 components at most, because its default is one component) and with those of a
grid that are best for the data: by the held-out log density, and for HDBSCAN, which has none, by the adjusted
Rand index itself, which is not known in practice. For HDBSCAN points that it calls noise count as a cluster,
and K doesn't include it. Seconds are processor time of the fit, one thread; for the best of a grid, of all of
it.
"""

import argparse
import time
import warnings
from itertools import product

import numpy as np
from machine import block
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

import hdpkit as hk
from hdpkit.posterior.comparison.convergence import joint_rhat
from hdpkit.posterior.evaluation.result import log_mean_exp
from hdpkit.summaries import point_partition

MOST = 40  # components of variational mixtures, unless there are more classes


def simulated(n, dims, clusters, seed=1):
    rng = np.random.default_rng(seed)
    means = 3.0 * rng.normal(size=(clusters, dims))
    roots = np.eye(dims) + 0.3 * rng.normal(size=(clusters, dims, dims)) / np.sqrt(dims)
    classes = rng.integers(clusters, size=n)
    return means[classes] + np.einsum("nij,nj->ni", roots[classes], rng.normal(size=(n, dims))), classes


def directions(n, dims, clusters, seed=1):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(clusters, dims))
    classes = rng.integers(clusters, size=n)
    points = means[classes] + 1.2 * rng.normal(size=(n, dims))
    return points / np.linalg.norm(points, axis=1, keepdims=True), classes


def digits(dims):
    images = load_digits()
    return PCA(dims, random_state=0).fit_transform(images.data), images.target


def wine():
    wines = load_wine()
    return (wines.data - wines.data.mean(axis=0)) / wines.data.std(axis=0), wines.target


DATA = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": wine,
    "digits10": lambda: digits(10),
    "digits30": lambda: digits(30),
    "simulated20": lambda: simulated(2_000, 20, 20),
    "simulated50": lambda: simulated(10_000, 50, 30),
    "directions256": lambda: directions(3_000, 256, 12),
}


def seconds(function):
    """What a function returns, and its processor time."""
    begin = time.process_time()
    done = function()
    return done, time.process_time() - begin


def row(name, method, rand, density, number, used, rhat=("-", "-")):
    density = "-" if density is None else f"{density:.2f}"
    print(
        f"| {name} | {method} | {rand:.2f} | {density} | {number} | {used:.1f} | {' | '.join(rhat)} |",
        flush=True,
    )


def run_ours(name, train, test, classes, measure, sweeps, samples):
    most = max(10, 2 * len(np.unique(classes)))
    starts = ("one", KMeans(most, n_init=1, random_state=0).fit_predict(train))
    fits, used = [], 0.0
    for seed, init in enumerate(starts):
        model = hk.MixtureModel(measure=measure, sweeps=sweeps, samples=samples, init=init, random_state=seed)
        fit, took = seconds(lambda model=model: model.fit(train))
        fits.append(fit)
        used += took
        rand = adjusted_rand_score(classes, fit.aligned_.partition)
        row(name, f"hdpkit, from {'k-means' if seed else 'one'}", rand, fit.score(test), mean_k(fit), took)
    half = sweeps // 2
    rhat = [
        joint_rhat(np.array([fit.trace_[key][half:] for fit in fits], dtype=float))
        for key in ("n_dishes", "log_joint")
    ]
    dishes = np.array([sample.dishes for fit in fits for sample in fit.samples_])
    labels = point_partition(dishes).labels
    both = log_mean_exp(np.array([fit.score_samples(test) for fit in fits])).mean()
    number = f"{len(np.unique(labels))}"
    row(
        name, "hdpkit, both chains", adjusted_rand_score(classes, labels), both, number, used,
        [f"{value:.2f}" for value in rhat],
    )  # fmt: skip


def mean_k(fit):
    numbers = fit.trace_["n_dishes"][len(fit.trace_["n_dishes"]) // 2 :]
    return f"{numbers.mean():.1f} ({fit.n_components_})"


def run_variational(name, train, test, classes, few):
    most = max(MOST, len(np.unique(classes)))

    def fit(**options):
        model = BayesianGaussianMixture(n_components=most, random_state=0, **options)
        return model.fit(train)

    def report(method, model, used):
        labels = model.predict(train)
        number = f"{len(np.unique(labels))}"
        row(name, method, adjusted_rand_score(classes, labels), model.score(test), number, used)

    report("BayesianGaussianMixture, defaults", *seconds(fit))
    grid = list(product(("full", "diag") if few else ("full", "tied", "diag"), (1e-3, 1.0)))
    tried, used = seconds(
        lambda: [
            fit(covariance_type=kind, weight_concentration_prior=weight, max_iter=300)
            for kind, weight in grid
        ]
    )
    report("BayesianGaussianMixture, best", max(tried, key=lambda model: model.score(test)), used)


def run_hdbscan(name, train, classes, few):
    def report(method, model, used):
        labels = model.labels_
        number = f"{len(np.unique(labels[labels >= 0]))} ({np.mean(labels < 0):.0%} noise)"
        row(name, method, adjusted_rand_score(classes, labels), None, number, used)

    report("HDBSCAN, defaults", *seconds(lambda: HDBSCAN(copy=True).fit(train)))
    grid = list(product((10, 40) if few else (5, 10, 20, 40), (5,) if few else (1, 5, 10), ("eom", "leaf")))
    tried, used = seconds(
        lambda: [
            HDBSCAN(min_cluster_size=size, min_samples=near, cluster_selection_method=way, copy=True).fit(
                train
            )
            for size, near, way in grid
        ]
    )
    best = max(tried, key=lambda model: adjusted_rand_score(classes, model.labels_))
    report("HDBSCAN, best", best, used)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--part", type=float, default=1.0, help="share of the points that is used")
    options = parser.parse_args()
    print(block())
    print("| data | method | ARI | held-out log density | K | s | R-hat of K | R-hat of the log joint |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    warnings.filterwarnings("ignore", module="sklearn")
    with threadpool_limits(1):
        for name in options.data:
            points, classes = DATA[name]()
            chosen = np.random.default_rng(0).permutation(len(points))[: int(options.part * len(points))]
            points, classes = points[chosen], classes[chosen]
            held = np.arange(len(points)) % 5 == 0
            train, test, known = points[~held], points[held], classes[~held]
            dims = points.shape[1]
            measure = hk.VonMisesFisher(hk.Gamma(1.0, 1.0 / dims)) if name == "directions256" else "normal"
            run_ours(name, train, test, known, measure, options.sweeps, options.samples)
            few = len(train) > 3_000 or dims > 30
            run_variational(name, train, test, known, few)
            run_hdbscan(name, train, known, few)


if __name__ == "__main__":
    main()
