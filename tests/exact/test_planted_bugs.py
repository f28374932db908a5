"""Tests of the tests: every planted bug makes the check that it names fail."""

import importlib
import itertools
import warnings
from pathlib import Path

import numpy as np
import pytest
from audited_steps import enumerate_steps
from bugs import BUGS
from franchise_machine import Watcher
from marginals import (
    beta_bernoulli_log_marginal,
    dirichlet_multinomial_log_marginal,
    gamma_poisson_log_marginal,
    normal_gamma_log_marginal,
    normal_inverse_wishart_log_marginal,
    von_mises_fisher_log_marginal,
)
from planted import checks_in, planted
from test_tempering import at_power_model

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import (
    BetaBernoulliReference,
    DirichletMultinomialReference,
    GammaPoissonReference,
    NormalGammaReference,
    NormalInverseWishartReference,
    VonMisesFisherReference,
)
from hdpkit.errors import HdpkitError
from hdpkit.franchise.starts import start
from hdpkit.moves import MoveInfo
from hdpkit.posterior.simulate import draw_seating
from hdpkit.random import STARTS, ScriptedSource, Streams
from hdpkit.stores import HistogramReference
from hdpkit.testing import measure_contract
from hdpkit.testing.cases import CORNERS, Corner, TinyShape, tiny_franchise
from hdpkit.testing.enumeration import log_likelihood, log_prior
from hdpkit.testing.exact import ExactModel, check_exact, checked_matrix, law_of

TABLES, HISTOGRAMS = "explicit-reference", "histogram-reference"
FOUR = TinyShape({"document": [0] * 4}, 4)  # without one of them, tables of sizes 1 and 2 are left


def tiny(shape, store=TABLES, corner="discounts", measure=None, **options):
    measure = measure or DirichletMultinomialReference(0.5, n_terms=3)
    return tiny_franchise(shape, measure, store=store, kernel="reference", corner=corner, **options)


def witnessed(shape, store=TABLES, corner="discounts", measure=None, eta=0.5, values=None):
    return ExactModel(
        tiny(shape, store, corner, measure, values=values), dirichlet_multinomial_log_marginal(eta, 3)
    )


# The smallest shapes come first: most bugs show there.


def check_table_gibbs():
    for shape, corner in (
        ("2+1", "discounts"),
        ("2+1 with one at the root", "middle"),
        ("three levels", "discounts"),
    ):
        enumerate_steps(witnessed(shape, corner=corner), moves.TableGibbs())


def check_table_gibbs_of_four():
    enumerate_steps(witnessed(FOUR), moves.TableGibbs())


def check_table_gibbs_on_histograms():
    enumerate_steps(witnessed(FOUR, HISTOGRAMS), moves.TableGibbs())


def check_concentrations_below_zero():
    for below in (0.0, -0.2):
        corner = Corner(-0.1, below, 0.3, 0.6)
        enumerate_steps(witnessed("2+1 with one at the root", corner=corner), moves.TableGibbs())


def check_asymmetric_prior():
    eta = [0.3, 1.1, 0.6]
    measure = DirichletMultinomialReference(eta, n_terms=3)
    enumerate_steps(witnessed("2+1 with one at the root", measure=measure, eta=eta), moves.TableGibbs())


def check_dish_gibbs():
    for shape in ("2+2", "three levels"):
        # A table of two equal words, and another of them that eats elsewhere.
        enumerate_steps(witnessed(shape, values=[0, 0, 0, 1]), moves.DishGibbs())


def check_dish_gibbs_sweep():
    # A whole application: the order of its steps is part of it.
    model = witnessed("2+2")
    whole = checked_matrix(model, lambda franchise, source: moves.DishGibbs().apply(franchise, source))
    check_exact(model, moves.DishGibbs(), matrices=[whole])
    assert np.abs(whole - enumerate_steps(model, moves.DishGibbs())).max() <= 1e-12


def check_split_merge():
    for shape in ("flat 3", "flat 4", "2+2"):
        enumerate_steps(witnessed(shape), moves.SplitMerge(), reversible=True)


def check_split_merge_by_scans():
    for shape, scans in (("flat 3", 0), ("flat 3", 1), ("flat 4", 0)):
        enumerate_steps(witnessed(shape), moves.SplitMerge(scans=scans), reversible=True)


def check_split_merge_of_candidates():
    for shape, scans, candidates in (
        ("flat 3", 0, 9),
        ("2+1", 0, 9),
        ("2+2", 0, 9),
        ("flat 4", 0, 2),
        ("flat 4", None, 9),
    ):
        move = moves.SplitMerge(scans=scans, candidates=candidates)
        enumerate_steps(witnessed(shape), move, reversible=True)


