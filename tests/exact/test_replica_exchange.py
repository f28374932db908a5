"""Replica exchange: chains at powers of the likelihood by enumeration, alone and together."""

import functools
import itertools

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal
from one_sample import one_sample_p
from scipy import stats

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.moves.replica_exchange import Replicas, tempered
from hdpkit.random import ScriptedSource, Streams
from hdpkit.run.sweeps import Ensemble
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import TOLERANCE, ExactModel, check_exact
from hdpkit.testing.pvalues import SampledTests

ETA = 0.5
VALUES = [0, 0, 1, 2, 1]
FAMILY = SampledTests()
FAMILY.register("all chains")


class Joint:
    """The joint states of chains at several powers over one tiny data set, and their law: the product."""

    def __init__(self, powers, shape, store="explicit", measure=None, witness=None):
        self.powers = powers
        measure = measure or hk.DirichletMultinomial(ETA, n_terms=3)
        witness = witness or functools.partial(dirichlet_multinomial_log_marginal, ETA, 3)
        tiny = tiny_franchise(shape, measure, store=store, corner="middle")
        self.models = [ExactModel(tempered(tiny, power), witness(power)) for power in powers]
        self.move = moves.ReplicaExchange(powers)
        own = self.models[0].franchise
        self.replicas = Replicas(powers, [model.franchise for model in self.models[1:]])
        own.register(Replicas.name, self.replicas)
        self.states = list(itertools.product(*(range(len(model.states)) for model in self.models)))
        self.place = {state: i for i, state in enumerate(self.states)}
        self.pi = np.array(
            [np.prod([m.pi[s] for m, s in zip(self.models, z, strict=True)]) for z in self.states]
        )

    def matrix(self, applications):
        """Transition matrix of one application, after this number of them."""
        P = np.zeros((len(self.states), len(self.states)))
        for before, state in enumerate(self.states):
            source = ScriptedSource()
            while True:
                for model, number in zip(self.models, state, strict=True):
                    model.enter(number)
                self.replicas.applications = applications
                self.move.apply(self.models[0].franchise, source)
                after = tuple(model.read() for model in self.models)
                P[before, self.place[after]] += source.probability
                if not source.advance():
                    break
        return P

    def expected(self, applications):
        """The same matrix by the formula: independent exchanges of disjoint neighbours."""
        first = applications % 2 if len(self.powers) > 2 else 0
        whole = np.eye(len(self.states))
        for i in range(first, len(self.powers) - 1, 2):
            P = np.zeros_like(whole)
            for before, state in enumerate(self.states):
                new = list(state)
                new[i], new[i + 1] = state[i + 1], state[i]
                after = self.place[tuple(new)]
                ratio = self.pi[after] / self.pi[before]
                P[before, after] += min(1.0, ratio)
                P[before, before] += 1.0 - min(1.0, ratio)
            whole = whole @ P
        return whole


def check_exchanges():
    """Exchanges leave the product of the chains' posteriors invariant, and are those of the formula."""
    for powers, shape in (((1.0, 0.4), "2+1"), ((1.0, 0.6, 0.2), "flat 3")):
        assert_joint(Joint(powers, shape))


def assert_joint(joint):
    """The same of one set of chains."""
    for applications in (0, 1):
        P = joint.matrix(applications)
        assert np.abs(P.sum(axis=1) - 1.0).max() <= TOLERANCE
        assert np.abs(joint.pi @ P - joint.pi).max() <= TOLERANCE
        assert np.abs(P - joint.expected(applications)).max() <= TOLERANCE


def check_readable_tempered_measure():
    """The measure in Python has the marginals of the formula."""
    measure = hk.DirichletMultinomial([0.3, 1.1, 0.6], n_terms=3).tempered(0.3)
    log_marginal = dirichlet_multinomial_log_marginal([0.3, 1.1, 0.6], 3, 0.3)
    statistics = measure.make()
    for n, value in enumerate(VALUES):
        more = log_marginal(VALUES[: n + 1]) - log_marginal(VALUES[:n])
        assert abs(float(measure.log_predictive(value, [statistics])[0]) - more) <= TOLERANCE
        assert abs(measure.log_marginal(statistics) - log_marginal(VALUES[:n])) <= TOLERANCE
        block = float(measure.log_block(VALUES[n:], [statistics])[0])
        assert abs(block - log_marginal(VALUES) + log_marginal(VALUES[:n])) <= TOLERANCE
        measure.add(statistics, value)


def check_states_pass_all_powers():
    """Every state reaches power 1: pairs alternate."""
    joint = Joint((1.0, 0.6, 0.2), "flat 3")
    both = joint.matrix(0) @ joint.matrix(1)
    for state in joint.states:
        new = (state[1], state[2], state[0])
        assert both[joint.place[state], joint.place[new]] > 0.0


