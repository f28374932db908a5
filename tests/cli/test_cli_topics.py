"""Finite models on the command line."""

import tracemalloc

import numpy as np
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit.cli.main import main
from hdpkit.cli.output import state_topics
from hdpkit.schedule.states import state_of


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


def test_a_run_whose_table_cannot_be_made_is_saved_and_says_how_to_get_it(ldac, tmp_path, monkeypatch):
    def failing(franchise, n_terms):
        raise MemoryError("Unable to allocate 7.45 GiB")

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("hdpkit.cli.runs.state_topics", failing)
        result = fit(ldac, folder)
        assert result.exit_code == 0
        assert "saved" in result.stderr
        assert "MemoryError: Unable to allocate 7.45 GiB" in result.stderr
        assert f"hdpkit topics {folder}" in result.stderr
        resumed = CliRunner().invoke(main, ["resume", str(folder), "--sweeps", "5", "--quiet"])
        assert resumed.exit_code == 0
        assert "hdpkit topics" in resumed.stderr
    assert hk.open_run(folder).trace.n_draws == 25
    table = CliRunner().invoke(main, ["topics", str(folder)])
    assert table.exit_code == 0
    assert "share of" in table.stdout


@pytest.mark.filterwarnings("ignore::hdpkit.errors.ManyTopicsWarning")
def test_the_table_of_many_topics_needs_no_memory_for_all_pairs_of_topics_and_terms():
    rng = np.random.default_rng(0)
    corpus = hk.Corpus.from_documents([rng.integers(0, 8000, 10) for _ in range(400)], n_terms=8000)
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(5.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    scheduler = hk.Scheduler([hk.moves.Concentration()])
    scheduler.run(franchise, 1, rng=0, init=hk.init.Random(2000))
    assert franchise.n_dishes > 1500
    franchise.sample()
    tracemalloc.start()
    topics = state_topics(state_of(franchise), 5)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(topic.tokens for topic in topics) == 4000
    assert all(topic.terms for topic in topics)
    assert most < 40e6  # 1,700 x 8,000 numbers are 109 MB
