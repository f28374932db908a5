"""Sparse topics: separate parameters for sparsity and smoothness of topics (Wang & Blei 2009).

A corpus is simulated from topics that each select some of the terms. A plain HDP has only one parameter, eta,
for the sparsity and the smoothness of topics; the sparse model has a selection of terms and a smoothing over
these. The script fits both, compares their topics' terms with the true ones, and plots the estimates of
sparsity and smoothing against the true values, varying each separately.

    python examples/sparse_topics.py                       # a minute; the table
    python examples/sparse_topics.py --figure out.png      # several minutes; needs matplotlib
"""

import argparse

import attrs
import numpy as np
from scipy.optimize import linear_sum_assignment

import hdpkit as hk
from hdpkit import moves

N_TERMS, N_TOPICS = 120, 6
MODELS = {
    "sparse": hk.SparseDirichletMultinomial(smoothing=hk.Gamma(1.0, 1.0), selection=hk.Beta(1.0, 1.0)),
    "plain": hk.DirichletMultinomial(eta=hk.Gamma(1.0, 1.0)),
}


@attrs.frozen
class Planted:
    """A corpus, and its true topics: shape (topics, terms)."""

    corpus: hk.Corpus
    topics: np.ndarray


@attrs.frozen
class Fit:
    """Averages over the kept sweeps of a chain, with topics matched to the true ones.

    Attributes
    ----------
    inclusion : array, shape (topics, terms)
        Probability that the topic selects the term; for the plain model, which has no selection, the
        posterior mean of the topic.
    sparsity : float
        Share of the vocabulary that the matched topics don't select, weighted by their tokens.
    parameter : float
        Smoothing, or eta.
    n_topics : float
        Total number of topics.
    """

    inclusion: np.ndarray
    sparsity: float
    parameter: float
    n_topics: float


def plant(seed, share=0.25, smoothing=1.0, documents=150, tokens=60):
    """Draw topics, each Dirichlet(smoothing) over a share of the terms, and documents of two topics each."""
    generator = np.random.default_rng(seed)
    topics = np.zeros((N_TOPICS, N_TERMS))
    for row in topics:
        selected = generator.choice(N_TERMS, size=round(share * N_TERMS), replace=False)
        row[selected] = generator.dirichlet(np.full(len(selected), smoothing))
    words = []
    for _ in range(documents):
        pair = generator.choice(N_TOPICS, size=2, replace=False)
        weight = generator.beta(1.0, 1.0)
        mixed = weight * topics[pair[0]] + (1.0 - weight) * topics[pair[1]]
        words.append(generator.choice(N_TERMS, size=tokens, p=mixed).tolist())
    return Planted(hk.Corpus.from_documents(words, n_terms=N_TERMS), topics)


def fit(planted, measure, sweeps, seed):
    """Run a chain and average its second half."""
    root = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(document, planted.corpus)
    updates = [moves.Concentration(), moves.BaseMeasureParameters()]
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), *updates]
    inclusion, rows = np.zeros_like(planted.topics), []
    for draw in hk.Scheduler(schedule).sample(franchise, sweeps, rng=seed, init="sequential"):
        if 2 * draw.sweep <= sweeps:
            continue
        state = draw.franchise
        counts, means = state.dish_counts, state.dish_parameters()
        dishes = matched(means, planted.topics)
        if state.measure.supports("selected_terms"):
            selected, distinct = state.selected_terms(), np.count_nonzero(counts, axis=1)
            # Terms with tokens in the topic are selected; all other terms have equal probability.
            other = (selected - distinct) / np.maximum(N_TERMS - distinct, 1)
            inclusion += np.where(counts > 0, 1.0, other[:, None])[dishes]
            name, sizes = "smoothing", counts[dishes].sum(axis=1)
            sparsity = 1.0 - np.average(selected[dishes], weights=sizes) / N_TERMS
        else:
            inclusion += means[dishes]
            name, sparsity = "eta", np.nan
        rows.append((sparsity, state.base_parameters[name], state.n_dishes))
    return Fit(inclusion / len(rows), *np.mean(rows, axis=0).tolist())


