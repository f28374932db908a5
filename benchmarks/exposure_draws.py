"""Effective draws per second of exposures: the sweep over counts compared with sweeps over single mutations.

    OPENBLAS_NUM_THREADS=1 python benchmarks/exposure_draws.py COUNTS.ldac [--samples 200] [--factors 20]
        [--settle 500] [--seconds 60] [--burn 0.25] [--largest 50] [--eta 0.5] [--seed 0]

A cohort of some samples, drawn at random from a corpus of counts in LDA-C. alpha = gamma = 1 and eta are
fixed. CountGibbs runs a burn-in from factors of the counts; every schedule begins at its state and samples
for the same processor time, the first part of which is discarded. An exposure is the number of mutations of a
component in a sample; the largest exposures of the initial state are followed, with components identified by
their permanent ids.

Printed for each schedule: seconds per sweep; the median of the bulk effective sample sizes per second over
the followed exposures (ArviZ); how many of them have an R-hat of at most 1.05 over the halves of the chain;
how many belong to components that were removed. The effective sample size of a chain that hasn't converged
means little. If few exposures have converged, compare how fast they change: the median over exposures of the
mean squared change within 0.5, 1, 2 and 4 seconds, and the ratio of the times that the first schedule and
this one take for the same change.
"""

import argparse
import time
import warnings

import numpy as np
from machine import block
from scipy.sparse import csr_array

import hdpkit as hk
from hdpkit import moves

SCHEDULES = {
    "TableGibbs over counts, weights": ("counts", [moves.TableGibbs(), moves.RootWeights()]),
    "TableGibbs, DishGibbs over sizes": ("histogram", [moves.TableGibbs(), moves.DishGibbs()]),
    "CountGibbs": ("counts", [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights()]),
}

WITHIN = (0.5, 1, 2, 4)


def cohort_of(path, samples, seed):
    """Some documents of a corpus, as a corpus of counts."""
    corpus = hk.Corpus.from_ldac(path)
    cells = corpus.cells
    counts = csr_array((cells.count, cells.term, cells.begin), shape=(corpus.n_documents, corpus.n_terms))
    rows = np.sort(np.random.default_rng(seed).permutation(corpus.n_documents)[:samples])
    return hk.Corpus.from_counts(counts[rows])


def franchise_of(corpus, store, eta):
    base = hk.Restaurant(base=hk.DirichletMultinomial(eta), concentration=1.0)
    sample = hk.Restaurant(base=base, concentration=1.0, each="document")
    root = "weights" if store == "counts" else "restaurant"
    return hk.Franchise(sample, corpus, store=store, root=root)


def run_for(seconds, scheduler, franchise, followed, seed, init):
    """Exposures after each sweep, shape (sweeps, exposures); nan for absent components."""
    values, spent = [], 0.0
    draws = iter(scheduler.sample(franchise, 10**6, seed, init))
    while spent < seconds:
        begun = time.process_time()
        next(draws)
        spent += time.process_time() - begun
        dish_of = {int(one): k for k, one in enumerate(franchise.dish_ids)}
        counts = franchise.sample().group_counts.toarray()
        values.append([counts[group, dish_of[one]] if one in dish_of else np.nan for group, one in followed])
    return np.array(values, dtype=float), spent


def change(values, lag):
    """Median over exposures of the mean squared change within ``lag`` sweeps."""
    if lag >= len(values):
        return float("nan")
    return float(np.nanmedian(((values[lag:] - values[:-lag]) ** 2).mean(axis=0)))


def times_as_fast(values, seconds, others, other_seconds, within):
    """How many times as long the other chain takes for the change that this one makes within some seconds.

    ``seconds`` are those of a sweep. nan if the other chain is too short.
    """
    lags = np.unique(np.geomspace(1, len(others) // 3, 60).astype(int))
    curve = np.maximum.accumulate([change(others, lag) for lag in lags])
    own = change(values, max(1, round(within / seconds)))
    if not curve[0] <= own <= curve[-1]:
        return float("nan")
    return float(np.exp(np.interp(np.log(own), np.log(curve), np.log(lags)))) * other_seconds / within


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--factors", type=int, default=20)
    parser.add_argument("--settle", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--burn", type=float, default=0.25)
    parser.add_argument("--largest", type=int, default=50)
    parser.add_argument("--eta", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its next version at import
        import arviz

    corpus = cohort_of(options.corpus, options.samples, options.seed)
    settled = franchise_of(corpus, "counts", options.eta)
    first = hk.Scheduler(SCHEDULES["CountGibbs"][1])
    first.run(settled, sweeps=options.settle, rng=options.seed, init=hk.init.Factors(options.factors))
    state, sample = settled.freeze(), settled.sample()
    exposures = sample.group_counts.toarray()
    order = np.argsort(-exposures, axis=None)[: options.largest]
    followed = [(int(i // exposures.shape[1]), int(sample.ids[i % exposures.shape[1]])) for i in order]
    print(block())
    print(f"{len(corpus):,} mutations of {exposures.shape[0]} samples; K = {settled.n_dishes} when settled")
    smallest = int(exposures.ravel()[order[-1]])
    print(f"{len(followed)} exposures of {smallest:,} to {int(exposures.max()):,} mutations\n")
    heads = ("sweeps", "s a sweep", "ESS/s", "settled", "died")
    print(f"{'schedule':34} " + " ".join(f"{head:>9}" for head in heads))
    chains = {}
    for name, (store, schedule) in SCHEDULES.items():
        franchise = franchise_of(corpus, store, options.eta)
        values, seconds = run_for(
            options.seconds, hk.Scheduler(schedule), franchise, followed, options.seed + 1, state
        )
        kept = values[int(options.burn * len(values)) :]
        chains[name] = (kept, seconds / len(values))
        alive = ~np.isnan(kept).any(axis=0)
        half = len(kept) // 2
        halves = kept[: 2 * half, alive].T.reshape(alive.sum(), 2, half)
        sizes = [float(arviz.ess(pair, method="bulk")) for pair in halves]
        rhats = np.array([float(arviz.rhat(pair, method="rank")) for pair in halves])
        rate = float(np.median(sizes or [np.nan])) / (seconds * len(kept) / len(values))
        print(
            f"{name:34} {len(values):9,} {seconds / len(values):9.4f} {rate:9.4f} "
            f"{int((rhats <= 1.05).sum()):9} {int((~alive).sum()):9}",
            flush=True,
        )

    print("\nsquared change within so many seconds, in thousands; how much longer the first schedule takes")
    print(f"{'schedule':34} " + " ".join(f"{within:>11} s" for within in WITHIN))
    first = chains[next(iter(SCHEDULES))]
    for name, (kept, seconds) in chains.items():
        cells = [
            f"{change(kept, max(1, round(within / seconds))) / 1000:7.1f} "
            f"{times_as_fast(kept, seconds, *first, within):4.1f}x"
            for within in WITHIN
        ]
        print(f"{name:34} " + " ".join(f"{cell:>13}" for cell in cells))


if __name__ == "__main__":
    main()
