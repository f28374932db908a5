"""Estimates of `hk.evaluate` and fold-in against enumeration: exact values lie within their
standard errors.
"""

import math

import numpy as np
import pytest
from evaluation_checks import row_of
from new_groups import NewGroupLaw
from scipy import stats

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams
from hdpkit.testing.pvalues import SampledTests

WORDS = ([[0, 0, 1], [1, 2, 2], [2, 0, 0]], [[0, 2, 2], [1], [], [0, 1, 0]])
NUMBERS = ([[0.1, 0.3, 2.0], [-1.0, -1.2], [2.1, 0.0]], [[0.2, 2.2, -1.1], [1.0], [], [0.3, 0.2, 0.1]])
BITS = ([[0, 0, 1], [1, 1], [0, 1]], [[1, 1, 0], [1], [], [0, 0, 0]])
PLAIN, PITMAN_YOR = (0.9, 0.0), (0.4, 0.35)
MODELS = {
    f"{levels} levels, {data}, {kind}": (levels, data, hyper)
    for levels in (2, 3)
    for data in ("words", "sparse words", "bursty words", "numbers", "bits")
    for kind, hyper in (("plain", PLAIN), ("Pitman-Yor", PITMAN_YOR))
}
MEASURES = {
    "words": (hk.DirichletMultinomial(0.5), WORDS),
    "sparse words": (hk.SparseDirichletMultinomial(0.5, hk.Beta(1.0, 1.5)), WORDS),
    "bursty words": (hk.Bursty(hk.DirichletMultinomial(0.5), 0.7, 0.2), WORDS),
    "numbers": (hk.NormalGamma(0.0, 0.5, 2.0, 1.0), NUMBERS),
    "bits": (hk.BetaBernoulli(0.7, 1.1), BITS),
}
PARTICLES = 4000


def data_of(kind, groups, journals):
    labels = {"journal": journals}
    if "words" in kind:
        return hk.Corpus.from_documents(groups, n_terms=3, groups=labels)
    return hk.Groups.from_arrays(groups, groups=labels, label="document")


class Case:
    """A franchise, new groups, and what is exact about them."""

    def __init__(self, levels, kind, hyper, kernel="auto"):
        measure, (old, self.new) = MEASURES[kind]
        self.theta, self.d = hyper
        self.kind = kind
        discount = 0.0 if self.d == 0 else 0.2
        base = hk.Restaurant(measure, concentration=1.4, discount=discount, name="root")
        if levels == 3:
            base = hk.Restaurant(base, concentration=0.8, discount=discount, each="journal", name="journal")
        document = hk.Restaurant(base, concentration=self.theta, discount=self.d, each="document")
        self.franchise = hk.Franchise(document, data_of(kind, old, ["A", "A", "B"]), kernel=kernel)
        start(self.franchise, "sequential", Streams(1).source(STARTS))
        self.data = data_of(kind, self.new, ["A", "B", "B", None])
        self.paths = [
            [("root", None), ("journal", key)] if levels == 3 and key else [("root", None)]
            for key in ("A", "B", "B", None)
        ]
        self.dishes = None if kind == "bursty words" else self.statistics()

    def statistics(self):
        measure, franchise = self.franchise.measure, self.franchise
        made = [measure.make() for _ in range(franchise.n_dishes + 1)]
        for value, dish in zip(franchise.data.values, franchise.dishes.tolist(), strict=True):
            measure.add(made[dish], value)
        return made

    def law(self, group, values=None):
        values = self.new[group] if values is None else values
        above = row_of(self.franchise, *self.paths[group])
        measure = self.franchise.measure
        if self.dishes is None:  # topics from tables
            slots = self.franchise.slots.occupied_slots()
            phi = measure.posterior_means(self.franchise.bank, slots, None)
            density = (
                np.vstack([phi, np.full(3, 1 / 3)])[:, values].T if values else np.zeros((0, len(above)))
            )
            repeats = float(measure.concentration), float(measure.discount)
            return NewGroupLaw(density, above, self.theta, self.d, values, repeats)
        logs = [measure.log_predictive(value, self.dishes) for value in values]
        density = np.exp(np.array(logs).reshape(len(values), len(self.dishes)))
        return NewGroupLaw(density, above, self.theta, self.d)


def z_test(found, exact, error):
    return float(2 * stats.norm.sf(abs(found - exact) / error))


def left_to_right(case, draws, seed):
    """Log evidence of all groups together."""
    particles = int(PARTICLES * draws)
    found = hk.evaluate(case.franchise, case.data, method="left-to-right", particles=particles, rng=seed)
    exact = sum(math.log(case.law(group).evidence) for group in range(4))
    return [z_test(found.log_probability, exact, found.standard_error)]


def completion(case, draws, seed):
    """Sum of log p(value | observed half), each value of the other half by itself."""
    observed = [[case.new[0][0], case.new[0][1]], [], [], case.new[3][:1]]
    held = [case.new[0][2:], case.new[1], [], case.new[3][1:]]
    journals = ["A", "B", "B", None]
    found = hk.evaluate(
        case.franchise,
        data_of(case.kind, observed, journals),
        held_out=data_of(case.kind, held, journals),
        fit="gibbs",
        particles=int(PARTICLES / 4 * draws),
        sweeps=5,
        burn_in=30,
        rng=seed,
    )
    exact = sum(
        math.log(case.law(group, [*observed[group], value]).evidence)
        - math.log(case.law(group, observed[group]).evidence)
        for group in range(4)
        for value in held[group]
    )
    return [z_test(found.log_probability, exact, found.standard_error)]


def fold_in(case, draws, seed):
    """Posterior means of the proportions, by independent calls."""
    found = np.array(
        [
            case.franchise.fold_in(case.data, 5, burn_in=30, rng=Streams(seed, i).source(0)).proportions
            for i in range(int(300 * draws))
        ]
    )
    p_values = []
    for group in (0, 3):
        exact = case.law(group).proportions()
        for k in (0, -1):
            error = found[:, group, k].std(ddof=1) / math.sqrt(len(found))
            p_values.append(z_test(found[:, group, k].mean(), exact[k], error))
    return p_values


RUNS = {"left-to-right": (left_to_right, 1), "completion": (completion, 1), "fold-in": (fold_in, 4)}
FAMILY = SampledTests()
for _what, (_, _n) in RUNS.items():
    for _name in MODELS:
        FAMILY.register(f"{_what}: {_name}", _n)


@pytest.mark.parametrize("what", RUNS)
@pytest.mark.parametrize("name", MODELS)
def test_estimates_agree_with_enumeration(what, name):
    case = Case(*MODELS[name])
    FAMILY.check(f"{what}: {name}", lambda draws, seed: RUNS[what][0](case, draws, seed))
