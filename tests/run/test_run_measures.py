"""Run folders over every kind of base measure: priors of parameters, rounded statistics, kept parameters."""

import numpy as np
import pytest
from parameter_cases import MEASURES, NON_CONJUGATE

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import RunError
from hdpkit.testing import TinyShape, tiny_franchise

SHAPE = TinyShape({"document": [0] * 8 + [1] * 7 + [2] * 5}, 20)
ATOMIC = {"uniform": hk.Uniform(3), "categorical": hk.Categorical([0.7, 0.1, 0.2])}
CASES = {**MEASURES, **NON_CONJUGATE, **ATOMIC}


def schedule_for(measure):
    after = [moves.BaseMeasureParameters()] if measure.priors else [moves.DishParameters()]
    if measure.atomic:
        after = []
    return hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), *after])


@pytest.mark.parametrize("name", CASES)
def test_a_run_in_three_parts_is_the_unbroken_run(name, tmp_path):
    measure = CASES[name]
    whole = tiny_franchise(SHAPE, measure)
    expected = schedule_for(measure).run(whole, sweeps=30, rng=5)
    part = tiny_franchise(SHAPE, measure)
    schedule_for(measure).run(part, sweeps=11, rng=5, folder=tmp_path / "run")
    for sweeps in (7, 12):
        run = hk.open_run(tmp_path / "run", allow=["parameter_cases"])
        trace = run.resume(sweeps=sweeps)
    assert set(trace) == set(expected)
    for key, values in expected.items():
        assert np.array_equal(trace[key], values), key
    resumed = hk.open_run(tmp_path / "run", allow=["parameter_cases"]).franchise()
    assert np.array_equal(resumed.dishes, whole.dishes)
    assert np.array_equal(resumed.dish_parameters(), whole.dish_parameters())
    assert resumed.measure.priors.keys() == measure.priors.keys()


def test_a_measure_of_ones_own_is_loaded_only_by_leave(tmp_path):
    measure = NON_CONJUGATE["by slices"]
    schedule_for(measure).run(tiny_franchise(SHAPE, measure), sweeps=2, rng=1, folder=tmp_path / "run")
    with pytest.raises(RunError, match="allow"):
        hk.open_run(tmp_path / "run").franchise()


def test_a_measure_that_cannot_be_saved_is_refused_before_the_first_sweep(tmp_path):
    measure = hk.NonConjugate(lambda value, mean: -abs(value - mean), lambda generator: generator.normal())
    franchise = tiny_franchise(SHAPE, measure, values=np.linspace(-1.0, 1.0, 20))
    before = franchise.dishes
    with pytest.raises(RunError, match="log_likelihood"):
        schedule_for(measure).run(franchise, sweeps=2, rng=1, folder=tmp_path / "run")
    assert np.array_equal(franchise.dishes, before)
