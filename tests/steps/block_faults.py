"""Checks of the fused steps of blocks, which planted faults name."""

import numpy as np
from block_cases import (
    STORES,
    Watched,
    check_block_bounds,  # noqa: F401
    check_bounded_chain,  # noqa: F401
    side_by_side,
    state_number,
    twin_of,
)
from choice_sources import AskedSource
from exact_points import check_balance
from exact_weights import ExactWeightModel
from fused_cases import many_dishes
from marginals import dirichlet_multinomial_log_marginal
from test_fused_bounds import check_bounds

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream
from hdpkit.testing.cases import TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, checked_matrix, step_matrices

ETA = [0.3, 1.1, 0.6]


def model_of(lengths, store="explicit", corner="discounts", values=(1, 1, 1, 0)):
    measure = hk.DirichletMultinomial(ETA, n_terms=3)
    documents = np.repeat(np.arange(len(lengths)), lengths).tolist()
    shape, these = TinyShape({"document": documents}, len(documents)), list(values[: len(documents)])
    franchise = tiny_franchise(shape, measure, store=store, kernel="fused", corner=corner, values=these)
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(ETA, 3))


def exact_steps(model, move, *, reversible=False):
    """Every step against the posterior, every branch of it audited."""

    def step(number):
        def apply(franchise, source):
            move.apply(franchise, source, (number, number + 1))
            franchise.audit()

        return apply

    # One after the other: the first rows that are wrong end the check.
    steps = range(move.n_steps(model.franchise))
    matrices = (checked_matrix(model, step(number), reversible) for number in steps)
    return check_exact(model, move, matrices=matrices, reversible=reversible)


def check_dish_gibbs():
    for store in STORES:
        exact_steps(model_of([2, 2], store), moves.DishGibbs())
    exact_steps(model_of([2, 1], corner="middle"), moves.DishGibbs())
    exact_steps(model_of([3, 1], values=[1, 0, 1, 1]), moves.DishGibbs())  # blocks of three


def check_dish_gibbs_under_weights():
    """Detailed balance of seating and weights together, births and deaths of dishes among them."""
    measure = hk.DirichletMultinomial(ETA, n_terms=3)
    for shape in ("2+1", "2+2"):
        franchise = tiny_franchise(
            shape, measure, store="explicit", kernel="fused", corner="discounts", root="weights"
        )
        model = ExactWeightModel(franchise, dirichlet_multinomial_log_marginal(ETA, 3))
        check_balance(model, moves.DishGibbs())


def check_sweeps_of_dish_gibbs():
    """A sweep is the product of its steps: what one table leaves to the next is right."""
    for values in ([1, 1, 1, 0], [2, 1, 1, 1]):
        model = model_of([2, 2], values=values)
        whole = model.matrix(lambda franchise, source: moves.DishGibbs().apply(franchise, source))
        steps = step_matrices(model, moves.DishGibbs())
        assert np.abs(whole - np.linalg.multi_dot(steps)).max() <= 1e-12


def check_split_merge():
    exact_steps(model_of([2, 2]), moves.SplitMerge(), reversible=True)
    exact_steps(model_of([2, 2], corner="middle"), moves.SplitMerge(scans=0), reversible=True)
    exact_steps(model_of([1, 1, 1]), moves.SplitMerge(scans=1), reversible=True)


def check_agreement():
    """Long blocks, side by side with the generic kernel."""
    for seed in (3, 7):
        franchise = state_number(seed, "explicit")
        twin, generator = twin_of(franchise), np.random.default_rng(seed)
        for move in (moves.DishGibbs(), Watched(), Watched(scans=1)):
            assert side_by_side(move, franchise, twin, generator) <= 1e-11


def check_bounds_after_moves():
    """What is remembered for the sweep of single customers is right after tables moved."""
    franchise = many_dishes("explicit")
    franchise.reseat(0, franchise.topology.n_customers, RandomStream((1, 1)))
    units, store = franchise.units(1), franchise.store
    dishes = franchise.unit_dishes(units)
    unit = next(u for u, dish in enumerate(dishes) if store.customers(0, dish) > 1)  # no dish dies
    elsewhere = int(franchise.slots.occupied_slots()[0] == dishes[unit])
    franchise.resample_dish(units, unit, unit + 1, AskedSource(lambda weights: elsewhere))
    franchise.reseat(0, 1, RandomStream((1, 2)))
    check_bounds(franchise)
