"""Whether and when chains from different starts agree, or how far apart they remain.

    OPENBLAS_NUM_THREADS=1 python benchmarks/starts.py CORPUS [--starts one auto] [--seconds 300]
        [--clock processor] [--store counts] [--root weights] [--moves MOVES] [--threads 1] [--eta 0.05]
        [--alpha "gamma(1, 1)"] [--gamma "gamma(1, 1)"] [--bursts "gamma(1, 0.01)"] [--documents N]
        [--mallet 1000 0.1 0.01] [--keep FOLDER] [--figure FILE [--beside FOLDER...]]

Chains run one after the other, the i-th with seed --seed + i. A chain's time is the wall-clock time of its
moves, or with --clock processor the processor time of all threads together. Log joint (of dishes and numbers
of tables), K and shares of the largest topics are those of `hk.compare_schedules`. R-hat at some time is
computed from the second half of the states up to then. With --bursts topics differ by document (`hk.Bursty`
with this concentration).

--mallet K ALPHA BETA also records the likelihood that MALLET's LDA reports (`mallet_likelihood`), for K
topics with those parameters, which Terenin, Magnusson & Jonsson (2020) publish for samplers of the HDP. With
--keep the chains are stored in a folder, and chains of earlier calls in it are reported too; --starts without
values reports only these. --figure draws the distance of each chain from the highest log joint of all, and K,
by time; a column for this call, and one for each folder of --beside.
"""

import argparse
import time
from pathlib import Path

import machine
import numpy as np
import scipy.special

import hdpkit as hk
from hdpkit.cli.options import parse_init, parse_moves
from hdpkit.franchise.scores import dish_sizes, log_joint_of_counts
from hdpkit.kinds.values import NumberOrPrior
from hdpkit.posterior.comparison.convergence import joint_rhat

MOVES = "table-gibbs,dish-gibbs,concentration"
LARGEST = 20
FEWEST = 20  # smallest number of recorded states in the second half for R-hat
RECORDING = 0.1  # largest share of the time for recording
COLUMNS = ("sweep", "wall", "processor", "K", "log_joint", "mallet")


def mallet_likelihood(documents, terms, dishes, n_terms, topics=1000, alpha=0.1, beta=0.01):
    """Log likelihood as MALLET's LDA computes it, from the topics of all tokens.

    Dirichlet-multinomial marginals: of documents over ``topics`` topics with alpha each, of topics over
    ``n_terms`` terms with beta each. Topics without tokens contribute nothing.

    Parameters
    ----------
    documents, terms, dishes : int arrays of one length
        Numbers of each token's document, term and topic, all from 0.
    """
    n_dishes = int(dishes.max()) + 1
    document_cells = np.bincount(documents * n_dishes + dishes)
    topic_cells = np.bincount(dishes * n_terms + terms)
    return _marginals(document_cells, np.bincount(documents), alpha, topics) + _marginals(
        topic_cells, np.bincount(dishes), beta, n_terms
    )


def _marginals(cells, totals, each, width):
    log_gamma = scipy.special.gammaln
    cells, totals = cells[cells > 0], totals[totals > 0]
    within = np.sum(log_gamma(each + cells) - log_gamma(each))
    return float(within + np.sum(log_gamma(each * width) - log_gamma(each * width + totals)))


class Recorder:
    """Recorded rows: COLUMNS, then the shares of the largest topics."""

    def __init__(self, franchise, corpus, mallet):
        self.franchise, self.mallet, self.rows, self.spent = franchise, mallet, [], 0.0
        if mallet:
            self.documents = corpus.codes("document")
            self.terms, self.n_terms = np.asarray(corpus.values, dtype=np.int64), corpus.n_terms

    def record(self, wall, processor):
        before, franchise = time.perf_counter(), self.franchise
        sizes = np.sort(dish_sizes(franchise))[::-1][:LARGEST] / franchise.topology.n_customers
        shares = np.pad(sizes, (0, LARGEST - len(sizes)))
        likelihood = np.nan
        if self.mallet:
            topics, alpha, beta = self.mallet
            seen = self.documents, self.terms, franchise.dishes, self.n_terms
            likelihood = mallet_likelihood(*seen, topics, alpha, beta)
        joint = log_joint_of_counts(franchise)
        self.rows.append((franchise.sweep, wall, processor, franchise.n_dishes, joint, likelihood, *shares))
        self.spent += time.perf_counter() - before


