"""What `hk.check_mixing` says of a corpus, and of data simulated from the model fitted to it.

    OPENBLAS_NUM_THREADS=1 python benchmarks/mixing_checks.py CORPUS [--documents N] [--eta 0.05]
        [--fit-sweeps 200] [--seconds 10 | --sweeps 60] [--clock processor] [--cells] [--simulated 20]
        [--bursts "gamma(1, 0.01)"]

The model is that of `hdpkit fit`; with --cells customers are counted by cell (CountGibbs), and with --bursts
topics differ by document (`hk.Bursty` with this concentration). With --simulated N
the corpus itself isn't checked: N data sets are simulated from the fitted model, the model is fitted to each
from the default start, and this fit is checked. Where the model is right, the answer should never be
"misfit".
"""

import argparse
import time

import hdpkit as hk
from hdpkit import moves
from hdpkit.kinds.topics import default_moves
from hdpkit.kinds.values import NumberOrPrior

HEAD = (
    "data", "verdict", "K", "pairs of document and term (copies; distance)",
    "variance of counts (copies; distance)", "farthest start", "nats apart: data", "simulated", "redrawn",
    "s",
)  # fmt: skip


def declare(given):
    """The two-level model with priors on both concentrations."""
    measure = hk.DirichletMultinomial(eta=given.eta)
    if given.bursts:
        measure = hk.Bursty(measure, NumberOrPrior().parse("bursts", given.bursts))
    root = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="document")


def fitted(corpus, given, seed):
    """A franchise after the sweeps of the fit."""
    options = {"store": "counts", "root": "weights"} if given.cells else {}
    franchise = hk.Franchise(declare(given), corpus, **options)
    hk.Scheduler(schedule_of(given)).run(franchise, given.fit_sweeps, rng=seed)
    return franchise


def schedule_of(given):
    """The moves of a sweep."""
    if given.cells:
        return [moves.CountGibbs(), moves.RootWeights(), moves.Concentration()]
    if given.bursts:
        return default_moves(declare(given))
    return [moves.TableGibbs(), moves.DishGibbs().every(10), moves.Concentration()]


def row(name, franchise, given, seed):
    """The check of a franchise as a row of the table."""
    begun = time.process_time()
    limit = {"seconds": given.seconds} if given.sweeps is None else {"sweeps": given.sweeps}
    found = hk.check_mixing(franchise, schedule_of(given), rng=seed, clock=given.clock, **limit)
    last = found.data.checks[-1]
    cells, counts = last["distinct_cells"], last["count_variance"]
    far = max(abs(one.distance) for checks in found.data.checks for one in checks.values())
    apart = [f"{side.apart:,.0f}" for side in (found.data, found.simulated, found.redrawn)]
    cells_of = [
        name, found.verdict, f"{franchise.n_dishes}",
        f"{cells.observed:,.0f} ({cells.expected:,.0f}; {cells.distance:+.1f})",
        f"{counts.observed:.3f} ({counts.expected:.3f}; {counts.distance:+.1f})",
        f"{far:.1f}", *apart, f"{time.process_time() - begun:.0f}",
    ]  # fmt: skip
    print(f"| {' | '.join(cells_of)} |", flush=True)
    return found


def main():
    """Check the corpus, or data simulated from the model fitted to it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpus")
    parser.add_argument("--documents", type=int)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--fit-sweeps", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--sweeps", type=int)
    parser.add_argument("--clock", default="processor")
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--bursts", help="concentration of bursts: a number or a prior")
    parser.add_argument("--simulated", type=int, default=0)
    parser.add_argument("--tables", action="store_true", help="print the complete result, too")
    given = parser.parse_args()
    corpus = hk.Corpus.from_ldac(given.corpus)
    if given.documents is not None:
        corpus = hk.Corpus.from_counts(corpus.to_counts()[: given.documents])
    print(f"{corpus}")
    franchise = fitted(corpus, given, 0)
    print(f"| {' | '.join(HEAD)} |")
    print(f"|{' --- |' * len(HEAD)}", flush=True)
    if not given.simulated:
        found = row("the corpus", franchise, given, 0)
        if given.tables:
            print(f"\n{found}")
        return
    verdicts = []
    for seed in range(given.simulated):
        data = franchise.simulate(seed, keep="hyperparameters").data
        verdicts.append(row(f"seed {seed}", fitted(data, given, seed), given, seed).verdict)
    counted = ", ".join(f"{name} {verdicts.count(name)}" for name in ("converged", "slow", "misfit"))
    print(f"\n{counted}, of {len(verdicts)}")


if __name__ == "__main__":
    main()
