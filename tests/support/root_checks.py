"""Deterministic checks of the weights of the root, also used by the tests of planted bugs."""

import numpy as np
import pytest
from exact_points import check_balance, spread_of_log_joint
from exact_weights import ExactWeightModel
from marginals import dirichlet_multinomial_log_marginal
from scipy.stats import dirichlet

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact

CORNER = Corner(0.9, 0.7, 0.3, 0.6)


def weighted_model(shape, store="explicit-reference"):
    measure = DirichletMultinomialReference(0.5, n_terms=3)
    franchise = tiny_franchise(shape, measure, store=store, kernel="reference", corner=CORNER, root="weights")
    return ExactWeightModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


def check_seating_and_root_weights():
    """Detailed balance of single steps, births and deaths of dishes among them."""
    for shape in ("2+1", "2+1 with one at the root"):
        for move in (moves.TableGibbs(), moves.DishGibbs()):
            check_balance(weighted_model(shape), move)


def fixed_model(store, kernel, n_dishes=3):
    measure = DirichletMultinomialReference(0.5, n_terms=3) if kernel == "reference" else None
    franchise = tiny_franchise(
        "2+1 with one at the root",
        measure or hk.DirichletMultinomial(0.5, n_terms=3),
        store=store,
        kernel=kernel,
        corner=Corner(1.5, 1.5),
        root=hk.FixedWeights(n_dishes),
    )
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


def check_fixed_weights():
    """Exact kernels under fixed weights, compiled and readable."""
    for store, kernel in (
        ("explicit", "generic"),
        ("histogram", "fused"),
        ("explicit-reference", "reference"),
    ):
        model = fixed_model(store, kernel)
        for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
            check_exact(model, move)


def check_fixed_weights_of_slots():
    """A slot has the weight 1/K while it is that of a dish, and else none."""
    model = fixed_model("histogram", "generic")
    franchise = model.enter(next(i for i in range(len(model.states)) if model.enter(i).n_dishes == 1))
    table, source = franchise.root.weights.table, RandomStream((1, 1))
    before = table.remainder
    slot = franchise.open_dish(source)
    assert table.get(slot) == 1 / 3
    franchise.slots.close(slot)
    assert table.get(slot) == 0.0
    assert table.remainder == before


def check_score_under_fixed_weights():
    """The log joint is the log of the enumerated posterior, up to a constant."""
    assert spread_of_log_joint(fixed_model("explicit", "generic")) < 1e-9


def check_root_weights_given_seating():
    """RootWeights draws from the Dirichlet law of the root's customers: the density of a scripted draw."""
    model = weighted_model("2+1 with one at the root")
    for state in range(len(model.states)):
        weights = model.generic_numbers(state)
        source = ScriptedSource(continuous=weights.tolist())
        moves.RootWeights().apply(model.enter(state), source)
        expected = dirichlet.logpdf(weights, model.shapes[state])
        assert source.log_density == pytest.approx(expected, abs=1e-12)
        assert model.numbers() == pytest.approx(weights, abs=1e-15)


def check_density_of_root_weights():
    """The log joint has the density of the weights given the seating."""
    model = weighted_model("2+1 with one at the root")
    for state in range(len(model.states)):
        weights = model.generic_numbers(state)
        franchise = model.enter(state, weights)
        of_weights = franchise.parts.log_density(franchise)
        assert of_weights == pytest.approx(dirichlet.logpdf(weights, model.shapes[state]), abs=1e-12)


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