def run(corpus, init, seed, options):
    """One chain: array of rows, the start first."""
    measure = hk.DirichletMultinomial(options.eta)
    if options.bursts:
        measure = hk.Bursty(measure, NumberOrPrior().parse("bursts", options.bursts))
    root = hk.Restaurant(measure, concentration=NumberOrPrior().parse("gamma", options.gamma))
    documents = hk.Restaurant(
        root, concentration=NumberOrPrior().parse("alpha", options.alpha), each="document"
    )
    franchise = hk.Franchise(documents, corpus, store=options.store, root=options.root)
    schedule = hk.Scheduler(parse_moves(options.moves), threads=options.threads)
    recorder, totals = Recorder(franchise, corpus, options.mallet), {}
    wall = processor = 0.0
    draws = schedule.sample(franchise, 10**9, rng=seed, init=init)
    while True:
        on_wall, on_processor = time.perf_counter(), time.process_time()
        draw = next(draws)
        if draw.sweep == 1:  # the start is part of the first step
            on_wall = time.perf_counter() - sum(move.seconds for move in draw.moves)
        for move in draw.moves:
            turns = totals.setdefault(move.move, [0, 0, 0, 0.0])
            new = 1, move.tried, move.accepted, move.seconds
            totals[move.move] = [a + b for a, b in zip(turns, new, strict=True)]
        wall += time.perf_counter() - on_wall
        processor += time.process_time() - on_processor
        ended = (wall, processor)[options.clock == "processor"] >= options.seconds
        if ended or draw.sweep <= 20 or recorder.spent <= RECORDING * wall:
            recorder.record(wall, processor)
        if ended:
            draws.close()
            return np.array(recorder.rows), totals


def at(rows, clock, column, seconds):
    """Last recorded value of a column at a time."""
    place = np.searchsorted(rows[:, clock], seconds, side="right") - 1
    return rows[max(place, 0), column]


def rhat(chains, clock, column, seconds):
    """R-hat over the second halves of chains up to a time; equal numbers of evenly spaced states of each."""
    kept = [rows[(rows[:, clock] > seconds / 2) & (rows[:, clock] <= seconds), column] for rows in chains]
    fewest = min(map(len, kept))
    if fewest < FEWEST or len(chains) < 2:
        return np.nan
    return joint_rhat(
        np.array([values[np.linspace(0, len(values) - 1, fewest).astype(int)] for values in kept])
    )


def report(chains, clock):
    """Print the values of chains, by name, at four times, and whether they agree.

    Parameters
    ----------
    chains : dict of arrays
    clock : int
        Column of the time: 1 for wall-clock time, 2 for processor time.
    """
    end = min(rows[-1, clock] for rows in chains.values())
    mallet = not all(np.isnan(rows[:, 5]).all() for rows in chains.values())
    cells = [*COLUMNS[:5], *(["MALLET's likelihood"] if mallet else []), "largest shares, %"]
    several = list(chains.values())
    for seconds in (end / 8, end / 4, end / 2, end):
        print(f"\nafter {seconds:.0f} s\n\n| start | {' | '.join(cells)} |\n|{' --- |' * (len(cells) + 1)}")
        for name, rows in chains.items():
            sweep, *times, k, joint, likelihood = (at(rows, clock, i, seconds) for i in range(6))
            largest = ", ".join(f"{100 * at(rows, clock, i, seconds):.2f}" for i in range(6, 9))
            both = " | ".join(f"{one:.0f}" for one in times)
            more = f" {likelihood:,.0f} |" if mallet else ""
            print(f"| {name} | {sweep:,.0f} | {both} | {k:.0f} | {joint:,.0f} |{more} {largest} |")
        ends = np.array([[at(rows, clock, i, seconds) for i in range(3, 6 + LARGEST)] for rows in several])
        _, joint, _, *shares = np.ptp(ends, axis=0)
        print(f"\napart: {joint:,.0f} nats of the log joint, {max(shares):.4f} of the twenty largest shares")
        k, joint, *shares = (rhat(several, clock, i, seconds) for i in (3, 4, *range(6, 6 + LARGEST)))
        print(f"R-hat of the log joint {joint:.2f}, of K {k:.2f}, of shares at most {max(shares):.2f}")


