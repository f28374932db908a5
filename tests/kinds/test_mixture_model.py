"""`hk.MixtureModel`: scikit-learn's rules, components of points, densities, groups, copies, folders."""

import numpy as np
import pandas
import pytest
import scipy
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.base_measures import NormalInverseWishartReference
from hdpkit.errors import DataError, HdpkitError, ParameterError, SlowModelWarning
from hdpkit.kinds.numbers import Rounding
from hdpkit.posterior.finding import of_clusters

MIDDLES = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])


def three_components(n=120, seed=2):
    rng = np.random.default_rng(seed)
    z = np.sort(rng.choice(3, size=n, p=[0.5, 0.3, 0.2]))
    return MIDDLES[z] + rng.normal(size=(n, 2)), z


X, Z = three_components()
SITES = np.where(np.arange(len(X)) < 70, "north", "south")


def model(**options):
    return hk.MixtureModel(**{"sweeps": 40, "samples": 10, "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted():
    return model(sweeps=80, chains=2).fit(X)


@pytest.fixture(scope="module")
def grouped():
    return model(sweeps=80).fit(X, groups=SITES)


def test_components_are_found(fitted):
    assert fitted.n_components_ == 3
    assert adjusted_rand_score(Z, fitted.labels_) > 0.95
    assert fitted.labels_.dtype == np.int64
    np.testing.assert_allclose(fitted.means_, MIDDLES, atol=0.6)
    assert fitted.covariances_.shape == (3, 2, 2)
    assert (np.diff(fitted.weights_) <= 0.0).all()
    assert fitted.weights_.sum() == pytest.approx(1.0)
    assert fitted.weights_ == pytest.approx([0.5, 0.3, 0.2], abs=0.1)
    assert sum(fitted.n_components_posterior_.values()) == pytest.approx(1.0)
    assert min(fitted.n_components_posterior_) >= 3
    parameters = fitted.parameters_
    assert set(parameters) == {"mean[0]", "mean[1]", "sd[0]", "sd[1]", "correlation[0,1]"}
    for values in parameters.values():
        assert values.shape == (3, 3)
        assert (values[:, 1] <= values[:, 0]).all()
        assert (values[:, 0] <= values[:, 2]).all()
    np.testing.assert_allclose(parameters["mean[1]"][:, 0], fitted.means_[:, 1], rtol=1e-6)
    assert fitted.memberships_.shape == (len(X), 3)
    np.testing.assert_allclose(fitted.memberships_.sum(axis=1), 1.0)
    assert (fitted.memberships_.argmax(axis=1) == fitted.labels_).mean() > 0.98
    assert fitted.n_iter_ == 80
    assert fitted.n_features_in_ == 2
    assert "observations are grouped alike" in str(fitted.diagnosis_)
    assert "words" not in str(fitted.diagnosis_)
    assert (model(sweeps=80, chains=2).fit_predict(X) == fitted.labels_).all()


def test_densities_are_averages_over_samples_of_predictives_by_hand(fitted):
    measure, found = fitted.franchise_.measure, []
    for sample in fitted.samples_:
        own = {name: sample.hyperparameters[f"base/{name}"] for name in ("strength", "multiplier")}
        numbers = measure.mean, own["strength"], measure.dof, own["multiplier"] * measure.scale
        reference = NormalInverseWishartReference(*numbers)
        dishes = [reference.make() for _ in range(sample.n_dishes + 1)]
        for x, dish in zip(X, sample.dishes.tolist(), strict=True):
            reference.add(dishes[dish], x)
        concentration = sample.hyperparameters["concentration/root"]
        weights = np.append(np.bincount(sample.dishes), concentration) / (len(X) + concentration)
        found.append(
            [
                scipy.special.logsumexp(np.log(weights) + reference.log_predictive(x, dishes))
                for x in MIDDLES + 0.5
            ]
        )
    by_hand = scipy.special.logsumexp(found, axis=0) - np.log(len(found))
    np.testing.assert_allclose(fitted.score_samples(MIDDLES + 0.5), by_hand, rtol=1e-9)


def test_samples_have_the_distribution_of_the_densities(fitted):
    values, components = fitted.sample(4000, random_state=1)
    assert values.shape == (4000, 2)
    again, _ = fitted.sample(4000, random_state=1)
    assert np.array_equal(values, again)
    assert np.bincount(components[components >= 0]) / 4000 == pytest.approx(fitted.weights_, abs=0.04)
    # The expected share of points with x < 4 and y < 4, by the density on a grid.
    axis = np.arange(-14.0, 22.0, 0.25)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    mass = np.exp(fitted.score_samples(grid)) * 0.25**2
    inside = (grid < 4.0).all(axis=1)
    assert (values < 4.0).all(axis=1).mean() == pytest.approx(mass[inside].sum(), abs=0.03)


@pytest.mark.quick
def test_groups_have_weights_with_intervals(grouped):
    assert grouped.group_names_ == ["north", "south"]
    K = grouped.n_components_
    mean, lower, upper = (
        grouped.group_weights_, grouped.group_weights_lower_, grouped.group_weights_upper_,
    )  # fmt: skip
    assert mean.shape == lower.shape == upper.shape == (2, K + 1)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0)
    assert ((lower <= mean) & (mean <= upper)).all()
    north = np.bincount(grouped.labels_[SITES == "north"], minlength=K) / 70
    np.testing.assert_allclose(mean[0, :K], north, atol=0.1)
    # A point between two components belongs to the one that its group has.
    between = np.array([[4.0, 0.0]])
    at = grouped.predict([[0.0, 0.0]])[0]
    by_group = [grouped.predict_proba(between, groups=[name])[0, at] for name in ("north", "south", "east")]
    assert by_group[0] > by_group[2] > by_group[1]
    new = grouped.predict_proba(between)
    np.testing.assert_allclose(grouped.predict_proba(between, groups=[None]), new)
    assert grouped.score(X, groups=SITES) > grouped.score(X)
    _, of_north = grouped.sample(200, groups=["north"] * 200, random_state=0)
    assert (of_north == at).mean() == pytest.approx(mean[0, at], abs=0.1)


def test_groups_in_a_column_of_a_frame(grouped):
    frame = pandas.DataFrame(X, columns=["height", "width"]).assign(site=SITES)
    found = model(sweeps=80, groups="site").fit(frame)
    assert found.feature_names_in_.tolist() == ["height", "width"]
    assert "mean[height]" in found.parameters_
    assert np.array_equal(found.labels_, grouped.labels_)
    np.testing.assert_allclose(found.predict_proba(frame), grouped.predict_proba(X, groups=SITES), rtol=1e-9)
    alone = found.predict_proba(frame[["height", "width"]])
    np.testing.assert_allclose(alone, grouped.predict_proba(X), rtol=1e-9)
    assert found.franchise_.declarations[-1].each == "site"
    table = found.aligned_.to_pandas("weights")
    assert set(table["site"]) == {"north", "south"}
    with pytest.raises(DataError, match="column 'site'"):
        model(groups="site").fit(X)
    with pytest.raises(ParameterError, match="groups"):
        found.predict(frame, groups=SITES)


def test_other_measures():
    diagonal = model(measure="diagonal").fit(X)
    assert diagonal.n_components_ == 3
    assert diagonal.covariances_.shape == (3, 2, 2)
    counts = model(measure=hk.GammaPoisson(1.0, 0.1), sweeps=20).fit(np.column_stack([Z * 20, Z * 20]))
    assert counts.n_components_ == 3
    assert counts.sample(3)[0].dtype.kind in "iu"
    with pytest.raises(DataError, match="counts"):
        model(measure=hk.GammaPoisson(1.0, 0.1)).fit(X)
    one = model(measure=hk.NormalGamma(0.0, 0.1, 2.0, 2.0), sweeps=20).fit(X[:, :1])
    assert one.predict(X[:, :1]).shape == (len(X),)
    with pytest.raises(ParameterError, match="TopicModel"):
        model(measure=hk.DirichletMultinomial(0.5)).fit(X)
    with pytest.raises(ParameterError, match="predictive"):
        model(measure=hk.NonConjugate(lambda x, p: -abs(x - p), hk.Finite([0.0, 1.0]))).fit(X)


def test_directions():
    rng = np.random.default_rng(0)
    around = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])[Z % 2]
    rows = rng.uniform(0.5, 3.0, size=(len(X), 1)) * (around + rng.normal(0, 0.1, size=(len(X), 3)))
    found = model(measure="directions", sweeps=60).fit(rows)
    assert adjusted_rand_score(Z % 2, found.labels_) > 0.9
    np.testing.assert_allclose(found.score_samples(rows * 7.0), found.score_samples(rows))
    values, _ = found.sample(20)
    np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0)
    again = model(measure=found.franchise_.measure, sweeps=5).fit(rows)  # rows are divided here, too
    assert again.predict(rows).shape == (len(X),)
    with pytest.raises(DataError, match="row 1 of zeros"):
        model(measure="directions").fit([[1.0, 2.0], [0.0, 0.0]])
    with pytest.raises(DataError, match="two columns"):
        model(measure="directions").fit([[1.0], [2.0]])


