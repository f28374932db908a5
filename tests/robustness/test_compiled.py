"""Compiled code refuses empty, wrong and foreign arguments, and objects that were never initialised."""

import itertools

import attrs
import compiled_trials
import failing_allocations as runs
import numpy as np
import pytest
from hdpkit.measures._conjugate import BetaBernoulliBank
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from hdpkit.numerics import gamma_ratio, lgamma, rising
from hdpkit.stores._cells import dishes_of
from hdpkit.stores._labelled_seating import seat_out
from hdpkit.stores._seating import Seating

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError, HdpkitError, ParameterError, StateError
from hdpkit.franchise.shard_state import draw_shards
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.steps.fused import _fused_cells as fused_cells
from hdpkit.steps.fused import _fused_slices as fused_slices
from hdpkit.stores import CountsStore, ExplicitStore, HistogramStore

STORES = (ExplicitStore, HistogramStore, CountsStore)


def test_some_bad_calls():
    told = compiled_trials.campaign(240, 1, n_runs=3)
    assert len(told) > 200
    for one in told:
        assert not compiled_trials.is_fault(one), one


@pytest.mark.parametrize(
    "ends", [[], [(1.0, 0.0)], [()], [(1.0,), (2.0,)], None, 3, [("a", "b")] * 2, np.zeros((2, 3))]
)
def test_numbers_by_which_a_kernel_is_chosen(ends):
    bank = runs.franchise("histogram", "dm", 2).bank
    sparse = runs.franchise("histogram", "sparse", 2).bank
    calls = (
        lambda: bank.in_floats(ends, 1),
        lambda: bank.in_floats_given_weights(ends),
        lambda: sparse.in_floats(ends, 1.0),
    )
    for call in calls:
        with pytest.raises(ParameterError, match="ends"):
            call()


def test_what_was_never_initialised_can_t_be_made():
    makers = [
        kind for kind in compiled_trials.classes() if "Bank" in kind.__name__ or "Walk" in kind.__name__
    ]
    assert len(makers) >= 10
    for kind in makers:
        try:
            made = kind.__new__(kind)
        except TypeError:
            continue
        for call in (
            lambda m=made: m.relabelled([0]),
            lambda m=made: m.born(0),
            lambda m=made: m.counts([0]),
        ):
            with pytest.raises((HdpkitError, AttributeError)):
                call()


@pytest.mark.parametrize("kind", STORES)
def test_a_store_is_initialised_once(kind):
    store = kind(3, 2)
    with pytest.raises(StateError, match="once"):
        store.__init__(5, 7)
    assert store.n_nodes == 2


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("frozen", [None, [], {}, 3, np.zeros(3), {"dish": 1}, "dish", {0: 1}])
def test_a_store_thaws_what_a_store_froze(kind, frozen):
    with pytest.raises(DataError):
        kind(3, 2).thaw(frozen)


@pytest.mark.parametrize("store", ["histogram-reference", "explicit-reference", "counts-reference"])
def test_readable_stores_thaw_what_a_store_froze(store):
    state = runs.franchise(store, "dm", 2, n=12)
    good = state.store.freeze()
    for frozen in (None, [], {}, 3, np.zeros(3), dict.fromkeys(good), {n: ["a"] for n in good}):
        with pytest.raises(DataError):
            state.store.thaw(frozen)
    for name in good:
        with pytest.raises(HdpkitError):
            state.store.thaw({**good, name: np.full_like(good[name], -5)})
    state.store.thaw(good)
    state.audit()


def test_a_seating_of_counts_seats_nobody():
    store = Seating(3, 2)
    store.take_counts(*np.ones((4, 1), dtype=np.int32))
    for call in (
        lambda: store.size_counts([1]),
        lambda: store.table_sizes(1, 1),
        lambda: store.relabel_dishes([0, 1]),
    ):
        with pytest.raises(StateError, match="Seating"):
            call()


@pytest.mark.parametrize("source", [RandomStream(), ScriptedSource()])
def test_arguments_of_draws(source):
    for n in (np.inf, np.nan, 2**63, 10**30, 0, -1, None, "a", 1.5, True):
        with pytest.raises(ParameterError, match="n = "):
            source.index(n)
    for n in (2**63 - 1, np.inf, -1, None, "a"):
        with pytest.raises(ParameterError, match="n = "):
            source.permutation(n)
    for p in (-1.0, np.nan, None, "a", [0.5]):
        with pytest.raises(ParameterError, match="p = "):
            source.bernoulli(p)
    for weights in ([10**400], "a", None, [[1.0]], [], [[1], [1, 2]], {}):
        with pytest.raises(ParameterError, match="weights"):
            source.choose(weights)
        with pytest.raises(ParameterError, match="weights"):
            source.choose_log(weights)


