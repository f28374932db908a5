"""Checks of the fused steps of blocks, which planted faults name."""

import itertools
from functools import partial

import numpy as np
from audited_steps import enumerate_steps
from choice_sources import AskedSource
from exact_points import check_balance
from exact_weights import ExactWeightModel
from fused_cases import franchise_over, many_dishes
from marginals import dirichlet_multinomial_log_marginal
from test_fused_blocks import STORES, Watched, side_by_side, state_number, twin_of
from test_fused_bounds import check_bounds

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream
from hdpkit.steps.fused import _fused_blocks as fused_blocks
from hdpkit.testing.cases import TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactModel, step_matrices
from hdpkit.testing.machines import same

ETA = [0.3, 1.1, 0.6]


def model_of(lengths, store="explicit", corner="discounts", values=(1, 1, 1, 0)):
    measure = hk.DirichletMultinomial(ETA, n_terms=3)
    documents = np.repeat(np.arange(len(lengths)), lengths).tolist()
    shape, these = TinyShape({"document": documents}, len(documents)), list(values[: len(documents)])
    franchise = tiny_franchise(shape, measure, store=store, kernel="fused", corner=corner, values=these)
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(ETA, 3))


def check_dish_gibbs():
    for store in STORES:
        enumerate_steps(model_of([2, 2], store), moves.DishGibbs())
    enumerate_steps(model_of([2, 1], corner="middle"), moves.DishGibbs())
    enumerate_steps(model_of([3, 1], values=[1, 0, 1, 1]), moves.DishGibbs())  # blocks of three


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
    enumerate_steps(model_of([2, 2]), moves.SplitMerge(), reversible=True)
    enumerate_steps(model_of([2, 2], corner="middle"), moves.SplitMerge(scans=0), reversible=True)
    enumerate_steps(model_of([1, 1, 1]), moves.SplitMerge(scans=1), reversible=True)


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


def many_topics(store, above="restaurant", measure=None):
    """Some two hundred dishes, each with few terms and others near: most tables can have only few of them."""
    generator = np.random.default_rng(11)
    documents = [
        6 * generator.choice(250, size=4)[generator.integers(0, 4, size=60)]
        + generator.integers(0, 9, size=60)
        for _ in range(150)
    ]
    data = hk.Corpus.from_documents(documents, n_terms=1503)
    settings = {"root": (40.0, 0.0), "below": (2.0, 0.0), "init": hk.init.TermClusters(250)}
    return franchise_over(data, store, eta=0.05, above=above, measure=measure, **settings)


def check_bounds_of_units(franchise):
    """No weight is above its bound, at any table that others of its dish outlive. Nothing changes."""
    units = franchise.units(1)
    live = franchise.slots.occupied_slots()
    for unit, dish in enumerate(franchise.unit_dishes(units)):
        if franchise.store.customers(0, dish) == 1:
            continue
        own, asked = int(np.searchsorted(live, dish)), []
        bound = fused_blocks.bounds(franchise.walk(), franchise.bank, units, unit)

        def ask(weights, own=own, asked=asked):
            asked.append(weights)
            return own

        franchise.resample_dish(units, unit, unit + 1, AskedSource(ask))
        weights = asked[0][:-1]
        others = weights > 0.0
        others[own] = False
        assert np.all(np.log2(weights[others] / weights[own]) <= bound[live][others]), unit


def long_blocks():
    """Tables with more terms, and with more repetitions of one, than sums of 16 bits have room for."""
    documents = [[*np.repeat([j % 2, 2, 3], [200, 24, 600]), *range(4, 1204)] for j in range(6)]
    data = hk.Corpus.from_documents(documents, n_terms=1204)
    return franchise_over(data, "explicit", eta=0.01, root=(1.0, 0.0), below=(0.01, 0.0))


def check_block_bounds():
    """Bounds of dish Gibbs hold whatever happens between its draws, births and deaths of dishes among it."""
    check_bounds_of_units(long_blocks())
    for seed in (0, 2, 3, 6):
        franchise, source = state_number(seed, "explicit"), RandomStream((seed, 8))
        eta = franchise.measure.eta_vector
        for between in (
            lambda: None,
            lambda source=source, franchise=franchise: moves.SplitMerge().apply(franchise, source),
            lambda eta=eta, franchise=franchise: franchise.bank.adopt(
                hk.DirichletMultinomial(eta / 20.0, len(eta))
            ),
            franchise.settle,
        ):
            between()
            check_bounds_of_units(franchise)
            moves.DishGibbs().apply(franchise, source)
            check_bounds_of_units(franchise)


def check_bounded_chain():
    """Every dish that is drawn with bounds is the one drawn without."""
    passes = 12
    bursty = hk.Bursty(hk.DirichletMultinomial(0.05), 50.0, discount=0.1)
    for above, measure in itertools.product(("restaurant", "weights"), (None, bursty)):
        bounded = many_topics("explicit", above, measure)
        complete = bounded.copy()
        sides = [(bounded, True, RandomStream((3, 9))), (complete, False, RandomStream((3, 9)))]
        for _ in range(passes):
            for franchise, with_bounds, source in sides:
                assert franchise.kernel("resample_dish") == "fused"
                key = next(key for key in franchise._kernels if key[0].name == "resample_dish")
                franchise._kernels[key] = ("fused", partial(fused_blocks.resample_dish, bounded=with_bounds))
                units = franchise.units(1)
                franchise.resample_dish(units, 0, len(units), source)
            assert same(bounded.seating.freeze(), complete.seating.freeze())
            assert same(bounded.bank.freeze(), complete.bank.freeze())
        assert fused_blocks.computed_units(complete.units(1)) == 0
        units = bounded.units(1)
        most = passes * len(units) / (2 if measure is None else 1)
        assert 0 < fused_blocks.computed_units(units) < most
