"""The split-merge move of Wang & Blei (2012), written on a proposal of the state.

Two customers of the root (tables of its children, and data seated there) are drawn. If they share a dish it
is split between them, otherwise their dishes are merged. The other customers of the dish choose a side one by
one (sequential allocation, Dahl 2003), and q is the probability of their choices; for a merge, of the choices
that lead back. The state knows the ratio of the joint densities, under every root and measure, so that the
move adds only q. It has the same transition matrix as `hdpkit.moves.SplitMerge`.
"""

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.protocol import BLOCKS, accepts


class SplitMergeByProposal(moves.Move):
    """Split a dish in two, or merge two, and accept by Metropolis-Hastings."""

    needs_tables = True
    serves = BLOCKS
    requires = (moves.LATENT_DISHES, moves.MARGINALS)

    def apply(self, state, rng, steps=None):
        with state.parts_integrated(rng), state.labelled_seating(rng), state.proposal(rng) as p:
            return moves.MoveInfo(1, int(self.propose(state, rng, p)))

    def propose(self, state, rng, p):
        units = state.units(1, with_customers=True)
        if len(units) < 2:
            return False
        a = rng.index(len(units))
        b = (a + 1 + rng.index(len(units) - 1)) % len(units)
        dishes = state.unit_dishes(units)
        split = dishes[a] == dishes[b]
        if split and state.n_dishes == state.root.most_dishes:
            return False  # no unused dish is left
        if not {dishes[a], dishes[b]}.isdisjoint(state.held_dishes()):
            return False
        sides, log_q = self.allocate(state, rng, units, a, b, None if split else dishes)
        p.move_units(units, np.flatnonzero(sides == 1), None if split else dishes[a])
        if not accepts(p.log_ratio - log_q if split else p.log_ratio + log_q, rng):
            return False
        p.accept()
        return True

    def allocate(self, state, rng, units, a, b, dishes):
        """Sides of the units, and log q. For a merge of these dishes, the present sides."""
        current = state.unit_dishes(units)
        members = np.flatnonzero((current == current[a]) | (current == current[b]))
        others = members[(members != a) & (members != b)]
        sides = np.full(len(units), -1, dtype=np.int8)
        sides[[a, b]] = 0, 1
        forced = None if dishes is None else (dishes == dishes[b]).astype(np.int8)
        with state.reserved(2) as slots:
            for unit, slot in zip((a, b), slots, strict=True):
                state.add_units(units, np.array([unit]), slot)
            order = others[rng.permutation(len(others))]
            log_q = state.scan_units(units, order, sides, np.array([1, 1]), slots, forced, rng)
        return sides, log_q


def main():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.5)
    document = hk.Restaurant(base=root, concentration=0.7, each="document")
    franchise = hk.Franchise(document, corpus)
    trace = hk.Scheduler([moves.TableGibbs(), SplitMergeByProposal()]).run(franchise, sweeps=500, rng=0)
    tried = trace.moves[trace.moves["move"] == "SplitMergeByProposal"]
    share = tried["accepted"].sum() / tried["tried"].sum()
    print(f"{trace['n_dishes'].mean():.2f} dishes on average, {share:.0%} of the proposals accepted")


if __name__ == "__main__":
    main()
