"""Recovery of known components: simulated documents of authors, and simulated Gaussian mixtures.

Three studies, each over several seeds, measured by the adjusted Rand index between true and found components
(1: the same partition; 0: agreement by chance):

- short documents by authors who prefer some topics: root > author > document against root > document;
- a flat mixture of overlapping Gaussians: the Dirichlet process against the finite mixture with the right K;
- groups with different mixtures: the hierarchical Dirichlet process against both, which ignore the groups.

A fit is one partition: that of the last sweep, or of the sweep with the highest log joint probability in the
second half of the run ("best"). No method can be expected to beat the partition that assigns every
observation to its most probable component under the true parameters ("the truth's own").

    python examples/recovery.py --seeds 10 --sweeps 400
"""

from __future__ import annotations

import argparse
import sys

import attrs
import numpy as np

import hdpkit as hk
from hdpkit import moves


@attrs.frozen
class Fit:
    """Two partitions of the customers, and their numbers of parts."""

    last: np.ndarray
    best: np.ndarray


@attrs.frozen
class Planted:
    """Data, the true component of each customer, and its most probable component."""

    data: hk.Corpus | hk.Groups
    truth: np.ndarray
    probable: np.ndarray


def adjusted_rand_index(a, b):
    """Agreement of two partitions beyond chance (Hubert and Arabie 1985)."""
    from sklearn.metrics import adjusted_rand_score

    return adjusted_rand_score(a, b)


# ---------------------------------------------------------------------- simulation


def plant_corpus(seed, topics=10, terms=100, authors=12, documents=30, tokens=12):
    """Short documents: an author prefers three topics, and a document is similar to its author."""
    generator = np.random.default_rng(seed)
    phi = generator.dirichlet(np.full(terms, 0.1), size=topics)
    docs, writers, truth, probable = [], [], [], []
    for author in range(authors):
        liked = generator.choice(topics, size=3, replace=False)
        preference = np.full(topics, 0.02)
        preference[liked] += generator.dirichlet(np.full(3, 3.0))
        for _ in range(documents):
            weights = generator.dirichlet(4.0 * preference / preference.sum())
            z = generator.choice(topics, size=tokens, p=weights)
            words = [int(generator.choice(terms, p=phi[k])) for k in z]
            docs.append(words)
            writers.append(f"author {author}")
            truth.append(z)
            probable.append((weights[:, None] * phi[:, words]).argmax(axis=0))
    corpus = hk.Corpus.from_documents(docs, n_terms=terms, groups={"author": writers})
    return Planted(corpus, np.concatenate(truth), np.concatenate(probable))


def plant_gaussians(seed, components=5, groups=15, size=24, dims=2, spread=3.0, sparsity=0.25):
    """Overlapping Gaussians of several shapes; a group has mostly one or two of them."""
    generator = np.random.default_rng(seed)
    means = generator.normal(0.0, spread, size=(components, dims))
    factors = generator.normal(0.0, 0.45, size=(components, dims, dims)) + 0.8 * np.eye(dims)
    weights = generator.dirichlet(np.full(components, sparsity), size=groups)
    truth = np.concatenate([generator.choice(components, size=size, p=row) for row in weights])
    noise = generator.standard_normal((len(truth), dims))
    values = means[truth] + np.einsum("nij,nj->ni", factors[truth], noise)
    group = np.repeat(np.arange(groups), size)
    away = np.einsum("kij,nkj->nki", np.linalg.inv(factors), values[:, None] - means)
    log_density = -0.5 * (away**2).sum(axis=2) - np.log(np.abs(np.linalg.det(factors)))
    with np.errstate(divide="ignore"):
        probable = (np.log(weights[group]) + log_density).argmax(axis=1)
    return Planted(hk.Groups.from_labels(values, {"group": group.tolist()}), truth, probable)


# ---------------------------------------------------------------------- models


