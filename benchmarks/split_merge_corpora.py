"""Wang & Blei 2012, section 4.2, on corpora: Gibbs sampling with and without split-merge, by computing time.

    OPENBLAS_NUM_THREADS=1 python benchmarks/split_merge_corpora.py CORPUS... [--etas 0.1 0.2 0.5] [--runs 20]
        [--sweeps 500] [--until 50] [--test-share 0.2] [--keep FOLDER] [--figures FOLDER]

CORPUS is NAME=FILE (LDA-C, plain or gzipped), or NAME=installed for the documentation of the installed
NumPy and SciPy. As in the paper: Gamma(1, 1) priors on both concentrations, the sequential start, split-merge
in the first 50 of 500 sweeps, one proposal per sweep, a fifth of the documents held out (drawn separately for
each run). The two samplers of a run have the same documents and the same seed. A sweep is TableGibbs,
DishGibbs and the updates of concentrations.

The training score is the log likelihood per token; as in equation 14 the best score up to a time is compared.
The held-out score is document completion (half of the words of a document observed), per token; the paper
doesn't say how it computes its score. Time is processor time of the sweeps, including the scores of the trace
but not the held-out scores. With --keep each chain is written to a CSV file, and existing chains are not run
again, so a report can be made from several calls.
"""

import argparse
import csv
import time
from functools import partial
from pathlib import Path

import attrs
import machine
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import demo_corpus

SAMPLERS = {"gibbs": "Gibbs", "split-merge": "Gibbs+SM"}
COLUMNS = ("sweep", "seconds", "dishes", "training", "held_out", "tried", "accepted")
POINTS = 12  # sweeps after which the held-out score is computed
COSINES = (0.5, 0.7, 0.9)
CURVE = 200  # number of times of a curve
LAYOUT = {"squeeze": False, "layout": "constrained"}


@attrs.frozen(eq=False)
class Chain:
    """The records of a chain: rows of COLUMNS, and the cosines of all pairs of topics at its end."""

    rows: np.ndarray
    cosines: np.ndarray

    def column(self, name):
        return self.rows[:, COLUMNS.index(name)]

    def best(self, seconds):
        """The best training score up to each time; NaN before the end of the first sweep."""
        reached = np.searchsorted(self.column("seconds"), seconds, side="right") - 1
        best = np.maximum.accumulate(self.column("training"))
        return np.where(reached >= 0, best[np.maximum(reached, 0)], np.nan)

    def held_out(self, seconds):
        """The held-out score at each time, interpolated linearly between the sweeps that have one."""
        there = np.isfinite(self.column("held_out"))
        times, scores = self.column("seconds")[there], self.column("held_out")[there]
        return np.interp(seconds, times, scores, left=np.nan, right=np.nan)


def corpus_of(source):
    """The corpus of a file, or of the installed documentation."""
    if source != "installed":
        return hk.Corpus.from_ldac(source)
    return demo_corpus()


def halves(corpus, share, seed):
    """Training and test documents, drawn at random."""
    counts = corpus.to_counts().tocsr()
    order = np.random.default_rng([seed, 2012]).permutation(counts.shape[0])
    first = round(share * len(order))
    return hk.Corpus.from_counts(counts[np.sort(order[first:])]), hk.Corpus.from_counts(
        counts[np.sort(order[:first])]
    )


def run(corpus, eta, sampler, seed, options):
    """One chain."""
    training, test = halves(corpus, options.test_share, seed)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=eta), concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(document, training)
    schedule = [moves.TableGibbs(), moves.DishGibbs()]
    if sampler == "split-merge":
        schedule.append(moves.SplitMerge().until(options.until))
    scheduler = hk.Scheduler([*schedule, moves.Concentration()])
    scored = set(np.unique(np.geomspace(1, options.sweeps, POINTS).round().astype(int)))
    draws = scheduler.sample(franchise, options.sweeps, rng=seed, init="sequential")
    rows, seconds, tried, accepted = [], 0.0, 0, 0
    began = time.process_time()
    for draw in draws:
        seconds += time.process_time() - began
        for move in draw.moves:
            if move.move == "SplitMerge":
                tried, accepted = tried + move.tried, accepted + move.accepted
        score = np.nan
        if draw.sweep in scored:
            score = hk.evaluate(franchise, test, rng=seed).log_probability_per_token
        likelihood = draw.values["log_likelihood"] / len(training)
        rows.append((draw.sweep, seconds, franchise.n_dishes, likelihood, score, tried, accepted))
        began = time.process_time()
    topics = franchise.dish_parameters()
    topics = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    return Chain(np.array(rows), (topics @ topics.T)[np.triu_indices(len(topics), 1)])


def kept(path, make):
    """The chain in a file, or else the result of a function, which is then written there."""
    if path is None:
        return make()
    if path.exists():
        with path.open(newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
        return Chain(np.array(lines[2:], dtype=float), np.array(lines[0], dtype=float))
    chain = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_suffix(".tmp")
    with aside.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[f"{cosine:.4f}" for cosine in chain.cosines], COLUMNS, *chain.rows])
    aside.replace(path)
    return chain


def mean_and_error(values):
    """Mean over runs and its standard error, as text."""
    values = np.asarray(values, dtype=float)
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.4f} ± {error:.4f}"


def difference(pairs, score, seconds):
    """For each run, Gibbs+SM minus Gibbs at these times: shape (runs, times)."""
    return np.array(
        [getattr(large, score)(seconds) - getattr(gibbs, score)(seconds) for gibbs, large in pairs]
    )


