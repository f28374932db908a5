"""Sampled tests keep their error rate, p-values keep their levels, and biased samplers are detected."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from calibration import random_rank, rank_uniformity_p
from scipy import special, stats

from hdpkit.errors import ParameterError, RegistryError, StateError
from hdpkit.testing import pvalues
from hdpkit.testing.pvalues import SampledTestFailure, SampledTests, one_sample_p, two_sample_p

# ---- the discipline


def script(*looks):
    """A test that yields these p-values, look by look, and notes how it was called."""
    calls: list[tuple[int, int]] = []
    answers = iter(looks)

    def run(multiplier, seed):
        calls.append((multiplier, seed))
        return next(answers)

    return run, calls


def family(n: int) -> SampledTests:
    tests = SampledTests()
    tests.register("it", n)
    return tests


def test_an_unsuspicious_test_is_run_once():
    run, calls = script([0.5, 0.010001])
    outcome = family(2).check("it", run)
    assert [multiplier for multiplier, _ in calls] == [1]
    assert outcome.repeat == {}


def test_first_look_fails_below_its_limit_over_all_p_values():
    tests = family(2)
    tests.register("another", 8)
    run, calls = script([0.5, 4.9e-6])  # 5e-5/10 = 5e-6
    with pytest.raises(SampledTestFailure, match="'it' failed at the first look: 1 below 5e-06") as failure:
        tests.check("it", run)
    assert isinstance(failure.value, AssertionError)
    assert "p=4.9e-06" in str(failure.value)
    assert str(calls[0][1]) in str(failure.value)
    assert len(calls) == 1


def test_a_suspicious_p_value_is_repeated_with_more_draws_and_a_new_seed():
    run, calls = script([0.5, 6e-5], [1e-9, 0.0026])  # 5e-3/2 = 2.5e-3
    outcome = family(2).check("it", run)
    assert [multiplier for multiplier, _ in calls] == [1, 4]
    assert calls[0][1] != calls[1][1]
    assert outcome.repeat == {"1": 0.0026}  # 1e-9 was not suspicious at first: to judge it breaks the bound


def test_repeat_fails_below_its_limit():
    run, _ = script([0.009], [0.0049])
    with pytest.raises(SampledTestFailure, match="failed at the repeat"):
        family(1).check("it", run)


def test_the_error_rate_of_the_whole_family():
    class Scaled(SampledTests):  # the same rule with limits at which the rate can be measured
        FIRST, SUSPICIOUS, REPEAT = 0.1, 0.2, 0.5  # bound: 0.1 + 0.2 * 0.5 = 0.2

    rng = np.random.default_rng(1)
    failures = {"independent": 0, "equal": 0}
    runs = 4000
    for kind in failures:
        for _ in range(runs):
            tests = Scaled()
            names = [f"test {i}" for i in range(3)]
            for name in names:
                tests.register(name, 4)
            try:
                for name in names:
                    draw = (
                        (lambda *_: rng.random(4))
                        if kind == "independent"
                        else (lambda *_: np.full(4, rng.random()))
                    )
                    tests.check(name, draw)
            except SampledTestFailure:
                failures[kind] += 1
    # independent p-values nearly reach the bound, equal ones stay below it
    each = 0.1 / 12 + (0.2 - 0.1 / 12) * 0.5 / 12
    assert failures["independent"] / runs < 0.2
    assert failures["equal"] / runs < 0.2
    assert failures["independent"] / runs > 0.5 * (1 - (1 - each) ** 12)


def test_the_limits_add_up_to_one_in_ten_thousand():
    bound = SampledTests.FIRST + SampledTests.SUSPICIOUS * SampledTests.REPEAT
    assert bound == pytest.approx(1e-4)


def test_registering_comes_first_and_checking_happens_once():
    tests = family(1)
    with pytest.raises(RegistryError):
        tests.register("it")
    with pytest.raises(RegistryError):
        tests.check("unknown", lambda *_: [0.5])
    tests.register("named", ["dishes", "tables"])
    assert tests.n_p_values == 3
    tests.check("named", lambda *_: {"tables": 0.2, "dishes": 0.3})
    assert tests.unchecked == ("it",)
    with pytest.raises(StateError):
        tests.register("late")
    with pytest.raises(StateError, match="once"):
        tests.check("named", lambda *_: {"tables": 0.2, "dishes": 0.3})


@pytest.mark.parametrize(
    "answer", [[0.5], [0.5, math.nan], [0.5, 1.5], [0.5, 0.5, 0.5], {"0": 0.5, "2": 0.5}]
)
def test_answers_that_are_no_registered_p_values_do_not_pass(answer):
    with pytest.raises(ParameterError):
        family(2).check("it", lambda *_: answer)


def test_seeds_depend_on_name_look_and_family_alone():
    assert SampledTests().look_seed("gibbs", 0) == 2930258071975263469  # stable across runs and machines
    seeds = {
        SampledTests(seed=s).look_seed(n, k) for s, n, k in itertools.product((0, 1), ("a", "b"), (0, 1))
    }
    assert len(seeds) == 8
    fresh = SampledTests(fresh=True)
    assert fresh.seed != SampledTests(fresh=True).seed
    assert SampledTests(seed=fresh.seed).look_seed("a", 0) == fresh.look_seed("a", 0)
    fresh.register("a")
    fresh.check("a", lambda *_: 0.5)
    assert str(fresh.seed) in fresh.summary()
    assert str(fresh.look_seed("a", 0)) in fresh.summary()


def test_a_biased_sampler_is_caught_and_a_right_one_passes():
    law = np.array([0.5, 0.3, 0.2])

    def sampler(bias):
        def run(multiplier, seed):
            biased = law + np.array([bias, -bias, 0])
            return one_sample_p(np.random.default_rng(seed).multinomial(5000 * multiplier, biased), law)

        return run

    tests = SampledTests()
    for name in ("right", "far off", "a little off"):
        tests.register(name)
    tests.check("right", sampler(0.0))
    with pytest.raises(SampledTestFailure, match="first look"):
        tests.check("far off", sampler(0.05))
    with pytest.raises(SampledTestFailure, match="repeat"):
        tests.check("a little off", sampler(0.027))


# ---- levels, exactly


def all_tables(total: int, n_cells: int) -> np.ndarray:
    cells = np.meshgrid(*[np.arange(total + 1)] * (n_cells - 1), indexing="ij")
    tables = np.stack(cells, axis=-1).reshape(-1, n_cells - 1)
    tables = tables[tables.sum(axis=1) <= total]
    return np.c_[tables, total - tables.sum(axis=1)]


def multinomial(tables: np.ndarray, law: np.ndarray) -> np.ndarray:
    return stats.multinomial.pmf(tables, int(tables[0].sum()), law)


def test_exact_multinomial_p_value_is_the_mass_of_tables_no_likelier():
    law = np.array([0.5, 0.3, 0.2])
    tables = all_tables(12, 3)
    mass = multinomial(tables, law)
    for table, here in zip(tables, mass, strict=True):
        assert one_sample_p(table, law) == pytest.approx(mass[mass <= here * (1 + 1e-9)].sum(), rel=1e-9)


@pytest.mark.parametrize("law", [[0.1, 0.1, 0.8], [0.05, 0.05, 0.9], [1 / 3] * 3, [0.02, 0.03, 0.95]])
def test_pooled_likelihood_ratio_holds_its_level_far_in_the_tail(law, monkeypatch):
    monkeypatch.setattr(pvalues, "_EXACT_NUMBERS", 0)
    law = np.array(law)
    total = round(20 / law.min())
    tables = all_tables(total, 3)
    mass = multinomial(tables, law)
    tables, mass = tables[mass > 1e-13], mass[mass > 1e-13]  # the others don't matter here
    p = np.array([one_sample_p(table, law) for table in tables])
    for level, factor in ((1e-2, 1.1), (1e-4, 1.2), (5e-6, 1.25), (5e-7, 1.3), (5e-8, 1.5)):
        assert 0 < mass[p <= level].sum() <= factor * level


def test_pearson_would_not_hold_it():
    law, total = np.array([0.0125, 0.0125, 0.975]), 400
    tables = all_tables(total, 3)
    mass = multinomial(tables, law)
    pearson = ((tables - total * law) ** 2 / (total * law)).sum(axis=1)
    assert mass[stats.chi2.sf(pearson, 2) <= 5e-7].sum() > 50 * 5e-7


def level(p_values: list[float], at: float) -> float:
    """Tail probability of seeing so many p-values at or below ``at`` if each has that probability."""
    return float(stats.binom.sf(sum(p <= at for p in p_values) - 1, len(p_values), at))


@pytest.mark.long
def test_levels_of_the_statistics_by_simulation():
    rng = np.random.default_rng(7)
    law = rng.dirichlet(np.full(200, 0.3))
    draws = {
        "one sample": lambda: one_sample_p(rng.multinomial(3000, law), law),
        "two samples, few values": lambda: two_sample_p(rng.poisson(3, 400), rng.poisson(3, 400)),
        "two samples, unequal": lambda: two_sample_p(rng.poisson(0.1, 200), rng.poisson(0.1, 2000)),
        "two samples, heavy tails": lambda: two_sample_p(rng.standard_cauchy(200), rng.standard_cauchy(200)),
        "two samples, binary and short": lambda: two_sample_p(rng.integers(0, 2, 20), rng.integers(0, 2, 25)),
        "ranks": lambda: rank_uniformity_p(rng.integers(0, 20, 200), 20),
        "few ranks": lambda: rank_uniformity_p(rng.integers(0, 3, 30), 3),
    }
    for name, draw in draws.items():
        p_values = [draw() for _ in range(1500)]
        for at in (0.1, 0.01, 0.002):
            assert level(p_values, 1.1 * at) > 1e-4, (name, at)


# ---- power: each statistic can fail


@pytest.mark.parametrize(
    "biased",
    [
        lambda rng: two_sample_p(rng.poisson(3, 4000), rng.poisson(3.3, 4000)),
        lambda rng: two_sample_p(rng.poisson(3, 1000), 3 * rng.poisson(1, 1000)),  # the same mean
        lambda rng: two_sample_p(rng.normal(0, 1, 3000), rng.normal(0.2, 1, 3000)),
        lambda rng: two_sample_p(rng.normal(0, 1, 2000), rng.normal(0, 1.5, 2000)),  # the same mean
        lambda rng: two_sample_p(rng.random(3000) < 0.5, rng.random(600) < 0.65),
        lambda rng: one_sample_p(rng.multinomial(4000, [0.5, 0.3, 0.2]), [0.45, 0.35, 0.2]),
        lambda rng: one_sample_p([0] * 10 + [7], np.full(11, 1 / 11)),
        lambda rng: rank_uniformity_p((rng.beta(1.2, 1.0, 4000) * 20).astype(int), 20),  # biased
        lambda rng: rank_uniformity_p((rng.beta(1.4, 1.4, 4000) * 20).astype(int), 20),  # too wide
        lambda rng: rank_uniformity_p((rng.beta(0.8, 0.8, 4000) * 20).astype(int), 20),  # too narrow
        lambda rng: rank_uniformity_p(rng.integers(0, 10, 4000) * 2, 20),  # parity
    ],
)
def test_biased_samples_are_caught(biased):
    assert biased(np.random.default_rng(3)) < 5e-6


def test_an_impossible_outcome_is_certain_failure():
    assert one_sample_p([1000, 1], [1.0, 0.0]) == 0
    assert one_sample_p([1001, 0], [1.0, 0.0]) == 1


def test_samples_without_information():
    assert two_sample_p([2, 2, 2], [2, 2]) == 1
    assert one_sample_p([0, 0], [0.5, 0.5]) == 1
    assert rank_uniformity_p(np.zeros(0, dtype=int), 5) == 1
    assert 0 < two_sample_p([1.0], [2.0]) <= 1
    assert 0 < one_sample_p([1] + [0] * 999, np.full(1000, 1e-3)) <= 1


def test_random_rank_breaks_ties_uniformly():
    rng = np.random.default_rng(5)
    draws = [0, 1, 1, 1, 2]
    ranks = [random_rank(1, draws, rng) for _ in range(4000)]
    assert one_sample_p(np.bincount(ranks, minlength=6), [0, 0.25, 0.25, 0.25, 0.25, 0]) > 1e-4
    assert random_rank(-1, draws, rng) == 0
    assert random_rank(9, draws, rng) == 5


def test_ties_broken_always_downwards_are_caught():
    rng = np.random.default_rng(6)
    sample = rng.poisson(1, (3000, 20))  # column 0 is the truth, 19 draws
    right = [random_rank(row[0], row[1:], rng) for row in sample]
    wrong = [int(np.sum(row[1:] < row[0])) for row in sample]
    assert rank_uniformity_p(right, 20) > 1e-4
    assert rank_uniformity_p(wrong, 20) < 1e-10


@pytest.mark.parametrize(
    "call",
    [
        lambda: one_sample_p([1, 2], [0.5, 0.4]),
        lambda: one_sample_p([1.5, 2], [0.5, 0.5]),
        lambda: one_sample_p([-1, 2], [0.5, 0.5]),
        lambda: two_sample_p([], [1.0]),
        lambda: two_sample_p([math.nan], [1.0]),
        lambda: rank_uniformity_p([0, 5], 5),
        lambda: rank_uniformity_p([0, 0], 1),
        lambda: random_rank(math.nan, [1.0], np.random.default_rng(0)),
        lambda: SampledTests(fresh=True, seed=1),
        lambda: SampledTests(seed=-1),
        lambda: SampledTests().register("nothing", 0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(ParameterError):
        call()


def test_log_of_zero_counts_is_no_warning(recwarn):
    one_sample_p([0, 3000, 3000], [1 / 3] * 3)
    two_sample_p([0] * 500 + [1] * 500 + [2] * 500, [0] * 500 + [1] * 1000)
    assert special.xlogy(0, 0) == 0
    assert not recwarn.list
