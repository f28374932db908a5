"""State machines over franchises: every store, kernel and measure that combine, depths one to three."""

import numpy as np
import pytest
from bugs import BUGS
from franchise_machine import FRANCHISE_SHAPES, Watcher, run_franchise_machine
from planted import planted

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomial, DirichletMultinomialReference, base_measures
from hdpkit.errors import AuditError, HdpkitError
from hdpkit.stores import HistogramReference
from hdpkit.testing.cases import stores_and_kernels, tiny_franchise

MEASURES = {
    "compiled": DirichletMultinomial(0.5, n_terms=3),
    "Python": DirichletMultinomialReference([0.3, 1.1, 0.6], n_terms=3),
}
CASES = [
    (store, kernel, name)
    for name, measure in MEASURES.items()
    for store, kernel in stores_and_kernels(measure)
]


EXAMPLES = 20  # as many see what is planted below


@pytest.mark.parametrize(("store", "kernel", "measure"), CASES, ids=["-".join(case) for case in CASES])
def test_franchise_machine(store, kernel, measure):
    # A measure in Python is seen through its bank alone: what else there is runs over the compiled one.
    examples = EXAMPLES if measure == "compiled" else EXAMPLES // 2
    run_franchise_machine(store, kernel, MEASURES[measure], examples=examples, steps=30)


@pytest.mark.parametrize(
    "name", ["beta-bernoulli", "gamma-poisson", "normal-gamma", "normal-inverse-wishart"]
)
@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_franchise_machine_over_other_measures(store, name):
    vectors = base_measures[name].examples()[-1]
    run_franchise_machine(store, "generic", vectors, examples=EXAMPLES // 2, steps=30)


OBSERVED = list(stores_and_kernels(base_measures["uniform"].examples()[0]))


@pytest.mark.parametrize(("store", "kernel"), OBSERVED, ids=str)
def test_franchise_machine_over_observed_dishes(store, kernel):
    measure = base_measures["categorical" if store == "explicit" else "uniform"].examples()[0]
    run_franchise_machine(store, kernel, measure, examples=EXAMPLES, steps=30)


@pytest.mark.parametrize("name", ["observed dish dies", "only the dishes that are served"])
def test_machine_catches_dishes_that_come_and_go(name):
    bug = next(bug for bug in BUGS if bug.name == name)
    with planted(bug), pytest.raises((AssertionError, HdpkitError, ValueError)):
        run_franchise_machine(
            "explicit-reference", "reference", hk.Uniform(3), examples=EXAMPLES, shrink=False
        )


class KeepsATable(HistogramReference):
    """A removal that closes a table forgets to say so."""

    def remove(self, node, dish, customer, source):
        closed, code = super().remove(node, dish, customer, source)
        return closed and node != 1, code


def test_machine_catches_a_table_that_stays_in_the_parent():
    with pytest.raises(AuditError):
        run_franchise_machine(KeepsATable, "reference", examples=EXAMPLES, shrink=False)


def test_machine_catches_a_rejected_proposal_that_leaves_a_trace(monkeypatch):
    from hdpkit.moves.split_merge import SplitMerge

    original = SplitMerge._propose

    def propose(self, state, rng, units, a, b, *choice):
        accepted = original(self, state, rng, units, a, b, *choice)
        if not accepted and state.n_dishes > 1:
            state.move_units(units, np.array([a]), int(state.unit_dishes(units)[b]), rng)
        return accepted

    monkeypatch.setattr(SplitMerge, "_propose", propose)
    with pytest.raises(AssertionError):
        run_franchise_machine("explicit", examples=EXAMPLES, shrink=False)


def franchise_of_nine():
    return tiny_franchise(FRANCHISE_SHAPES["two levels"], MEASURES["compiled"], values=[0, 1, 2] * 3)


def test_a_held_slot_is_not_reused_until_released():
    franchise = franchise_of_nine()
    watcher = Watcher(franchise)
    franchise.register("watcher", watcher)
    view = franchise.restaurant("document", 0)
    view.unseat(0, 1)
    view.seat(0, 1, 1)  # a new dish, in slot 1
    watcher.keeping = True
    view.unseat(0, 1)
    assert franchise.slots.held_slots() == [1]
    view.seat(0, 1, 1)
    assert franchise.slots.occupied_slots().tolist() == [0, 2]
    franchise.audit()
    franchise.slots.release(1)
    watcher.keeping = False
    franchise.settle()
    assert watcher.known == {0, 1}
    franchise.audit()
