"""Chains at powers of the likelihood, enumerated together, and the checks for planted bugs."""

import itertools
import math

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.replica_exchange import Replicas, tempered
from hdpkit.random import ScriptedSource, Streams
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import TOLERANCE, ExactModel

ETA = 0.5
VALUES = [0, 0, 1, 2, 1]


def tempered_log_marginal(eta, power):
    """log B(eta + power n) / B(eta) of a list of terms: topics phi give them the weights phi ** power."""
    eta = np.broadcast_to(eta, 3).tolist()

    def log_marginal(values):
        shapes = [e + power * values.count(v) for v, e in enumerate(eta)]
        before = sum(map(math.lgamma, eta)) - math.lgamma(math.fsum(eta))
        return sum(map(math.lgamma, shapes)) - math.lgamma(math.fsum(shapes)) - before

    return log_marginal


def tempered_model(power, shape="2+1", store="explicit", eta=ETA, **options):
    """A tiny franchise at a power with its states and their posterior, which is computed from the formula."""
    measure = hk.DirichletMultinomial(eta, n_terms=3).tempered(power)
    franchise = tiny_franchise(shape, measure, store=store, corner="middle", **options)
    return ExactModel(franchise, tempered_log_marginal(eta, power))


class Joint:
    """The joint states of chains at several powers over one tiny data set, and their law: the product."""

    def __init__(self, powers, shape, store="explicit", measure=None, witness=None):
        self.powers = powers
        measure = measure or hk.DirichletMultinomial(ETA, n_terms=3)
        witness = witness or (lambda power: tempered_log_marginal(ETA, power))
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
    log_marginal, statistics = tempered_log_marginal([0.3, 1.1, 0.6], 0.3), measure.make()
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
    """Powers of drawn topics have the means E[phi_v ** b] of topics given the counts times b."""
    power, counts, draws = 0.4, np.array([7, 1, 0]), 4000
    measure = hk.DirichletMultinomial(ETA, n_terms=3).tempered(power)
    bank = measure.bank(hk.Corpus.from_counts(counts[None]))
    bank.born(0)
    bank.add(0, list(range(8)))
    source = Streams(5).source(1)
    slots, occupied = np.array([0, 1], dtype=np.int32), np.array([True, False])
    drawn = np.array([measure.draw_term_weights(bank, slots, occupied, source) for _ in range(draws)])
    for label, shapes in enumerate((ETA + power * counts, np.full(3, ETA))):
        for v, shape in enumerate(shapes.tolist()):
            mean = math.exp(
                math.lgamma(shape + power) - math.lgamma(shape)
                + math.lgamma(shapes.sum()) - math.lgamma(shapes.sum() + power)
            )  # fmt: skip
            error = drawn[:, label, v].std() / math.sqrt(draws)
            assert abs(drawn[:, label, v].mean() - mean) < 5.0 * error
