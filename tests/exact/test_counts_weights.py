"""Direct assignment: steps over a store of counts given the root's weights leave the posterior invariant."""

import numpy as np
import pytest
from counts_checks import (
    KINDS,
    TOLERANCE,
    N,
    assert_invariant,
    franchise_of,
    frozen_states,
    leave_and_enter,
    matrix,
)

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream, ScriptedSource

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


def test_states_are_states():
    franchise = franchise_of("compiled")
    for frozen in frozen_states(franchise):
        franchise.thaw(frozen)
        franchise.audit()
        assert franchise.dishes.tolist() == frozen["seating"]["dish"].tolist()


@pytest.mark.parametrize("kernel", ["compiled", "fused"])
def test_a_dish_is_born_and_dies_with_its_weight(kernel):
    franchise = franchise_of(kernel)
    for sweep in range(200):
        moves.TableGibbs().apply(franchise, RandomStream((2, sweep)))
        franchise.audit()
    births = set()
    for sweep in range(200):
        franchise.reseat(0, 7, RandomStream((3, sweep)))
        births.add(franchise.n_dishes)
        franchise.audit()
    assert len(births) > 2


@pytest.mark.parametrize("alpha", [1e-6, 0.05, 0.7, 4.0, 60.0])
@pytest.mark.parametrize("twin", ["compiled", "readable"])
def test_tables_are_a_sum_of_bernoulli_draws(twin, alpha):
    n = 7
    kind, kernel = {"compiled": ("counts", "generic"), "readable": ("counts-reference", "reference")}[twin]
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=alpha)
    data = hk.Corpus.from_documents([[0] * n], n_terms=2)
    franchise = hk.Franchise(restaurant, data, store=kind, kernel=kernel, root="weights")
    start(franchise, "one", RandomStream((1, 1)))
    dish = int(franchise.slots.occupied_slots()[0])
    a = alpha * franchise.root.weights.table.get(dish)
    expected = np.array([0.0, 1.0])  # of 0, 1, ... tables
    for i in range(1, n):
        p = a / (a + i)
        expected = np.append(expected * (1.0 - p), 0.0) + np.append(0.0, expected * p)
    found, source = np.zeros(n + 1), ScriptedSource()
    while True:
        franchise.draw_tables(1, 2, source)
        found[franchise.store.tables(1, dish)] += source.probability
        if not source.advance():
            break
    assert np.abs(found - expected).max() <= TOLERANCE


@pytest.mark.parametrize("twin", KINDS)
def test_tables_are_not_drawn_while_the_weights_are_integrated_out(twin):
    franchise, source = franchise_of(twin), RandomStream((6, 6))
    with franchise.root_integrated(source):
        for call in (
            lambda: franchise.reseat(0, N, source),
            lambda: franchise.leave(0, 1, source),
            lambda: franchise.draw_tables(0, 3, source),
            lambda: franchise.draw_tables_by_dish(source),
        ):
            with pytest.raises(errors.StateError, match="root_integrated"):
                call()
    franchise.audit()
    franchise.simulate(3).audit()
    franchise.simulate(3, keep="seating").audit()


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
