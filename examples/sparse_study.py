"""Wang & Blei's study of sparse topics (2009, section 4) on a corpus of your own.

Five folds: on four fifths of the documents the sparse model and the plain HDP are fitted, with priors
Gamma(1, 1) on both concentrations and on smoothing and eta, pi ~ Beta(1, 1); the other fifth is scored by
its predictive perplexity. Chains start from one topic. As in the paper, terms that occur fewer than ten
times are left out. The complexity of a sample is the number of its topics plus, over the topics, the number
of different terms that have a token in the topic.

    python examples/sparse_study.py CORPUS --out DIR [--vocabulary FILE] [--least 10] [--sweeps 300]
        [--dish-sweeps 100] [--samples 10] [--thin 5]
    python examples/sparse_study.py                    # simulated documents, two folds: takes seconds

CORPUS is any corpus that ``hdpkit fit`` reads. DishGibbs and SplitMerge run only in the first sweeps, which
find the topics, since over the sparse model they cost many times as much as a sweep of TableGibbs. The
numbers (study.json), the four rows of figure 2 (study.png; needs matplotlib) and the topics of both models,
with noise topics marked (topics.txt), are written to DIR.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import read_corpus

PRIOR = hk.Gamma(1.0, 1.0)
MODELS = {
    "sparse": hk.SparseDirichletMultinomial(smoothing=PRIOR, selection=hk.Beta(1.0, 1.0)),
    "plain": hk.DirichletMultinomial(eta=PRIOR),
}
PARAMETER = {"sparse": "smoothing", "plain": "eta"}
COLOURS = {"sparse": "tab:red", "plain": "tab:blue"}
TOP = 15


def folds_of(corpus, folds, seed):
    """Pairs of training and test corpora: every document is in one test corpus."""
    counts, n = corpus.to_counts(), corpus.n_documents
    order = np.random.default_rng(seed).permutation(n)
    for fold in range(folds):
        test = np.sort(order[fold::folds])
        train = np.setdiff1d(np.arange(n), test)
        yield tuple(
            hk.Corpus.from_counts(counts[rows], vocabulary=corpus.vocabulary) for rows in (train, test)
        )


def frequent(corpus, least):
    """The corpus without terms that occur fewer than ``least`` times."""
    counts = corpus.to_counts()
    kept = np.flatnonzero(np.asarray(counts.sum(axis=0)).ravel() >= least)
    words = None if corpus.vocabulary is None else [corpus.vocabulary[v] for v in kept]
    return hk.Corpus.from_counts(counts[:, kept], vocabulary=words)


def declare(measure, corpus):
    """The two-level franchise of the paper."""
    root = hk.Restaurant(base=measure, concentration=PRIOR, name="root")
    return hk.Franchise(hk.Restaurant(base=root, concentration=PRIOR, each="document"), corpus)


def complexity(counts):
    """Topics, plus the distinct terms of each: equation 12 of the paper. ``counts``: shape (K, V)."""
    return len(counts) + int(np.count_nonzero(counts))


def run(name, train, test, *, sweeps, dish_sweeps, samples, thin, particles, seed):
    """Fit one model to one fold, and score the other documents.

    Returns
    -------
    row : dict
        Means over the samples, the perplexity, and each sample's parameter, topics and terms per topic.
    franchise : Franchise
        In the last state.
    """
    franchise = declare(MODELS[name], train)
    early = [move.until(dish_sweeps) for move in (moves.DishGibbs(), moves.SplitMerge())]
    hyperparameters = [moves.Concentration(), moves.BaseMeasureParameters()]
    scheduler = hk.Scheduler([moves.TableGibbs(), *early, *hyperparameters])
    # Started with many topics, the sparse model keeps too many, with a much lower log joint.
    scheduler.run(franchise, sweeps=sweeps, rng=seed, init="one")
    seen = []

    def states():
        for draw in scheduler.sample(franchise, samples * thin, rng=seed + 1, init=None):
            if draw.sweep % thin:
                continue
            counts = draw.franchise.dish_counts
            parameter = draw.franchise.base_parameters[PARAMETER[name]]
            terms = np.count_nonzero(counts, axis=1)
            seen.append((complexity(counts), parameter, len(counts), float(terms.mean())))
            yield draw

    score = hk.evaluate(states(), test, method="predictive", particles=particles, rng=seed)
    columns = [list(map(float, column)) for column in zip(*seen, strict=True)]
    row = dict(zip(("complexity", "parameter", "topics", "terms"), columns, strict=True))
    return {"perplexity": score.perplexity, "error": score.perplexity_error, **row}, franchise


def study(corpus, *, folds=5, report=print, seed=0, **options):
    """Both models on every fold; ``options`` are those of `run`.

    Returns
    -------
    rows : dict of str to list of dict
        By model, one row per fold.
    fits : dict of str to Franchise
        Of the first fold.
    """
    rows, fits = {name: [] for name in MODELS}, {}
    for fold, (train, test) in enumerate(folds_of(corpus, folds, seed)):
        for name in MODELS:
            row, franchise = run(name, train, test, **options, seed=seed)
            rows[name].append(row)
            fits.setdefault(name, franchise)
            means = {key: float(np.mean(row[key])) for key in ("complexity", "parameter", "topics", "terms")}
            report(
                f"fold {fold} {name:6s} perplexity {row['perplexity']:8.1f} +- {row['error']:.1f}  "
                f"complexity {means['complexity']:8.0f}  {PARAMETER[name]} {means['parameter']:.4f}  "
                f"topics {means['topics']:.0f}  terms a topic {means['terms']:.1f}"
            )
    return rows, fits


def figure(rows, path):
    """Draw the four rows of the paper's figure 2."""
    import matplotlib.pyplot as plt

    drawn, axes = plt.subplots(4, 1, figsize=(5, 13), constrained_layout=True)
    points = {
        name: [(np.mean(row["complexity"]), row["perplexity"]) for row in found]
        for name, found in rows.items()
    }
    for pair in zip(*points.values(), strict=True):
        axes[0].plot(*zip(*pair, strict=True), color="0.7", linestyle="--", zorder=1)
    for name, marker in (("sparse", "o"), ("plain", "s")):
        axes[0].scatter(*zip(*points[name], strict=True), c=COLOURS[name], marker=marker, label=name)
    axes[0].set(xlabel="complexity", ylabel="predictive perplexity")
    axes[0].legend()
    labels = (("parameter", "smoothing; eta"), ("topics", "topics"), ("terms", "terms a topic"))
    for axis, (key, label) in zip(axes[1:], labels, strict=True):
        values = {name: np.concatenate([row[key] for row in found]) for name, found in rows.items()}
        axis.boxplot(list(values.values()))
        axis.set_xticks(range(1, len(values) + 1), list(values))
        axis.set_ylabel(label)
    drawn.savefig(path, dpi=100)
    plt.close(drawn)


