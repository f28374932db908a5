"""Trees of which homes depend on the state, defined here: table Gibbs, enumerated; runs; what is refused."""

import math

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal
from state_homes_checks import (
    Before,
    BothDishes,
    OneFollower,
    StateHomesModel,
    ThroughAnother,
    TwoFollowers,
    exact_step,
    state_franchise,
    weights_balance,
)

import hdpkit as hk
from hdpkit import moves
from hdpkit.data import Groups
from hdpkit.testing.exact import check_irreducible
from hdpkit.testing.hidden_markov import numbered

STORES = ["explicit", "histogram", "counts", "explicit-reference", "histogram-reference", "counts-reference"]
DISCOUNTS = {"theta": (0.9, 0.6), "d": (0.3, 0.4)}
SETTINGS = {
    "no discounts": {},
    "discounts": DISCOUNTS,
    "small concentrations": {"theta": (0.2, -0.2), "d": (0.1, 0.5)},
    "three dishes": {"root": hk.FixedWeights(3)},
    "two dishes": {"root": hk.FixedWeights(2)},
}
COMPILED = hk.DirichletMultinomial(0.5, n_terms=3)
LONGER = Groups.from_labels([0, 1, 2, 1, 0, 2, 2, 1, 0, 1], {})


# ---------------------------------------------------------------------- exact kernels


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("store", STORES)
def test_a_hidden_markov_model_is_left_invariant(store, setting):
    model, P = exact_step(Before(), 4, store=store, **SETTINGS[setting])
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    "rule", [OneFollower(), BothDishes(), TwoFollowers(), ThroughAnother(), Before((0, 2))]
)
def test_homes_of_several_kinds(rule, store):
    model, P = exact_step(rule, 4, store=store, **DISCOUNTS)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("store", ["explicit", "histogram-reference", "counts"])
def test_a_restaurant_between_the_rows_and_the_root(store):
    model, P = exact_step(Before(), 4, store=store, middle=1.3, **DISCOUNTS)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("setting", ["discounts", "three dishes"])
@pytest.mark.parametrize("store", ["explicit", "counts"])
def test_five_customers_and_a_compiled_measure(store, setting):
    model, P = exact_step(Before(), 5, store=store, measure=COMPILED, **SETTINGS[setting])
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("rule", [Before(), OneFollower()])
@pytest.mark.parametrize("store", ["explicit-reference", "histogram", "counts", "counts-reference"])
def test_seating_and_root_weights_are_in_balance(store, rule):
    assert weights_balance(rule, 3, store=store) > 30


def test_four_customers_and_root_weights():
    assert weights_balance(Before(), 4, store="counts") > 200


# ---------------------------------------------------------------------- the enumeration itself


def stirling(n, m):
    """Unsigned Stirling numbers of the first kind."""
    if n == m == 0:
        return 1
    return 0 if m == 0 or n == 0 else stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def log_sequence(z, alpha, gamma):
    """log p(z) of dishes of a sequence: the sum over numbers of tables (Teh et al. 2006, section 7)."""
    n_dishes = max(z) + 1
    counts = {}
    for row, dish in zip([-1, *z[:-1]], z, strict=True):
        counts[row, dish] = counts.get((row, dish), 0) + 1
    totals = {}  # weight by the number of tables of each dish
    totals[(0,) * n_dishes] = 1.0
    for (_, dish), n in counts.items():
        grown = {}
        for tables, weight in totals.items():
            for m in range(1, n + 1):
                more = tuple(t + m * (k == dish) for k, t in enumerate(tables))
                grown[more] = grown.get(more, 0.0) + weight * stirling(n, m) * alpha**m
        totals = grown
    of_root = math.fsum(
        weight * math.prod(math.gamma(t) for t in tables) / math.gamma(gamma + sum(tables))
        for tables, weight in totals.items()
    )
    rows = {row for row, _ in counts}
    lengths = [sum(n for (r, _), n in counts.items() if r == row) for row in rows]
    rising = math.prod(math.prod(alpha + i for i in range(length)) for length in lengths)
    return math.log(of_root) + n_dishes * math.log(gamma) + math.lgamma(gamma) - math.log(rising)


