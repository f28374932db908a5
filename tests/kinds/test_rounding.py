"""Values that are rounded are spread over their intervals."""

import numpy as np
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.data import Groups
from hdpkit.kinds.numbers import Rounding


def counts(n=300, seed=0):
    """Two clusters in ten columns of counts, most of which are 0."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=n)
    rates = np.where(np.arange(10) % 2 == classes[:, None], 1.2, 0.05)
    return rng.poisson(rates).astype(float), classes


def test_widths_are_the_smallest_differences_of_columns_with_few_values():
    rng = np.random.default_rng(1)
    tenths = np.round(rng.normal(size=100), 1)
    X = np.column_stack([tenths, rng.normal(size=100), np.full(100, 2.0), 4.0 * rng.integers(3, size=100)])
    np.testing.assert_allclose(Rounding.of(X).widths, [0.1, 0.0, 0.0, 4.0])
    np.testing.assert_allclose(Rounding.of(3.0 * X - 1.0).widths, [0.3, 0.0, 0.0, 12.0])


def test_values_stay_in_their_intervals_and_others_as_they_are():
    X = np.column_stack([np.arange(60) % 3, np.linspace(0.0, 1.0, 60)])
    rounding = Rounding.of(X)
    found = rounding.spread(Groups.from_labels(X, {})).values
    assert np.array_equal(np.round(found[:, 0]), X[:, 0])
    assert len(np.unique(found[:, 0])) == 60
    assert np.array_equal(found[:, 1], X[:, 1])
    assert np.array_equal(rounding.spread(Groups.from_labels(X, {})).values, found)
    assert not np.array_equal(rounding.spread(Groups.from_labels(X, {}), 60).values, found)


def test_components_are_no_patterns_of_equal_values():
    X, classes = counts()
    model = hk.MixtureModel(sweeps=60, random_state=0).fit(X)
    assert adjusted_rand_score(classes, model.labels_) > 0.6
    assert (model.predict(X) == model.labels_).mean() > 0.9


def test_new_points_of_a_fit_are_spread_too_and_a_folder_keeps_the_widths(tmp_path):
    X, _ = counts(60)
    model = hk.MixtureModel(sweeps=10, partial_sweeps=5, random_state=0).fit(X[:40]).partial_fit(X[40:])
    values = model.franchise_.data.values
    assert len(np.unique(values)) == values.size
    assert np.array_equal(np.round(values), X)
    model.save(tmp_path / "run")
    again = hk.MixtureModel.load(tmp_path / "run")
    np.testing.assert_array_equal(again.kind_.rounding.widths, model.kind_.rounding.widths)


def test_a_measure_that_is_given_takes_values_as_they_are():
    X, _ = counts(60)
    model = hk.MixtureModel(measure=hk.NormalGamma.weakly_informative(X), sweeps=3, random_state=0).fit(X)
    assert np.array_equal(model.franchise_.data.values, X)