def fit(restaurant, data, sweeps, seed):
    """Run a chain; keep the partition of the last sweep and the best one of its second half."""
    franchise = hk.Franchise(restaurant, data)
    best = [-np.inf, franchise.dishes]

    def after(draw):
        if draw.sweep > sweeps // 2 and draw.values["log_joint"] > best[0]:
            best[:] = draw.values["log_joint"], draw.franchise.dishes.copy()

    steps = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    if restaurant.each is not None:
        steps.append(moves.DishGibbs())
    hk.Scheduler(steps).run(franchise, sweeps=sweeps, rng=seed, callbacks=[after])
    return Fit(franchise.dishes.copy(), best[1])


def layers(measure, *labels):
    """Restaurants from the root down, with a weak prior on every concentration."""
    restaurant = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    for label in labels:
        restaurant = hk.Restaurant(base=restaurant, concentration=hk.Gamma(1.0, 1.0), each=label)
    return restaurant


def finite_mixture(values, components, seed):
    """Labels by scikit-learn's mixture of a known number of Gaussians, the best of five starts."""
    from sklearn.mixture import GaussianMixture
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # for data of this size threads cost more than they save
        return GaussianMixture(components, n_init=5, random_state=seed).fit_predict(values)


def study_corpus(seed, sweeps):
    """Topics of tokens: three levels and two."""
    planted = plant_corpus(seed)
    words = hk.DirichletMultinomial(eta=0.1)
    return planted.truth, {
        "three levels": fit(layers(words, "author", "document"), planted.data, sweeps, seed),
        "two levels": fit(layers(words, "document"), planted.data, sweeps, seed),
        "the truth's own": Fit(planted.probable, planted.probable),
    }


def study_gaussians(seed, sweeps, grouped):
    """Components of observations: with groups, without groups, and with the true number given."""
    planted = plant_gaussians(seed, sparsity=0.25 if grouped else 50.0)
    values = planted.data.values
    measure = hk.NormalInverseWishart.weakly_informative(values)
    found = finite_mixture(values, len(np.unique(planted.truth)), seed)
    fits = {"DP": fit(layers(measure), planted.data, sweeps, seed), "finite, given K": Fit(found, found)}
    if grouped:
        fits = {"HDP, given the groups": fit(layers(measure, "group"), planted.data, sweeps, seed), **fits}
    return planted.truth, {**fits, "the truth's own": Fit(planted.probable, planted.probable)}


STUDIES = {
    "authors' documents": lambda seed, sweeps: study_corpus(seed, sweeps),
    "flat Gaussians": lambda seed, sweeps: study_gaussians(seed, sweeps, grouped=False),
    "grouped Gaussians": lambda seed, sweeps: study_gaussians(seed, sweeps, grouped=True),
}


def recover(study, seeds, sweeps):
    """Model -> adjusted Rand indices (last, best) and parts of the best, one row per seed; and the true K."""
    rows: dict[str, list[tuple[float, float, int]]] = {}
    planted = []
    for seed in range(seeds):
        truth, fits = STUDIES[study](seed, sweeps)
        planted.append(len(np.unique(truth)))
        for model, found in fits.items():
            rows.setdefault(model, []).append(
                (
                    adjusted_rand_index(truth, found.last),
                    adjusted_rand_index(truth, found.best),
                    len(np.unique(found.best)),
                )
            )
    return {model: np.array(values) for model, values in rows.items()}, np.array(planted)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sweeps", type=int, default=80)
    options = parser.parse_args(arguments)

    print("| planted | fitted | ARI, last sweep | ARI, best sweep | components |")
    print("| --- | --- | --- | --- | --- |")
    pairs = []
    for study in STUDIES:
        rows, planted = recover(study, options.seeds, options.sweeps)
        first, *others = (model for model in rows if model != "the truth's own")
        for other in others:
            better = int((rows[first][:, 1] > rows[other][:, 1]).sum())
            pairs.append(
                f"{study}: {first} better than {other} in {better} of {options.seeds} seeds (best sweep)"
            )
        for model, values in rows.items():
            last, best, parts = (
                f"{np.median(column):{form}} ({column.min():{form}} to {column.max():{form}})"
                for column, form in zip(values.T, (".2f", ".2f", ".0f"), strict=True)
            )
            k = (
                f"{planted.min()}"
                if planted.min() == planted.max()
                else f"{planted.min()} to {planted.max()}"
            )
            print(f"| {study}, K = {k} | {model} | {last} | {best} | {parts} |")
    print("", *pairs, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
