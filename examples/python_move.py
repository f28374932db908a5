"""A user-defined move in plain Python: a customer of the root adopts the dish of another customer.

Two customers of the root (tables of its children, and data seated there) are drawn; the proposal gives the
first the dish of the second. With m the numbers of customers of the two dishes before the move and d the
root's discount, the prior ratio times the proposal ratio is (m_to - d) / (m_from - 1 - d) * (m_from - 1) /
m_to. For d = 0 this is 1, and only the likelihood ratio remains. A proposal (`Franchise.proposal`) computes
the ratio of the prior and the likelihood, and takes the change back; it needs a conjugate measure. This move
runs over any other, too.
"""

import math

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.protocol import accepts
from hdpkit.moves.registry import moves as registry


class AdoptDish(moves.Move):
    """Metropolis: one customer of the root takes the dish of another."""

    needs_tables = True
    serves = ("restaurant",)  # the ratio of the priors is that of a restaurant
    requires = (moves.LATENT_DISHES,)

    def apply(self, state, rng, steps=None):
        with state.labelled_seating(rng):
            units = state.units(1, with_customers=True)
            dishes = state.unit_dishes(units)
            if len(units) < 2:
                return moves.MoveInfo(1, 0)
            a = rng.index(len(units))
            b = (a + 1 + rng.index(len(units) - 1)) % len(units)
            old, new = int(dishes[a]), int(dishes[b])
            m_from, m_to = np.sum(dishes == old), np.sum(dishes == new)
            if old == new or m_from == 1:  # the reverse move would need a dish that no longer exists
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
