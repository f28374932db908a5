"""The sparse Dirichlet-multinomial: laws of dishes, stored proportions, their moves, drawn topics."""

import math

import numpy as np
import pytest
from exact_points import (
    check_balance,
    distribution,
    one_step_of_points,
    p_values_of_updates,
    spread_of_log_joint,
)
from exact_selection import SELECTION_P_VALUES, ExactSelectionModel
from marginals import selected_numbers, sparse_dirichlet_multinomial_log_marginal
from one_sample import one_sample_p

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import SparseDirichletMultinomialReference
from hdpkit.measures.selection import NAME
from hdpkit.random import Streams
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact
from hdpkit.testing.measure_contract import check_contract
from hdpkit.testing.pvalues import SampledTests

FAMILY = SampledTests()
SHAPES = (1.3, 0.8)
STORED = hk.SparseDirichletMultinomial(0.5, hk.Beta(*SHAPES), "stored", n_terms=3)
READABLE = SparseDirichletMultinomialReference(0.5, hk.Beta(*SHAPES), "stored", n_terms=3)
CELLS = [
    ("explicit", "generic", STORED),
    ("histogram", "generic", STORED),
    ("explicit", "reference", STORED),
    ("histogram-reference", "reference", READABLE),
    ("explicit-reference", "reference", READABLE),
]
DISCOUNTS = Corner(0.8, 0.4, 0.3, 0.6)


def tiny(shape, store="histogram", kernel="auto", measure=STORED, **options):
    return tiny_franchise(shape, measure, store=store, kernel=kernel, **options)


@pytest.mark.parametrize("shape", ["flat 3", "2+1", "three levels of three"])
@pytest.mark.parametrize(("store", "kernel", "measure"), CELLS, ids=str)
def test_steps_of_gibbs_moves_are_reversible_for_seating_and_proportions(store, kernel, measure, shape):
    model = ExactSelectionModel(tiny(shape, store, kernel, measure, corner=DISCOUNTS))
    assert check_balance(model, moves.TableGibbs()) > len(model.states)
    if not shape.startswith("flat"):
        assert check_balance(model, moves.DishGibbs()) > len(model.states)


def readable(shape, measure=READABLE, values=None):
    return tiny(shape, "explicit-reference", "reference", measure, corner=DISCOUNTS, values=values)


def check_selected_terms():
    """Steps of moves leave the posterior alone, whose marginals go through all subsets of the vocabulary."""
    for selection, law in ((hk.Beta(*SHAPES), {"shapes": SHAPES}), (0.4, {"proportion": 0.4})):
        measure = SparseDirichletMultinomialReference(0.5, selection, n_terms=3)
        witness = sparse_dirichlet_multinomial_log_marginal(0.5, 3, **law)
        model = ExactModel(readable("2+1", measure), witness)
        for move in (moves.TableGibbs(), moves.DishGibbs()):
            check_exact(model, move)


def check_stored_selections():
    """Detailed balance of single steps in seating and proportions, births and deaths of dishes among them."""
    model = ExactSelectionModel(readable("2+1"))
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_balance(model, move)


def check_selectors():
    """Both moves leave the law of a dish's proportion alone; the joint one draws from it, whatever it was."""
    # Of a single term, so that there is more than one selection of a number of terms.
    model = ExactSelectionModel(readable("flat 3", values=[0, 0, 0]))
    alone = next(i for i, mixture in enumerate(model.mixtures) if len(mixture) == 1)

    def density(move, before, after):
        ends = model.transitions(move, 0, alone, [before], after)
        return sum(flow for flow, _ in ends.values())

    for before, after in ((0.3, 0.8), (0.9, 0.2)):
        there = model.density(alone, [before]) * density(moves.Selectors(), before, after)
        again = model.density(alone, [after]) * density(moves.Selectors(), after, before)
        assert there == pytest.approx(again, rel=1e-12)
        exact = model.density(alone, [after]) / model.pi[alone]
        assert density(moves.SelectorCounts(), before, after) == pytest.approx(exact, rel=1e-12)


def check_density_of_selections():
    """The log joint is that of the enumeration, with the density of the proportions."""
    for measure in (READABLE, STORED):
        model = ExactSelectionModel(tiny("2+1 with one at the root", "explicit", measure=measure))
        assert spread_of_log_joint(model) < 1e-9


def check_drawn_topics():
    """Topics drawn from a sample: their numbers of terms, and an entry's square, by enumeration."""
    V, terms, size = 5, [0, 2], 0.5
    corpus = hk.Corpus.from_documents([terms], n_terms=V)
    measure = hk.SparseDirichletMultinomial(size, hk.Beta(*SHAPES))
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1e-30), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0, init="one")
    number = np.array(selected_numbers(size, V, terms, SHAPES))
    number /= number.sum()
    sample, source = franchise.sample(), Streams(1).source(1)
    drawn = np.array([sample.draw_topics(source)[0] for _ in range(4000)])
    found = np.bincount(np.count_nonzero(drawn, axis=1), minlength=V + 1)
    assert one_sample_p(found, number) > 1e-6
    total, a = size * np.arange(V + 1) + 2.0, size + 1.0
    square = float(number @ (a * (a + 1.0) / (total * (total + 1.0))))
    for entries in (drawn[:, 0], sample.topic_law(0).draw_each(np.array([0]), 40_000, source)[0]):
        error = (entries**2).std() / len(entries) ** 0.5
        assert abs((entries**2).mean() - square) < 5.0 * error


def check_contract_of_selections():
    """Predictives sum to the probability that a term is selected, and values are drawn given that one is."""
    check_contract(SparseDirichletMultinomialReference(0.5, hk.Beta(*SHAPES), n_terms=3))


