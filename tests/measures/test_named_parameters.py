"""Parameters of dishes by name, and the moments that pictures of components need."""

import importlib.util

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import base_measures

EXAMPLES = [
    pytest.param(measure, id=f"{name}-{number}")
    for name in base_measures
    for number, measure in enumerate(base_measures[name].examples())
    if type(measure).__module__.startswith("hdpkit.") and not (measure.takes_terms or measure.atomic)
]


def fitted(measure, values, columns=None):
    data = hk.Groups.from_labels(values)
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1.0), data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0)
    return franchise


@pytest.mark.parametrize("measure", EXAMPLES)
def test_every_measure_of_numbers_has_names_and_moments(measure):
    franchise = fitted(measure, measure.example_values())
    found = franchise.named_parameters()
    assert len(found) > 0
    assert all(values.shape == (franchise.n_dishes,) for values in found.values())
    mean, covariance = franchise.measure.moments(franchise.dish_parameters())
    d = mean.shape[1]
    assert mean.shape == (franchise.n_dishes, d)
    assert covariance.shape == (franchise.n_dishes, d, d)
    assert (np.linalg.eigvalsh(covariance) >= 0).all()
    np.testing.assert_allclose(covariance, covariance.transpose(0, 2, 1))


def test_a_normal_dish_is_named_by_mean_sd_and_correlation():
    X = np.random.default_rng(0).normal([1.0, -2.0, 0.0], [0.5, 2.0, 1.0], size=(40, 3))
    franchise = fitted(hk.NormalInverseWishart.weakly_informative(X), X)
    found = franchise.named_parameters()
    assert list(found) == [
        "mean[0]", "mean[1]", "mean[2]", "sd[0]", "sd[1]", "sd[2]", "correlation[0,1]", "correlation[0,2]",
        "correlation[1,2]",
    ]  # fmt: skip
    means = franchise.dish_parameters()
    np.testing.assert_array_equal(found["mean[1]"], means[:, 0, 1])
    np.testing.assert_allclose(found["sd[2]"] ** 2, means[:, 3, 2])
    np.testing.assert_allclose(found["correlation[0,2]"] * found["sd[0]"] * found["sd[2]"], means[:, 1, 2])


@pytest.mark.skipif(importlib.util.find_spec("pandas") is None, reason="pandas is not installed")
def test_columns_of_a_table_are_the_names(tmp_path):
    import pandas

    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(20, 2)), columns=["weight", "height"])
    data = hk.Groups.from_labels(table, {"farm": list("ab") * 10})
    assert data.columns == ("weight", "height")
    assert data.with_values(table.to_numpy() + 1.0).columns == data.columns
    assert data.with_values(np.zeros(20)).columns is None
    assert hk.Groups.from_arrays([table[:3], table[3:]]).columns == data.columns
    assert hk.Groups.from_labels(table["weight"]).columns is None
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, [0.5, 0.5]), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="farm"), data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=0, folder=tmp_path / "run")
    assert list(franchise.named_parameters()) == ["mean[weight]", "mean[height]", "sd[weight]", "sd[height]"]
    again = hk.open_run(tmp_path / "run")
    assert again.data.columns == data.columns
    assert list(again.franchise().named_parameters()) == list(franchise.named_parameters())
