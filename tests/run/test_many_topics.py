"""The warning about too many topics for a corpus."""

import warnings

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.cli.main import main
from hdpkit.run.interrupt import too_many_topics

N_TOKENS = 2_500  # 51 topics are too many, 50 are not
MANY = np.arange(N_TOKENS) % 51
KEPT = [moves.Concentration()]  # dishes stay as they start


def corpus(n_tokens=N_TOKENS):
    terms = np.random.default_rng(0).integers(0, 40, size=n_tokens)
    return hk.Corpus.from_documents(terms.reshape(-1, 50).tolist(), n_terms=40)


def topic_model(eta=0.5, data=None, kind=hk.DirichletMultinomial):
    root = hk.Restaurant(kind(eta), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, each="document"), corpus() if data is None else data)


def n_warnings(told):
    return sum(warning.category is errors.ManyTopicsWarning for warning in told)


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


def test_the_warning_names_an_eta_that_has_a_prior():
    with pytest.warns(errors.ManyTopicsWarning, match="eta has a prior"):
        hk.Scheduler(KEPT).run(topic_model(hk.Gamma(1.0, 10.0)), sweeps=1, rng=0, init=MANY)


def test_the_warning_names_the_smoothing_of_sparse_topics():
    sparse = hk.SparseDirichletMultinomial
    with pytest.warns(errors.ManyTopicsWarning, match="A larger smoothing"):
        hk.Scheduler(KEPT).run(topic_model(0.5, kind=sparse), sweeps=1, rng=0, init=MANY)
    with pytest.warns(errors.ManyTopicsWarning, match="smoothing has a prior"):
        hk.Scheduler(KEPT).run(topic_model(hk.Gamma(1.0, 10.0), kind=sparse), sweeps=1, rng=0, init=MANY)


def test_chains_and_a_resumed_run_warn(tmp_path):
    franchise = topic_model()
    with pytest.warns(errors.ManyTopicsWarning) as told:
        hk.Scheduler(KEPT).run(franchise, sweeps=1, rng=0, init=MANY, chains=2, folder=tmp_path / "run")
    assert n_warnings(told) == 1
    with pytest.warns(errors.ManyTopicsWarning) as told:
        hk.open_run(tmp_path / "run").resume(sweeps=1)
    assert n_warnings(told) == 1


def test_the_command_warns(tmp_path):
    lines = [" ".join([str(len(row)), *(f"{term}:1" for term in row)]) for row in [range(40), range(10)] * 50]
    (tmp_path / "corpus.ldac").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = [str(tmp_path / "corpus.ldac"), "--out", str(tmp_path / "run")]
    options = ["--init", "random:300", "--sweeps", "1", "--moves", "concentration", "--quiet"]
    done = CliRunner().invoke(main, [*FIT, *files, *options])
    assert done.exit_code == 0
    assert "Warning: 300 topics for 2,500 tokens" in done.stderr


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
