"""Topics that drift over time, by restaurants with several parents, against an HDP by time and a plain HDP.

    python benchmarks/topics_over_time.py [CORPUS...] [--documents 10 30 120] [--seeds 0 1] [--sweeps 200]
        [--second N] [--eta 0.1] [--samples 10] [--figure FILE]

CORPUS is "simulated" or a folder with the release notes of Git (in Debian /usr/share/doc/git/RelNotes). Of
these the notes of versions 2.0 to 2.39 (May 2014 to December 2022) are read, each item of the lists as a
document, in slices of four versions. Function words, words that fewer than five items or more than a tenth of
them have, and items with fewer than four words are left out. "simulated": ten slices, 600 terms, 20 topics
from Dirichlet(0.05); the weights of a slice are 0.7 times those of the slice before plus 0.3 times a draw
from Dirichlet(0.1); each slice has 340 documents of 16 words, with proportions from Dirichlet(3 x weights).

In every slice 80 documents (a quarter, if there are fewer than 320) are held out; of the others the given
number is read in training, drawn by the seed, and of slices 1, 3, 5, 7, 9 at most --second. Models, all
without discounts and with concentrations that are resampled, one for each declaration: Gamma(1, 0.1) for
slices, Gamma(1, 1) for all others. Documents of a slice that has none in training draw from the root in "by
time", and from the slice before and its innovation in "drift".

- plain: documents below one root;
- by time: root, a restaurant for each slice, documents;
- drift: as by time, but a slice draws from the slice before and an innovation (docs/drift.md).

The score is the perplexity of one half of each held-out document given its other half (`hdpkit.evaluate`,
completion), averaged over samples of the second half of the sweeps; of all, of slices 1, 3, 5, 7, 9 (`odd`),
and by slice. `from the slice before` is the posterior mean of the weight of the slice before, averaged over
slices and samples. --figure draws, for the last corpus, the shares of topics by slice in the last state of
the first seed with most documents.
"""

import argparse
import re
import time
from pathlib import Path

import machine
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import TextCounter, TextOptions

N_SLICES = 10
SCHEDULE = (moves.TableGibbs(), moves.DishGibbs(), moves.Concentration())


