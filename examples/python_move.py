"""A move of one's own, in plain Python: a customer of the root adopts the dish of another one.

Two customers of the root (tables of its children, and data seated there) are drawn; the first proposes to eat
what the second eats. With m customers at each dish before the move, d the root's discount, prior times
proposal ratio is (m_to - d) / (m_from - 1 - d) * (m_from - 1) / m_to: nothing but the likelihood where d = 0.
"""

import math

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.metropolis import accepts
from hdpkit.moves.registry import moves as registry


class AdoptDish(moves.Move):
    """Metropolis: one customer of the root takes over another one's dish."""

    needs_tables = True

    def check(self, state):
        moves.needs_latent_dishes(self, state)

    def apply(self, state, rng, steps=None):
        if steps == (0, 0):
            return moves.MoveInfo()
        with state.seated_out(rng):
            units = state.units(1, with_customers=True)
            dishes = state.unit_dishes(units)
            if len(units) < 2:
                return moves.MoveInfo(1, 0)
            a = rng.index(len(units))
            b = (a + 1 + rng.index(len(units) - 1)) % len(units)
            old, new = int(dishes[a]), int(dishes[b])
            m_from, m_to = np.sum(dishes == old), np.sum(dishes == new)
            if old == new or m_from == 1:  # the way back would need a dish that is gone
                return moves.MoveInfo(1, 0)
            d = state.discount("root")
            ratio = (m_to - d) / (m_from - 1 - d) * (m_from - 1) / m_to
            before = state.log_likelihood()
            state.move_units(units, np.array([a]), new, rng)
            if accepts(math.log(ratio) + state.log_likelihood() - before, rng):
                return moves.MoveInfo(1, 1)
            state.move_units(units, np.array([a]), old, rng)
            return moves.MoveInfo(1, 0)


registry.register("adopt-dish (example)", AdoptDish, lambda: [AdoptDish()])


def main():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.5)
    document = hk.Restaurant(base=root, concentration=0.7, each="document")
    franchise = hk.Franchise(document, corpus)
    trace = hk.Scheduler([moves.TableGibbs(), AdoptDish().repeat(3)]).run(franchise, sweeps=500, rng=0)
    adopted = trace.moves[trace.moves["move"] == "AdoptDish"]
    share = adopted["accepted"].sum() / adopted["tried"].sum()
    print(f"{trace['n_dishes'].mean():.2f} dishes on average, {share:.0%} of the proposals accepted")


if __name__ == "__main__":
    main()
