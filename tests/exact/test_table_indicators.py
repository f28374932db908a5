"""Table indicators: counts under a root restaurant, by enumeration and compared with the other stores."""

import numpy as np
import pytest
from indicator_checks import (
    TWINS,
    check_formulas_of_indicators,
    check_leaving_counts,
    check_seats_drawn_from_discounted_counts,
    model_of,
)
from marginals import dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream
from hdpkit.stores.frozen import COMPILED, READABLE
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.enumeration import n_dishes, n_tables
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible, step_matrices
from hdpkit.testing.states import pushforward, to_counts

MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)


@pytest.mark.parametrize("twin", TWINS)
def test_a_step_has_the_law_of_the_formulas(twin):
    check_formulas_of_indicators(twin)


@pytest.mark.parametrize("twin", TWINS)
def test_who_leaves_and_enters_leaves_the_posterior_alone(twin):
    check_leaving_counts(twin)


@pytest.mark.parametrize("draws", [COMPILED, READABLE], ids=["compiled", "readable"])
def test_seats_drawn_from_counts_have_their_law_with_discounts(draws):
    check_seats_drawn_from_discounted_counts(draws)


# A document whose only customer leaves, a franchise of one customer; theta below zero, 0 beside a discount.
EDGES = {
    "one customer": (TinyShape({"document": [0]}, 1), Corner(1.5, 0.7)),
    "one customer each": (TinyShape({"document": [0, 1, 2]}, 3), Corner(1.5, 0.7)),
    "one customer each, theta 0": (TinyShape({"document": [0, 1, 2]}, 3), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta 0": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta below 0": (
        TinyShape({"author": [0, 0, 0], "document": [0, 0, 1]}, 3),
        Corner(-0.2, -0.1, 0.3, 0.6),
    ),
    "large discounts": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(50.0, -0.8, 0.9, 0.95)),
    "four levels": (
        TinyShape({"country": [0, 0, 0], "author": [0, 0, 1], "document": [0, 1, 2]}, 3),
        Corner(0.8, 0.4, 0.3, 0.6),
    ),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge, twin):
    shape, corner = EDGES[edge]
    model = model_of(shape, corner, twin)
    whole = check_exact(model, moves.TableGibbs())
    check_irreducible(model, whole, "a sweep of table Gibbs")


@pytest.mark.parametrize("shape", ["3+2", "2+1 with one at the root", "three levels"])
@pytest.mark.parametrize("corner", ["middle", "discounts"])
def test_the_law_is_that_of_the_other_stores(shape, corner):
    # K, numbers of tables and who shares a dish: a sweep's law has them as labelled seatings do.
    model = ExactModel(tiny_franchise(shape, MEASURE, store="counts", corner=corner), WITNESS)
    labelled = model.posterior_of_seatings
    whole = np.linalg.multi_dot([np.linalg.multi_dot(list(step_matrices(model, moves.TableGibbs())))] * 2)
    reached = np.linalg.matrix_power(whole, 2000)[0]
    assert np.abs(reached - model.pi).max() <= 1e-10
    first = model.states.index(to_counts(next(iter(labelled)), model.shape))
    model.enter(first)
    n = model.franchise.topology.n_customers
    for statistic in (
        n_dishes,
        lambda key: n_tables(key, model.shape),
        lambda key: tuple(key[i][-1] == key[j][-1] for i in range(n) for j in range(i)),
    ):
        expected, found = pushforward(labelled, statistic), {}
        of_state = {to_counts(key, model.shape): statistic(key) for key in labelled}
        for state, p in zip(model.states, reached, strict=True):
            found[of_state[state]] = found.get(of_state[state], 0.0) + p
        assert found.keys() == expected.keys()
        assert all(abs(found[value] - p) <= 1e-10 for value, p in expected.items())


def larger(store="counts", levels=3, kernel="auto"):
    rng = np.random.default_rng(5)
    documents = [rng.integers(0, 12, rng.integers(0, 40)).tolist() for _ in range(18)]
    groups = {"author": [i // 3 for i in range(18)]}
    corpus = hk.Corpus.from_documents(documents, n_terms=12, groups=groups)
    prior = hk.Gamma(2.0, 1.0)
    restaurant = hk.Restaurant(
        hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)), concentration=prior, discount=hk.Beta(1, 2)
    )
    for label in ("author", "document")[3 - levels :]:
        restaurant = hk.Restaurant(restaurant, each=label, concentration=prior, discount=hk.Beta(1, 2))
    return hk.Franchise(restaurant, corpus, store=store, kernel=kernel)


def test_the_chain_does_not_depend_on_how_large_the_ratios_have_grown():
    # A franchise that has seen larger counts has a larger table of ratios.
    ends = []
    for init in ("one", "sequential"):
        franchise = larger(levels=2)
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=1, init=init)
        frozen = larger(levels=2)
        hk.Scheduler([moves.TableGibbs()]).run(frozen, sweeps=1, rng=9, init="sequential")
        franchise.thaw(frozen.freeze())
        franchise.reseat(0, franchise.topology.n_customers, RandomStream((7, 7)))
        ends.append(franchise.freeze()["seating"])
    assert all(np.array_equal(ends[0][name], array) for name, array in ends[1].items())