def release_notes(folder):
    """Counts, slices and words of the items of Git's release notes 2.0 to 2.39."""
    texts, slices = [], []
    for number in range(4 * N_SLICES):
        notes = (Path(folder) / f"2.{number}.0.txt").read_text(encoding="utf-8")
        for item in re.split(r"\n \* ", notes)[1:]:
            texts.append(re.split(r"\n\n|\n *\(merge", item)[0])
            slices.append(number // 4)
    counter = TextCounter(TextOptions(min_documents=5, max_document_share=0.1, stop_words="english"))
    counts = counter.fit_count(texts)
    kept = np.flatnonzero(np.asarray(counts.sum(axis=1)).ravel() >= 4)
    return counts[kept].toarray(), np.array(slices)[kept], counter.vocabulary


def simulated():
    """Counts and slices of simulated documents, without words."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(600, 0.05), size=20)
    weights, counts, slices = rng.dirichlet(np.full(20, 0.1)), [], []
    for t in range(N_SLICES):
        weights = 0.7 * weights + 0.3 * rng.dirichlet(np.full(20, 0.1)) if t else weights
        for share in rng.dirichlet(3 * weights + 1e-9, size=340):
            counts.append(rng.multinomial(16, share @ topics))
            slices.append(t)
    return np.array(counts), np.array(slices), None


def split(slices, n_train, n_second, seed):
    """Numbers of training and held-out documents; every second slice has at most ``n_second`` in training."""
    rng, train, held = np.random.default_rng(seed), [], []
    for t in range(N_SLICES):
        own = rng.permutation(np.flatnonzero(slices == t))
        n_held = min(80, len(own) // 4)
        held += own[:n_held].tolist()
        n = min(n_train, n_second) if t % 2 and n_second is not None else n_train
        train += own[n_held : n_held + n].tolist()
    return sorted(train), sorted(held)


def declared(model, eta):
    """The deepest declaration of a model."""
    own, wide = {"concentration": hk.Gamma(1, 1)}, {"concentration": hk.Gamma(1, 0.1)}
    root = hk.Restaurant(hk.DirichletMultinomial(eta), **own)
    if model == "plain":
        return hk.Restaurant(root, each="document", **own)
    if model == "by time":
        return hk.Restaurant(hk.Restaurant(root, each="slice", **wide), each="document", **own)
    slices = {}
    for t in range(N_SLICES):
        new = hk.Restaurant(root, name=f"new in {t}", **own)
        base = hk.MixtureOf(slices[t - 1], new) if t else new
        slices[t] = hk.Restaurant(base, name=f"slice {t}", **wide)
    return hk.Restaurant(hk.OneOf("slice", slices), each="document", **own)


def fit(model, train, held, options, seed):
    """The franchise after a fit, its evaluation, weights of the slice before, seconds."""
    began = time.perf_counter()
    franchise = hk.Franchise(declared(model, options.eta), train, store="histogram")
    schedule = [*SCHEDULE, moves.ParentWeights()] if model == "drift" else SCHEDULE
    every = max(1, options.sweeps // 2 // options.samples)
    first, weights = options.sweeps - every * (options.samples - 1), []

    def kept():
        for draw in hk.Scheduler(schedule).sample(franchise, options.sweeps, rng=seed):
            if draw.sweep >= first and (options.sweeps - draw.sweep) % every == 0:
                if model == "drift":
                    names = [f"parent weights/slice {t}/slice {t - 1}" for t in range(1, N_SLICES)]
                    weights.append([draw.values[name] for name in names])
                yield draw

    score = hk.evaluate(kept(), held, fit="em")
    return franchise, score, weights, time.perf_counter() - began


def draw_figure(franchise, words, file):
    """Shares by slice of the six topics whose share changes most."""
    import matplotlib.pyplot as plt

    shares = np.array([franchise.group_weights(f"slice {t}")[0] for t in range(N_SLICES)])[:, :-1]
    topics = franchise.dish_parameters()
    figure, axes = plt.subplots(figsize=(10, 4))
    for k in np.argsort(shares.max(axis=0) - shares.min(axis=0))[::-1][:6]:
        top = np.argsort(topics[k])[::-1][:4]
        axes.plot(shares[:, k], marker="o", label=", ".join(words[v] if words else f"{v}" for v in top))
    labels = [f"2.{4 * t}-2.{4 * t + 3}" if words else f"{t}" for t in range(N_SLICES)]
    axes.set_xticks(range(N_SLICES), labels, rotation=30)
    axes.set(xlabel="slice", ylabel="share of the topic", ylim=(0, None))
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.tight_layout()
    figure.savefig(file, dpi=100)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="*", default=["simulated"], metavar="CORPUS")
    parser.add_argument(
        "--documents", type=int, nargs="+", default=[10, 30, 120], help="in training, by slice"
    )
    parser.add_argument("--second", type=int, help="at most this many in every second slice")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--sweeps", type=int, default=200)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    print(machine.block())
    head = (
        "corpus",
        "documents a slice",
        "seed",
        "model",
        "perplexity",
        "odd",
        *(f"{t}" for t in range(N_SLICES)),
    )
    head += ("topics", "from the slice before", "seconds")
    print("\n| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    shown = None
    for source in options.corpora:
        counts, slices, words = simulated() if source == "simulated" else release_notes(source)
        name = "simulated" if source == "simulated" else "release notes"
        for n_train in options.documents:
            for seed in options.seeds:
                read, held = split(slices, n_train, options.second, seed)
                when = slices[held]
                unread = set(range(N_SLICES)) - set(slices[read].tolist())
                for model in ("plain", "by time", "drift"):
                    without = unread if model == "by time" else set()
                    parts = []
                    for part in (read, held):
                        labels = [None if t in without else t for t in slices[part].tolist()]
                        parts.append(hk.Corpus.from_counts(counts[part], groups={"slice": labels}))
                    franchise, score, weights, seconds = fit(model, *parts, options, seed)
                    log_p, n = score.group_log_probability, score.group_tokens
                    groups = [when % 2 == 1, *(when == t for t in range(N_SLICES))]
                    by_slice = [np.exp(-log_p[some].sum() / n[some].sum()) for some in groups]
                    cells = [name, f"{n_train}", f"{seed}", model, f"{score.perplexity:.1f}"]
                    cells += [f"{by_slice[0]:.1f}", *(f"{one:.0f}" for one in by_slice[1:])]
                    cells += [f"{franchise.n_dishes}"]
                    cells += [f"{np.mean(weights):.2f}" if weights else "", f"{seconds:.0f}"]
                    print("| " + " | ".join(cells) + " |", flush=True)
                if seed == options.seeds[0] and n_train == max(options.documents):
                    shown = franchise, words
    if options.figure:
        draw_figure(*shown, options.figure)


if __name__ == "__main__":
    main()