MOVES = {
    "TableGibbs": moves.TableGibbs(),
    "DishGibbs": moves.DishGibbs(),
    "SplitMerge": moves.SplitMerge(),
    "SplitMerge by scans": moves.SplitMerge(scans=1),
    "ReseatGroups": moves.ReseatGroups(),
    "Selectors": moves.Selectors(),
    "SelectorCounts": moves.SelectorCounts(),
    "a schedule": [moves.TableGibbs(), moves.SplitMerge(), moves.DishGibbs(), moves.Selectors()],
}
ONE_STEP = {
    f"one step: {name}, {store}, {kernel}, {shape}": (move, shape, store, kernel, measure)
    for name, move in MOVES.items()
    for store, kernel, measure, shape in (
        ("histogram", "generic", STORED, "2+2"),
        ("explicit", "generic", STORED, "three levels of three"),
        ("explicit-reference", "reference", READABLE, "2+1"),
    )
}
ONE_STEP |= {
    f"one step: {name}, flat": (MOVES[name], "flat 4", "histogram", "generic", STORED)
    for name in ("TableGibbs", "SplitMerge", "Selectors", "SelectorCounts")
}
PRIOR = hk.Gamma(2.0, 2.0)
for name_ in ONE_STEP:
    FAMILY.register(name_, SELECTION_P_VALUES)


@pytest.mark.parametrize("name", ONE_STEP)
def test_one_step_from_exact_draws(name):
    move, shape, store, kernel, measure = ONE_STEP[name]
    model = ExactSelectionModel(tiny(shape, store, kernel, measure))
    draws = 500 if kernel == "generic" else 250
    FAMILY.check(name, lambda more, seed: one_step_of_points(model, move, draws * more, seed))


def law_of_selectors(move, given, seed):
    """How many terms a move selects in a dish of values [0, 0, 0], by the beta law that it draws from."""

    class Watched(hk.random.RandomStream):
        def log_beta(self, a, b, size=None):
            selected.append(round(a - 1.3))
            return super().log_beta(a, b, size)

    selected = []
    franchise = tiny("flat 3", values=[0, 0, 0])
    part, source = franchise.measure_parts[NAME], Watched((3, seed % 2**31))
    for _ in range(2000):
        part.table.set(0, math.log(given), math.log1p(-given))
        move.apply(franchise, source)
    return np.bincount(selected, minlength=4)


NUMBERS = {
    "numbers of selectors": (moves.Selectors(), {"proportion": 0.3}),
    "joint numbers": (moves.SelectorCounts(), {"shapes": (1.3, 0.8)}),
}
for name_ in NUMBERS:
    FAMILY.register(name_)


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_selected_terms(name):
    move, prior = NUMBERS[name]
    law = np.array(selected_numbers(0.5, 3, [0, 0, 0], **prior))
    FAMILY.check(
        name, lambda more, seed: [one_sample_p(law_of_selectors(move, 0.3, seed)[1:], law[1:] / law.sum())]
    )


SHAPE = hk.Gamma(3.0, 2.0)
CONDITIONALS = {
    "smoothing, integrated, by slice": (
        hk.SparseDirichletMultinomial(PRIOR, hk.Beta(1.3, 0.8), n_terms=3), "smoothing", moves.Smoothing(),
    ),
    "smoothing, stored, by a walk": (
        hk.SparseDirichletMultinomial(PRIOR, hk.Beta(1.3, 0.8), "stored", n_terms=3),
        "smoothing", moves.Smoothing("metropolis"),
    ),
    "smoothing, fixed, by slice": (
        hk.SparseDirichletMultinomial(PRIOR, 0.4, n_terms=3), "smoothing", moves.Smoothing(),
    ),
    "r, stored": (
        hk.SparseDirichletMultinomial(0.5, hk.Beta(SHAPE, 0.8), "stored", n_terms=3),
        "r", moves.BaseMeasureParameters(),
    ),
    "s, integrated": (
        hk.SparseDirichletMultinomial(0.5, hk.Beta(1.3, SHAPE), n_terms=3),
        "s", moves.BaseMeasureParameters(),
    ),
}  # fmt: skip
for name_ in CONDITIONALS:
    FAMILY.register(name_)


def log_conditional(franchise, name, value):
    """Log density of a parameter given the seating and the proportions, up to a constant."""
    measure = franchise.measure
    present = {**{key: float(x) for key, x in measure.parameters.items()}, name: value}
    proportions = [present.get("selection")] * franchise.n_dishes
    total = measure.priors[name].log_density(value)
    if franchise.measure_parts:
        proportions = franchise.measure_parts[NAME].proportions().tolist()
        total += sum(hk.Beta(present["r"], present["s"]).log_density(pi) for pi in proportions)
    shapes = None if proportions[0] is not None else (present["r"], present["s"])
    dishes, terms = franchise.dishes, np.asarray(franchise.data.values)
    for dish, pi in enumerate(proportions):
        values = terms[dishes == dish].tolist()
        total += math.log(sum(selected_numbers(present["smoothing"], 3, values, shapes, pi)))
    return total


@pytest.mark.parametrize("name", CONDITIONALS)
def test_one_update_from_exact_draws_of_a_parameter(name):
    measure, parameter, move = CONDITIONALS[name]
    franchise = tiny("2+2", "explicit", measure=measure, values=[0, 0, 1, 0])
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=1)
    grid = np.linspace(math.log(1e-4), math.log(60.0), 3000)  # of the logarithm; the law is flat in between
    law = distribution(lambda value: log_conditional(franchise, parameter, value), grid)

    def put(place, value):
        franchise.set_base_parameters(**{parameter: value})

    def get(place):
        return franchise.base_parameters[parameter]

    FAMILY.check(
        name,
        lambda more, seed: p_values_of_updates(franchise, move, [law], grid, 1000 * more, seed, put, get),
    )
