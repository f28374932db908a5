"""Starts of a topic model by held-out perplexity against sampler time.

    python benchmarks/startup.py NAME.train.ldac [--seconds 5] [--eta 0.1] [--figure starts.png]

Each start runs in turn on one thread: TableGibbs and Concentration in every sweep, with SplitMerge where the
line says so; eta fixed, both concentrations ~ Gamma(1, 1). The halves of the test documents lie beside the
corpus as NAME.test_obs.ldac and NAME.test_held.ldac, or are given. Sampler time counts the start and what a
run records, not the scoring.
"""

import argparse
import time

import heldout
import machine

import hdpkit as hk
from hdpkit import moves

STARTS = {
    "one dish": ("one", False),
    "one dish, split-merge": ("one", True),
    "sequential": ("sequential", False),
    "Random(100)": (hk.init.Random(100), False),
    "Random(300)": (hk.init.Random(300), False),
    "TermClusters(100)": (hk.init.TermClusters(100), False),
    "TermClusters()": (hk.init.TermClusters(), False),
}


def curve(corpus, observed, held, init, split_merge, eta, seconds, store):
    """Points (sampler seconds, sweeps, topics, perplexity) of one chain."""
    prior = hk.Gamma(1.0, 1.0)
    root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=prior)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=prior, each="document"), corpus, store=store)
    schedule = [moves.TableGibbs(), *([moves.SplitMerge()] if split_merge else []), moves.Concentration()]
    scheduler = hk.Scheduler(schedule)
    spent, sweeps, step, points = 0.0, 0, 1, []
    while spent < seconds:
        again = {"init": None} if sweeps else {"rng": 0, "init": init}
        began = time.perf_counter()
        scheduler.run(franchise, sweeps=step, **again)
        spent += time.perf_counter() - began
        sweeps += step
        step = max(1, sweeps // 2)
        points.append((spent, sweeps, franchise.n_dishes, heldout.of_franchise(franchise, observed, held)))
    return points


def draw(curves, name, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for label, points in curves.items():
        axes.plot([p[0] for p in points], [p[3] for p in points], marker="o", markersize=3, label=label)
    axes.set(xscale="log", xlabel="sampler time, s", ylabel="held-out perplexity", title=name)
    axes.legend()
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file of the training documents, plain or gzipped")
    parser.add_argument("--observed", help="one half of the test documents")
    parser.add_argument("--held", help="the other half, which is scored")
    parser.add_argument("--seconds", type=float, default=5.0, help="sampler seconds of each start")
    parser.add_argument("--eta", type=float, default=0.1)
    parser.add_argument("--store", default="histogram")
    parser.add_argument("--figure", help="where the plot goes")
    options = parser.parse_args()

    corpus, observed, held = heldout.read(options.corpus, options.observed, options.held)
    if observed is None:
        parser.error("no test documents: give --observed and --held")
    print(machine.block())
    curves = {}
    for label, (init, split_merge) in STARTS.items():
        points = curve(corpus, observed, held, init, split_merge, options.eta, options.seconds, options.store)
        curves[label] = points
        print(f"\n{label}\n| seconds | sweeps | K | held-out perplexity |\n| --- | --- | --- | --- |")
        for seconds, sweeps, k, score in points:
            print(f"| {seconds:.2f} | {sweeps} | {k} | {score:.1f} |", flush=True)
    if options.figure:
        draw(curves, repr(corpus), options.figure)


if __name__ == "__main__":
    main()
