"""The warning about too many topics for a corpus."""

import warnings

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.run.collect import too_many_topics

N_TOKENS = 2_500  # 51 topics are too many, 50 are not
MANY = np.arange(N_TOKENS) % 51
KEPT = [moves.Concentration()]  # dishes stay as they start


def corpus(n_tokens=N_TOKENS):
    terms = np.random.default_rng(0).integers(0, 40, size=n_tokens)
    return hk.Corpus.from_documents(terms.reshape(-1, 50).tolist(), n_terms=40)


def topic_model(eta=0.5, data=None, kind=hk.DirichletMultinomial):
    root = hk.Restaurant(kind(eta), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, each="document"), corpus() if data is None else data)


@pytest.mark.parametrize(
    ("n_topics", "n_tokens", "many"),
    [(50, 2_500, False), (51, 2_500, True), (1_325, 920_000, True), (44, 1_999, False), (1_999, 1_999, False),
     (45, 2_000, True), (590, 348_884, False), (591, 348_884, True), (0, 2_000, False)],
)  # fmt: skip
def test_the_criterion(n_topics, n_tokens, many):
    assert too_many_topics(n_topics, n_tokens) is many


def test_a_run_warns_once_of_too_many_topics():
    with pytest.warns(errors.ManyTopicsWarning, match=r"^51 topics for 2,500 tokens, 49 tokens each") as told:
        hk.Scheduler(KEPT).run(topic_model(), sweeps=3, rng=0, init=MANY)
    (warning,) = [warning for warning in told if warning.category is errors.ManyTopicsWarning]
    assert warning.filename == __file__
    assert "A larger eta" in str(warning.message)


@pytest.mark.parametrize(
    "case", ["as many as tokens of a topic", "few tokens", "one level", "other data", "nothing recorded"]
)
def test_other_runs_do_not_warn(case):
    franchise, init, thin = topic_model(), MANY, 1
    if case == "as many as tokens of a topic":
        init = np.arange(N_TOKENS) % 50
    elif case == "few tokens":
        franchise, init = topic_model(data=corpus(1_950)), np.arange(1_950)
    elif case == "one level":
        root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
        franchise = hk.Franchise(root, corpus())
    elif case == "other data":
        root = hk.Restaurant(hk.NormalGamma(), concentration=hk.Gamma(1.0, 1.0))
        values = np.random.default_rng(0).normal(size=N_TOKENS)
        groups = hk.Groups.from_labels(values, {"half": np.arange(N_TOKENS) % 2})
        franchise = hk.Franchise(hk.Restaurant(root, each="half"), groups)
    else:
        thin = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hk.Scheduler(KEPT).run(franchise, sweeps=1, rng=0, init=init, thin=thin)


def test_the_default_start_is_below_the_limit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hk.Scheduler(KEPT).run(topic_model(), sweeps=1, rng=0)
