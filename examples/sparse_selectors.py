"""A user-defined selector move for the sparse topic model, which keeps the terms selected by each topic.

The move draws the selectors b of every topic given its proportion pi, then pi given b (Wang & Blei 2009,
section 3). It does the same as `moves.Selectors` and keeps b, from which the topics of the paper's equation
11 are computed.
"""

import math

import numpy as np

import hdpkit as hk
from hdpkit import moves


class KeptSelectors(moves.Move):
    """Selectors given the proportions, proportions given the selectors; the selectors are kept."""

    continuous, updates = True, ("selection proportions",)

    def __init__(self):
        self.selected = np.empty((0, 0), dtype=bool)  # by dish and term, of the last sweep

    def check(self, state):
        if "selection proportions" not in state.measure_parts:
            raise hk.errors.ScheduleError("moves", self.name, "moves over stored proportions", "Store them.")

    def apply(self, state, rng, steps=None):
        measure, table = state.measure, state.measure_parts["selection proportions"].table
        self.selected = state.dish_counts > 0  # terms with tokens in a topic are always selected
        for b, slot in zip(self.selected, state.slots.occupied_slots().tolist(), strict=True):
            (a,), (n,) = state.bank.sizes([slot])
            more = measure.law(table.get(slot)).draw(int(a), int(n), rng)
            others = np.flatnonzero(~b)
            b[others[rng.permutation(len(others))[:more]]] = True
            r, s, number = measure.selection.r, measure.selection.s, int(b.sum())
            table.set(slot, *rng.log_beta(r + number, s + len(b) - number))
        return moves.MoveInfo(len(self.selected), len(self.selected))


def topics(franchise, selected):
    """Equation 11: topics smoothed over the terms that they select, (n + b smoothing) / sum."""
    counts = franchise.dish_counts + selected * float(franchise.measure.smoothing)
    return counts / counts.sum(axis=1, keepdims=True)


def declare(proportions="stored"):
    corpus = hk.Corpus.from_documents([[0, 0, 1, 0], [1, 0, 1], [2, 3, 3], [3, 2, 2, 3]], n_terms=8)
    measure = hk.SparseDirichletMultinomial(hk.Gamma(1.0, 1.0), hk.Beta(1.0, 1.0), proportions)
    root = hk.Restaurant(base=measure, concentration=1.0)
    return hk.Franchise(hk.Restaurant(base=root, concentration=0.5, each="document"), corpus)


def main(sweeps=500):
    franchise, selectors = declare(), KeptSelectors()
    schedule = hk.Scheduler([moves.TableGibbs(), selectors, moves.Smoothing()])
    trace = schedule.run(franchise, sweeps=sweeps, rng=0)
    sparsity = 1.0 - selectors.selected.mean(axis=1)
    print(f"{franchise.n_dishes} topics, {math.fsum(sparsity) / len(sparsity):.2f} of the terms left out")
    print(np.round(topics(franchise, selectors.selected), 2))
    return trace, franchise, selectors


if __name__ == "__main__":
    main()