def draw(figures, clock, file):
    """Draw the distance from the highest log joint, and K, by time: a column for each set of chains."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(figures), figsize=(1 + 3.5 * len(figures), 6), sharex="col", sharey="row", squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for (title, chains), (above, below) in zip(figures.items(), axes.T, strict=True):
        best = max(rows[:, 4].max() for rows in chains.values())
        for name, rows in chains.items():
            above.plot(rows[1:, clock], best - rows[1:, 4] + 1.0, label=name)
            below.plot(rows[1:, clock], rows[1:, 3], label=name)
        above.set(title=title, yscale="log", xscale="log")
        below.set(yscale="log", xscale="log", xlabel="seconds")
        below.legend()
    axes[0, 0].set_ylabel("nats below the highest log joint, + 1")
    axes[1, 0].set_ylabel("topics")
    figure.savefig(file, dpi=100)


def kept_chains(folder):
    """Chains in a folder, by name."""
    return {path.stem: np.load(path) for path in sorted(folder.glob("*.npy"))}


def show_moves(totals):
    print("\n| move | turns | ms a turn | tried | accepted |\n| --- | --- | --- | --- | --- |")
    for move, (turns, tried, accepted, seconds) in totals.items():
        share = accepted / max(tried, 1)
        print(f"| {move} | {turns:,} | {1e3 * seconds / turns:.1f} | {tried:,} | {share:.2%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file, plain or gzipped")
    parser.add_argument("--starts", nargs="*", default=["one", "auto"], help="as of hdpkit fit --init")
    parser.add_argument("--seconds", type=float, default=300.0, help="time of each chain")
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--moves", default=MOVES, help=f"what a sweep does (default: {MOVES})")
    parser.add_argument("--store", default="histogram")
    parser.add_argument("--root", default="restaurant")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--alpha", default="gamma(1, 1)", help="of documents: a number or a prior")
    parser.add_argument("--gamma", default="gamma(1, 1)", help="of the root")
    parser.add_argument("--documents", type=int, help="the first so many documents only")
    parser.add_argument("--mallet", nargs=3, type=float, metavar=("K", "ALPHA", "BETA"))
    parser.add_argument("--bursts", help="concentration of bursts: a number or a prior")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder of the chains")
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--beside", type=Path, nargs="*", default=[], metavar="FOLDER")
    options = parser.parse_args()

    corpus = hk.Corpus.from_ldac(options.corpus)
    if options.documents:
        corpus = hk.Corpus.from_counts(corpus.to_counts()[: options.documents])
    print(machine.block())
    print(
        f"{corpus!r}, eta = {options.eta}, alpha = {options.alpha}, gamma = {options.gamma}, "
        f"bursts = {options.bursts}\n"
        f"a sweep: {options.moves}; store {options.store}, root {options.root}, {options.threads} thread(s)"
    )
    chains = kept_chains(options.keep) if options.keep else {}
    for number, start in enumerate(options.starts):
        name = f"{start}, seed {options.seed + number}"
        chains[name], totals = run(corpus, parse_init(start), options.seed + number, options)
        print(f"\n{name}")
        show_moves(totals)
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            np.save(options.keep / f"{name}.npy", chains[name])
    clock = 2 if options.clock == "processor" else 1
    report(chains, clock)
    if options.figure:
        title = options.keep.name if options.keep else Path(options.corpus).name
        others = {folder.name: kept_chains(folder) for folder in options.beside}
        draw({title: chains, **others}, clock, options.figure)


if __name__ == "__main__":
    main()