def test_numbers_of_the_gamma_function():
    for x in (-1.0, -1e300, -np.inf):
        with pytest.raises(ValueError, match="must be"):
            lgamma(x)
    for a, x in ((0.5, -np.inf), (0.5, np.inf), (-1.0, 2.0), (np.nan, 1.0), (0.0, 0.0)):
        with pytest.raises(ValueError, match="must be"):
            gamma_ratio(a, x)
    with pytest.raises(ValueError, match="must be"):
        rising(0.5, 0.3, 2**62)


def test_values_of_a_bank():
    measure = hk.BetaBernoulli()
    for values in (1, [1, 0], [], np.zeros((2, 2, 2))):
        with pytest.raises(ParameterError, match="values"):
            BetaBernoulliBank(values, measure, None)
    bank = DirichletMultinomialBank([0, 1], [0.5, 0.5])
    for eta in ([0.5], [0.5] * 3):
        with pytest.raises(ParameterError, match="eta"):
            bank.adopt(attrs.evolve(hk.DirichletMultinomial(eta=0.5, n_terms=len(eta))))
    with pytest.raises(ParameterError, match="eta"):
        DirichletMultinomialBank([], [])


def test_draws_of_cells_are_of_a_stream():
    for source in (ScriptedSource([0]), compiled_trials.Liar()):
        with pytest.raises(ParameterError, match="source"):
            fused_cells.binomial(source, 5, 0.5, 3)
        with pytest.raises(ParameterError, match="source"):
            fused_cells.multinomial(source, 5, [0.5], 3)
    for n, p, size in ((-1, 0.5, 3), (5, np.nan, 3), (5, 2.0, 3), (5, 0.5, 0), (5, 0.5, -1)):
        with pytest.raises(ParameterError):
            fused_cells.binomial(RandomStream(), n, p, size)
    for weights in ([], [-1.0], [np.nan], [0.0]):
        with pytest.raises(ParameterError, match="weights"):
            fused_cells.multinomial(RandomStream(), 5, weights, 3)


def test_plans_of_sweeps_over_documents():
    state, other = runs.franchise("counts", "dm", 2), runs.franchise("counts", "dm", 2)
    draw_shards(state, RandomStream((1, 2)), "integrated", 1)
    plan, source = state._under_way
    work, walk = state._workspace, state.walk()
    arguments = {"walk": walk, "bank": state.bank, "work": work, "plan": plan, "source": source}
    huge = np.full_like(plan.slots, 2**30)
    changed = {
        "slots": [plan.slots[:0], plan.slots[::-1].copy(), plan.slots - 1, huge],
        "weights": [plan.weights[:1]], "least": [-1.0, float("nan")], "threads": [0, -1, 2**20],
        "topics": [np.zeros((1, 1))], "above": [np.zeros((1, 1))], "before": [-1],
    }  # fmt: skip
    for name, values in changed.items():
        for value in values:
            with pytest.raises((HdpkitError, ValueError, MemoryError)):
                fused_slices.sweep_shards(**{**arguments, "plan": attrs.evolve(plan, **{name: value})})
    for kind, verb in itertools.product(("work", "bank"), (fused_slices.sweep_shards,)):
        foreign = other._workspace if kind == "work" else other.bank
        with pytest.raises(HdpkitError):
            verb(**{**arguments, kind: foreign})
    for worker, n_workers in ((-1, 2), (2, 2), (0, 0)):
        with pytest.raises(ParameterError, match="worker"):
            work.share_topics(None, worker, n_workers)
    with pytest.raises(ParameterError):
        work.take_changes(8, 0, 2**62)


def test_seats_of_another_tree():
    state = runs.franchise("histogram", "dm", 2)
    frozen, t = state.store.freeze(), state.topology
    changed = {"parent": t.parent * 0 - 1, "level": t.level + 1}
    for name, value in changed.items():
        with pytest.raises(HdpkitError):
            seat_out(
                frozen, t.home, **{"parent": t.parent, "level": t.level, name: value}, source=RandomStream()
            )
    for name in frozen:
        for value in (-7, 2**31 - 1):
            bad = {**frozen, name: np.full_like(frozen[name], value)}
            with pytest.raises(HdpkitError):
                seat_out(bad, t.home, t.parent, t.level, RandomStream())


def test_runs_of_other_cells():
    state = runs.cells(2)
    moves.CountGibbs().apply(state, RandomStream((1, 2)))
    store = state.store
    good = (store.cells, *store.cell_runs(), store.frozen_key())
    assert np.array_equal(dishes_of(*good), store.dishes())
    for place in range(1, 5):
        for value in (good[place][:0], good[place] - 7, good[place][:-1]):
            if place == 2 and len(value) == len(good[place]):
                continue  # any number may be a dish
            if place == 4 and len(value) == 4:
                continue  # and any word of a key
            with pytest.raises(HdpkitError):
                dishes_of(*good[:place], value, *good[place + 1 :])
    for name in ("begin", "term", "count"):
        value = getattr(store.cells, name)
        with pytest.raises(HdpkitError):
            type(store)(store.n_customers, store.n_nodes).observe_cells(
                attrs.evolve(store.cells, **{name: value - 9})
            )
