"""Topics at three levels: the topics of the modules of NumPy and SciPy.

The documents are the docstrings of the installed NumPy and SciPy; each belongs to a module (scipy.stats,
numpy.linalg, ...). The root's topics are shared by all, a module has its own mixture of them, and the mixture
of a document varies around that of its module. The same documents are also fitted by the model of two levels,
without modules, and both predict the words of documents of which they have observed three words.

    python examples/three_levels.py --all --sweeps 300 --picture three_levels.png
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter

import attrs
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import demo_corpus, top_terms

SOME = (
    *("numpy.fft", "numpy.linalg", "scipy.cluster", "scipy.fft"),
    *("scipy.linalg", "scipy.ndimage", "scipy.spatial"),
)


@attrs.frozen
class Split:
    """A corpus with labels "document" and "module", and the words removed from some documents."""

    corpus: hk.Corpus
    held_out: list[list[int]]  # by document; mostly empty


def module_of(name):
    """The first two parts of a dotted name, or the package if the second isn't a module."""
    package, _, rest = name.partition(".")
    module = f"{package}.{rest.partition('.')[0]}"
    return module if module in sys.modules else package


def read(packages=SOME, seen=3, every=5, min_documents=15, seed=0):
    """Documents of modules with enough documents; every fifth document keeps only three of its words."""
    docs = demo_corpus(packages)
    modules = [module_of(name) for name in docs.names]
    sizes = Counter(modules)
    kept = [d for d, module in enumerate(modules) if sizes[module] >= min_documents]
    generator = np.random.default_rng(seed)
    documents, held_out = [], []
    for place, d in enumerate(kept):
        terms = docs.terms[docs.document_customers(d)].tolist()
        taken: list[int] = []
        if place % every == 0 and len(terms) >= 2 * seen:
            terms = generator.permutation(terms).tolist()
            terms, taken = terms[:seen], terms[seen:]
        documents.append(terms)
        held_out.append(taken)
    corpus = hk.Corpus.from_documents(
        documents,
        vocabulary=docs.vocabulary,
        names=[docs.names[d] for d in kept],
        groups={"module": [modules[d] for d in kept]},
    )
    return Split(corpus, held_out)


def declare(corpus, levels=3, eta=0.05):
    """Root > module > document, or root > document."""
    restaurant = hk.Restaurant(base=hk.DirichletMultinomial(eta=eta), concentration=hk.Gamma(1.0, 1.0))
    if levels == 3:
        restaurant = hk.Restaurant(base=restaurant, concentration=hk.Gamma(1.0, 1.0), each="module")
    restaurant = hk.Restaurant(base=restaurant, concentration=hk.Gamma(1.0, 1.0), each="document")
    return hk.Franchise(restaurant, corpus)


class HeldOut:
    """Probability of each held-out word, averaged over draws."""

    def __init__(self, held_out):
        self.where = [(d, np.array(terms)) for d, terms in enumerate(held_out) if terms]
        self.total = np.zeros(sum(len(terms) for _, terms in self.where))
        self.draws = 0

    def add(self, franchise):
        topics = franchise.dish_parameters()
        # A new topic has the prior's mean: all terms have equal probability.
        topics = np.vstack([topics, np.full(topics.shape[1], 1 / topics.shape[1])])
        weights = franchise.group_weights("document")
        self.total += np.concatenate([weights[d] @ topics[:, terms] for d, terms in self.where])
        self.draws += 1

    @property
    def perplexity(self):
        return math.exp(-np.log(self.total / self.draws).mean())


def fit(split, levels=3, sweeps=100, seed=0, draws=10):
    """A franchise after `sweeps` sweeps, its trace, and the perplexity of the held-out words."""
    franchise = declare(split.corpus, levels)
    held_out = HeldOut(split.held_out)
    first = sweeps // 2
    step = max(1, (sweeps - first) // draws)

    def after(draw):
        if draw.sweep > first and (sweeps - draw.sweep) % step == 0:
            held_out.add(draw.franchise)

    schedule = hk.Scheduler(
        [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge().until(50), moves.Concentration()]
    )
    trace = schedule.run(franchise, sweeps=sweeps, rng=seed, callbacks=[after])
    return franchise, trace, held_out.perplexity


def about(franchise, n_topics=3, n_terms=4):
    """For each module the topics with the largest weights: (module, [(weight, top terms), ...])."""
    terms = top_terms(franchise.dish_counts, franchise.data.vocabulary, n_terms)
    weights = franchise.group_weights("module")[:, :-1]
    return [
        (module, [(row[k], terms[k]) for k in np.argsort(-row)[:n_topics]])
        for module, row in zip(franchise.keys("module"), weights, strict=True)
    ]


def draw(franchise, path, each=2):
    """Plot modules x topics: shades are weights of the module's restaurant, with `each` topics per module."""
    from matplotlib.figure import Figure

    weights = franchise.group_weights("module")[:, :-1]
    topics = np.unique(np.argsort(-weights, axis=1)[:, :each])
    home = weights[:, topics].argmax(axis=0)
    topics = topics[np.lexsort((-weights[home, topics], home))]  # topics in the order of their modules
    terms = top_terms(franchise.dish_counts, franchise.data.vocabulary, 3)
    figure = Figure(figsize=(0.25 * len(topics) + 2.4, 0.23 * len(weights) + 2.4), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(np.sqrt(weights[:, topics]), cmap="Blues", aspect="auto", vmin=0)
    axes.set_yticks(range(len(weights)), franchise.keys("module"), fontsize=8)
    axes.set_xticks(range(len(topics)), [" ".join(terms[k]) for k in topics], rotation=90, fontsize=7)
    bar = figure.colorbar(image, ax=axes, pad=0.01)
    ticks = np.array([0.01, 0.05, 0.1, 0.2, 0.4, 0.7])
    bar.set_ticks(np.sqrt(ticks), labels=[f"{tick:g}" for tick in ticks])
    bar.set_label("weight in the module's restaurant", fontsize=8)
    figure.savefig(path, dpi=90)


def main(arguments=()):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="all of NumPy and SciPy, not seven modules")
    parser.add_argument("--sweeps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", help="where to draw modules x topics")
    options = parser.parse_args(arguments)

    split = read(("numpy", "scipy") if options.all else SOME)
    corpus = split.corpus
    print(f"{corpus}; {sum(map(len, split.held_out))} words held out")
    for levels in (2, 3):
        franchise, trace, perplexity = fit(split, levels, options.sweeps, options.seed)
        late = slice(-max(1, options.sweeps // 4), None)
        print(
            f"{levels} levels: {trace['n_dishes'][late].mean():.0f} topics, "
            f"log likelihood {trace['log_likelihood'][late].mean():,.0f}, "
            f"held-out perplexity {perplexity:.0f}"
        )
    for module, topics in about(franchise):
        print(f"{module:18s}", "   ".join(f"{weight:.2f} {' '.join(words)}" for weight, words in topics))
    if options.picture:
        draw(franchise, options.picture)


if __name__ == "__main__":
    main(sys.argv[1:])
