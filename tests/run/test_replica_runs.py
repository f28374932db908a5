"""Runs with replica exchange: traces, folders, chains, and what is refused."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.moves import Move, MoveInfo

COUNTS = np.array([[3, 1, 0], [0, 2, 2], [1, 0, 4], [2, 2, 1]])
POWERS = (1.0, 0.6, 0.3)
BY_CELL = [moves.CountGibbs(), moves.RootWeights(), moves.Concentration()]
SCHEDULES = {
    "tables": ("histogram", "restaurant", [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]),
    "slices": ("counts", "weights", [moves.SliceGibbs(), moves.TableCounts(), moves.RootWeights()]),
    "cells": ("counts", "weights", [*BY_CELL, moves.BaseMeasureParameters()]),
}


def franchise_of(store="counts", root="weights", eta=None):
    measure = hk.DirichletMultinomial(hk.Gamma(1.0, 1.0) if eta is None else eta)
    base = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=base, concentration=0.7, each="document")
    return hk.Franchise(document, hk.Corpus.from_counts(COUNTS), store=store, root=root)


def schedule_of(case, **options):
    store, root, schedule = SCHEDULES[case]
    exchange = moves.ReplicaExchange(POWERS)
    return franchise_of(store, root), [*schedule, exchange.every(2) if options.get("every") else exchange]


def same(one, other):
    assert one.keys() == other.keys()
    for key in one:
        assert np.array_equal(one[key], other[key]), key


def rows(trace):
    return trace.moves[["move", "sweep", "tried", "accepted"]].tolist()


@pytest.mark.parametrize("case", SCHEDULES)
def test_a_seed_gives_a_chain_and_the_trace_is_that_of_power_1(case):
    franchise, schedule = schedule_of(case)
    trace = hk.Scheduler(schedule).run(franchise, 40, rng=1, audit_every=5)
    again = hk.Scheduler(schedule).run(schedule_of(case)[0], 40, rng=1)
    same(trace, again)
    assert rows(trace) == rows(again)
    assert type(franchise.measure) is hk.DirichletMultinomial
    assert trace["log_likelihood"][-1] == franchise.log_likelihood()
    pairs = [row for row in trace.moves if row["move"].startswith("ReplicaExchange")]
    assert {str(row["move"]) for row in pairs} == {"ReplicaExchange 1.0 0.6", "ReplicaExchange 0.6 0.3"}
    assert all(row["tried"] == 1 for row in pairs)
    assert [row["sweep"] for row in pairs] == list(range(1, 41))
    assert 5 < sum(row["accepted"] for row in pairs) <= 40
    assert set(trace["replicas/walker"]) == {0.0, 1.0, 2.0}


@pytest.mark.parametrize("case", SCHEDULES)
def test_a_run_goes_on_bit_for_bit(case, tmp_path):
    franchise, schedule = schedule_of(case)
    whole = hk.Scheduler(schedule).run(franchise, 30, rng=1)
    # In memory.
    other = schedule_of(case)[0]
    hk.Scheduler(schedule).run(other, 17, rng=1)
    rest = hk.Scheduler(schedule).run(other, 13, init=None)
    assert np.array_equal(rest["log_joint"], whole["log_joint"][17:])
    # From a folder.
    stop = {"callbacks": [lambda draw: draw.sweep == 17]}
    hk.Scheduler(schedule).run(schedule_of(case)[0], 30, rng=1, folder=tmp_path / "run", **stop)
    resumed = hk.open_run(tmp_path / "run").resume()
    same(resumed, whole)
    assert rows(resumed) == rows(whole)
    there = hk.open_run(tmp_path / "run").franchise()
    assert there.log_joint() == franchise.log_joint()
    assert "replicas" not in there.components


def test_a_franchise_alone():
    franchise, schedule = schedule_of("cells")
    hk.Scheduler(schedule).run(franchise, 3, rng=1)
    twin = franchise.copy()
    assert "replicas" in franchise.parts
    assert "replicas" not in twin.parts
    assert twin.log_joint() == franchise.log_joint()
    with pytest.raises(errors.ScheduleError, match="powers"):
        hk.Scheduler([*BY_CELL, moves.ReplicaExchange((1.0, 0.5))]).run(franchise, 3, rng=1)
    hk.Scheduler([*BY_CELL, moves.ReplicaExchange((1.0, 0.5))]).run(twin, 3, rng=1)
    frozen = franchise.freeze()
    frozen["components"]["replicas"]["walkers"] = np.array([0, 0, 7])
    with pytest.raises(errors.HdpkitError, match="walkers"):
        franchise.thaw(frozen)


class Fails(Move):
    """Raises an error in a sweep of a further chain, once."""

    by_cell = True
    to_raise = None

    def apply(self, state, rng, steps=None):
        error = Fails.to_raise
        if error is not None and "replicas" not in state.parts and state.sweep == 7:
            Fails.to_raise = None
            raise error
        return MoveInfo()


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_after_an_error_in_a_further_chain_a_run_goes_on(error, tmp_path):
    scheduler = hk.Scheduler([*BY_CELL[:2], Fails(), BY_CELL[2], moves.ReplicaExchange(POWERS)])
    whole = scheduler.run(franchise_of(), 20, rng=1)
    franchise, Fails.to_raise = franchise_of(), error()
    expected = pytest.raises(error)
    if error is KeyboardInterrupt:
        expected = pytest.warns(errors.InterruptedRunWarning)
    with expected:
        scheduler.run(franchise, 20, rng=1, folder=tmp_path / "run")
    franchise.audit()
    run = hk.open_run(tmp_path / "run", allow=[Fails])
    assert run.sweeps == [7]
    resumed = run.resume()
    same(resumed, whole)
    assert rows(resumed) == rows(whole)
