"""Wang & Blei's synthetic study (2012, section 4.1): the effect of split-merge moves in an HDP topic model.

100 documents of 50 words over 12 terms come from five topics, at most two per document. Topics 1 and 2 share
terms 3 to 9 and differ only in terms 1 and 2; the others don't use these. Chains of Gibbs sweeps with and
without a large move start from the same state on the same data; "found" means that five dishes hold 98 % of
the words, each with a cosine of at least 0.95 to another true topic, for 20 sweeps running.

    python examples/split_merge_study.py                      # seconds: a few short chains
    python examples/split_merge_study.py main                 # the table with and without
    python examples/split_merge_study.py grid                 # separation, mixing, trials per sweep
    python examples/split_merge_study.py figures --out DIR    # figures 3 and 4 (a)-(d); needs matplotlib

The results are in benchmarks/results/split_merge.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import binomtest

import hdpkit as hk
from hdpkit import moves

N_TOPICS, N_TERMS = 5, 12
HELD, COSINE, RUNNING = 0.98, 0.95, 20


@attrs.frozen
class Setting:
    """Parameters of the simulated data.

    Attributes
    ----------
    low : float
        Probability of term 2 in topic 1 and of term 1 in topic 2.
    high : float, optional
        Probability of term 1 in topic 1 and of term 2 in topic 2; by default as high as terms 3 to 9.
    single : float
        Share of documents with one topic; the others have two.
    weight : float
        The two topics of a document have weights Beta(weight, weight).
    n_documents, n_words : int
    """

    low: float = 0.008
    high: float | None = None
    single: float = 0.5
    weight: float = 1.0
    n_documents: int = 100
    n_words: int = 50


def true_topics(setting: Setting) -> np.ndarray:
    """The five topics: shape (5, 12)."""
    high = (1.0 - setting.low) / 8.0 if setting.high is None else setting.high
    topics = np.zeros((N_TOPICS, N_TERMS))
    topics[:2, 2:9] = (1.0 - high - setting.low) / 7.0
    topics[0, :2] = high, setting.low
    topics[1, :2] = setting.low, high
    for k, (own, shared) in enumerate([(9, (2, 3, 4)), (10, (4, 5, 6)), (11, (6, 7, 8))]):
        topics[2 + k, own] = 0.4
        topics[2 + k, list(shared)] = 0.2
    return topics


def draw_data(setting: Setting, seed: int) -> tuple[hk.Corpus, np.ndarray]:
    """A corpus, and each word's true topic (from 0) in the order of the corpus."""
    rng = np.random.default_rng([seed, 2012])
    topics = true_topics(setting)
    documents, origins = [], []
    for _ in range(setting.n_documents):
        pair = rng.choice(N_TOPICS, size=2, replace=False)
        first = 1.0 if rng.random() < setting.single else rng.beta(setting.weight, setting.weight)
        origin = pair[(rng.random(setting.n_words) >= first).astype(int)]
        words = [int(rng.choice(N_TERMS, p=topics[k])) for k in origin]
        documents.append(words)
        origins.append(origin)
    return hk.Corpus.from_documents(documents, n_terms=N_TERMS), np.concatenate(origins)


def franchise_of(corpus: hk.Corpus) -> hk.Franchise:
    """The paper's model: eta = 0.5, Gamma(0.1, 1) priors on both concentrations."""
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(0.1, 1.0))
    document = hk.Restaurant(base=root, concentration=hk.Gamma(0.1, 1.0), each="document")
    return hk.Franchise(document, corpus)


def schedule(large: moves.Move | None = None) -> list[moves.Move]:
    """Gibbs sweeps, and a large move if there is one."""
    gibbs = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]
    return gibbs if large is None else [*gibbs, large]


def is_like(counts: np.ndarray, topics: np.ndarray) -> bool:
    """Whether five dishes have 98 % of the words and are each similar to a different true topic.

    Parameters
    ----------
    counts : int array, shape (K, 12)
        Words of each dish.
    topics : float array, shape (5, 12)
    """
    if len(counts) < N_TOPICS:
        return False
    sizes = counts.sum(axis=1)
    largest = np.argsort(-sizes, kind="stable")[:N_TOPICS]
    if sizes[largest].sum() < HELD * sizes.sum():
        return False
    top = counts[largest] / np.linalg.norm(counts[largest], axis=1, keepdims=True)
    cosines = top @ (topics / np.linalg.norm(topics, axis=1, keepdims=True)).T
    rows, columns = linear_sum_assignment(cosines < COSINE)
    return bool(np.all(cosines[rows, columns] >= COSINE))


