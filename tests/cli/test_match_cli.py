"""``hdpkit match``."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

from hdpkit.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("match")
    rng = np.random.default_rng(0)
    found = []
    for name, subjects in (("first", ["sea", "[bold]moon"]), ("second", ["moon", "sea"])):
        texts = [" ".join(f"{subjects[i % 2]}{j}" for j in rng.integers(6, size=30)) for i in range(30)]
        file = place / f"{name}.txt"
        file.write_text("\n".join(texts), encoding="utf-8")
        result = run(*FIT, file, "--sweeps", 40, "--chains", 2, "--quiet", "--out", place / name)
        assert result.exit_code == 0, result.output
        found.append(place / name)
    return found


def test_csv_and_json_have_every_row(folders):
    result = run("match", *folders, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    told = json.loads(run("match", *folders, "--format", "json").stdout)
    assert len(rows) == len(told["rows"]) == told["n_matched"] + told["n_missing"] + told["n_new"]
    assert [row["status"] for row in rows] == [row["status"] for row in told["rows"]]
    assert 0.0 < told["share_matched_1"] <= 1.0
    topics = json.loads(run("topics", folders[0], "--format", "json").stdout)
    ours = {row["topic_1"]: row["share_1"] for row in told["rows"] if row["topic_1"]}
    assert ours == {str(one["topic"]): pytest.approx(one["share"]) for one in topics["topics"]}


def test_a_picture(folders, tmp_path):
    pytest.importorskip("vl_convert")
    picture = tmp_path / "cosines.png"
    result = run("match", *folders, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 2000
    assert run("match", *folders, "--plot", tmp_path / "a.docx").exit_code == 2