def test_components_of_a_partition_with_a_cluster_that_no_sample_has(fitted):
    labels = fitted.labels_.copy()
    labels[0] = 3
    large = [one for one in fitted.samples_ if one.sizes[one.dishes[0]] > 4]
    found = of_clusters(large, labels)
    assert len(found) == 3
    assert found.partition[0] == fitted.labels_[0]
    alone = of_clusters(fitted.samples_, np.arange(len(X)))
    assert len(alone) == alone.partition.max() + 1


def test_new_points_join(grouped):
    first = model(sweeps=40).partial_fit(X[::2], groups=SITES[::2])
    whole = first.partial_fit(X[1::2], groups=np.where(SITES[1::2] == "north", "north", "east"))
    assert whole is first
    assert whole.n_iter_ == 90
    assert adjusted_rand_score(np.append(Z[::2], Z[1::2]), whole.labels_) > 0.95
    assert whole.group_names_ == ["north", "south", "east"]
    assert whole.predict(X).shape == (len(X),)
    assert {sample.dishes.size for sample in whole.samples_} == {len(X)}
    frame = pandas.DataFrame(X, columns=["height", "width"]).assign(site=SITES)
    named = (
        model(sweeps=20, partial_sweeps=5, groups="site", chains=2).fit(frame[:80]).partial_fit(frame[80:])
    )
    assert len(named.labels_) == len(X)
    assert len(named.franchises_) == 2
    assert "mean[height]" in named.parameters_
    flat = model(sweeps=10, partial_sweeps=5).fit(X).partial_fit(X[:3])
    assert len(flat.labels_) == len(X) + 3
    before = flat.labels_.copy()
    with pytest.raises(HdpkitError, match="groups"):
        flat.partial_fit(X[:3], groups=["a"] * 3)
    with pytest.raises(HdpkitError, match="features"):
        flat.partial_fit(X[:, :1])
    assert np.array_equal(flat.labels_, before)


