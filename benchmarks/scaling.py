"""Cost and memory per token as the corpus and the number of topics grow.

    python benchmarks/scaling.py CORPUS [--tokens 10000 100000 ...] [--dishes 10 100 1000] [--sweeps 5]
                                        [--kernel auto] [--figure FILE.png] [--json FILE]

Sweeps of TableGibbs over a two-level HDP (alpha = gamma = 1, eta = 0.1, fixed) from random topics: some for
burn-in, then the median of the timed ones. Two series, for each store:

- **tokens**: from ten thousand to ten million, all from --at-dishes topics. Smaller corpora are documents
  of the given one in random order; larger ones are drawn from a topic model that is fitted to it first (30
  sweeps over 300,000 tokens; lengths of documents are the corpus's).
- **topics**: from 10 to 1,000, all on --at-tokens tokens.

Each line is measured in its own process. `exponent` is the slope of log nanoseconds by log tokens (or by log
of the actual K, not of K at the start), with its standard error. `franchise` is `memory_bytes`, `without
counts` is that without the topic-term counts, `process` the growth of the process from the loaded corpus to
the end of the sweeps (Linux only; otherwise nan), all in bytes per token.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from contest.contestants import STORES, Ours
from heldout import topics_of
from machine import block, resident, version
from scipy.stats import linregress

import hdpkit as hk

FITTED_TOKENS, FITTED_SWEEPS = 300_000, 30


def of_size(counts, n_tokens, generator):
    """Documents in random order, with about ``n_tokens`` tokens or all."""
    order = generator.permutation(counts.shape[0])
    total = np.cumsum(counts[order].sum(axis=1))
    return counts[order[: int(np.searchsorted(total, n_tokens)) + 1]]


def drawn(counts, n_tokens, generator):
    """Documents drawn from a topic model fitted to these: sparse counts with about ``n_tokens`` tokens."""
    sample = hk.Corpus.from_counts(of_size(counts, FITTED_TOKENS, generator))
    fitted = Ours(sample, "histogram", start="Random(100)", schedule="gibbs")
    fitted.sweep(FITTED_SWEEPS)
    phi, prior = topics_of(fitted.franchise)
    lengths = np.asarray(counts.sum(axis=1)).ravel()
    lengths = generator.choice(lengths[lengths > 0], size=1 + int(n_tokens / lengths[lengths > 0].mean()))
    theta = generator.dirichlet(np.maximum(prior, 1e-3), size=len(lengths))
    of_topics = generator.multinomial(lengths, theta)  # documents x topics
    rows, terms = [], []
    for k, topic in enumerate(phi):
        rows.append(np.repeat(np.arange(len(lengths)), of_topics[:, k]))
        terms.append(generator.choice(len(topic), size=len(rows[-1]), p=topic / topic.sum()))
    where = (np.concatenate(rows), np.concatenate(terms))
    return sp.csr_array(sp.coo_array((np.ones(len(where[0]), np.int64), where), (len(lengths), len(topic))))


def measure(path, store, dishes, kernel, settle, sweeps):
    """One line, in this process."""
    corpus = hk.Corpus.from_counts(sp.load_npz(path))
    before = resident()
    one = Ours(corpus, store, kernel, f"Random({dishes})")
    one.sweep(settle)
    seconds, topics = [], []
    for _ in range(sweeps):
        last = one.in_moves
        one.sweep()
        seconds.append(one.in_moves - last)
        topics.append(one.n_topics)
    n = len(corpus)
    whole, counts = one.franchise.memory_bytes(), one.franchise.bank.memory_bytes()
    return {
        "store": store, "kernel": one.franchise.kernel("reseat"), "dishes": dishes, "tokens": n,
        "topics": statistics.median(topics), "nanoseconds": statistics.median(seconds) * 1e9 / n,
        "franchise": whole / n, "without": (whole - counts) / n, "process": (resident() - before) / n,
    }  # fmt: skip


def in_a_process_of_its_own(*arguments):
    command = [sys.executable, __file__, "--row", json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def series(corpora, dishes, options):
    """Lines for pairs of (corpus, topics at the start), printed as they are measured."""
    rows = []
    for path, k in ((path, k) for path in corpora for k in dishes):
        for store in STORES:
            row = in_a_process_of_its_own(str(path), store, k, options.kernel, options.settle, options.sweeps)
            rows.append(row)
            sizes = " | ".join(f"{row[name]:.1f}" for name in ("franchise", "without", "process"))
            speed = f"{row['nanoseconds']:.1f} | {1e9 / row['nanoseconds']:,.0f}"
            shape = f"{row['tokens']:,} | {k} | {row['topics']:.0f} | {store} | {row['kernel']}"
            print(f"| {shape} | {speed} | {sizes} |", flush=True)
    return rows


def exponents(rows, key):
    """Slope of log nanoseconds by the log of a column, and its standard error, for each store."""
    found = {}
    for store in STORES:
        own = [row for row in rows if row["store"] == store]
        if len({row[key] for row in own}) > 1:
            line = linregress(*(np.log([row[name] for row in own]) for name in (key, "nanoseconds")))
            found[store] = (float(line.slope), float(line.stderr))
    return found


def draw(by_tokens, by_topics, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    for axis, rows, key, what in (
        (axes[0], by_tokens, "tokens", "tokens"),
        (axes[1], by_topics, "topics", "topics"),
    ):
        for store, style in zip(STORES, ("o--", "s-"), strict=True):
            own = sorted((row[key], row["nanoseconds"]) for row in rows if row["store"] == store)
            axis.plot(*zip(*own, strict=True), style, markersize=4, label=store)
        axis.set(xscale="log", yscale="log", xlabel=what)
        axis.grid(alpha=0.3, which="both")
    axes[0].set_ylabel("nanoseconds a token")
    axes[0].legend()
    figure.savefig(path, dpi=120)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", help="LDA-C file, plain or gzipped")
    tokens = [round(10 ** (k / 2)) for k in range(8, 15)]
    parser.add_argument("--tokens", type=int, nargs="+", default=tokens)
    parser.add_argument("--dishes", type=int, nargs="+", default=[10, 30, 100, 300, 1000])
    parser.add_argument("--at-dishes", type=int, default=100, help="topics of the series over tokens")
    parser.add_argument("--at-tokens", type=int, default=1_000_000, help="tokens of the series over topics")
    parser.add_argument("--settle", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--kernel", default="auto", help="auto, fused, generic, reference")
    parser.add_argument("--figure", help="file of a picture to draw")
    parser.add_argument("--json", type=Path, help="write all figures here")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not (options.corpus or options.row):
        parser.error("CORPUS is missing")
    return options


def main():
    options = parse()
    if options.row:
        print(json.dumps(measure(*json.loads(options.row))))
        return
    corpus = hk.Corpus.from_ldac(options.corpus)
    counts, generator = corpus.to_counts(), np.random.default_rng(0)
    print(block())
    print(f"{corpus!r}; {options.settle} sweeps to settle, {options.sweeps} timed\n")
    with tempfile.TemporaryDirectory() as folder:
        sizes = sorted({*options.tokens, options.at_tokens})
        paths = {n: Path(folder) / f"{n}.npz" for n in sizes}
        large = drawn(counts, max(sizes), generator) if max(sizes) > len(corpus) else counts
        for n, path in paths.items():
            sp.save_npz(path, of_size(counts if n <= len(corpus) else large, n, generator), compressed=False)
        if max(sizes) > len(corpus):
            print(f"Corpora of more than {len(corpus):,} tokens are drawn from a fitted topic model.\n")
        names = ("tokens", "start", "K", "store", "kernel", "ns a token", "tokens/s")
        print("| " + " | ".join((*names, "franchise", "without counts", "process")) + " |")
        print("|" + " --- |" * 10)
        by_tokens = series([paths[n] for n in sorted(options.tokens)], [options.at_dishes], options)
        by_topics = series([paths[options.at_tokens]], sorted(options.dishes), options)
    print()
    fitted = {"tokens": exponents(by_tokens, "tokens"), "topics": exponents(by_topics, "topics")}
    for key, found in fitted.items():
        for store, (slope, error) in found.items():
            print(f"nanoseconds a token by {key}, {store}: exponent {slope:.3f} (standard error {error:.3f})")
    for store in STORES:
        cost = {row["dishes"]: row["nanoseconds"] for row in by_topics if row["store"] == store}
        if 100 in cost and 1000 in cost:
            print(f"from 100 topics to 1,000, {store}: {cost[1000] / cost[100]:.2f} times the cost a token")
    if options.figure and version("matplotlib") is not None:
        draw(by_tokens, by_topics, options.figure)
    if options.json:
        results = {"by tokens": by_tokens, "by topics": by_topics, "exponents": fitted}
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