def is_noise(top, document_frequency):
    """Whether the median document frequency of a topic's top terms is below that of all terms."""
    return bool(np.median(document_frequency[top]) < np.median(document_frequency))


def side_by_side(fits, n_topics=12):
    """Lines with similar topics of both models, then the noise topics of each."""
    corpus = fits["plain"].data
    frequency = np.asarray((corpus.to_counts() > 0).sum(axis=0)).ravel()
    words = corpus.vocabulary or [str(v) for v in range(corpus.n_terms)]
    means = {name: franchise.dish_parameters() for name, franchise in fits.items()}
    sizes = {name: franchise.dish_counts.sum(axis=1) for name, franchise in fits.items()}
    top = {name: np.argsort(-phi, axis=1, kind="stable")[:, :TOP] for name, phi in means.items()}
    norms = {name: phi / np.linalg.norm(phi, axis=1, keepdims=True) for name, phi in means.items()}
    pairs = np.transpose(linear_sum_assignment(-norms["sparse"] @ norms["plain"].T))
    pairs = sorted(pairs.tolist(), key=lambda pair: -sizes["sparse"][pair[0]])[:n_topics]
    lines = ["Similar topics", ""]
    for pair in pairs:
        for name, k in zip(("sparse", "plain"), pair, strict=True):
            mark = "  [noise]" if is_noise(top[name][k], frequency) else ""
            lines.append(f"{name:6s} {' '.join(words[v] for v in top[name][k])}{mark}")
        lines.append("")
    for name in fits:
        noise = [k for k in range(len(means[name])) if is_noise(top[name][k], frequency)]
        share = sizes[name][noise].sum() / sizes[name].sum()
        lines += [f"Noise topics, {name}: {len(noise)} of {len(means[name])}, {share:.1%} of the tokens", ""]
        lines += [" ".join(words[v] for v in top[name][k]) for k in noise[:5]] + [""]
    return lines


def drawn(n_documents=40):
    """A small simulated corpus of two kinds of documents, to try out the script."""
    generator = np.random.default_rng(0)
    kinds = generator.dirichlet(np.full(30, 0.3), size=2)
    return hk.Corpus.from_counts(
        np.array([generator.multinomial(30, kinds[d % 2]) for d in range(n_documents)])
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--vocabulary", type=Path)
    run_for = (("sweeps", 300), ("dish-sweeps", 100), ("samples", 10), ("thin", 5))
    for name, default in (("folds", 5), ("least", 10), *run_for, ("particles", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    out, path, vocabulary, least = (options.pop(name) for name in ("out", "corpus", "vocabulary", "least"))
    if path is None:
        options |= {"folds": 2, "sweeps": 20, "samples": 2}
    corpus = frequent(drawn() if path is None else read_corpus(path, None, vocabulary), least)
    print(f"{corpus!r}")
    rows, fits = study(corpus, **options)
    for name, found in rows.items():
        perplexities = [row["perplexity"] for row in found]
        complexities = [np.mean(row["complexity"]) for row in found]
        print(f"{name:6s} perplexity {np.mean(perplexities):.1f}, complexity {np.mean(complexities):.0f}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        record = {"options": {**options, "least": least}, "rows": rows}
        (out / "study.json").write_text(json.dumps(record, indent=1) + "\n")
        (out / "topics.txt").write_text("\n".join(side_by_side(fits)), encoding="utf-8")
        figure(rows, out / "study.png")


if __name__ == "__main__":
    main()