class Finder:
    """A callback that ends the run when the topics have been found for 20 consecutive sweeps."""

    def __init__(self, topics: np.ndarray, stop: bool = True) -> None:
        self.topics, self.stop = topics, stop
        self.running = 0
        self.first: int | None = None

    def __call__(self, draw: hk.Draw) -> bool:
        self.running = self.running + 1 if is_like(draw.franchise.dish_counts, self.topics) else 0
        if self.running == RUNNING and self.first is None:
            self.first = draw.sweep - RUNNING + 1
        return self.stop and self.first is not None


@attrs.frozen
class Run:
    """One chain.

    Attributes
    ----------
    first : int or None
        First of the 20 consecutive sweeps with the topics; None: never.
    seconds : float
        Seconds of the moves until then (or until the end).
    tried, accepted : int
        Proposals of the large move.
    trace : hk.Trace
    """

    first: int | None
    seconds: float
    tried: int
    accepted: int
    trace: hk.Trace


def run(
    setting: Setting, seed: int, large: moves.Move | None, start: str, sweeps: int, stop: bool = True,
    **options: Any,
) -> Run:  # fmt: skip
    """Run one chain; data and chain have the same seed."""
    corpus, _ = draw_data(setting, seed)
    finder = Finder(true_topics(setting), stop)
    franchise = franchise_of(corpus)
    trace = hk.Scheduler(schedule(large)).run(
        franchise, sweeps, rng=seed, init=start, callbacks=[finder], **options
    )
    log = trace.moves
    until = log["sweep"] <= (finder.first or sweeps)
    own = log["move"] == (large.name if large is not None else "")
    tried, accepted = int(log["tried"][own].sum()), int(log["accepted"][own].sum())
    return Run(finder.first, float(log["seconds"][until].sum()), tried, accepted, trace)


def sign_test(ours: Iterable[int], theirs: Iterable[int]) -> float:
    """Exact two-sided p value of the sign test for pairs of first sweeps; ties are left out."""
    pairs = list(zip(ours, theirs, strict=True))
    earlier, later = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
    return float(binomtest(earlier, earlier + later).pvalue) if earlier + later else 1.0


def compare(
    setting: Setting,
    schedules: Mapping[str, moves.Move | None],
    seeds: Iterable[int],
    start: str,
    sweeps: int,
) -> Iterator[str]:
    """Chains with each large move on the same data: rows of a table; p compares with the first row."""
    reference = None
    for name, large in schedules.items():
        runs = [run(setting, seed, large, start, sweeps) for seed in seeds]
        firsts = [one.first or sweeps for one in runs]
        found = sum(one.first is not None for one in runs)
        seconds = np.median([one.seconds for one in runs])
        tried = sum(one.tried for one in runs)
        rate = f"{100 * sum(one.accepted for one in runs) / tried:.1f} %" if tried else ""
        p = "" if reference is None else f"{sign_test(firsts, reference):.2g}"
        reference = reference or firsts
        yield (
            f"| {start} | {name} | {found}/{len(runs)} | {np.median(firsts):g} "
            f"| {seconds:.2f} | {rate} | {p} |"
        )