def test_the_enumerated_posterior_is_that_of_the_sequence():
    franchise = state_franchise(Before(), 5)
    model, marginal = StateHomesModel(franchise), dirichlet_multinomial_log_marginal(0.5, 3)
    values = list(franchise.data.values)
    found = {}
    for key, p in zip(model.states, model.pi.tolist(), strict=True):
        z = tuple(numbered([tables[-1] for tables in key]))
        found[z] = found.get(z, 0.0) + p
    expected = {}
    for z in found:
        dishes = [[x for x, k in zip(values, z, strict=True) if k == j] for j in range(max(z) + 1)]
        expected[z] = math.exp(log_sequence(z, 0.7, 0.9) + sum(map(marginal, dishes)))
    total = math.fsum(expected.values())
    assert len(found) == 52
    assert max(abs(found[z] - expected[z] / total) for z in found) <= 1e-14


# ---------------------------------------------------------------------- runs


def long_franchise(store="counts", root="weights", n=60, **options):
    data = Groups.from_labels(np.arange(n) * np.arange(n) % 5, {})
    above = hk.Restaurant(hk.DirichletMultinomial(0.5, n_terms=5), concentration=hk.Gamma(2.0, 1.0))
    rows = hk.Restaurant(above, concentration=hk.Gamma(2.0, 1.0), each=Before((0, 30)))
    return hk.Franchise(rows, data, store=store, root=root, **options)


def schedule(root):
    drawn = [moves.RootWeights()] if root == "weights" else []
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration(), *drawn])


@pytest.mark.parametrize("root", ["weights", "restaurant"])
@pytest.mark.parametrize("store", ["counts", "histogram", "explicit"])
@pytest.mark.parametrize("init", ["sequential", "one", hk.init.Random(4)])
def test_a_run_is_consistent_and_goes_on_from_a_frozen_state(store, root, init):
    franchise, kept = long_franchise(store, root), schedule(root)
    kept.run(franchise, sweeps=3, rng=1, init=init, audit_every=1)
    assert franchise.restaurant("root").dishes.tolist() == list(range(franchise.n_dishes))
    copy, thawed = franchise.copy(), long_franchise(store, root)
    thawed.thaw(franchise.freeze())
    ends = []
    for one in (franchise, copy, thawed):
        trace = kept.run(one, sweeps=2, rng=None, init=None)
        one.audit()
        ends.append(
            (one.dishes.tolist(), trace["log_joint"].tolist(), trace["concentration/before"].tolist())
        )
    assert ends[0] == ends[1] == ends[2]


class Fails(hk.DirichletMultinomial):
    """Raises an error at one of the calls within a sweep."""

    calls_left = -1

    def log_predictive(self, value, statistics):
        type(self).calls_left -= 1
        if type(self).calls_left == 0:
            raise ZeroDivisionError("on purpose")
        return super().log_predictive(value, statistics)


@pytest.mark.parametrize("calls", [1, 4, 9])
@pytest.mark.parametrize("store", STORES)
def test_a_step_that_fails_is_undone(store, calls):
    above = hk.Restaurant(Fails(0.5, n_terms=3))
    franchise = hk.Franchise(hk.Restaurant(above, each=Before((0, 5))), LONGER, store=store)
    kept = hk.Scheduler([moves.TableGibbs()])
    kept.run(franchise, sweeps=2, rng=0)
    before, log_joint = franchise.dishes.tolist(), franchise.log_joint()
    Fails.calls_left = calls
    with pytest.raises(ZeroDivisionError):
        kept.run(franchise, sweeps=1, init=None)
    assert Fails.calls_left <= 0
    Fails.calls_left = -1
    franchise.audit()
    assert (franchise.dishes.tolist(), franchise.log_joint()) == (before, log_joint)
    kept.run(franchise, sweeps=1, init=None)
