"""Powers of the likelihood over any measure: moves, blocks, exchanges and what is refused, by enumeration."""

import math

import numpy as np
import pytest
from state_homes_checks import StateHomesModel, sticky_franchise
from tempering_checks import (
    BITS,
    WITNESSED,
    AtPower,
    at_power_model,
    tempered_case,
)

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import NormalGammaReference
from hdpkit.moves.replica_exchange import tempered
from hdpkit.random import RandomStream
from hdpkit.testing import check_move
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import TOLERANCE, check_exact
from hdpkit.testing.exact_models import ExactParameterModel

MOVES = (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.ReseatGroups(scans=None))
SHAPES = ("flat 3", "2+1", "three levels of three", "2+1 with one at the root")
WAYS = (("explicit", "auto"), ("histogram", "auto"), ("counts", "auto"), ("explicit-reference", "reference"))


CASES = [("normal", shape) for shape in SHAPES] + [(name, "2+1") for name in WITNESSED if name != "normal"]


@pytest.mark.parametrize(("name", "shape"), CASES)
@pytest.mark.parametrize(("store", "kernel"), WAYS)
def test_moves_leave_the_posterior_at_a_power_invariant(name, shape, store, kernel):
    model = tempered_case(name, 0.35, shape, store=store, kernel=kernel)
    for move in MOVES[:1] if shape == "flat 3" else MOVES:
        check_exact(model, move)


@pytest.mark.parametrize("name", ["normal", "bits by four methods"])
@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_steps_within_a_block_are_at_its_power(name, store):
    model = at_power_model(name, 0.35, store=store)
    for move in MOVES:
        check_exact(model, AtPower(move, 0.35))


@pytest.mark.parametrize("move", MOVES[:2], ids=repr)
def test_what_a_tempered_measure_serves_is_exact_over_everything(move):
    """Every store and kernel, weights of the root, hidden Markov models, held groups."""
    assert check_move(move, measure=BITS.tempered(0.6), shapes=["2+1"], corners=["discounts"])


@pytest.mark.parametrize("name", ["bits by four methods", "counts"])
@pytest.mark.parametrize("arrays", [[[0, 1], [1]], [[0, None], [1]]])
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.SplitMergeStates(scans=0)], ids=repr)
def test_hidden_markov_models_and_missing_observations(arrays, move, name):
    measure, witness = WITNESSED[name]
    data, root = hk.Sequences.from_arrays(arrays), hk.FixedWeights(4)
    for kernel in ("reference", "auto"):
        franchise = sticky_franchise(root, 0.0, data, "counts", kernel=kernel, measure=measure.tempered(0.6))
        check_exact(StateHomesModel(franchise, lambda values: 0.6 * witness(values)), move)


def log_bernoulli(value, p):
    return math.log(p if value else 1.0 - p)


def coins(**options):
    return hk.NonConjugate(log_bernoulli, hk.Finite([0.2, 0.7], [1.0, 2.0]), examples=(1, 0, 1), **options)


@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs(), moves.DishParameters()], ids=repr)
def test_parameters_in_the_state_have_the_likelihood_at_the_power(move):
    franchise = tiny_franchise("2+1", coins().tempered(0.3), store="explicit")
    model = ExactParameterModel(
        franchise, lambda values, p: 0.3 * sum(log_bernoulli(value, p) for value in values)
    )
    check_exact(model, move)


def test_the_likelihood_is_that_of_the_power():
    cases = [(measure, witness, ()) for measure, witness in WITNESSED.values()]
    for measure, witness, _ in cases:
        franchise = tiny_franchise("2+2", measure, store="histogram")
        values, dishes = list(franchise.data.values), franchise.dishes
        whole = sum(witness([x for x, k in zip(values, dishes, strict=True) if k == j]) for j in set(dishes))
        for power in (1.0, 0.3):
            at = tempered(franchise, power)
            at.audit()
            for found in (at.log_likelihood(), franchise.log_likelihood(measure.tempered(power)),
                          at.log_likelihood(at.measure.tempered(power))):  # fmt: skip
                assert found == pytest.approx(power * whole, abs=TOLERANCE * 10)
            assert at.log_likelihood(at.measure.tempered(0.5)) == pytest.approx(0.5 * whole, abs=1e-11)


def points(kind=hk.NormalGamma):
    generator = np.random.default_rng(1)
    values = generator.normal(np.repeat([-2.0, 2.0], 12))
    measure = kind(hk.Normal(0.0, 2.0), 0.1, 2.0, 1.0)
    return hk.Franchise(
        hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0)), hk.Groups.from_arrays([values])
    )


class Fails(moves.Move):
    """Changes the state at a power, and fails."""

    def apply(self, state, rng, steps=None):
        with state.at_power(0.5):
            state.reseat(0, 4, rng)
            state.set_base_parameters(mean=state.base_parameters["mean"] + 1.0)
            state.run_step(broken, source=rng)


@hk.step()
def broken(walk, bank, source):
    raise ZeroDivisionError("on purpose")


def test_a_failed_step_ends_the_block():
    franchise = points()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=1)
    measure, before = type(franchise.measure), franchise.log_joint()
    with pytest.raises(ZeroDivisionError):
        hk.Scheduler([Fails()]).run(franchise, sweeps=1, init=None)
    franchise.audit()
    assert (type(franchise.measure), franchise.log_joint()) == (measure, before)
    frozen = franchise.freeze()
    with pytest.raises(ZeroDivisionError):
        Fails().apply(franchise, RandomStream((1, 1)))
    franchise.thaw(frozen)
    franchise.audit()
    assert (type(franchise.measure), franchise.log_joint()) == (measure, before)


SCHEDULE = [
    moves.TableGibbs(),
    moves.SplitMerge(scans=2, annealed=True),
    moves.Concentration(),
    moves.BaseMeasureParameters(),
    moves.ReplicaExchange((1.0, 0.5, 0.2)),
]


@pytest.mark.parametrize("kind", [hk.NormalGamma, NormalGammaReference])
def test_a_run_resumes_bit_for_bit(kind, tmp_path):
    scheduler = hk.Scheduler(SCHEDULE)
    whole = scheduler.run(points(kind), sweeps=6, rng=4, audit_every=1)
    scheduler.run(points(kind), sweeps=3, rng=4, folder=tmp_path / "run")
    resumed = hk.open_run(tmp_path / "run").resume(sweeps=3)
    for key in ("log_joint", "base/mean", "replicas/walker", "n_dishes"):
        assert resumed[key].tolist() == whole[key].tolist()
    assert sum(row["tried"] for row in whole.moves if row["move"].startswith("Replica")) > 0
