"""Groups of the components of points."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.posterior.point_groups import HALF, _merged, _together


def skewed(seed=3, n=300):
    rng = np.random.default_rng(seed)
    classes = rng.integers(2, size=n)
    return 12.0 * classes[:, None] + np.exp(0.7 * rng.normal(size=(n, 2))), classes


@pytest.fixture(scope="module")
def fitted():
    X, classes = skewed()
    return hk.MixtureModel(sweeps=60, random_state=0).fit(X), X, classes


def test_probabilities_together_by_hand():
    labels = np.array([0, 0, 1, 1, 2])
    dishes = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 2]])
    expected = np.zeros((3, 3))
    for own in dishes:
        for i in range(5):
            same = np.flatnonzero(own == own[i])
            for other in same:
                expected[labels[i], labels[other]] += 1.0 / (len(same) * 5 * 2)
    np.testing.assert_allclose(_together(labels, dishes), expected)
    np.testing.assert_allclose(expected.sum(axis=0), [0.4, 0.4, 0.2])


@pytest.mark.parametrize(("times", "groups"), [(HALF + 0.01, 2), (HALF - 0.01, 3)])
def test_components_are_merged_from_half_of_what_shares_give(times, groups):
    apart = np.diag([0.4, 0.4, 0.2])
    apart[0, 1] = apart[1, 0] = times * 0.16
    apart[[0, 1], [0, 1]] -= times * 0.16
    assert len(np.unique(_merged(apart))) == groups


def test_a_group_that_is_not_normal_has_several_components(fitted):
    model, _, classes = fitted
    assert model.n_components_ > model.n_groups_
    assert adjusted_rand_score(classes, model.labels_) > 0.85
    assert adjusted_rand_score(classes, model.aligned_.partition) < 0.8
    assert sum(model.n_groups_posterior_.values()) == pytest.approx(1.0)
    assert max(model.n_groups_posterior_) < min(model.n_components_posterior_)


def test_labels_predictions_and_probabilities_are_of_groups(fitted):
    model, X, _ = fitted
    of = model.group_of_component_
    assert of.shape == (model.n_components_,)
    assert len(np.unique(of)) == model.n_groups_
    assert np.array_equal(model.labels_, of[model.aligned_.partition])
    assert (np.diff(np.bincount(model.labels_)) <= 0.0).all()
    shares, components_of = model.predict_proba(X), model.predict_component_proba(X)
    assert shares.shape == (len(X), model.n_groups_)
    assert components_of.shape == (len(X), model.n_components_)
    for k in range(model.n_groups_):
        np.testing.assert_allclose(shares[:, k], components_of[:, of == k].sum(axis=1))
    assert np.array_equal(model.predict(X), shares.argmax(axis=1))
    assert (model.predict(X) == model.labels_).mean() > 0.97
    assert set(model.sample(50)[1]) <= set(range(-1, model.n_groups_))
