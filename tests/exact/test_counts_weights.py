"""Direct assignment: steps over a store of counts given the root's weights leave the posterior invariant."""

import numpy as np
import pytest
from counts_checks import (
    KINDS,
    TOLERANCE,
    N,
    assert_invariant,
    franchise_of,
    leave_and_enter,
    matrix,
)

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream

STEPS = {
    **{f"reseat customer {i}": lambda f, s, i=i: f.reseat(i, i + 1, s) for i in range(N)},
    "reseat two at once": lambda f, s: f.reseat(2, 4, s),
    "leave and enter": leave_and_enter,
    "tables": lambda f, s: moves.TableCounts().apply(f, s),
    "tables of one restaurant": lambda f, s: moves.TableCounts().apply(f, s, (1, 2)),
    "tables by binomial draws": lambda f, s: moves.TableCounts("binomial").apply(f, s),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_leaves_the_posterior_alone(step):
    matrices = [matrix(franchise_of(twin), STEPS[step]) for twin in KINDS]
    for P in matrices:
        assert_invariant(P)
    assert max(np.max(np.abs(matrices[0] - P)) for P in matrices[1:]) <= TOLERANCE


class Told(RandomStream):
    """The same draws, by a method that is given each probability."""

    def bernoulli(self, p):
        return super().bernoulli(p)


@pytest.mark.parametrize("alpha", [1e-9, 0.05, 0.7, 4.0, 60.0, 1e4])
def test_a_probability_that_is_not_worked_out_changes_no_table(alpha):
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=alpha)
    sizes = [*range(1, 70), 129, 1000] * 3
    data = hk.Corpus.from_documents([[0] * n for n in sizes], n_terms=2)
    franchise = hk.Franchise(restaurant, data, store="counts", root="weights")
    start(franchise, "one", RandomStream((1, 1)))
    dish = int(franchise.slots.occupied_slots()[0])

    def drawn(source):
        franchise.draw_tables(1, len(sizes) + 1, source)
        return [franchise.store.tables(1 + j, dish) for j in range(len(sizes))], source.uniform()

    for seed in range(20):
        assert drawn(RandomStream((seed, 1))) == drawn(Told((seed, 1)))
