"""Gaussian mixtures without choosing K: a flat mixture, and groups that share components.

The data are scikit-learn's wines: 178 wines of three cultivars, 13 chemical measurements, of which we keep
the first four principal components. The sampler knows neither the cultivars nor their number.

- Flat: a Dirichlet process mixture of Gaussians with unknown means and covariances.
- Grouped: the same wines in twelve shipments, each of mostly one or two cultivars, by a hierarchical
  Dirichlet process. The wines are real; which wine came in which shipment is simulated.

Compared by the adjusted Rand index with scikit-learn's GaussianMixture, which is given K, and its variational
BayesianGaussianMixture, which may use ten components.

    python examples/gaussian_mixtures.py --seeds 10 --sweeps 1000 --pictures FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

import hdpkit as hk
from hdpkit import moves, plots

MARKERS = "o^s"


def read_wines(dims=4):
    """Standardised measurements on their first principal components, and the cultivars."""
    from sklearn.datasets import load_wine

    wines = load_wine()
    X = (wines.data - wines.data.mean(axis=0)) / wines.data.std(axis=0)
    left, sizes, _ = np.linalg.svd(X, full_matrices=False)
    return left[:, :dims] * sizes[:dims], wines.target


def ship(cultivars, shipments=12, sparsity=0.3, seed=0):
    """A shipment for each wine: shipments prefer cultivars, all wines are shipped."""
    generator = np.random.default_rng(seed)
    preference = generator.dirichlet(np.full(cultivars.max() + 1, sparsity), size=shipments)
    preference /= preference.sum(axis=0)
    return np.array([generator.choice(shipments, p=preference[:, c]) for c in cultivars])


def declare(X, shipment=None):
    """Flat, or with a restaurant for each shipment."""
    measure = hk.NormalInverseWishart.weakly_informative(X)
    root = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    if shipment is None:
        return hk.Franchise(root, hk.Groups.from_labels(X, {}))
    each = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="shipment")
    return hk.Franchise(each, hk.Groups.from_labels(X, {"shipment": shipment.tolist()}))


def fit(franchise, sweeps=200, seed=0):
    """A copy of the state with the highest log joint probability in the second half of the run."""
    best = [-np.inf, franchise]

    def after(draw):
        if draw.sweep > sweeps // 2 and draw.values["log_joint"] > best[0]:
            best[:] = draw.values["log_joint"], draw.franchise.copy()

    steps = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    if len(franchise.declarations) > 1:
        steps.append(moves.DishGibbs())
    hk.Scheduler(steps).run(franchise, sweeps=sweeps, rng=seed, callbacks=[after])
    return best[1]


def scikit_learn(X, components, seed):
    """Labels by the finite mixture with the right K and by the variational mixture with at most ten."""
    from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
    from threadpoolctl import threadpool_limits

    finite = GaussianMixture(components, n_init=5, random_state=seed)
    variational = BayesianGaussianMixture(n_components=10, n_init=5, max_iter=1000, random_state=seed)
    with threadpool_limits(1):  # for data of this size threads cost more than they save
        return {
            "GaussianMixture, given K": finite.fit_predict(X),
            "BayesianGaussianMixture, K up to 10": variational.fit_predict(X),
        }


def compare(seeds, sweeps):
    """Name -> adjusted Rand indices and numbers of components, one row per seed; and the fits of seed 0."""
    from sklearn.metrics import adjusted_rand_score

    X, cultivars = read_wines()
    rows: dict[str, list[tuple[float, int]]] = {}
    shown = {}
    for seed in range(seeds):
        flat = fit(declare(X), sweeps, seed)
        grouped = fit(declare(X, ship(cultivars, seed=seed)), sweeps, seed)
        shown = shown or {"flat": flat, "grouped": grouped}
        found = {"DP mixture": flat.dishes, "HDP mixture, given the shipments": grouped.dishes}
        for name, labels in (found | scikit_learn(X, cultivars.max() + 1, seed)).items():
            score = adjusted_rand_score(cultivars, labels)
            rows.setdefault(name, []).append((score, len(np.unique(labels))))
    return {name: np.array(values) for name, values in rows.items()}, shown


def scatter(axes, franchise, truth):
    """Points and components, as `plots.components` draws them, with a marker around each by true class."""
    plots.components(franchise, axes=(0, 1), ax=axes)
    for kind, marker in zip(np.unique(truth), MARKERS, strict=False):
        here = franchise.data.values[truth == kind, :2]
        axes.plot(*here.T, marker, color="0.45", markersize=6, markerfacecolor="none", markeredgewidth=0.6)
    axes.set_xlabel("first principal component")
    axes.set_ylabel("second")
    return np.argsort(-np.bincount(franchise.dishes), kind="stable")


def draw_flat(franchise, truth, path):
    """Only the scatter plot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 4.2), layout="constrained")
    scatter(figure.subplots(), franchise, truth)
    figure.savefig(path, dpi=100)


def draw_grouped(franchise, truth, path):
    """The scatter plot, and for each shipment its cultivars and the weights of its restaurant."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    by_size = scatter(left, franchise, truth)
    shipments = franchise.keys("shipment")
    code = franchise.data.codes("shipment")
    kinds = truth.max() + 1
    planted = np.array([np.bincount(truth[code == j], minlength=kinds) for j in range(len(shipments))])
    planted = planted / planted.sum(axis=1, keepdims=True)
    weights = franchise.group_weights("shipment")
    together = np.array([np.bincount(truth[franchise.dishes == k], minlength=kinds) for k in by_size])
    palette = [f"C{rank}" for rank in range(len(by_size))]
    # A cultivar has the colour of the component with most of its wines.
    colour_of = [palette[int(column.argmax())] for column in together.T]
    for shift, shares, colours in ((-0.2, planted, colour_of), (0.2, weights[:, by_size], palette)):
        bottom = np.zeros(len(shipments))
        for column, colour in zip(shares.T, colours, strict=True):
            right.bar(np.arange(len(shipments)) + shift, column, 0.38, bottom, color=colour)
            bottom += column
    right.set_xticks(range(len(shipments)), range(1, len(shipments) + 1))
    right.set_xlabel("shipment: shares of the cultivars, weights of the components")
    figure.savefig(path, dpi=100)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--pictures", type=Path, help="folder for the pictures")
    options = parser.parse_args(arguments)

    rows, shown = compare(options.seeds, options.sweeps)
    print("| model | ARI | components |")
    print("| --- | --- | --- |")
    for name, values in rows.items():
        score, parts = values.T
        print(
            f"| {name} | {np.median(score):.2f} ({score.min():.2f} to {score.max():.2f}) "
            f"| {np.median(parts):.0f} ({parts.min():.0f} to {parts.max():.0f}) |"
        )
    if options.pictures:
        _, cultivars = read_wines()
        draw_flat(shown["flat"], cultivars, options.pictures / "gaussian_flat.png")
        draw_grouped(shown["grouped"], cultivars, options.pictures / "gaussian_grouped.png")


if __name__ == "__main__":
    main(sys.argv[1:])
