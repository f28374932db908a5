"""Measures at powers of the likelihood: witnesses, and the checks for planted bugs."""

import numpy as np
from marginals import beta_bernoulli_log_marginal, gamma_poisson_log_marginal, normal_gamma_log_marginal
from replica_checks import Joint, assert_joint

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import NormalGammaReference
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact


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
WITNESSED = {
    "normal": (hk.NormalGamma(*NORMAL), normal_gamma_log_marginal(*NORMAL)),
    "normal, readable": (NormalGammaReference(*NORMAL), normal_gamma_log_marginal(*NORMAL)),
    "counts": (hk.GammaPoisson(1.5, 0.7), gamma_poisson_log_marginal(1.5, 0.7)),
    "bits by four methods": (BITS, beta_bernoulli_log_marginal(1.0, 1.0)),
}
"""Measures without a power of their own, with the marginals of their dishes at power 1."""


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


MOVES = (moves.TableGibbs(), moves.DishGibbs(), moves.ReseatGroups(scans=0))


def check_tempered():
    """Moves over measures at a power, in compiled code and over both kinds of bank."""
    for name in ("normal", "bits by four methods"):
        for move in MOVES:
            check_exact(tempered_case(name, 0.4, store="explicit"), move)
        check_exact(tempered_case(name, 0.4, "flat 3", store="explicit"), moves.SplitMerge(scans=1))


def check_tempered_in_python():
    """The same in the readable code."""
    for name in ("normal", "normal, readable"):
        for move in MOVES:
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