def test_bad_data_are_refused(fitted, grouped):
    with pytest.raises(NotFittedError):
        model().predict(X)
    with pytest.raises(AttributeError, match="fit the model"):
        _ = model().parameters_
    with pytest.raises(AttributeError, match="with groups"):
        _ = fitted.group_weights_
    with pytest.raises(DataError, match="group"):
        model().fit(X, groups=SITES[:5])
    with pytest.raises(DataError, match="masked"):
        model().fit(np.ma.masked_greater(X, 5.0))
    with pytest.raises(DataError, match="inf"):
        model().fit(np.where(X > 5.0, np.inf, X))
    with pytest.raises(HdpkitError, match="groups"):
        fitted.predict(X, groups=SITES)
    with pytest.raises(HdpkitError, match="features"):
        grouped.predict(X[:, :1])
    with pytest.raises(HdpkitError, match="n_samples"):
        fitted.sample(0)


def test_a_long_fit_is_announced(monkeypatch):
    monkeypatch.setattr(hk.MixtureModel, "_run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    wide = np.random.default_rng(0).normal(size=(600, 384))
    with pytest.warns(SlowModelWarning, match="directions") as warned, pytest.raises(KeyboardInterrupt):
        model(sweeps=500).fit(wide)
    assert warned[0].filename == __file__


def test_points_of_a_franchise():
    data = hk.Groups.from_labels(X, {"site": SITES})
    found = model(sweeps=20).fit(data)
    assert found.group_names_ == ["north", "south"]
    assert found.predict(data).shape == (len(X),)
    with pytest.raises(DataError, match="columns"):
        found.predict(hk.Groups.from_labels(np.zeros((3, 5))))
    with pytest.raises(ParameterError, match="groups"):
        found.predict(data, groups=SITES)
    assert model(sweeps=5, samples=0).fit(X).samples_[0].sweep == 5


def test_widths_are_the_smallest_differences_of_columns_with_few_values():
    rng = np.random.default_rng(1)
    tenths = np.round(rng.normal(size=100), 1)
    X = np.column_stack([tenths, rng.normal(size=100), np.full(100, 2.0), 4.0 * rng.integers(3, size=100)])
    np.testing.assert_allclose(Rounding.of(X).widths, [0.1, 0.0, 0.0, 4.0])
    np.testing.assert_allclose(Rounding.of(3.0 * X - 1.0).widths, [0.3, 0.0, 0.0, 12.0])


def test_new_points_of_a_fit_are_spread_too_and_a_folder_keeps_the_widths(tmp_path):
    X = np.random.default_rng(0).poisson(0.6, size=(60, 10)).astype(float)
    model = hk.MixtureModel(sweeps=10, partial_sweeps=5, random_state=0).fit(X[:40]).partial_fit(X[40:])
    values = model.franchise_.data.values
    assert len(np.unique(values)) == values.size
    assert np.array_equal(np.round(values), X)
    model.save(tmp_path / "run")
    again = hk.MixtureModel.load(tmp_path / "run")
    np.testing.assert_array_equal(again.kind_.rounding.widths, model.kind_.rounding.widths)
