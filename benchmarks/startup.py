"""Starts and schedules of a topic model compared by sampler time: held-out perplexity, and the log joint.

    OPENBLAS_NUM_THREADS=1 python benchmarks/startup.py NAME.train.ldac [--seconds 8] [--eta 0.1]
        [--moves MOVES ...] [--starts START ...] [--times 2 10 60] [--documents N] [--figure starts.png]

Each start runs in turn, with each schedule. A sweep consists of --moves, in the notation of `hdpkit fit
--moves`; by default the moves of `hdpkit fit`. MOVES@STORE/ROOT is a schedule over another store and root.
eta is fixed, both concentrations ~ Gamma(1, 1). The halves of the test documents are NAME.test_obs.ldac and
NAME.test_held.ldac in the folder of the corpus, or are given; otherwise every tenth document is one, and of
its tokens every second one is held out.

The log joint is that of dishes and numbers of tables, which all stores have in common. Seconds are processor
time of this process, which depends little on other programs. They include the start and the records of a run,
but not the scoring. The sampler uses one thread unless --threads says otherwise; the linear algebra of
TermClusters uses all threads of NumPy, whose time counts: set their number to 1, as above.
"""

import argparse
import time

import heldout
import machine
import numpy as np
from contest.contestants import start_of

import hdpkit as hk
from hdpkit.cli.options import parse_moves
from hdpkit.franchise.scores import log_joint_of_counts

MOVES = "table-gibbs,dish-gibbs:until=20,dish-gibbs:after=20:every=5,split-merge:until=50,concentration"
STARTS = ("one", "sequential", "Random(100)", "Random(300)", "TermClusters(100)", "TermClusters()")
COLUMNS = ("seconds", "sweeps", "K", "log joint", "held-out perplexity")


def curve(corpus, observed, held, init, schedule, options):
    """Points (sampler seconds, sweeps, topics, log joint, perplexity) of one chain."""
    prior = hk.Gamma(1.0, 1.0)
    root = hk.Restaurant(hk.DirichletMultinomial(options.eta), concentration=prior)
    documents = hk.Restaurant(root, concentration=prior, each="document")
    moves, _, where = schedule.partition("@")
    store, _, above = where.partition("/")
    franchise = hk.Franchise(documents, corpus, store=store or options.store, root=above or "restaurant")
    scheduler = hk.Scheduler(parse_moves(moves), threads=options.threads)
    spent, sweeps, step, points = 0.0, 0, 1, []
    while spent < options.seconds:
        again = {"init": None} if sweeps else {"rng": options.seed, "init": init}
        began = time.process_time()
        scheduler.run(franchise, sweeps=step, **again)
        spent += time.process_time() - began
        sweeps += step
        step = max(1, sweeps // 2)
        score = heldout.of_franchise(franchise, observed, held)
        points.append((spent, sweeps, franchise.n_dishes, log_joint_of_counts(franchise), score))
    return points


def show(points):
    """Print the points of one chain as a table."""
    print(f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}")
    for seconds, sweeps, k, joint, score in points:
        print(f"| {seconds:.2f} | {sweeps} | {k} | {joint:.0f} | {score:.1f} |", flush=True)


def compare(curves, times):
    """Print log joint and perplexity of all chains at some times, linear in log seconds between points."""
    for column, digits in ((3, 0), (4, 0)):
        print(f"\n| {COLUMNS[column]} after | {' | '.join(f'{t:g} s' for t in times)} |")
        print(f"|{' --- |' * (len(times) + 1)}")
        for label, points in curves.items():
            known = np.array([(p[0], p[column]) for p in points])
            values = np.interp(np.log(times), np.log(known[:, 0]), known[:, 1], left=np.nan)
            cells = ["-" if np.isnan(value) else f"{value:.{digits}f}" for value in values]
            print(f"| {label} | {' | '.join(cells)} |")


def draw(curves, name, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for label, points in curves.items():
        axes.plot([p[0] for p in points], [p[4] for p in points], marker="o", markersize=3, label=label)
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
    parser.add_argument("--moves", nargs="+", default=[MOVES], help=f"what a sweep does (default: {MOVES})")
    parser.add_argument("--times", nargs="+", type=float, help="seconds of the tables (default: halves)")
    parser.add_argument(
        "--documents", type=int, help="the first so many, if there are no files of test documents"
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--starts", nargs="+", default=STARTS, help=f"default: {' '.join(STARTS)}; with any other number, too"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", default="histogram")
    parser.add_argument("--figure", help="where the plot goes")
    options = parser.parse_args()

    corpus, observed, held = heldout.read(options.corpus, options.observed, options.held)
    if observed is None:
        corpus, observed, held = heldout.split(corpus, options.documents)
    elif options.documents is not None:
        parser.error("--documents is for a corpus without files of test documents")
    print(machine.block())
    print(f"{corpus!r}, eta = {options.eta}, seed {options.seed}")
    curves = {}
    for start in options.starts:
        for schedule in options.moves:
            label = start if len(options.moves) == 1 else f"{start}: {schedule}"
            print(f"\n{start}, a sweep: {schedule}")
            curves[label] = curve(corpus, observed, held, start_of(start)["init"], schedule, options)
            show(curves[label])
    compare(curves, options.times or [options.seconds / 2**k for k in range(5, -1, -1)])
    if options.figure:
        draw(curves, repr(corpus), options.figure)


if __name__ == "__main__":
    main()
