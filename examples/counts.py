"""Mixtures of counts and of bits: styles of handwritten digits.

The data are scikit-learn's digits: images of 8 x 8 pixels, each the number of dark points, 0 to 16, in a cell
of the scan. A Dirichlet process mixture finds groups of images; it knows neither the digits nor the number of
components.

- Counts: every pixel is Poisson, with a Gamma prior on its rate in a component (`GammaPoisson`).
- Bits: a pixel is dark or not, with a Beta prior on its probability in a component (`BetaBernoulli`).

    python examples/counts.py --images 1797 --sweeps 200 --seeds 5 --picture counts.png
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

import hdpkit as hk
from hdpkit import moves

DARK = 8


def read_digits(images):
    """Pixel counts, shape (images, 64), and the digits."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    return digits.data[:images].astype(np.int64), digits.target[:images]


def declare(pixels, kind):
    """A flat mixture of counts, or of bits."""
    if kind == "counts":
        measure, values = hk.GammaPoisson(shape=1.0, rate=0.2), pixels  # a rate is 5 on average
    else:
        measure, values = hk.BetaBernoulli(a=0.5, b=0.5), (pixels >= DARK).astype(np.int64)
    root = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(root, hk.Groups.from_labels(values, {}))


def fit(franchise, sweeps, seed):
    """A copy of the state with the highest log joint probability in the second half of the run."""
    best = [-np.inf, franchise]

    def after(draw):
        if draw.sweep > sweeps // 2 and draw.values["log_joint"] > best[0]:
            best[:] = draw.values["log_joint"], draw.franchise.copy()

    steps = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    hk.Scheduler(steps).run(franchise, sweeps=sweeps, rng=seed, callbacks=[after])
    return best[1]


def digit_of(dishes, digits):
    """The most common digit of each component."""
    return np.array([np.bincount(digits[dishes == k]).argmax() for k in range(dishes.max() + 1)])


def scores(dishes, digits):
    """Components; adjusted Rand index; share of images with the most common digit of their component."""
    from sklearn.metrics import adjusted_rand_score

    right = digit_of(dishes, digits)[dishes] == digits
    return dishes.max() + 1, adjusted_rand_score(digits, dishes), right.mean()


def ten_means(pixels, seed):
    """Labels by scikit-learn's k-means with K = 10."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # for data of this size threads cost more than they save
        return KMeans(10, n_init=5, random_state=seed).fit_predict(pixels)


def draw(fits, digits, path, columns=24):
    """Mean images of the components of each fit, ordered by digit and size; numbers of images below."""
    from matplotlib.figure import Figure

    rows = [-(-franchise.n_dishes // columns) for franchise in fits.values()]
    figure = Figure(figsize=(0.42 * columns, 0.64 * sum(rows) + 0.25 * len(fits)), layout="constrained")
    parts = figure.subfigures(len(fits), 1, height_ratios=[n + 0.4 for n in rows], squeeze=False)[:, 0]
    for part, n, (kind, franchise) in zip(parts, rows, fits.items(), strict=True):
        sizes = np.bincount(franchise.dishes)
        means = franchise.dish_parameters()
        part.suptitle(f"{kind}: {len(sizes)} components", fontsize=9)
        cells = part.subplots(n, columns, squeeze=False).ravel()
        order = np.lexsort((-sizes, digit_of(franchise.dishes, digits)))
        for axes in cells:
            axes.set_axis_off()
        for axes, k in zip(cells, order, strict=False):
            axes.imshow(means[k].reshape(8, 8), cmap="gray_r", vmin=0, vmax=means.max())
            axes.set_title(str(sizes[k]), fontsize=6, y=-0.5)
    figure.savefig(path, dpi=90)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--sweeps", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--picture", help="where to draw the components")
    options = parser.parse_args(arguments)

    pixels, digits = read_digits(options.images)
    rows: dict[str, list[tuple[int, float, float]]] = {}
    shown = {}
    for seed in range(options.seeds):
        for kind in ("counts", "bits"):
            franchise = fit(declare(pixels, kind), options.sweeps, seed)
            shown.setdefault(kind, franchise)
            rows.setdefault(kind, []).append(scores(franchise.dishes, digits))
        rows.setdefault("k-means with K = 10", []).append(scores(ten_means(pixels, seed), digits))
    print("| model | components | ARI | images with their kind |")
    print("| --- | --- | --- | --- |")
    for name, values in rows.items():
        cells = (
            f"{np.median(column):{form}} ({min(column):{form}} to {max(column):{form}})"
            for column, form in zip(zip(*values, strict=True), (".0f", ".2f", ".0%"), strict=True)
        )
        print(f"| {name} | {' | '.join(cells)} |")
    if options.picture:
        draw(shown, digits, options.picture)


if __name__ == "__main__":
    main(sys.argv[1:])
