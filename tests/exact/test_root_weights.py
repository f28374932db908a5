"""Weights of the root: detailed balance, one step from exact draws, Geweke's test, the law of the dishes."""

import numpy as np
import pytest
from exact_points import check_balance, one_step_of_points, spread_of_log_joint
from exact_weights import WEIGHT_P_VALUES, ExactWeightModel
from marginals import dirichlet_multinomial_log_marginal
from scipy.stats import dirichlet

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.cases import Corner, serves, tiny_franchise
from hdpkit.testing.geweke import geweke, statistics
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)
MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
COMPILED = [("explicit", "generic"), ("histogram", "generic")]
READABLE = [
    ("explicit", "reference"),
    ("histogram", "reference"),
    ("explicit-reference", "reference"),
    ("histogram-reference", "reference"),
]
CORNERS = {
    "no discount": Corner(1.5, 0.7),
    "discounts": Corner(1.5, 0.7, 0.3, 0.6),
    "concentrations below 0": Corner(-0.2, -0.1, 0.3, 0.6),
}
SHAPES = ["flat 3", "2+1", "2+1 with one at the root", "three levels of three", "2+2"]
# Compiled kernels at every corner, readable ones at the one that has all there is to get wrong.
CELLS = [(*cell, corner) for cell in COMPILED for corner in CORNERS]
CELLS += [(*cell, "concentrations below 0") for cell in READABLE]


def weighted(shape="2+2", store="histogram", kernel="auto", corner="no discount", **options):
    corner = CORNERS[corner] if isinstance(corner, str) else corner
    return tiny_franchise(
        shape, MEASURE, store=store, kernel=kernel, corner=corner, root="weights", **options
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("store", "kernel", "corner"), CELLS)
def test_steps_of_gibbs_moves_are_reversible_for_seating_and_weights(store, kernel, shape, corner):
    model = ExactWeightModel(weighted(shape, store, kernel, corner), WITNESS)
    assert check_balance(model, moves.TableGibbs()) > len(model.states)
    if not shape.startswith("flat"):
        assert check_balance(model, moves.DishGibbs()) > len(model.states)


@pytest.mark.parametrize("shape", ["three levels of three", "three levels, inner customers"])
@pytest.mark.parametrize("kernel", ["generic", "reference"])
def test_steps_over_counts_with_more_levels_are_reversible(kernel, shape):
    model = ExactWeightModel(weighted(shape, "counts", kernel), WITNESS)
    assert model.franchise.counts_tables
    assert check_balance(model, moves.TableGibbs()) > len(model.states)
    assert check_balance(model, moves.DishGibbs()) > len(model.states)


@pytest.mark.parametrize("corner", CORNERS)
@pytest.mark.parametrize("shape", ["2+1", "2+1 with one at the root", "2+2"])
@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_steps_of_fused_sweeps_are_reversible(store, shape, corner):
    model = ExactWeightModel(weighted(shape, store, "fused", corner), WITNESS)
    assert model.franchise.kernel("reseat") == "fused"
    assert check_balance(model, moves.TableGibbs()) > len(model.states)


MOVES = {
    "TableGibbs": moves.TableGibbs(),
    "DishGibbs": moves.DishGibbs(),
    "SplitMerge": moves.SplitMerge(),
    "SplitMerge by scans": moves.SplitMerge(scans=1),
    "SplitMerge from candidates": moves.SplitMerge(candidates=9),
    "ReseatGroups": moves.ReseatGroups(),
    "RootWeights": moves.RootWeights(),
    "a schedule": [moves.TableGibbs(), moves.SplitMerge(), moves.DishGibbs(), moves.RootWeights()],
}
ONE_STEP = {
    f"one step: {name}, {store}, {corner}, {shape}": (move, shape, store, corner)
    for name, move in MOVES.items()
    for store, corner, shape in (
        ("histogram", "no discount", "2+2"),
        ("explicit", "concentrations below 0", "three levels of three"),
        ("counts", "no discount", "2+2"),
    )
}
DRAWS = 500  # what the first look suspects is repeated with four times as many

