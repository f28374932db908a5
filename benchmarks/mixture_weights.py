"""Coverage of the intervals of weights by group: ten simulated groups that share eight components.

    python benchmarks/mixture_weights.py [--sets 40] [--groups 10] [--components 8] [--points 60]

In each data set the weights of the components in the root are Dirichlet(--evenness, ...), those of a group
are Dirichlet(concentration times them), and a group has --points points in two dimensions, with variance 1
around the middle of their component; middles are places of a square grid, --spread apart. `hk.MixtureModel`
with its default prior and schedule is fitted with the groups given. A true component is the fitted one with
which it shares most points, each at most once (linear sum assignment). The script prints how many of the true
weights are inside their 90 % intervals, also by size of the weight, and how many components were not found,
which have no intervals. Intervals of one data set depend on each other, so the standard error is that of the
means of data sets.
"""

import argparse

import numpy as np
import scipy
from machine import block
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk

BINS = ((0.0, 0.01), (0.01, 0.1), (0.1, 0.3), (0.3, 1.0))


def simulated(seed, n_groups, n_components, n_points, spread, evenness, concentration):
    """Points, the component and the group of each, and the weights of the groups."""
    rng = np.random.default_rng(seed)
    side = int(np.ceil(np.sqrt(n_components)))
    places = rng.permutation(side**2)[:n_components]
    middles = spread * np.column_stack([places // side, places % side])
    root = rng.dirichlet(np.full(n_components, evenness))
    weights = np.array([rng.dirichlet(concentration * root + 1e-12) for _ in range(n_groups)])
    z = np.array([rng.choice(n_components, size=n_points, p=row) for row in weights]).ravel()
    return middles[z] + rng.normal(size=(len(z), 2)), z, np.repeat(np.arange(n_groups), n_points), weights


def covered(model, z, weights):
    """The true components that are found, and whether their weights, by group, are in their intervals."""
    k = weights.shape[1]
    common = np.zeros((k, model.n_components_), dtype=np.int64)
    np.add.at(common, (z, model.aligned_.partition), 1)
    true, own = scipy.optimize.linear_sum_assignment(common, maximize=True)
    found = common[true, own] > 0
    true, own = true[found], own[found]
    low, high = model.group_weights_lower_[:, own], model.group_weights_upper_[:, own]
    return true, (low <= weights[:, true]) & (weights[:, true] <= high)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--groups", type=int, default=10)
    parser.add_argument("--components", type=int, default=8)
    parser.add_argument("--points", type=int, default=60, help="of each group")
    parser.add_argument("--spread", type=float, default=6.0)
    parser.add_argument("--evenness", type=float, default=3.0)
    parser.add_argument("--concentration", type=float, default=4.0)
    parser.add_argument("--sweeps", type=int, default=400)
    parser.add_argument("--samples", type=int, default=40)
    options = parser.parse_args()
    print(block())
    shares, everything, sizes, rands, numbers = [], [], [], [], []
    for seed in range(options.sets):
        X, z, group, weights = simulated(
            seed, options.groups, options.components, options.points, options.spread, options.evenness,
            options.concentration,
        )  # fmt: skip
        model = hk.MixtureModel(sweeps=options.sweeps, samples=options.samples, random_state=seed)
        true, inside = covered(model.fit(X, groups=group), z, weights)
        shares.append(inside.mean())
        everything.append(inside.ravel())
        sizes.append(weights[:, true].ravel())
        rands.append(adjusted_rand_score(z, model.aligned_.partition))
        numbers.append((len(true), model.n_components_))
    inside, size = np.concatenate(everything), np.concatenate(sizes)
    error = np.std(shares) / np.sqrt(max(len(shares) - 1, 1))
    print("| weights | intervals | covered |")
    print("| --- | --- | --- |")
    print(f"| all | {len(inside):,} | {inside.mean():.1%} (standard error {error:.1%}) |")
    for low, high in BINS:
        here = (size >= low) & (size < high)
        if here.any():
            print(f"| from {low} to {high} | {here.sum():,} | {inside[here].mean():.1%} |")
    found, fitted = np.mean(numbers, axis=0)
    print(f"{options.sets} data sets; adjusted Rand index {np.mean(rands):.3f}, {found:.1f} of "
          f"{options.components} components found, {fitted:.1f} fitted")  # fmt: skip


if __name__ == "__main__":
    main()
