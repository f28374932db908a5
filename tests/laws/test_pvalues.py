"""Sampled tests keep their error rate, p-values keep their levels, and biased samplers are detected."""

import itertools

import numpy as np
import pytest
from calibration import random_rank, rank_uniformity_p
from one_sample import one_sample_p
from scipy import stats

from hdpkit.testing.pvalues import SampledTestFailure, SampledTests

# ---- the discipline


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


# ---- power: each statistic can fail


def test_ties_broken_always_downwards_are_caught():
    rng = np.random.default_rng(6)
    sample = rng.poisson(1, (3000, 20))  # column 0 is the truth, 19 draws
    right = [random_rank(row[0], row[1:], rng) for row in sample]
    wrong = [int(np.sum(row[1:] < row[0])) for row in sample]
    assert rank_uniformity_p(right, 20) > 1e-4
    assert rank_uniformity_p(wrong, 20) < 1e-10
