"""Finite models on the command line."""

import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit.cli.main import main


@pytest.fixture
def ldac(tmp_path):
    path = tmp_path / "corpus.dat"
    path.write_text("2 0:2 1:1\n2 1:1 2:1\n2 0:3 2:2\n", encoding="utf-8")
    return path


def fit(ldac, folder, *options):
    arguments = ["fit", ldac, "--out", folder, "--sweeps", 20, "--quiet", *options]
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("store", ["histogram", "counts"])
def test_a_finite_model_is_fitted_kept_and_resumed(ldac, tmp_path, store):
    result = fit(ldac, tmp_path / "run", "--topics", 2, "--store", store)
    assert result.exit_code == 0, result.output
    run = hk.open_run(tmp_path / "run")
    assert run.franchise().root.declared == hk.FixedWeights(2)
    assert run.trace["n_dishes"].max() <= 2
    assert set(run.trace["concentration/root"].tolist()) == {1.0}
    assert len(set(run.trace["concentration/document"].tolist())) > 10
    resumed = CliRunner().invoke(main, ["resume", str(tmp_path / "run"), "--sweeps", "5", "--quiet"])
    assert resumed.exit_code == 0, resumed.output


def test_without_topics_the_root_is_a_restaurant(ldac, tmp_path):
    assert fit(ldac, tmp_path / "run").exit_code == 0
    run = hk.open_run(tmp_path / "run")
    assert run.franchise().root.declared == "restaurant"
    assert len(set(run.trace["concentration/root"].tolist())) > 10


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--topics", "0"], "--topics"),
        (["--topics", "many"], "--topics"),
        (["--topics", "3", "--root-concentration", "1.5"], "root-concentration"),
        (["--topics", "3", "--init", "random:4"], "at most 3"),
    ],
)
def test_options_that_do_not_fit_are_refused(ldac, tmp_path, options, named):
    result = fit(ldac, tmp_path / "run", *options)
    assert result.exit_code != 0
    assert named in result.output
    assert not (tmp_path / "run" / "run.json").exists()
