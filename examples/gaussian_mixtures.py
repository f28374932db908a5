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

PALETTE = ["#3094ff", "#d29800", "#00a978", "#fb325e", "#683df9"]  # of components 1 to 5 in `plots`
GREYS = ["#333333", "#808080", "#c8c8c8"]


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


def scatter(franchise, truth):
    """Points and components, as `plots.components` draws them, with a marker around each by true class."""
    import altair as alt

    rows = [
        {"x": x, "y": y, "cultivar": f"cultivar {kind}"}
        for (x, y), kind in zip(franchise.data.values[:, :2].tolist(), truth.tolist(), strict=True)
    ]
    around = alt.Chart(alt.Data(values=rows)).mark_point(size=70, color="#808080", strokeWidth=0.6)
    around = around.encode(x="x:Q", y="y:Q", shape="cultivar:N")
    return (plots.components(franchise, axes=(0, 1)) + around).properties(width=380, height=340)


def draw_flat(franchise, truth, path):
    """Only the scatter plot."""
    scatter(franchise, truth).save(path, scale_factor=0.75)


def draw_grouped(franchise, truth, path):
    """The scatter plot, the weights of each shipment's components, and its cultivars."""
    import altair as alt

    by_size = np.argsort(-np.bincount(franchise.dishes), kind="stable")
    code, kinds = franchise.data.codes("shipment"), truth.max() + 1
    n = len(franchise.keys("shipment"))
    planted = np.array([np.bincount(truth[code == j], minlength=kinds) for j in range(n)])
    planted = planted / planted.sum(axis=1, keepdims=True)
    weights = franchise.group_weights("shipment")[:, by_size]
    panels = [
        alt.Chart(
            alt.Data(values=[
                {"shipment": j + 1, "which": k + 1, "share": share}
                for j, row in enumerate(shares.tolist()) for k, share in enumerate(row)
            ]), title=title, width=260, height=130,
        ).mark_bar().encode(
            x="shipment:O", y=alt.Y("share:Q", title=None),
            color=alt.Color("which:N", legend=None, scale={"domain": numbers, "range": colours}),
        )
        for title, shares, numbers, colours in (
            ("weights of the components", weights, [*range(1, weights.shape[1] + 1)], PALETTE),
            ("shares of the cultivars", planted, [*range(1, kinds + 1)], GREYS),
        )
    ]  # fmt: skip
    right = alt.vconcat(*panels).resolve_scale(color="independent")
    alt.hconcat(scatter(franchise, truth), right).resolve_scale(color="independent").save(
        path, scale_factor=0.75
    )


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