def matched(means, topics):
    """The dish for each true topic: the pairs with the largest sum of cosines. There are enough dishes."""
    if len(means) < len(topics):
        means = np.vstack([means, np.tile(means[-1:], (len(topics) - len(means), 1))])
    cosines = topics @ means.T
    cosines /= np.linalg.norm(topics, axis=1)[:, None] * np.linalg.norm(means, axis=1)
    _, dishes = linear_sum_assignment(-cosines)
    return np.minimum(dishes, len(means) - 1)


def precision_and_recall(found, topics):
    """Precision and recall of the terms found for topics.

    Only terms with a probability of at least 1/1000 in a topic count: others hardly occur in the data.
    """
    wanted, right = topics > 1e-3, topics > 0.0
    precision = (found & right).sum() / max(found.sum(), 1)
    recall = (found & wanted).sum() / wanted.sum()
    return float(precision), float(recall)


def f_score(pair):
    """Harmonic mean of precision and recall."""
    return 2.0 * pair[0] * pair[1] / max(sum(pair), 1e-12)


def best_in_hindsight(means, topics):
    """Precision and recall of terms above the best threshold, which isn't known in practice."""
    thresholds = np.unique(means)[:: max(means.size // 500, 1)]
    return max((precision_and_recall(means > t, topics) for t in thresholds), key=f_score)


def compare(planted, sweeps, seed):
    """Precision, recall, the fit: of each model."""
    fits = {name: fit(planted, measure, sweeps, seed) for name, measure in MODELS.items()}
    return {
        "sparse": (*precision_and_recall(fits["sparse"].inclusion > 0.5, planted.topics), fits["sparse"]),
        "plain": (*best_in_hindsight(fits["plain"].inclusion, planted.topics), fits["plain"]),
    }


def figure(path, sweeps, seeds=3):
    """Plot estimated sparsity and smoothing against the true values."""
    import matplotlib.pyplot as plt

    shares, smoothings = (0.1, 0.2, 0.4, 0.6), (0.2, 0.5, 1.0, 2.0)
    drawn, axes = plt.subplots(1, 2, figsize=(9, 4), constrained_layout=True)
    for smoothing in smoothings:
        fits = [
            [fit(plant(seed, share, smoothing), MODELS["sparse"], sweeps, seed) for seed in range(seeds)]
            for share in shares
        ]
        sparsity = np.mean([[one.sparsity for one in row] for row in fits], axis=1)
        found = np.mean([[one.parameter for one in row] for row in fits], axis=1)
        planted = 1.0 - np.array(shares)
        axes[0].plot(planted, sparsity, marker="o", label=f"smoothing {smoothing:g}")
        axes[1].plot(planted, found, marker="o", label=f"smoothing {smoothing:g}")
        axes[1].axhline(smoothing, color="0.8", zorder=0)
    axes[0].plot([0.4, 0.9], [0.4, 0.9], color="0.8", zorder=0)
    axes[0].set(xlabel="planted sparsity", ylabel="posterior sparsity")
    axes[1].set(xlabel="planted sparsity", ylabel="posterior smoothing", yscale="log")
    axes[0].legend()
    drawn.savefig(path, dpi=120)
    plt.close(drawn)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", help="draw sparsity and smoothing here; some minutes")
    options = parser.parse_args()
    found = compare(plant(options.seed), options.sweeps, options.seed)
    print("model    topics  precision  recall  parameter  sparsity")
    for name, (precision, recall, one) in found.items():
        sparsity = "" if np.isnan(one.sparsity) else f"{one.sparsity:8.2f}"
        numbers = f"{one.n_topics:6.1f}  {precision:9.3f}  {recall:6.3f}  {one.parameter:9.3f}"
        print(f"{name:8s} {numbers}  {sparsity}")
    print("The plain model's terms are those above the threshold that serves it best in hindsight.")
    if options.figure:
        figure(options.figure, options.sweeps)


if __name__ == "__main__":
    main()
