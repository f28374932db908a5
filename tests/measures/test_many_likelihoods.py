"""Log likelihoods of many observations under several dishes, against those of one pair."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.base_measures import base_measures
from hdpkit.measures.normal_inverse_wishart import ONE_THREAD
from hdpkit.measures.protocol import log_likelihoods
from hdpkit.random import RandomStream

MEASURES = [
    (name, number, measure)
    for name in base_measures
    for number, measure in enumerate(base_measures[name].examples())
    if not measure.atomic and measure.supports("draw_parameters") and measure.supports("log_likelihood")
]


@pytest.mark.parametrize(("name", "number", "measure"), MEASURES, ids=lambda one: str(one)[:20])
def test_many_pairs_at_once(name, number, measure):
    values = measure.example_values()
    values = np.array([0, 1, 2, 1]) if values is None else np.asarray(values)
    source = RandomStream((1, 2))
    begun = [measure.make() for _ in range(3)]
    for value in values[:2]:
        measure.add(begun[0], value)
    measure.add(begun[1], values[-1])
    parameters = [measure.draw_parameters(one, source) for one in begun]
    expected = [[measure.log_likelihood(value, one) for one in parameters] for value in values]
    assert log_likelihoods(measure, values, parameters) == pytest.approx(np.array(expected), rel=1e-12)


def test_normal_vectors_in_blocks_of_rows():
    measure, source = hk.NormalInverseWishart(np.zeros(12), 0.1, 14.0, np.eye(12)), RandomStream((1, 2))
    parameters = [measure.draw_parameters(measure.make(), source) for _ in range(2)]
    values = np.random.default_rng(0).normal(size=(ONE_THREAD // 144 + 9, 12))
    some = [0, -10, -9, -1]
    expected = [[measure.log_likelihood(values[i], one) for one in parameters] for i in some]
    assert log_likelihoods(measure, values, parameters)[some] == pytest.approx(np.array(expected), rel=1e-12)


class Halved(hk.NormalGamma):
    """Overrides the likelihood of one pair only."""

    def log_likelihood(self, value, parameters):
        return 0.5 * super().log_likelihood(value, parameters)


def test_a_class_that_overrides_one_pair_only_is_asked_for_each():
    parameters = [np.array([0.0, 1.0]), np.array([1.0, 2.0])]
    plain, halved = hk.NormalGamma(0.0, 1.0, 2.0, 1.0), Halved(0.0, 1.0, 2.0, 1.0)
    values = np.array([0.5, 3.0])
    whole = log_likelihoods(plain, values, parameters)
    assert log_likelihoods(halved, values, parameters) == pytest.approx(whole / 2)