def report(name, pairs_by_eta):
    """Tables of one corpus, as Markdown."""
    yield f"\n## {name}\n"
    yield "| eta | runs | K, Gibbs | K, Gibbs+SM | s, Gibbs | s, Gibbs+SM | accepted | accepted in runs |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for eta, pairs in pairs_by_eta.items():
        tried, accepted = (
            sum(large.column(what)[-1] for _, large in pairs) for what in ("tried", "accepted")
        )
        cells = [f"{eta}", f"{len(pairs)}"]
        cells += [f"{np.mean([pair[i].column('dishes')[-1] for pair in pairs]):.1f}" for i in (0, 1)]
        cells += [f"{np.median([pair[i].column('seconds')[-1] for pair in pairs]):.2f}" for i in (0, 1)]
        cells += [f"{accepted:.0f} of {tried:.0f} ({accepted / max(tried, 1):.2%})"]
        cells += [f"{sum(large.column('accepted')[-1] > 0 for _, large in pairs)}"]
        yield f"| {' | '.join(cells)} |"
    yield "\nGibbs+SM less Gibbs, nats by token, mean and standard error, at the time that Gibbs took"
    yield "(median) to that sweep: the best training score so far, and the held-out score.\n"
    sweeps = len(next(iter(pairs_by_eta.values()))[0][0].rows)
    marks = sorted({max(1, sweeps // part) for part in (50, 10, 5, 2, 1)})
    yield f"| eta | score | {' | '.join(f'sweep {mark}' for mark in marks)} |"
    yield "| --- " * (2 + len(marks)) + "|"
    for eta, pairs in pairs_by_eta.items():
        times = [np.median([gibbs.column("seconds")[mark - 1] for gibbs, _ in pairs]) for mark in marks]
        # Chains that begin a little later or end a little earlier are compared at their ends.
        chains = [chain.column("seconds") for pair in pairs for chain in pair]
        times = np.clip(times, max(each[0] for each in chains), min(each[-1] for each in chains))
        for score, title in (("best", "training"), ("held_out", "held out")):
            by_run = difference(pairs, score, times)
            yield f"| {eta} | {title} | {' | '.join(mean_and_error(column) for column in by_run.T)} |"
    yield "\nPairs of topics at the end of Gibbs chains, by their cosine (mean over runs).\n"
    yield f"| eta | pairs | {' | '.join(f'above {cosine}' for cosine in COSINES)} |"
    yield "| --- " * (2 + len(COSINES)) + "|"
    for eta, pairs in pairs_by_eta.items():
        found = [gibbs.cosines for gibbs, _ in pairs]
        cells = [f"{np.mean([np.sum(each > cosine) for each in found]):.1f}" for cosine in COSINES]
        yield f"| {eta} | {np.mean([len(each) for each in found]):.0f} | {' | '.join(cells)} |"


def draw_figures(name, pairs_by_eta, folder):
    """Figures 5 to 8 of the paper for one corpus."""
    import matplotlib.pyplot as plt

    etas = list(pairs_by_eta)
    figure, panels = plt.subplots(4, len(etas), figsize=(3.6 * len(etas), 10), **LAYOUT)
    for column, eta in zip(panels.T, etas, strict=True):
        pairs = pairs_by_eta[eta]
        first = max(chain.column("seconds")[0] for pair in pairs for chain in pair)
        last = min(chain.column("seconds")[-1] for pair in pairs for chain in pair)
        seconds = np.geomspace(first, max(last, 1.001 * first), CURVE)
        span = (seconds[0], seconds[-1])  # given: no score may be known yet at any of these times
        for i, title in enumerate(SAMPLERS.values()):
            column[0].plot(seconds, np.mean([pair[i].best(seconds) for pair in pairs], axis=0), label=title)
        column[0].set(title=f"{name}, eta = {eta}", xscale="log", xlim=span, ylabel="best training score")
        column[0].legend()
        for axes, score, title in ((column[1], "best", "training"), (column[2], "held_out", "held out")):
            by_run = difference(pairs, score, seconds)
            axes.plot(seconds, by_run.T, color="C0", alpha=0.25, linewidth=0.7)
            axes.plot(seconds, by_run.mean(axis=0), color="C0")
            axes.axhline(0.0, color="black", linewidth=0.8)
            axes.set(xscale="log", xlim=span, xlabel="processor seconds", ylabel=f"difference, {title}")
        cosines = pairs[0][0].cosines
        height = np.random.default_rng(0).random(len(cosines))
        column[3].scatter(cosines, height, s=3)
        column[3].set(xlim=(0, 1), yticks=[], xlabel="cosine of two topics")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"split_merge_{name}.png", dpi=80)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpora", nargs="+", metavar="NAME=FILE")
    parser.add_argument("--etas", nargs="+", type=float, default=[0.1, 0.2, 0.5])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--until", type=int, default=50)
    parser.add_argument("--test-share", type=float, default=0.2)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--figures", type=Path)
    options = parser.parse_args()
    print(machine.block())
    for given in options.corpora:
        name, _, source = given.partition("=")
        corpus, found = corpus_of(source), {}
        print(f"\n{name}: {corpus!r}")
        for seed in range(options.runs):
            for eta in options.etas:
                pair = []
                for sampler in SAMPLERS:
                    file = options.keep and options.keep / f"{name}-{eta}-{seed}-{sampler}.csv"
                    pair.append(kept(file, partial(run, corpus, eta, sampler, seed, options)))
                found.setdefault(eta, []).append(pair)
        print("\n".join(report(name, found)), flush=True)
        if options.figures:
            draw_figures(name, found, options.figures)


if __name__ == "__main__":
    main()
