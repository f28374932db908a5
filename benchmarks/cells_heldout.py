"""Held-out perplexity of a topic model at equal time, in each cell of the table of stores and roots.

    python benchmarks/cells_heldout.py TRAIN.ldac [--seconds 10] [--seeds 3] [--tables-only]

A corpus in LDA-C with the halves of its test documents in the same folder (see heldout.py, which computes the
score). eta = 0.1, concentrations with the prior Gamma(1, 1); the default start; TableGibbs, DishGibbs,
Concentration, and with weights TableCounts and RootWeights. DishGibbs has a fused sweep only for a root
restaurant; --tables-only leaves it out everywhere. Each cell has a franchise for each seed. They take turns,
a tenth of their time each, so that other programs slow all of them equally; the start is not counted.
Printed: sweeps, dishes and perplexity (mean over seeds, and for each seed).
"""

import argparse
import statistics

import heldout
from cells import CELLS
from machine import block

import hdpkit as hk
from hdpkit import moves

TURNS = 10


class Run:
    """A franchise with one store and one root, and its sweeps."""

    def __init__(self, corpus, store, root, seed, tables_only=False):
        base = hk.Restaurant(base=hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1, 1))
        document = hk.Restaurant(base=base, concentration=hk.Gamma(1, 1), each="document")
        self.franchise = hk.Franchise(document, corpus, store=store, root=root)
        drawn = [moves.TableCounts(), moves.RootWeights()] if root == "weights" else []
        gibbs = [moves.TableGibbs()] if tables_only else [moves.TableGibbs(), moves.DishGibbs()]
        self.scheduler = hk.Scheduler([*gibbs, moves.Concentration(), *drawn])
        self.seconds, self.sweeps = 0.0, 1
        self.scheduler.run(self.franchise, sweeps=1, rng=seed)

    def until(self, seconds):
        """Sweep until the moves have taken this many seconds."""
        while self.seconds < seconds:
            trace = self.scheduler.run(self.franchise, sweeps=2, init=None)
            self.seconds += float(trace.moves["seconds"].sum())
            self.sweeps += 2


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--observed", help="LDA-C file of observed halves")
    parser.add_argument("--held", help="LDA-C file of held-out halves")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tables-only", action="store_true")
    options = parser.parse_args()

    corpus, observed, held = heldout.read(options.corpus, options.observed, options.held)
    if observed is None:
        parser.error(f"no halves of test documents beside {options.corpus}")
    cells = {
        cell: [Run(corpus, *cell, s, options.tables_only) for s in range(options.seeds)] for cell in CELLS
    }
    for turn in range(1, TURNS + 1):
        for runs in cells.values():
            for run in runs:
                run.until(options.seconds * turn / TURNS)
    print(block())
    print(f"{'cell':<22}{'sweeps':>8}{'K':>7}{'perplexity':>12}   of each seed")
    for (store, root), runs in cells.items():
        scores = [heldout.of_franchise(run.franchise, observed, held) for run in runs]
        sweeps = statistics.mean(run.sweeps for run in runs)
        dishes = statistics.mean(run.franchise.n_dishes for run in runs)
        each = "  ".join(f"{score:.1f}" for score in scores)
        print(
            f"{store + ', ' + root:<22}{sweeps:>8.0f}{dishes:>7.1f}{statistics.mean(scores):>12.1f}   {each}"
        )


if __name__ == "__main__":
    main()