def check_reseat_groups():
    for shape in ("2+1", "2+1 with one at the root"):
        enumerate_steps(witnessed(shape), moves.ReseatGroups(scans=None), reversible=True)


def check_reseat_groups_by_scans():
    model = witnessed(TinyShape({"document": [0, 0, 1]}, 3))
    enumerate_steps(model, moves.ReseatGroups(scans=0), reversible=True)


def check_allocation():
    """Sequential allocation is what it is said to be: (|A| - d0) DM(n_A + c) / DM(n_A), step by step."""
    franchise = tiny("flat 5")
    log_marginal = dirichlet_multinomial_log_marginal(0.5, 3)
    values, discount = list(franchise.data.values), CORNERS["discounts"].root_discount
    with franchise.labelled_seating(ScriptedSource()):
        units = franchise.units(1, with_customers=True)
        for rest in itertools.product((0, 1), repeat=3):
            members = [[0], [1]]
            expected = 0.0
            for unit, side in zip((2, 3, 4), rest, strict=True):
                logs = []
                for these in members:
                    inside = [values[i] for i in these]
                    grown = log_marginal([*inside, values[unit]]) - log_marginal(inside)
                    logs.append(np.log(len(these) - discount) + grown)
                expected += logs[side] - np.logaddexp(*logs)
                members[side].append(unit)
            sides = np.array([0, 1, -1, -1, -1], dtype=np.int8)
            with franchise.reserved(2) as slots:
                for slot, unit in zip(slots, (0, 1), strict=True):
                    franchise.add_units(units, np.array([unit]), slot)
                log_q = franchise.scan_units(
                    units, np.arange(2, 5), sides, np.array([1, 1]), slots,
                    np.array([0, 1, *rest], dtype=np.int8), ScriptedSource(),
                )  # fmt: skip
            assert abs(log_q - expected) <= 1e-12


def check_draw_of_sizes():
    """Sharing a table of histograms: size s with weight (s - d) times the number of such tables."""

    def join(source):
        store = HistogramReference(6, 1)
        bins = {"bin_node": [0, 0], "bin_dish": [0, 0], "bin_size": [1, 3], "bin_count": [2, 1]}
        frozen = {name: np.array(column, dtype=np.int32) for name, column in bins.items()}
        store.thaw({"dish": np.array([0, 0, 0, 0, 0, -1], dtype=np.int32), **frozen})
        store.join(0, 0, 5, 0.6, source)
        return tuple(store.table_sizes(0, 0).tolist())

    assert law_of(join) == pytest.approx({(1, 2, 3): 0.8 / 3.2, (1, 1, 4): 2.4 / 3.2}, abs=1e-12)


class Grid:
    """In place of a generator: uniform numbers (i + 1/2) / n, in order."""

    def __init__(self, n):
        self.numbers = ((np.arange(n) + 0.5) / n).tolist()

    def random(self):
        return self.numbers.pop(0)


def check_simulated_terms():
    measure = DirichletMultinomialReference([0.5, 1.0, 0.5], n_terms=3)
    statistics = measure.make()
    for value in (0, 1, 1):
        measure.add(statistics, value)
    grid = Grid(1000)
    drawn = np.bincount([measure.simulate(statistics, grid) for _ in range(1000)], minlength=3)
    assert drawn.tolist() == [300, 600, 100]


def check_chain_rule():
    model = at_power_model("bits by four methods", 1.0, "2+2", store=TABLES, kernel="reference")
    enumerate_steps(model, moves.DishGibbs())


NORMALS = {
    NormalGammaReference(0.2, 0.5, 1.5, 0.8): normal_gamma_log_marginal,
    NormalGammaReference([0.2, -0.4], 0.7, [1.5, 2.0], 0.8, 1.7): normal_gamma_log_marginal,
}
WISHARTS = {
    NormalInverseWishartReference(
        [0.2, -0.4], 0.7, 3.5, [[1.2, 0.4], [0.4, 0.9]], 1.7
    ): normal_inverse_wishart_log_marginal
}
DIRECTIONS = {VonMisesFisherReference(2.5, [0.6, -0.8], 0.7): von_mises_fisher_log_marginal}
COUNTS = {GammaPoissonReference([1.5, 0.6], 0.8): gamma_poisson_log_marginal}
BITS = {BetaBernoulliReference([0.7, 0.4, 1.0], [1.2, 0.9, 0.5]): beta_bernoulli_log_marginal}


def enumerate_measures(measures):
    """Every seating move step by step, against marginals that don't know the measure's code."""
    for measure, log_marginal in measures.items():
        for move in (moves.TableGibbs(), moves.DishGibbs()):
            franchise = tiny("2+1", measure=measure, corner="middle")
            enumerate_steps(ExactModel(franchise, log_marginal(**measure.parameters)), move)


