"""``hdpkit fit --shards``: a run, its continuation, its files, and errors."""

import json

import pytest
from fit_command import FIT, done, hdpkit
from shard_cases import corpus

import hdpkit as hk

DATA = corpus()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "shards"
    hk.ShardedCorpus.write(DATA, path, 3)
    return path


def fit(folder, out, *options):
    return hdpkit("fit", "--shards", folder, "--out", out, *options)


def test_a_run_is_written_and_gone_on_with(folder, tmp_path):
    whole = fit(folder, tmp_path / "whole", "--sweeps", "4", "--eta", "0.1")
    assert whole.exit_code == 0, whole.output
    assert "3 shards" in whole.output
    assert "sweep 4/4, K = " in whole.output
    out = tmp_path / "run"
    for sweeps, options in (("2", []), ("4", ["--spool", str(tmp_path / "spool")])):
        assert fit(folder, out, "--sweeps", sweeps, "--eta", "0.1", "--quiet", *options).exit_code == 0
    assert topics(out) == topics(tmp_path / "whole")
    assert sum(topic["share"] for topic in topics(out)["topics"]) == pytest.approx(1.0)
    assert sum(topic["tokens"] for topic in topics(out)["topics"]) == DATA.n_tokens


def topics(run):
    return json.loads(done("topics", run, "--format", "json").stdout)


def test_another_run_in_the_folder_is_refused(folder, tmp_path):
    out = tmp_path / "run"
    assert fit(folder, out, "--sweeps", "2", "--quiet").exit_code == 0
    for option, value in (("seed", 5), ("moves", "count-gibbs,root-weights")):
        refused = fit(folder, out, "--sweeps", 3, f"--{option}", value)
        assert refused.exit_code == 2
        assert "the argument given now" in refused.output
    assert fit(folder, out, "--sweeps", "3", "--threads", "2", "--quiet").exit_code == 0
    plain = tmp_path / "plain"
    (tmp_path / "a.ldac").write_text("2 0:1 3:2\n1 5:4\n")
    done(*FIT, tmp_path / "a.ldac", "--out", plain, "--sweeps", 1, "--quiet")
    refused = fit(folder, plain, "--sweeps", 3)
    assert refused.exit_code == 2
    assert "corpus" in refused.output
