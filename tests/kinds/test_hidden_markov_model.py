"""`hk.HiddenMarkovModel`: scikit-learn's rules, states of sequences, scores, copies, folders."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError, HdpkitError, LeftOutColumnsWarning
from hdpkit.kinds.hidden_markov import HiddenMarkov
from hdpkit.report import write_report


def three_states(n=300, seed=1):
    rng = np.random.default_rng(seed)
    z = np.cumsum(rng.random(n) < 0.05) % 3
    return rng.normal(5.0 * z, 0.5)[:, None], z


X, Z = three_states()
LENGTHS = [100, 200]


def model(**options):
    return hk.HiddenMarkovModel(**{"sweeps": 30, "sticky": 10.0, "random_state": 0, "chains": 1, **options})


@pytest.fixture(scope="module")
def fitted():
    return model(sweeps=60, samples=8).fit(X, lengths=LENGTHS)


@pytest.mark.quick
def test_states_are_found(fitted):
    K = fitted.n_states_
    assert fitted.n_components_ == K >= 3
    assert fitted.state_shares_[:3].sum() > 0.95
    assert (np.diff(fitted.state_shares_) <= 0).all()
    for rows in (fitted.startprob_, fitted.transmat_):
        np.testing.assert_allclose(rows.sum(axis=-1), 1.0)
    assert fitted.transmat_.shape == (K, K)
    assert fitted.means_.shape == (K, 1)
    assert fitted.covars_.shape == (K, 1, 1)
    assert np.sort(fitted.means_[:3, 0]) == pytest.approx([0.0, 5.0, 10.0], abs=0.3)
    for decoder in ("viterbi", "posterior"):
        path = fitted.set_params(decoder=decoder).predict(X, LENGTHS)
        at = [np.bincount(Z[path == k], minlength=3) for k in range(3)]
        assert sum(one.max() for one in at) > 0.95 * len(Z)
    fitted.set_params(decoder="viterbi")
    shares = fitted.predict_proba(X, LENGTHS)
    assert shares.shape == (len(X), K)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares.argmax(axis=1) == fitted.decode(X, LENGTHS, "posterior")[1]).all()
    assert fitted.n_iter_ == 60
    assert fitted.n_features_in_ == 1
    assert str(fitted.diagnosis_)
    assert fitted.aligned_.transitions.shape == (len(fitted.aligned_) + 1,) * 2


def test_scores_are_averages_over_samples(fitted):
    new, _ = three_states(60, 2)
    found = hk.evaluate(
        fitted.franchise_, hk.Sequences.from_arrays([new[:20, 0], new[20:, 0]]), samples=fitted.samples_,
        particles=5, rng=0,
    )  # fmt: skip
    assert fitted.score(new, lengths=[20, 40]) == pytest.approx(found.log_probability, abs=1e-10)
    assert fitted.score(new, [20, 40]) == fitted.score(new, lengths=[20, 40])
    assert fitted.score(new, np.zeros(60)) == fitted.score(new)  # labels
    log, _ = fitted.decode(new)
    assert log == pytest.approx(fitted.score(new), abs=10.0)
    without = model(samples=0).fit(X)
    assert without.score(new) == pytest.approx(without.decode(new)[0], abs=1e-10)


def test_forecasts(fitted):
    """Those after the sequences of the fit, which `hk.forecast` gives for the samples, and after others."""
    found = fitted.forecast(horizon=4, draws=50)
    assert found.draws.shape == (50, 2, 4)
    assert (found.horizon, found.probabilities) == (4, None)
    np.testing.assert_allclose(found.n_parameters, 5 * len(fitted.samples_))
    same = hk.forecast(fitted.franchise_, 4, samples=fitted.samples_, draws=50, particles=5, rng=0)
    assert np.array_equal(found.draws, same.draws)
    assert np.array_equal(fitted.forecast(X, LENGTHS, horizon=4, draws=50).draws, found.draws)
    last = X[np.cumsum(LENGTHS) - 1, 0]  # states are long: mostly the same one in the next step
    assert found.quantiles([0.5])[0, :, 0] == pytest.approx(5.0 * np.round(last / 5.0), abs=0.5)
    other = fitted.forecast(horizon=4, draws=50, random_state=1)
    assert not np.array_equal(other.draws, found.draws)

    one = fitted.forecast(X[:40], horizon=2, draws=30)
    assert one.draws.shape == (30, 1, 2)
    assert 1.0 <= one.n_parameters[0] < 5 * len(fitted.samples_)
    assert fitted.forecast(X[:40], [10, 0, 30], draws=30).draws.shape == (30, 3, 1)
    again = fitted.forecast(hk.Sequences.from_arrays([X[:40, 0]]), horizon=2, draws=30)
    assert np.array_equal(again.draws, one.draws)


def test_forecasts_of_terms_and_of_a_model_without_samples():
    terms = model(emission="words", sweeps=10, samples=3).fit(Z[:, None], lengths=LENGTHS)
    found = terms.forecast(horizon=3, draws=7)
    assert found.probabilities.shape == (2, 3, 3)
    np.testing.assert_allclose(found.probabilities.sum(axis=-1), 1.0)
    assert set(np.unique(found.draws)) <= {0, 1, 2}
    last = model(sweeps=5, samples=0, n_components=3).fit(X)
    np.testing.assert_allclose(last.forecast(draws=20).n_parameters, 5.0)


def test_words_counts_and_a_given_measure():
    words = model(emission="words", sweeps=5).fit(Z[:, None])
    assert words.emissionprob_.shape == (words.n_states_, 3)
    assert words.sample(4, 1)[0].dtype.kind in "iu"
    assert words.score([[0], [2]]) < 0.0
    with pytest.raises(DataError, match="whole numbers from 0 to 2"):
        words.predict([[3]])
    with pytest.raises(DataError, match="one column"):
        model(emission="words").fit(np.column_stack([Z, Z]))
    counts = model(emission="poisson", sweeps=5).fit(np.column_stack([Z, Z]))
    assert counts.means_.shape == (counts.n_states_, 2)
    with pytest.raises(DataError, match="counts"):
        model(emission="poisson").fit(X)
    wishart = hk.NormalInverseWishart([0.0, 0.0], 0.1, 4.0, np.eye(2))
    both = model(emission=wishart, sweeps=5).fit(np.column_stack([X, -X]))
    assert both.covars_.shape == (both.n_states_, 2, 2)
    sequences = hk.Sequences.from_arrays([["a", "b", "a"], ["b"]])
    named = model(emission="words", sweeps=3).fit(sequences)
    assert named.predict(hk.Sequences.from_arrays([["b"]], vocabulary=["a", "b"])).shape == (1,)


def test_bad_data_are_refused(fitted):
    with pytest.raises(NotFittedError):
        model().predict(X)
    with pytest.raises(DataError, match="without gaps"):
        model(emission="words").fit([[0], [10**9], [2]])
    for lengths in ([10], [-1, 301], "ab"):
        with pytest.raises(HdpkitError):
            fitted.predict(X, lengths)
    with pytest.raises(DataError, match="masked"):
        model().fit(np.ma.masked_greater(X, 5.0))
    with pytest.raises(DataError, match="inf"):
        model().fit(np.where(X > 5.0, np.inf, X))
    with pytest.raises(DataError, match="columns"):
        fitted.predict(hk.Sequences.from_arrays([np.zeros((3, 2))]))
    with pytest.raises(HdpkitError, match="algorithm"):
        fitted.decode(X, algorithm="map")


@pytest.mark.parametrize("outlier", [1e6])
def test_outliers_and_columns_that_say_nothing_leave_the_prior_of_states(outlier):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    changed = rows.copy()
    changed[7] = outlier
    wide = np.column_stack([changed, np.full(200, 3.0), changed.sum(axis=1)])
    fitted = hk.HiddenMarkovModel(sweeps=2, chains=1, random_state=0)
    with pytest.warns(LeftOutColumnsWarning) as warned:
        fitted.fit(wide)
    assert warned[0].filename == __file__
    plain = hk.HiddenMarkovModel(sweeps=2, chains=1, random_state=0).fit(np.delete(rows, 7, axis=0))
    for one, other in zip(fitted.franchise_.measure.vectors, plain.franchise_.measure.vectors, strict=True):
        np.testing.assert_array_equal(one, other)
    assert fitted.means_.shape == (fitted.n_states_, 4)
    np.testing.assert_allclose(fitted.means_[:, 2], 3.0)
    np.testing.assert_allclose(fitted.means_[:, 3], fitted.means_[:, :2].sum(axis=1))
    assert fitted.predict(wide).shape == (200,)
    assert fitted.sample(3)[0].shape == (3, 4)


@pytest.mark.parametrize(
    ("counts", "options"),
    [
        ("1,000 and 10,000", {"n_components": 3}),
        ("1,000 and 10**8", {"sticky": 0.0, "schedule": [moves.TableGibbs()]}),
        ("visits", {}),
    ],
    ids=str,
)
def test_large_counts(counts, options):
    rng, z = np.random.default_rng(0), np.repeat([0, 1, 0, 1, 0, 1], 12)
    x = {
        "1,000 and 10,000": lambda: rng.poisson(np.where(z, 10_000, 1000)),
        "1,000 and 10**8": lambda: rng.poisson(np.where(z, 1e8, 1e3)),
        "visits": lambda: np.round(rng.lognormal(np.log(1000), 0.5, 72)),
    }[counts]()[:, None]
    fitted = model(emission="poisson", **options).fit(x)
    assert np.isfinite(fitted.score(x))
    if counts != "visits":
        found = fitted.predict(x)
        assert not set(found[z == 0]) & set(found[z == 1])
    assert fitted.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(72))
    far = x.copy()
    far[[5, 40], 0] = 0, 10**12
    assert_possible(fitted, far)


def assert_possible(fitted, far):
    assert np.isfinite(fitted.score(far))
    assert np.isfinite(fitted.decode(far)[0])
    assert fitted.predict_proba(far).sum(axis=1) == pytest.approx(np.ones(len(far)))
    assert set(fitted.predict(far)) <= set(range(fitted.n_states_))
    assert np.isfinite(fitted.forecast(far, draws=5).mean).all()


@pytest.mark.parametrize(
    ("emission", "n_components"),
    [
        ("normal", None),
        (hk.NormalGamma(0.0, 0.1, 2.0, 1.0), 3),
        (hk.NormalInverseWishart(np.zeros(2), 0.1, 4.0, np.eye(2)), 3),
        (hk.VonMisesFisher(1e4, [1.0, 0.0], 0.1), None),
    ],
    ids=lambda one: str(one)[:20],
)
def test_points_far_from_all_states(emission, n_components):
    width = 1 if isinstance(emission, hk.NormalGamma) else 2
    x = np.random.default_rng(0).normal(np.repeat([0.0, 8.0], 20)[:, None], 1.0, size=(40, width))
    x = x / np.linalg.norm(x, axis=1, keepdims=True) if isinstance(emission, hk.VonMisesFisher) else x
    fitted = model(emission=emission, n_components=n_components, sweeps=10).fit(x)
    for size in (1e3, 1e6, 1e100):
        far = x.copy()
        far[5] = -x[5] if isinstance(emission, hk.VonMisesFisher) else size
        assert_possible(fitted, far)


@pytest.mark.parametrize("emission", ["words", "poisson", "normal", hk.DirichletMultinomial(0.5, n_terms=7)])
@pytest.mark.parametrize("seed", range(1))
def test_summaries_with_missing_values(emission, seed, tmp_path):
    """A state may have no observations but missing ones."""
    z = np.repeat([0, 3] * 3, 12)
    x = (z + np.random.default_rng(2).integers(0, 3, size=72)).astype(float)[:, None]
    x[[0, 7, 30, 71]] = np.nan
    fitted = model(emission=emission, sticky=0.0, random_state=seed).fit(x)
    assert fitted.aligned_.rows.shape[0] == len(fitted.aligned_.shares)
    assert len(hk.summaries.match_topics(fitted.aligned_, fitted.aligned_).pairs) > 0
    write_report(fitted.franchise_, tmp_path / "report.html", trace=fitted.trace_)
    assert np.isfinite(fitted.score(x))


def test_with_too_many_observations_for_samples_the_best_state_is_shown(monkeypatch):
    monkeypatch.setattr("hdpkit.franchise.sample._CUSTOMERS", 10)
    fitted = model(samples=3, sweeps=30).fit(X)  # in this process
    assert fitted.samples_[0].dishes is None
    best = max((one.sample() for one in fitted.franchises_), key=lambda sample: sample.log_joint)
    assert fitted.n_states_ == best.n_dishes
    np.testing.assert_allclose(fitted.state_shares_, np.sort(best.shares())[::-1])
    assert fitted.means_.shape == (fitted.n_states_, 1)
    np.testing.assert_allclose(fitted.predict_proba(X).sum(axis=1), 1.0)
    assert (
        sum(np.bincount(Z[fitted.predict(X) == k], minlength=3).max() for k in range(fitted.n_states_)) > 280
    )


def default_moves(data, **settings):
    kind = HiddenMarkov(**settings)
    return kind.moves(kind.declare(data))


def test_default_schedules():
    data = hk.Sequences.from_arrays([X[:, 0]])
    schedule = default_moves(data, sticky=hk.Gamma(1.0, 1.0))
    assert isinstance(schedule[0], moves.BeamSampler)
    assert isinstance(schedule[-1], moves.Sticky)
    kept = hk.NonConjugate(lambda x, p: -abs(x - p), hk.Finite([0.0, 1.0]))
    plain = {"emission": kept, "sticky": 0.0, "concentration": 1.0, "root_concentration": 1.0}
    first, second, *others = default_moves(data, **plain)
    assert isinstance(first, moves.BeamSampler)
    assert isinstance(second.move, moves.TableGibbs)
    assert [type(move) for move in others] == [moves.DishParameters, moves.RootWeights]
    begin = default_moves(data, **plain, start_concentration=hk.Gamma(1.0, 1.0))
    assert moves.Concentration in [type(move) for move in begin]