def check_normal_measures():
    enumerate_measures(NORMALS)


def check_wishart_measures():
    enumerate_measures(WISHARTS)


def check_direction_measures():
    enumerate_measures(DIRECTIONS)


def check_count_measures():
    enumerate_measures(COUNTS)


def check_bit_measures():
    enumerate_measures(BITS)


def check_normal_removals():
    """Statistics after a removal are those of what is left."""
    for measure in (*NORMALS, *WISHARTS):
        values = list(measure.example_values())
        for left in range(5):
            statistics, expected = measure.make(), measure.make()
            for value in values:
                measure.add(statistics, value)
            kept = measure.copy(statistics)
            for value in values[left:]:
                measure.remove(statistics, value)
            for value in values[:left]:
                measure.add(expected, value)
            assert statistics.mean == pytest.approx(expected.mean, abs=1e-12)
            assert statistics.scatter == pytest.approx(expected.scatter, abs=1e-12)
            assert kept.n == 5
            assert kept.mean == pytest.approx(np.mean(values, axis=0), abs=1e-12)


def check_contracts(measures):
    """What `check_base_measure` sees before any move runs: chain rules, marginals, totals, simulation."""
    for measure in measures:
        measure_contract.check_contract(measure)


def check_contract_of_normals():
    check_contracts(list(NORMALS)[:1])


def check_contract_of_wisharts():
    check_contracts(WISHARTS)


def check_contract_of_directions():
    check_contracts(DIRECTIONS)


def check_contract_of_counts():
    check_contracts(COUNTS)


def check_contract_of_bits():
    check_contracts(BITS)


def check_scores():
    log_marginal = dirichlet_multinomial_log_marginal(0.5, 3)
    for corner in ("middle", "discounts"):
        model = witnessed("2+2", corner=corner)
        theta, d = model.franchise.hyperparameters.theta.tolist(), model.franchise.hyperparameters.d.tolist()
        for number, key in enumerate(model.states):
            franchise = model.enter(number)
            assert abs(franchise.log_seating() - log_prior(key, model.shape, theta, d)) <= 1e-12
            assert abs(franchise.log_likelihood() - log_likelihood(key, model.values, log_marginal)) <= 1e-12


def check_prior_draws():
    model = witnessed("2+1 with one at the root")
    theta, d = model.franchise.hyperparameters.theta.tolist(), model.franchise.hyperparameters.d.tolist()
    prior = np.exp([log_prior(key, model.shape, theta, d) for key in model.states])
    assert abs(prior.sum() - 1.0) <= 1e-12
    assert np.abs(model.matrix(draw_seating) - prior).max() <= 1e-12


def check_components():
    franchise = tiny("3+2", corner="many dishes, few tables")
    franchise.register("watcher", Watcher(franchise))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()])
    schedule.run(franchise, 5, rng=1, init=np.arange(5), audit_every=1)
    early = franchise.freeze()
    schedule.run(franchise, 15, rng=2, init="one", audit_every=1)
    franchise.thaw(early)
    franchise.audit()


def check_held_slots():
    source = Streams(0).source(STARTS)
    franchise = tiny("flat 4")
    start(franchise, [0, 1, 2, 2], source)
    watcher = Watcher(franchise)
    franchise.register("watcher", watcher)
    watcher.keeping = True
    root = franchise.restaurant("root")
    root.unseat(1, source)  # its dish dies, and slot 1 is held
    root.seat(1, 0, source)
    assert franchise.slots.held_slots() == [1]
    twin = franchise.copy()
    assert twin.slots.held_slots() == [1]
    assert twin.open_dish() == franchise.open_dish() == 3


