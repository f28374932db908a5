"""Powers of the likelihood over any measure: moves, blocks, exchanges and what is refused, by enumeration."""

import math

import numpy as np
import pytest
from marginals import beta_bernoulli_log_marginal, gamma_poisson_log_marginal, normal_gamma_log_marginal
from state_homes_checks import StateHomesModel, sticky_franchise
from test_replica_exchange import Joint, assert_joint

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import NormalGammaReference
from hdpkit.moves.replica_exchange import tempered
from hdpkit.random import RandomStream
from hdpkit.testing import check_move
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import TOLERANCE, ExactModel, check_exact
from hdpkit.testing.exact_models import ExactParameterModel

MOVES = (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.ReseatGroups(scans=None))


class FourMethods(hk.BaseMeasure):
    """Bits with a uniform probability, by the four methods that a measure must have."""

    exact_statistics = True

    def make(self):
        return np.zeros(2, dtype=np.int64)

    def add(self, statistics, value):
        statistics[int(value)] += 1

    def remove(self, statistics, value):
        statistics[int(value)] -= 1

    def log_predictive(self, value, many):
        counts = np.array(many) + 1.0
        return np.log(counts[:, int(value)] / counts.sum(axis=1))

    def example_values(self):
        return [1, 0, 1, 1]


BITS = FourMethods()
NORMAL = (0.2, 0.5, 1.5, 0.8)
# Measures without a power of their own, with the marginals of their dishes at power 1.
WITNESSED = {
    "normal": (hk.NormalGamma(*NORMAL), normal_gamma_log_marginal(*NORMAL)),
    "normal, readable": (NormalGammaReference(*NORMAL), normal_gamma_log_marginal(*NORMAL)),
    "counts": (hk.GammaPoisson(1.5, 0.7), gamma_poisson_log_marginal(1.5, 0.7)),
    "bits by four methods": (BITS, beta_bernoulli_log_marginal(1.0, 1.0)),
}


def _at(power, witness):
    return lambda values: power * witness(values)


def tempered_case(name, power, shape="2+1", **options):
    """A tiny franchise over the measure at a power, with the posterior of the marginals to the power."""
    measure, witness = WITNESSED[name]
    return ExactModel(tiny_franchise(shape, measure.tempered(power), **options), _at(power, witness))


def at_power_model(name, power, shape="2+1", **options):
    """The same posterior for a franchise at power 1."""
    measure, witness = WITNESSED[name]
    return ExactModel(tiny_franchise(shape, measure, **options), _at(power, witness))


class AtPower(moves.Move):
    """A move within a block of `at_power`."""

    def __init__(self, move, power):
        self.move, self.power = move, power

    def n_steps(self, state):
        return self.move.n_steps(state)

    def apply(self, state, rng, steps=None):
        with state.at_power(self.power):
            return self.move.apply(state, rng, steps)


def check_tempered():
    """Moves over measures at a power, in compiled code and over both kinds of bank."""
    for name in ("normal", "bits by four methods"):
        for move in (*MOVES[:2], moves.ReseatGroups(scans=0)):
            check_exact(tempered_case(name, 0.4, store="explicit"), move)
        check_exact(tempered_case(name, 0.4, "flat 3", store="explicit"), moves.SplitMerge(scans=1))


def check_tempered_in_python():
    """The same in the readable code."""
    for name in ("normal", "normal, readable"):
        for move in (*MOVES[:2], moves.ReseatGroups(scans=0)):
            check_exact(tempered_case(name, 0.4, store="explicit-reference", kernel="reference"), move)


def check_at_power():
    """Moves within a block, which multiplies the power of the franchise, and after it."""
    for name in ("normal", "bits by four methods"):
        model = at_power_model(name, 0.4, store="explicit")
        measure, bank = model.franchise.measure, model.franchise.bank
        for move in MOVES[:2]:
            check_exact(model, AtPower(move, 0.4))
            check_exact(model, AtPower(AtPower(move, 0.5), 0.8))
        assert model.franchise.measure is measure
        assert model.franchise.bank is bank


def check_annealed_split_merge():
    """Scans at powers before the final one leave the posterior invariant, at power 1 and below."""
    for power in (1.0, 0.4):
        model = tempered_case("normal", power, "flat 3", store="explicit")
        check_exact(model, moves.SplitMerge(scans=2, annealed=True), reversible=True)


def check_tempered_exchanges():
    """Exchanges between powers of measures without a power of their own."""
    for name in ("normal", "bits by four methods"):
        measure, witness = WITNESSED[name]
        assert_joint(Joint((1.0, 0.4), "2+1", measure=measure, witness=lambda p, w=witness: _at(p, w)))


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
