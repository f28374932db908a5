"""Base measures without marginals: algorithm 8, enumerated, and the moves that it can't serve."""

import math

import numpy as np
import pytest
from parameter_cases import NON_CONJUGATE, draw_mean, log_normal, normal_means

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ParameterError, ScheduleError, StateError
from hdpkit.testing import check_base_measure, check_exact, tiny_franchise
from hdpkit.testing.exact import ExactFailure
from hdpkit.testing.exact_parameters import exact_model
from hdpkit.testing.planted import PlantedBug, planted

GRID = hk.Finite([-1.0, 0.5, 2.0], [1.0, 3.0, 2.0])


def log_poisson(value, rate):
    return value * math.log(rate) - rate - math.lgamma(value + 1)


def counts(auxiliary=2):
    return hk.NonConjugate(
        log_poisson, hk.Finite([0.5, 3.0]), auxiliary=auxiliary, examples=[0, 4, 1], simulate_value=draw_count
    )


def draw_count(rate, generator):
    return int(generator.poisson(rate))


@pytest.mark.parametrize("auxiliary", [1, 3])
@pytest.mark.parametrize("shape", ["flat 4", "2+2"])
@pytest.mark.parametrize("store", ["explicit", "histogram-reference"])
def test_algorithm_8_is_exact(auxiliary, shape, store):
    model = exact_model(tiny_franchise(shape, counts(auxiliary), store=store))
    for move in [moves.TableGibbs(), *([moves.DishGibbs()] if shape != "flat 4" else [])]:
        check_exact(model, move)


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_proposals_of_parameters_from_the_prior_are_exact(store):
    model = exact_model(tiny_franchise("2+2", counts(), store=store))
    P = model.matrix(moves.DishParameters().apply)
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self._lent = [self._of.pop(slot)] if slot in self._of else []", "self._of.pop(slot, None)"),
        ("math.log(float(np.mean(np.exp(new - top))))", "0.0"),
        ("chosen = 0 if len(parameters) == 1 else self._source.choose_log(logs)", "chosen = 0"),
        (
            "mean = top + math.log(float(np.mean(np.exp(new - top))))",
            "mean = top + math.log(float(np.sum(np.exp(new - top))))",
        ),
    ],
    ids=["the dead dish lends nothing", "largest for mean", "always the first", "sum for mean"],
)
def test_planted_bugs_of_algorithm_8_are_caught(old, new):
    bug = PlantedBug("algorithm 8", "", "hdpkit.base_measures.non_conjugate", old, new, "")
    model = exact_model(tiny_franchise("2+2", counts(), store="explicit-reference"))
    with planted(bug), pytest.raises(ExactFailure):
        check_exact(model, moves.TableGibbs())


def test_the_contract_of_a_measure_holds():
    report = check_base_measure(counts())
    assert any("TableGibbs" in line for line in report)
    assert any("Geweke" in line for line in check_base_measure(NON_CONJUGATE["by slices"]))


def test_a_fitted_mixture_finds_the_means():
    generator = np.random.default_rng(4)
    groups = [generator.normal(generator.choice([-4.0, 0.0, 5.0], size=40), 0.8) for _ in range(5)]
    wide = hk.NonConjugate(log_normal, lambda g: float(g.normal(0.0, 5.0)), log_prior=lambda m: -0.02 * m * m)
    root = hk.Restaurant(base=wide, concentration=1.0)
    group = hk.Restaurant(base=root, concentration=1.0, each="group")
    franchise = hk.Franchise(group, hk.Groups.from_arrays(groups))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.DishParameters()])
    schedule.run(franchise, sweeps=30, rng=0, audit_every=10)
    weights, _ = franchise.root_weights()
    largest = np.sort(franchise.dish_parameters()[np.argsort(-weights)[:3]])
    assert np.abs(largest - [-4.0, 0.0, 5.0]).max() < 0.6


def test_a_frozen_state_goes_on_bit_for_bit():
    def run(sweeps, franchise=None):
        if franchise is None:
            franchise = tiny_franchise("3+3", normal_means())
            init, rng = "sequential", 3
        else:
            init, rng = None, None
        moves_ = [moves.TableGibbs(), moves.DishGibbs(), moves.DishParameters()]
        return franchise, hk.Scheduler(moves_).run(franchise, sweeps, rng=rng, init=init)

    whole, trace = run(20)
    half, _ = run(8)
    _, rest = run(12, half.copy())
    assert np.array_equal(trace["log_joint"][8:], rest["log_joint"])
    assert len(whole.dish_parameters()) == whole.n_dishes


def test_what_needs_marginals_is_refused():
    franchise = tiny_franchise("2+2", counts())
    with pytest.raises(ScheduleError, match=r"SplitMerge.*not conjugate"):
        hk.Scheduler([moves.SplitMerge()]).sample(franchise, 1)
    words = tiny_franchise("2+2", hk.DirichletMultinomial(0.5, n_terms=3))
    with pytest.raises(ScheduleError, match="DishParameters"):
        hk.Scheduler([moves.DishParameters()]).sample(words, 1)


def test_bad_input():
    with pytest.raises(ParameterError, match="log_likelihood"):
        hk.NonConjugate(3, draw_mean)
    with pytest.raises(ParameterError, match="auxiliary"):
        normal_means(auxiliary=0)
    with pytest.raises(ParameterError, match="weights"):
        hk.Finite([1, 2], [1.0, -1.0])
    with pytest.raises(ParameterError, match="values"):
        hk.Finite([])
    franchise = tiny_franchise("2+2", counts())
    frozen = franchise.freeze()
    fresh = hk.Franchise(franchise.restaurant_declared, franchise.data)
    with pytest.raises(StateError, match="source"):
        fresh.thaw({**frozen, "bank": None})
