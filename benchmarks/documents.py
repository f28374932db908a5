"""Documents in parallel: SliceGibbs and CountGibbs with one and more threads, compared with TableGibbs.

    python benchmarks/documents.py TRAIN.ldac [--dishes 100] [--settle 20] [--rounds 7] [--sweeps 3]
        [--threads 2] [--moves SliceGibbs CountGibbs] [--bursts B] [--default]

One run over a corpus in LDA-C: alpha = gamma = 1 and eta = 0.1 fixed. TableGibbs over "counts" and weights
runs a burn-in from random dishes; all samplers begin at its state, and take turns, a few sweeps at a time.
The timed move is the one that draws the customers' dishes, including its draw of topics; weights of the root
are drawn after each sweep, which is not counted. Printed: dishes, tokens/s by the clock (median, smallest and
largest of the rounds), and ratios to TableGibbs with a root restaurant and to TableGibbs over counts and
weights, medians of the ratios of the rounds; then the latter of processor time, and memory of the franchise
with what sweeps keep. With --bursts topics differ by document (`hk.Bursty`) with this concentration.

--default: as `hdpkit fit` begins: eta = 0.05, priors of alpha and gamma, which the burn-in draws, and the
default start (unless --dishes is given).
"""

import argparse
import statistics
import time

from machine import block

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams

MOVES = {"SliceGibbs": moves.SliceGibbs, "CountGibbs": moves.CountGibbs}


class Sampler:
    """A franchise, and the speed of a move on it."""

    def __init__(self, name, corpus, measure, store, root, move, threads=1, *, default):
        prior = hk.Gamma(1.0, 1.0) if default else 1.0
        base = hk.Restaurant(base=measure, concentration=prior)
        document = hk.Restaurant(base=base, concentration=prior, each="document")
        self.name, self.n_tokens, self.move = name, len(corpus), type(move).__name__
        self.franchise = hk.Franchise(document, corpus, store=store, root=root)
        drawn = [moves.RootWeights()] if root == "weights" else []
        self.scheduler = hk.Scheduler([move, *drawn], threads=threads)
        self.rates, self.seconds, self.dishes = [], [], []

    def round(self, sweeps):
        """Run some sweeps."""
        began = time.process_time()
        trace = self.scheduler.run(self.franchise, sweeps=sweeps, init=None)
        seconds = trace.moves["seconds"][trace.moves["move"] == self.move]
        self.seconds.append(time.process_time() - began)
        self.rates.append(sweeps * self.n_tokens / seconds.sum())
        self.dishes.append(float(trace["n_dishes"].mean()))


def ratio(ours, theirs):
    """Median of the ratios of the rounds."""
    return statistics.median(a / b for a, b in zip(ours, theirs, strict=True))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--dishes", type=int)
    parser.add_argument("--settle", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--moves", nargs="+", choices=list(MOVES), default=list(MOVES))
    parser.add_argument("--bursts", type=float)
    parser.add_argument("--default", action="store_true", help="model and start of hdpkit fit")
    options = parser.parse_args()

    corpus, threads = hk.Corpus.from_ldac(options.corpus), options.threads
    measure, default = hk.DirichletMultinomial(0.05 if options.default else 0.1), options.default
    if options.bursts is not None:
        measure = hk.Bursty(measure, options.bursts)
    settled = Sampler(
        "TableGibbs, counts, weights", corpus, measure, "counts", "weights", moves.TableGibbs(),
        default=default,
    )  # fmt: skip
    samplers = [
        Sampler(
            "TableGibbs, histogram, restaurant",
            corpus,
            measure,
            "histogram",
            "restaurant",
            moves.TableGibbs(),
            default=default,
        ),
        settled,
        *(
            Sampler(
                f"{name}, {n} threads",
                corpus,
                measure,
                "counts",
                "weights",
                MOVES[name](),
                n,
                default=default,
            )
            for name in options.moves
            for n in (1, threads)
        ),
    ]
    init = "auto" if default and options.dishes is None else hk.init.Random(options.dishes or 100)
    drawn = [moves.TableCounts(), moves.Concentration()] if default else []
    burn_in = hk.Scheduler([moves.TableGibbs(), moves.RootWeights(), *drawn])
    burn_in.run(settled.franchise, sweeps=options.settle, rng=0, init=init)
    state = settled.franchise.freeze()
    for sampler in samplers:
        if sampler is not settled:
            sampler.franchise.thaw(state, Streams(1).source(1))
    for _ in range(options.rounds):
        for sampler in samplers:
            sampler.round(options.sweeps)
    print(block())
    print(
        f"{'sampler':<36}{'K':>8}{'tokens/s':>14}{'smallest':>14}{'largest':>14}{'ratio':>8}{'ratio':>8}"
        f"{'CPU':>8}{'MB':>8}"
    )
    for sampler in samplers:
        clock = [ratio(sampler.rates, other.rates) for other in (samplers[0], settled)]
        print(
            f"{sampler.name:<36}{statistics.mean(sampler.dishes):>8.1f}{statistics.median(sampler.rates):>14,.0f}"
            f"{min(sampler.rates):>14,.0f}{max(sampler.rates):>14,.0f}{clock[0]:>8.2f}{clock[1]:>8.2f}"
            f"{ratio(settled.seconds, sampler.seconds):>8.2f}{sampler.franchise.memory_bytes() / 1e6:>8.0f}"
        )


if __name__ == "__main__":
    main()