def check_powers_of_topics():
    """Before they are raised to the power, topics are Dirichlet(eta + power counts): each entry is beta."""
    power, counts, draws = 0.4, np.array([7, 1, 0]), 2000
    measure = hk.DirichletMultinomial(ETA, n_terms=3).tempered(power)
    bank = measure.bank(hk.Corpus.from_counts(counts[None]))
    bank.born(0)
    bank.add(0, list(range(8)))
    source = Streams(5).source(1)
    slots, occupied = np.array([0, 1], dtype=np.int32), np.array([True, False])
    drawn = np.array([measure.draw_term_weights(bank, slots, occupied, source) for _ in range(draws)])
    for label, shapes in enumerate((ETA + power * counts, np.full(3, ETA))):
        for v, shape in enumerate(shapes.tolist()):
            law = stats.beta(shape, shapes.sum() - shape)
            assert stats.kstest(drawn[:, label, v] ** (1.0 / power), law.cdf).pvalue > 1e-6


CASES = {
    f"{type(move).__name__}, {shape}, {store}, {kernel}": (move, shape, store, kernel)
    for move, shape in (
        (moves.TableGibbs(), "2+1"),
        (moves.TableGibbs(), "three levels of three"),
        (moves.DishGibbs(), "2+1"),
        (moves.SplitMerge(), "flat 3"),
        (moves.SplitMerge(), "2+1"),
        (moves.ReseatGroups(scans=None), "2+1"),
    )
    for store, kernel in (("explicit", "auto"), ("histogram", "auto"), ("explicit", "reference"))
}


@pytest.mark.parametrize("case", CASES)
def test_moves_leave_the_posterior_at_a_power_invariant(case):
    move, shape, store, kernel = CASES[case]
    for power, eta in ((0.3, 0.5), (0.8, [0.3, 1.1, 0.6])):
        measure = hk.DirichletMultinomial(eta, n_terms=3).tempered(power)
        franchise = tiny_franchise(shape, measure, store=store, corner="middle", kernel=kernel)
        check_exact(ExactModel(franchise, dirichlet_multinomial_log_marginal(eta, 3, power)), move)


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("power", [0.01, 0.5, 0.999])
def test_the_compiled_bank_has_the_marginals_of_the_formula(power, symmetric):
    eta = 0.5 if symmetric else [0.3, 1.1, 0.6]
    log_marginal = dirichlet_multinomial_log_marginal(eta, 3, power)
    values = [0] * 1500 + [1] * 3 + [2, 0, 1, 0]  # beyond the table
    measure = hk.DirichletMultinomial(eta, n_terms=3).tempered(power)
    bank = measure.bank(hk.Corpus.from_documents([values], n_terms=3))
    bank.born(0)
    seen, rest = list(range(1503)), [1503, 1504, 1505, 1506]
    bank.add(0, seen)
    known = values[:1503]
    new = bank.log_predictive(1504, [0])
    assert new[0] - new[1] == pytest.approx(
        log_marginal([*known, 0]) - log_marginal(known) - log_marginal([0]), abs=1e-9
    )
    blocks = bank.log_block(rest, [0])
    assert blocks[0] == pytest.approx(log_marginal(values) - log_marginal(known), abs=1e-9)
    assert blocks[1] == pytest.approx(log_marginal(values[1503:]), abs=1e-9)
    weights = bank.block(rest, [0])
    assert np.log(weights[0] / weights[1]) == pytest.approx(blocks[0] - blocks[1], abs=1e-9)
    slots = np.zeros(1, dtype=np.int32)
    for found in (bank.log_marginals(slots), measure.log_marginals(bank, slots, None)):
        assert found == pytest.approx([log_marginal(known)], abs=1e-9)
    assert bank.log_marginal_total(slots) in (None, pytest.approx(log_marginal(known), abs=1e-9))
    bank.remove(0, seen[:1000])
    assert bank.log_marginals(slots) == pytest.approx([log_marginal(values[1000:1503])], abs=1e-9)


def test_power_1_is_the_measure_itself():
    measure = hk.DirichletMultinomial(hk.Gamma(1.0, 1.0), n_terms=3)
    assert type(measure.tempered(1.0)) is hk.DirichletMultinomial
    again = measure.tempered(0.3).tempered(0.6)
    assert (again.power, again.eta, again.priors.keys()) == (0.6, 1.0, {"eta"})
    for power in (0.0, -1.0, 1.5, float("nan"), "half"):
        with pytest.raises(errors.ParameterError, match="power"):
            measure.tempered(power)


def test_a_sweep_of_all_chains_leaves_their_joint_law_invariant():
    joint = Joint((1.0, 0.5), "2+1")
    schedule = [moves.TableGibbs(), joint.move, moves.DishGibbs(), joint.move]

    def run(more, seed):
        generator, counts = np.random.default_rng(seed), np.zeros(len(joint.states), dtype=np.int64)
        streams = Streams(seed)
        own = joint.models[0].franchise
        ensemble = Ensemble.of(schedule, own, streams)
        starts = generator.choice(len(joint.states), 2000 * more, p=joint.pi / joint.pi.sum())
        for sweep, start in enumerate(starts.tolist()):
            for model, number in zip(joint.models, joint.states[start], strict=True):
                model.enter(number)
            for place, move in enumerate(schedule):
                ensemble.apply(move, place + 1, sweep, streams)
            counts[joint.place[tuple(model.read() for model in joint.models)]] += 1
        return one_sample_p(counts, joint.pi / joint.pi.sum())

    FAMILY.check("all chains", run)