HEAD = (
    "| start | large move | found | median first sweep | median sampler seconds | accepted | p |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)
MAIN = {
    "none": None,
    "SplitMerge": moves.SplitMerge(),
    "ReseatGroups": moves.ReseatGroups(),
    "ReseatGroups every 2nd sweep": moves.ReseatGroups().every(2),
}
TRIALS = {
    "none": None,
    "SplitMerge": moves.SplitMerge(),
    "SplitMerge x 5": moves.SplitMerge().repeat(5),
    "SplitMerge x 20": moves.SplitMerge().repeat(20),
    "ReseatGroups": moves.ReseatGroups(),
}
GRID = {
    "one topic a document": Setting(single=1.0),
    "one topic a document, terms 1 and 2 at 0.12 and 0.04": Setting(low=0.04, single=1.0),
    "terms 1 and 2 at 0.125 and 0": Setting(low=0.0),
    "terms 1 and 2 at 0.12 and 0.04": Setting(low=0.04),
    "terms 1 and 2 at 0.3 and 0": Setting(low=0.0, high=0.3),
    "four in five documents have one topic": Setting(single=0.8),
    "two topics in every document": Setting(single=0.0),
    "uneven pairs, Beta(0.3, 0.3)": Setting(weight=0.3),
}


def print_table(caption: str, rows: Iterable[str]) -> None:
    print(f"\n{caption}\n\n{HEAD}", flush=True)
    for row in rows:
        print(row, flush=True)


def draw_figures(setting: Setting, seed: int, start: str, sweeps: int, folder: Path) -> Path:
    """Draw the true topics (figure 3) and one pair of chains (figure 4) into a file."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise SystemExit("The figures need matplotlib: pip install 'hdpkit[examples]'") from error
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    best: dict[str, tuple[float, np.ndarray]] = {}
    runs = {}
    for name, large in {
        "Gibbs": None,
        "Gibbs+SM": moves.SplitMerge(),
        "Gibbs+groups": moves.ReseatGroups(),
    }.items():

        def keep(franchise: hk.Franchise, name: str = name) -> list[float]:
            counts = franchise.dish_counts
            score = franchise.log_likelihood() / counts.sum()
            if name not in best or score > best[name][0]:
                best[name] = score, counts
            shares = np.sort(counts.sum(axis=1))[::-1][:8] / counts.sum()
            return np.pad(shares, (0, 8 - len(shares))).tolist()

        runs[name] = run(setting, seed, large, start, sweeps, stop=False, record={"shares": keep})
    n_words = setting.n_documents * setting.n_words
    figure, axes = plt.subplots(2, 4, figsize=(14, 6), layout="constrained")
    _dots(axes[0, 0], true_topics(setting), "true topics (figure 3)")
    modes = {name: np.maximum.accumulate(one.trace["log_likelihood"]) / n_words for name, one in runs.items()}
    for name in list(runs)[1:]:
        axes[1, 0].plot(modes[name] - modes["Gibbs"], label=name)
    axes[1, 0].axhline(0.0, color="grey", lw=0.5)
    axes[1, 0].set(title="(a) best log likelihood a word, less Gibbs", xlabel="sweep")
    axes[1, 0].legend()
    for column, (name, one) in enumerate(runs.items(), start=1):
        axes[0, column].plot(np.cumsum(one.trace["shares"], axis=1), lw=0.7)
        axes[0, column].set(title=f"(b) shares of words, {name}", xlabel="sweep", ylim=(0, 1.02))
        counts = best[name][1]
        large = counts[np.argsort(-counts.sum(axis=1))][:10]
        _dots(axes[1, column], large / large.sum(axis=1, keepdims=True), f"(c, d) {name} at its best")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "split_merge_study.png"
    figure.savefig(path, dpi=70)
    plt.close(figure)
    return path


def _dots(axis: Any, topics: np.ndarray, title: str) -> None:
    """Topics as dots with area proportional to probability."""
    k, v = np.indices(topics.shape)
    axis.scatter(v + 1, k + 1, s=400 * topics, c=k, cmap="tab10")
    axis.set(title=title, xlabel="term", ylabel="topic", xticks=range(1, N_TERMS + 1))
    axis.invert_yaxis()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Wang & Blei's synthetic study.")
    parser.add_argument("part", nargs="?", default="quick", choices=["quick", "main", "grid", "figures"])
    parser.add_argument("--quick", action="store_true", help="the same as the part quick")
    parser.add_argument("--seeds", type=int, default=20, help="pairs of chains")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the figures")
    parser.add_argument("--start", default="sequential", help="of the figures")
    parser.add_argument("--out", type=Path, default=Path("figures"), help="folder of the figures")
    options = parser.parse_args(arguments)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.quick or options.part == "quick":
        small = Setting(n_documents=20, n_words=20, single=1.0)
        both = {"none": None, "SplitMerge": moves.SplitMerge(), "ReseatGroups": moves.ReseatGroups()}
        print_table("A quick look: 20 documents of 20 words", compare(small, both, range(2), "one", 40))
    elif options.part == "main":
        for start in ("one", "sequential"):
            print_table(str(Setting()), compare(Setting(), MAIN, seeds, start, options.sweeps))
    elif options.part == "grid":
        for name, setting in GRID.items():
            print_table(name, compare(setting, TRIALS, seeds, "one", options.sweeps))
    else:
        path = draw_figures(Setting(), options.seed, options.start, options.sweeps, options.out)
        print(f"drawn: {path}", file=sys.stderr)


if __name__ == "__main__":
    main()