def check_resumed_runs():
    """run(6) = run(3), freeze, thaw elsewhere, run(3), bit for bit; and a frozen state stays as it was."""
    priors = (hk.Gamma(1.0, 1.0), hk.Gamma(2.0, 0.2))
    schedule = hk.Scheduler(
        [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
    )
    one_document = TinyShape({"document": [0] * 12}, 12)
    for store, seed in itertools.product((TABLES, HISTOGRAMS), range(3)):
        franchise, twin = (
            tiny(one_document, store, concentration=priors, values=np.arange(12) % 3) for _ in range(2)
        )
        schedule.run(franchise, 3, rng=seed)
        half = franchise.freeze()
        schedule.run(franchise, 3, init=None)
        twin.thaw(half)
        schedule.run(twin, 3, rng=seed, init=None)
        assert twin.log_joint() == franchise.log_joint()
        a, b = franchise.freeze(), twin.freeze()
        assert a["sweep"] == b["sweep"] == 6
        assert np.array_equal(a["concentration"], b["concentration"])
        assert all(np.array_equal(a["seating"][name], b["seating"][name]) for name in a["seating"])


class Words(hk.moves.Move):
    """Draws words and writes them down; in some sweeps Ctrl-C comes after that."""

    def __init__(self, interrupted=()):
        self.words = {}
        self.sweeps = []
        self.interrupted = list(interrupted)

    def apply(self, state, rng, steps=None):
        drawn = rng.generator.integers(0, 2**62, size=4).tolist()
        self.words.setdefault(state.sweep + 1, []).append(drawn)
        self.sweeps.append(state.sweep + 1)
        if state.sweep + 1 in self.interrupted:
            self.interrupted.remove(state.sweep + 1)
            raise KeyboardInterrupt
        return MoveInfo(1, 1)


def check_streams():
    """No word is used twice, except in a sweep that is repeated after Ctrl-C, which has the same words."""
    franchise = tiny("flat 4")
    first, second = Words(interrupted=[2, 3]), Words(interrupted=[2])
    schedule = hk.Scheduler([first, second])
    schedule.run(franchise, 4, rng=1)
    while franchise.sweep < 4:
        schedule.run(franchise, 4 - franchise.sweep, init=None)
    tries = [drawn for move in (first, second) for drawn in move.words.values()]
    assert all(one == drawn[0] for drawn in tries for one in drawn)
    words = [word for drawn in tries for word in drawn[0]]
    assert first.sweeps == [1, 2, 2, 2, 3, 3, 4]
    assert len(set(words)) == len(words)


def check_time_tables():
    tables = {
        (3, 6): lambda move: move.every(3),
        (1, 2): lambda move: move.until(2),
        (6, 7): lambda move: move.after(5),
        (4, 6): lambda move: move.every(2).after(3).until(6),
        (2, 2, 2): lambda move: move.repeat(3).after(1).until(2),
    }
    for sweeps, when in tables.items():
        move = Words()
        hk.Scheduler([when(move)]).run(tiny("flat 4"), 7, rng=1)
        assert tuple(move.sweeps) == sweeps


def check_combinators():
    model = witnessed(TinyShape({"document": [0, 0, 1]}, 3))

    def matrix(move):
        return model.matrix(lambda franchise, source: move.apply(franchise, source))

    dish, split = moves.DishGibbs(), moves.SplitMerge()
    of_dish, of_split = matrix(dish), matrix(split)
    mixture = matrix(hk.Mixture([(dish, 1.0), (split, 3.0)]))
    assert np.abs(mixture - (of_dish + 3.0 * of_split) / 4.0).max() <= 1e-12
    assert np.abs(matrix(dish.repeat(2)) - of_dish @ of_dish).max() <= 1e-12


HERE = Path(__file__).parent
PLACES = [*HERE.glob("test_*.py"), *HERE.with_name("support").glob("*_checks.py")]
CHECKS = {}
for path in sorted(PLACES):
    if "\ndef check_" in path.read_text(encoding="utf-8"):
        CHECKS |= checks_in(importlib.import_module(path.stem))


SLOW = (
    "check_choices_of_parents", "check_kept_parameters_of_sequences",
    "check_left_to_right", "check_predictions", "check_sequences", "check_split_merge_of_candidates",
    "check_start_row_of_sequences", "check_tempered_in_python",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in CHECKS]
)
def test_check_passes_on_healthy_code(name):
    CHECKS[name]()


QUICK = ("tokens for tables in m", "table as a product of its words", "q left out", "shape grows by n")


@pytest.mark.parametrize(
    "bug",
    [pytest.param(bug, marks=pytest.mark.quick if bug.name in QUICK else (), id=bug.name) for bug in BUGS],
)
def test_planted_bug_is_caught(bug):
    with planted(bug), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the check must fail, not a filter of warnings
        # ValueError: numbers out of the range of a function of hdpkit.numerics.
        with pytest.raises((AssertionError, HdpkitError, ValueError)):
            CHECKS[bug.caught_by]()


def test_there_are_bugs_enough_and_each_has_its_place():
    assert len(BUGS) >= 30
    assert len({bug.name for bug in BUGS}) == len(BUGS)
    for bug in BUGS:
        healthy, mutated = bug.sources()
        assert healthy.count(bug.old) == 1
        assert mutated != healthy
    assert {bug.caught_by for bug in BUGS} == set(CHECKS)  # a check that catches nothing is no check


def test_healthy_code_comes_back_also_after_an_exception():
    bug = next(bug for bug in BUGS if bug.name == "scale for rate")
    draw = hk.Gamma._draw
    code = draw.__code__

    def fail():
        assert hk.Gamma._draw is draw
        assert draw.__code__ is not code
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"), planted(bug):
        fail()
    assert draw.__code__ is code
