"""One smoothing per dish of the sparse Dirichlet-multinomial: laws of seatings and smoothings, enumerated."""

import functools
import itertools
import math

import numpy as np
import pytest
from exact_points import check_balance, distribution, p_values_of_updates, spread_of_log_joint
from exact_selection import ExactSmoothedSelectionModel
from marginals import selected_numbers, sparse_dirichlet_multinomial_log_marginal
from parameter_cases import Grid

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.measures.selection import NAME
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_models import exact_model
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
GRID = Grid([0.2, 1.5], [1.0, 2.0])
SHAPES = (1.3, 0.8)
CORNER = Corner(0.9, 0.7, 0.3, 0.6)
KINDS = [hk.SparseDirichletMultinomial, SparseDirichletMultinomialReference]
CELLS = [
    (hk.SparseDirichletMultinomial, "explicit", "generic"),
    (hk.SparseDirichletMultinomial, "histogram", "generic"),
    (hk.SparseDirichletMultinomial, "explicit", "reference"),
    (SparseDirichletMultinomialReference, "explicit-reference", "reference"),
    (SparseDirichletMultinomialReference, "histogram-reference", "reference"),
]


def witness(**law):
    """Log marginal of the values of a dish given its smoothing."""
    return functools.cache(lambda one: sparse_dirichlet_multinomial_log_marginal(one, 3, **law))


def model_of(shape, kind, store="explicit", kernel="auto", selection=None, grid=GRID, **options):
    measure = kind(hk.Each(grid), hk.Beta(*SHAPES) if selection is None else selection, n_terms=3)
    franchise = tiny_franchise(shape, measure, store=store, kernel=kernel, corner=CORNER, **options)
    law = witness(shapes=SHAPES) if selection is None else witness(proportion=selection)
    return exact_model(franchise, lambda values, smoothing: law(smoothing)(values))


@pytest.mark.parametrize("shape", ["flat 3", "2+1", "three levels of three"])
@pytest.mark.parametrize(("kind", "store", "kernel"), CELLS)
def test_steps_of_gibbs_moves_are_exact(kind, store, kernel, shape):
    model = model_of(shape, kind, store, kernel)
    check_exact(model, moves.TableGibbs(), reversible=True)
    if not shape.startswith("flat"):
        check_exact(model, moves.DishGibbs(), reversible=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_proportion_of_all_dishes(kind):
    model = model_of("2+1", kind, selection=0.4)
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_exact(model, move)


def check_updates_of_dish_smoothings():
    """Proposals of smoothings from the prior leave the posterior alone."""
    for kind, move in itertools.product(KINDS, (moves.DishParameters(), moves.Smoothing())):
        model = model_of("2+1", kind, values=[0, 0, 0])
        P = model.matrix(move.apply)
        assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
        assert np.abs(model.pi @ P - model.pi).max() < 1e-12
        assert np.any(P[P > 0.0] < 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_sweep_is_exact(kind):
    """Dishes die and are born within it: no smoothing of a dish that is gone is there for another one."""
    model = model_of("flat 3", kind)
    P = model.matrix(moves.TableGibbs().apply)
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


def stored(shape, kind, store="explicit", kernel="auto", **options):
    measure = kind(hk.Each(GRID), hk.Beta(*SHAPES), "stored", n_terms=3)
    franchise = tiny_franchise(shape, measure, store=store, kernel=kernel, corner=CORNER, **options)
    return ExactSmoothedSelectionModel(franchise)


# Two levels of the readable measure: `check_stored_dish_smoothings` among the planted bugs, too.
@pytest.mark.parametrize(
    ("kind", "store", "kernel", "shape"),
    [(*cell, "flat 3") for cell in CELLS] + [(*cell, "2+1") for cell in CELLS[:3]],
)
def test_steps_are_reversible_for_seating_smoothings_and_proportions(monkeypatch, kind, store, kernel, shape):
    monkeypatch.setattr(kind, "auxiliary", 2)  # fewer branches
    model = stored(shape, kind, store, kernel)
    assert check_balance(model, moves.TableGibbs()) > len(model.states)
    if not shape.startswith("flat"):
        assert check_balance(model, moves.DishGibbs()) > len(model.states)


def check_density_of_dish_smoothings():
    """The log joint is that of the enumeration, with the density of smoothings and proportions."""
    for kind in KINDS:
        assert spread_of_log_joint(model_of("2+1 with one at the root", kind)) < 1e-9
        assert spread_of_log_joint(stored("2+1", kind)) < 1e-9


def check_dish_smoothings():
    """Steps of moves leave the posterior of seating and smoothings alone."""
    model = model_of("2+1", KINDS[1], "explicit-reference", values=[0, 0, 1])
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_exact(model, move)


def check_stored_dish_smoothings():
    """Detailed balance of single steps in seating, smoothings and proportions."""
    check_balance(stored("2+1", KINDS[1], "explicit-reference"), moves.DishGibbs())


PRIOR = hk.Gamma(2.0, 2.0)
UPDATES = {
    "slice": moves.Smoothing(),
    "walk": moves.Smoothing("metropolis"),
    "dish parameters": moves.DishParameters(),
}
CONDITIONALS = {
    f"smoothing by {update}, {scheme}, {kind.__name__}": (kind, scheme, UPDATES[update])
    for kind in KINDS
    for update, scheme in (("slice", "integrated"), ("walk", "stored"), ("dish parameters", "stored"))
}
for name_ in CONDITIONALS:
    FAMILY.register(name_, ["first", "second"])


def log_conditional(values, smoothing, proportion):
    """Log density of the smoothing of a dish given its values, up to a constant."""
    shapes = SHAPES if proportion is None else None
    law = selected_numbers(smoothing, 3, values, shapes, proportion)
    return PRIOR.log_density(smoothing) + math.log(sum(law))


@pytest.mark.parametrize("name", CONDITIONALS)
def test_one_update_from_exact_draws_of_the_smoothings(name):
    kind, scheme, move = CONDITIONALS[name]
    measure = kind(hk.Each(PRIOR), hk.Beta(*SHAPES), scheme, n_terms=3)
    franchise = tiny_franchise("2+2", measure, store="explicit", values=[0, 0, 1, 0])
    start(franchise, np.array([0, 0, 1, 1]), hk.random.RandomStream((1, 1)))
    given = [None, None]
    if scheme == "stored":
        given = franchise.measure_parts[NAME].proportions().tolist()
    grid = np.linspace(math.log(1e-4), math.log(30.0), 2000)  # of the logarithm; the law is flat in between
    laws = []
    for values, proportion in zip(([0, 0], [1, 0]), given, strict=True):
        laws.append(distribution(lambda one, v=values, p=proportion: log_conditional(v, one, p), grid))
    assert np.abs(laws[0] - laws[1]).max() > 0.02
    bank = franchise.bank

    def run(more, seed):
        n = (1000 if kind is KINDS[0] else 400) * more
        return p_values_of_updates(franchise, move, laws, grid, n, seed, bank.set_parameter, bank.parameter)

    FAMILY.check(name, run)
