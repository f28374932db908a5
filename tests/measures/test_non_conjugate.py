"""Base measures without marginals: algorithm 8, enumerated, and the moves that don't support them."""

import itertools
import math

import numpy as np
import pytest
from parameter_cases import normal_means
from planted import PlantedBug, planted

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError
from hdpkit.testing import check_exact, tiny_franchise
from hdpkit.testing.exact import ExactFailure
from hdpkit.testing.exact_models import exact_model


def log_poisson(value, rate):
    return value * math.log(rate) - rate - math.lgamma(value + 1)


def counts(auxiliary=2):
    return hk.NonConjugate(
        log_poisson, hk.Finite([0.5, 3.0]), auxiliary=auxiliary, examples=[0, 4, 1], simulate_value=draw_count
    )


def draw_count(rate, generator):
    return int(generator.poisson(rate))


LONG = pytest.mark.long


# Three dishes on offer have many branches: a smaller franchise in the ordinary run.
@pytest.mark.parametrize(
    ("shape", "auxiliary"),
    [
        ("flat 4", 1),
        ("2+2", 1),
        ("flat 3", 3),
        ("2+1", 3),
        pytest.param("flat 4", 3, marks=LONG),
        pytest.param("2+2", 3, marks=LONG),
    ],
)
@pytest.mark.parametrize("store", ["explicit", "histogram-reference"])
def test_algorithm_8_is_exact(auxiliary, shape, store):
    model = exact_model(tiny_franchise(shape, counts(auxiliary), store=store))
    for move in [moves.TableGibbs(), *([] if shape.startswith("flat") else [moves.DishGibbs()])]:
        check_exact(model, move)


@pytest.mark.quick
@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_proposals_of_parameters_from_the_prior_are_exact(store):
    model = exact_model(tiny_franchise("2+2", counts(), store=store))
    P = model.matrix(moves.DishParameters().apply)
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self._lent[self._leaving[1]] = parameter", "pass"),
        ("log(float(np.mean(exp_each(logs - top))))", "0.0"),
        ("chosen = 0 if len(parameters) == 1 else self._source.choose_log(logs)", "chosen = 0"),
        (
            "return top + log(float(np.mean(exp_each(logs - top))))",
            "return top + log(float(np.sum(exp_each(logs - top))))",
        ),
    ],
    ids=["the dead dish lends nothing", "largest for mean", "always the first", "sum for mean"],
)
def test_planted_bugs_of_algorithm_8_are_caught(old, new):
    bug = PlantedBug("algorithm 8", "", "hdpkit.measures.kept_parameters", old, new, "")
    model = exact_model(tiny_franchise("2+2", counts(), store="explicit-reference"))
    with planted(bug), pytest.raises(ExactFailure):
        check_exact(model, moves.TableGibbs())


def by_steps(customer):
    def step(franchise, source):
        franchise.leave(customer, customer + 1, source)
        franchise.enter(customer, customer + 1, source)

    return step


def by_views(customer):
    def step(franchise, source):
        name, key = ("root", None) if len(franchise.declarations) == 1 else ("document", None)
        if key is None and name == "document":
            key = franchise.keys("document")[int(franchise.topology.home[customer]) - 1]
        view = franchise.restaurant(name, key)
        view.unseat(customer, source)
        view.seat(customer, rng=source)

    return step


def copied_between(customer):
    def step(franchise, source):
        franchise.leave(customer, customer + 1, source)
        franchise.thaw(franchise.freeze())
        franchise.settle()
        franchise.population.recount(franchise.bank, franchise.slots.occupied_slots())
        franchise.enter(customer, customer + 1, source)

    return step


def many_branches(step, shape, auxiliary):
    """Several parameters and several levels at once; what the steps have in common is seen by steps."""
    return auxiliary == 3 and shape == "2+1" and step is not by_steps


@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference"])
@pytest.mark.parametrize(
    ("step", "shape", "auxiliary"),
    [
        pytest.param(*case, marks=[pytest.mark.long] if many_branches(*case) else [])
        for case in itertools.product([by_steps, by_views, copied_between], ["flat 3", "2+1"], [1, 3])
    ],
)
def test_out_and_in_again_is_algorithm_8(step, store, shape, auxiliary):
    model = exact_model(tiny_franchise(shape, counts(auxiliary), store=store))
    for customer in range(3):
        P = model.matrix(step(customer))
        assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
        assert np.abs(model.pi @ P - model.pi).max() < 1e-12


def test_what_one_lends_no_other_gets():
    """Data say nothing: then any customers may go out and come in again in any order."""
    measure = hk.NonConjugate(lambda value, rate: 0.0, hk.Finite([0.5, 3.0], [1.0, 4.0]), auxiliary=1)
    model = exact_model(tiny_franchise("2+1", measure, store="explicit"))

    def step(franchise, source):
        franchise.leave(0, 3, source)
        franchise.enter(2, 3, source)
        franchise.leave(2, 3, source)
        for customer in (1, 2, 0):
            franchise.enter(customer, customer + 1, source)

    P = model.matrix(step)
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


def test_a_customer_takes_its_parameter_to_the_dish_that_it_is_given():
    """A rejected proposal is undone: what is put back is what was there."""
    franchise = hk.Franchise(hk.Restaurant(normal_means()), hk.Groups.from_arrays([[0.0, 1.0, 2.0]]))
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0, init=np.arange(3))
    view, rng = franchise.restaurant("root"), hk.random.RandomStream((1, 2))
    before = dict(franchise.bank._of)
    for customer in range(3):
        if view.customers_of(place := int(franchise.dishes[customer])) == 1:
            parameter = franchise.dish_parameters()[place]
            view.unseat(customer, rng)
            twin = franchise.copy()
            view.seat(customer, franchise.n_dishes, rng)
            assert franchise.dish_parameters()[franchise.dishes[customer]] == parameter
            twin.restaurant("root").seat(customer, twin.n_dishes, 1)
            assert twin.dish_parameters()[twin.dishes[customer]] == parameter
    assert sorted(before.values()) == sorted(franchise.bank._of.values())
    assert "lent" not in franchise.bank.freeze()


def test_what_is_lent_is_checked_in_a_frozen_state():
    franchise = tiny_franchise("2+1", counts())
    franchise.leave(0, 3, hk.random.RandomStream((1, 2)))
    frozen = franchise.freeze()
    lent = frozen["bank"]["lent"]
    assert len(lent["customers"]) >= 1
    franchise.thaw(frozen)
    for wrong in (
        None,
        {"customers": lent["customers"]},
        {**lent, "customers": lent["customers"] + 3},
        {**lent, "customers": lent["customers"] - 9},
        {**lent, "customers": lent["customers"] + 0.5},
        {**lent, "parameters": []},
        {**lent, "parameters": [np.nan] * len(lent["customers"])},
    ):
        with pytest.raises(DataError):
            franchise.thaw({**frozen, "bank": {**frozen["bank"], "lent": wrong}})
