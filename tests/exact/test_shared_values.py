"""Values of the state that a measure reads: enumerated, kept, resumed, and what is refused."""

import math

import numpy as np
import pytest
from marginals import normal_log_marginal
from shared_values_checks import (
    DrawShift,
    DrawShiftOnTheLine,
    SharedModel,
    Shifted,
    shifted,
)
from state_homes_checks import StateHomesModel, sticky_franchise

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.random import RandomStream
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.geweke import check_together

MOVES = (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(scans=0), moves.ReseatGroups(scans=None))
WAYS = [("explicit", "auto"), ("histogram", "auto"), ("counts", "auto"), ("explicit-reference", "reference")]


@pytest.mark.parametrize("shape", ["flat 3", "2+1", "three levels of three"])
@pytest.mark.parametrize(("store", "kernel"), WAYS)
def test_seating_and_value_are_left_invariant(shape, store, kernel):
    model = SharedModel(shifted(shape, store=store, kernel=kernel))
    for move in (DrawShift(), *MOVES[: 1 if shape == "flat 3" else 4]):
        check_exact(model, move)


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_the_same_at_a_power(store):
    model = SharedModel(tiny_franchise("2+1", Shifted().tempered(0.4), store=store), 0.4)
    for move in (DrawShift(), *MOVES):
        check_exact(model, move)


def test_the_value_and_two_chains_of_a_hidden_markov_model():
    data = hk.Sequences.from_arrays([[0.3, 1.4], [-0.2]])
    franchise = sticky_franchise(hk.FixedWeights(3), 0.0, data, "counts", measure=Shifted(start=0.8))
    model = StateHomesModel(franchise, normal_log_marginal(0.8, 1.0, 0.7))
    check_exact(model, moves.TableGibbs())


def test_a_continuous_value_has_its_law():
    """Geweke's test: the scalars of parts are among its statistics."""
    cases = {store: shifted("2+1", store=store) for store in ("explicit", "counts")}
    assert check_together(cases, [moves.TableGibbs(), DrawShiftOnTheLine()], 100, 3, 0)


SCHEDULE = [moves.TableGibbs(), DrawShiftOnTheLine(), moves.SplitMerge(), moves.Concentration()]


def franchise_of(n=30):
    values = np.random.default_rng(1).normal(np.repeat([0.0, 3.0], n // 2))
    root = hk.Restaurant(Shifted(), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(root, hk.Groups.from_arrays([values]))


def test_a_transaction_and_a_failed_sweep_go_back():
    franchise = franchise_of()
    hk.Scheduler(SCHEDULE).run(franchise, sweeps=2, rng=1)
    before = franchise.log_joint(), franchise.measure.shift
    with pytest.raises(ZeroDivisionError):
        _change_and_fail(franchise)
    franchise.audit()
    assert (franchise.log_joint(), franchise.measure.shift) == before
    with pytest.raises(errors.ParameterError):
        hk.Scheduler([moves.TableGibbs(), Wrong()]).run(franchise, sweeps=1, init=None)
    franchise.audit()
    assert (franchise.log_joint(), franchise.measure.shift) == before


def _change_and_fail(franchise):
    with franchise.transaction():
        franchise.set_shared_value("shift", 9.0)
        franchise.reseat(0, 9, RandomStream((1, 1)))
        raise ZeroDivisionError


class Wrong(moves.Move):
    """Changes the value, and then gives one that isn't possible."""

    def apply(self, state, rng, steps=None):
        state.set_shared_value("shift", 2.0)
        state.set_shared_value("shift", math.inf)


def test_a_value_that_changes_within_a_block_at_a_power_stays():
    franchise, twin = shifted("3+3"), shifted("3+3")
    with franchise.at_power(0.5):
        franchise.set_shared_value("shift", 1.25)
        franchise.audit()
        half = franchise.log_likelihood()
    twin.set_shared_value("shift", 1.25)
    franchise.audit()
    assert franchise.log_joint() == twin.log_joint()
    assert half == 0.5 * twin.log_likelihood()
