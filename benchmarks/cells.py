"""TableGibbs over a topic model, in each cell of the table of stores and roots.

    python benchmarks/cells.py TRAIN.ldac [--dishes 100] [--settle 20] [--rounds 7] [--sweeps 5]
        [--kernel generic]

One run over a corpus in LDA-C: alpha = gamma = 1 and eta = 0.1 fixed, starting with random dishes. Each cell
has its own franchise, which runs some sweeps for burn-in and then takes turns with the others, a few sweeps
at a time. With weights, these are drawn after each sweep, which doesn't count as time of TableGibbs. Printed:
dishes, tokens per second (median, smallest and largest of the rounds) and nanoseconds per token.
"""

import argparse
import statistics

from machine import block

import hdpkit as hk
from hdpkit import moves

CELLS = [
    ("explicit", "restaurant"),
    ("histogram", "restaurant"),
    ("counts", "restaurant"),
    ("explicit", "weights"),
    ("histogram", "weights"),
    ("counts", "weights"),
]


class Cell:
    """A franchise with one store and one root, and the speed of TableGibbs on it."""

    def __init__(self, corpus, store, root, dishes, settle, kernel):
        base = hk.Restaurant(base=hk.DirichletMultinomial(0.1), concentration=1.0)
        document = hk.Restaurant(base=base, concentration=1.0, each="document")
        self.name, self.n_tokens = f"{store}, {root}", len(corpus)
        self.franchise = hk.Franchise(document, corpus, store=store, root=root, kernel=kernel)
        drawn = [moves.RootWeights()] if root == "weights" else []
        self.scheduler = hk.Scheduler([moves.TableGibbs(), *drawn])
        self.scheduler.run(self.franchise, sweeps=settle, rng=0, init=hk.init.Random(dishes))
        self.rates, self.dishes = [], []

    def round(self, sweeps):
        """Run some sweeps."""
        trace = self.scheduler.run(self.franchise, sweeps=sweeps, init=None)
        seconds = trace.moves["seconds"][trace.moves["move"] == "TableGibbs"]
        self.rates.append(sweeps * self.n_tokens / seconds.sum())
        self.dishes.append(float(trace["n_dishes"].mean()))

    def report(self):
        """One line."""
        rate, k = statistics.median(self.rates), statistics.mean(self.dishes)
        kernel = self.franchise.kernel("reseat")
        return (
            f"{self.name:<22}{kernel:<9}{k:>7.1f}{rate:>14,.0f}{min(self.rates):>14,.0f}{max(self.rates):>14,.0f}"
            f"{1e9 / rate:>8.1f}"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--dishes", type=int, default=100)
    parser.add_argument("--settle", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--kernel", default="auto")
    options = parser.parse_args()

    corpus = hk.Corpus.from_ldac(options.corpus)
    cells = [Cell(corpus, *cell, options.dishes, options.settle, options.kernel) for cell in CELLS]
    for _ in range(options.rounds):
        for cell in cells:
            cell.round(options.sweeps)
    print(block())
    print(f"{'cell':<22}{'kernel':<9}{'K':>7}{'tokens/s':>14}{'smallest':>14}{'largest':>14}{'ns':>8}")
    for cell in cells:
        print(cell.report())
    best = max(statistics.median(cell.rates) for cell in cells[:2])
    for cell in cells:
        print(f"{cell.name} / the better of the first two: {statistics.median(cell.rates) / best:.2f}")


if __name__ == "__main__":
    main()
