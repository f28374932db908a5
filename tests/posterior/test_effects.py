"""Effects of covariates on shares: known slopes, errors of statsmodels, what covariates are, mistakes."""

import datetime
import math

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.posterior.effects import _least_squares, covariate

pytest.importorskip("formulaic")

SLOPE = 0.4
ROWS = np.repeat(np.eye(2), 5, axis=1) * 0.196 + 0.002


def fitted(seed, n=100, length=30):
    """Two known topics, of which the second has the mean share 0.3 + 0.4 x in a document."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=n)
    x[0] = np.nan
    mean = 0.3 + SLOPE * np.nan_to_num(x)
    documents = []
    for share in rng.beta(10 * mean, 10 * (1 - mean)):
        topic = (rng.random(length) < share).astype(int)
        documents.append([int(rng.choice(10, p=row / row.sum())) for row in ROWS[topic]])
    documents.append([])
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    dated = ["" if math.isnan(one) else f"{2000 + 20 * one:.0f}" for one in x]
    corpus = hk.Corpus.from_documents(
        documents, n_terms=10, names=[f"d{i}" for i in range(n + 1)],
        groups={"year": [*dated, "2001"], "section": [*("ab"[i % 2] for i in range(n)), None]},
    )  # fmt: skip
    franchise = hk.Franchise(
        hk.Restaurant(root, concentration=1.0, each="document"), corpus,
        known=hk.Known(ROWS / ROWS.sum(axis=1, keepdims=True), frozen=True),
    )  # fmt: skip
    trace = hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 30, rng=seed, samples=10)
    found = hk.summaries.components(trace.samples).of_run(corpus, ())
    return found, [*x, 0.5]


@pytest.fixture(scope="module")
def run():
    return fitted(1)


def test_intervals_contain_the_slope_and_zero_where_there_is_none(run):
    found, x = run
    second = int((found.rows @ ROWS[1]).argmax())
    effects = found.effects("x", {"x": x})
    assert effects.terms == ("Intercept", "x")
    assert effects.n_groups == 99  # without the empty document, and that of which x is not known
    assert effects.lower[second, 1] < SLOPE < effects.upper[second, 1]
    assert effects.lower[second, 1] > 0.0
    assert (effects.lower <= effects.estimates).all()
    assert (effects.estimates <= effects.upper).all()
    np.testing.assert_allclose(effects.estimates.sum(axis=0), [1.0, 0.0], atol=0.02)
    mixed = np.random.default_rng(0).permutation(x)
    none = found.effects("x", {"x": mixed})
    assert none.lower[second, 1] < 0.0 < none.upper[second, 1]
    again = found.effects("x", {"x": x})
    np.testing.assert_array_equal(again.upper, effects.upper)  # the seed is fixed


def test_coefficients_and_errors_are_those_of_statsmodels():
    linear_model = pytest.importorskip("statsmodels.regression.linear_model")
    rng = np.random.default_rng(2)
    design = np.column_stack([np.ones(30), rng.normal(size=30), rng.random(30) < 0.3])
    values = rng.random((30, 2)) * (1 + design[:, 2:])
    solve, error_of = _least_squares("x", design)
    own = solve @ values
    errors = error_of(values - design @ own)
    for k in range(2):
        fit = linear_model.OLS(values[:, k], design).fit(cov_type="HC3")
        np.testing.assert_allclose(own[:, k], fit.params)
        np.testing.assert_allclose(errors[:, k], fit.bse)


def test_what_covariates_are():
    assert covariate(["1", 2, None, "", "NA", np.float64(3)]) == [1.0, 2.0, None, None, None, 3.0]
    assert covariate(["1", "x"]) == ["1", "x"]
    assert covariate([True, False]) == ["True", "False"]
    days = covariate([datetime.date(2000, 1, 1), "2000-07-02", None])
    assert days == [pytest.approx(2000, abs=0.01), pytest.approx(2000.5, abs=0.01), None]


USUAL = ["usual"] * 50 + ["rare"] + ["usual"] * 50
REFUSED = [
    *((formula, {}, "formula") for formula in (None, 5, [], "", "nope", "x +", "x ~ x", "x | x", "0")),
    ("x / x * 1e400", {}, "formula"),
    *(("x", table, "table") for table in (5, "x", [1], dict, {5: [1]})),
    *(("x", {"x": values}, r"table, 'x'|formula") for values in (5, "x", [1.0], [[1.0]] * 101)),
    ("x + y", {"y": [2.0 * i for i in range(101)], "x": list(range(101))}, "a sum of others"),
    ("y", {"y": USUAL}, "only one group"),
    ("C(z)", {"z": [str(i) for i in range(101)]}, "fewer terms"),
    ("Intercept", {"Intercept": USUAL}, "Intercept"),
]


@pytest.mark.parametrize(("formula", "table", "told"), REFUSED)
def test_what_has_no_effects_is_refused(run, formula, table, told):
    found, x = run
    with pytest.raises((DataError, ParameterError), match=told):
        found.effects(formula, {"x": x, **table} if isinstance(table, dict) else table)


def test_groups_of_points_have_effects_and_flat_mixtures_have_none():
    rng = np.random.default_rng(0)
    sites = np.repeat(np.arange(30), 20)
    warm = np.arange(30) / 30.0
    values = rng.normal(size=(600, 1)) + 8.0 * (rng.random(600) < 0.2 + 0.6 * warm[sites])[:, None]
    measure = hk.NormalGamma.weakly_informative(values)
    root = hk.Restaurant(measure, concentration=1.0)
    data = hk.Groups.from_labels(values, {"site": sites.tolist()})
    grouped = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="site"), data)
    trace = hk.Scheduler([hk.moves.TableGibbs()]).run(grouped, 40, rng=0, samples=10)
    found = hk.summaries.components(trace.samples)
    effects = found.effects("warm", {"warm": warm})
    assert list(effects.columns()) == ["component", "term", "estimate", "lower", "upper"]
    assert effects.lower[:, 1].max() > 0.0
    flat = hk.Franchise(root, hk.Groups.from_labels(values))
    hk.Scheduler([hk.moves.TableGibbs()]).run(flat, 2, rng=0)
    with pytest.raises(StateError, match="groups"):
        hk.summaries.components([flat.sample()]).effects("warm", {"warm": warm})