GEWEKE = {
    f"geweke: {store}, {shape}": (store, shape)
    for store in ("explicit", "histogram", "counts")
    for shape in ("flat 4", "3+3", "three levels")
    if (store, shape) != ("counts", "three levels")
}


def free(store, shape):
    """All hyperparameters have priors; a store of counts serves no discounts."""
    prior, beta = hk.Gamma(2.0, 1.0), hk.Beta(1.0, 2.0)
    discount = None if store == "counts" else (beta, beta)
    return weighted(shape, store, concentration=(prior, prior), discount=discount)


for name_ in ONE_STEP:
    FAMILY.register(name_, WEIGHT_P_VALUES)
for name_, case_ in GEWEKE.items():
    FAMILY.register(name_, list(statistics(free(*case_))))


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_step_from_exact_draws(name):
    move, shape, store, corner = ONE_STEP[name]
    model = ExactWeightModel(weighted(shape, store, corner=corner), WITNESS)
    FAMILY.check(name, lambda more, seed: one_step_of_points(model, move, DRAWS * more, seed))


@pytest.mark.parametrize("name", GEWEKE)
def test_gewekes_test_with_weights_and_hyperparameters(name):
    franchise = free(*GEWEKE[name])
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration(), moves.Discount()]
    schedule = [move for move in [*schedule, moves.RootWeights()] if serves(franchise, move)]
    FAMILY.check(name, lambda more, seed: geweke(franchise, schedule, 75 * more, 4, seed))


def witnessed(shape):
    return ExactWeightModel(weighted(shape, "explicit-reference", "reference", "discounts"), WITNESS)


def check_seating_and_root_weights():
    """Detailed balance of single steps, births and deaths of dishes among them."""
    for shape in ("2+1", "2+1 with one at the root"):
        for move in (moves.TableGibbs(), moves.DishGibbs()):
            check_balance(witnessed(shape), move)


def check_root_weights_given_seating():
    """RootWeights draws from the Dirichlet law of the root's customers: the density of a scripted draw."""
    model = witnessed("2+1 with one at the root")
    for state in range(len(model.states)):
        weights = model.generic_numbers(state)
        source = ScriptedSource(continuous=weights.tolist())
        moves.RootWeights().apply(model.enter(state), source)
        expected = dirichlet.logpdf(weights, model.shapes[state])
        assert source.log_density == pytest.approx(expected, abs=1e-12)
        assert model.numbers() == pytest.approx(weights, abs=1e-15)


def check_density_of_root_weights():
    """The log joint is that of the enumeration, with the density of the weights."""
    for corner in CORNERS:
        model = ExactWeightModel(weighted("2+1 with one at the root", "explicit", corner=corner), WITNESS)
        assert spread_of_log_joint(model) < 1e-9


def check_root_weights_are_drawn_anew():
    """What integrates the weights out draws them all at its end, whether anything was accepted or not."""
    prior, beta = hk.Gamma(2.0, 1.0), hk.Beta(1.0, 2.0)
    franchise = tiny_franchise(
        "3+2", hk.DirichletMultinomial(0.5, n_terms=3), root="weights",
        concentration=(prior, prior), discount=(beta, beta),
    )  # fmt: skip
    source = RandomStream((1, 2))
    for move in (
        moves.SplitMerge(),
        moves.ReseatGroups(),
        moves.Concentration(),
        moves.Discount(),
        moves.RootWeights(),
    ):
        for _ in range(5):
            before = {round(weight, 12) for weight in _weights(franchise)}
            move.apply(franchise, source)
            after = _weights(franchise)
            assert not before & {round(weight, 12) for weight in after}
            assert sum(after) == pytest.approx(1.0, abs=1e-12)


def _weights(franchise):
    weights, remainder = franchise.root_weights()
    return np.append(weights, remainder).tolist()
