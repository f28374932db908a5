"""Commands on a run over numbers: its components in the terminal, as CSV and as JSON."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.main import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.5, size=(40, 2)) for m in ([0, 0], [5, 0], [0, 5])])
    data = hk.Groups.from_labels(X, {"farm": [f"farm {i % 3}" for i in range(120)]})
    root = hk.Restaurant(hk.NormalInverseWishart.weakly_informative(X), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="farm"), data)
    place = tmp_path_factory.mktemp("mixture") / "run"
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()])
    schedule.run(franchise, sweeps=40, rng=0, chains=2, samples=10, folder=place)
    return place


def test_csv_and_json_have_every_parameter(folder):
    found = hk.summaries.components(folder)
    named = found.named_parameters(hk.open_run(folder).franchise().measure)
    rows = list(csv.DictReader(io.StringIO(run("topics", folder, "--format", "csv").stdout)))
    assert [row["component"] for row in rows] == [str(k + 1) for k in range(len(found))]
    assert {"sd[1]", "sd[1] low", "sd[1] high", "correlation[0,1]"} <= set(rows[0])
    told = json.loads(run("topics", folder, "--format", "json").stdout)
    assert told["n_components"] == len(found)
    for k, one in enumerate(told["components"]):
        assert one["share"] == pytest.approx(found.shares[k])
        assert one["mean[0]"] == pytest.approx(named["mean[0]"][k, 0])
        assert one["mean[0] low"] - 1e-9 <= one["mean[0]"] <= one["mean[0] high"] + 1e-9


def test_exports_have_components_parameters_weights_and_points(folder, tmp_path):
    assert run("export", folder, "--to", "csv", "--out", tmp_path / "tables").exit_code == 0
    tables = {path.stem: list(csv.DictReader(path.open())) for path in (tmp_path / "tables").iterdir()}
    assert set(tables) == {"components", "parameters", "weights", "points"}
    shown = list(csv.DictReader(io.StringIO(run("topics", folder, "--format", "csv").stdout)))
    for one, row in zip(shown, tables["components"], strict=True):
        assert float(one["share"]) == pytest.approx(float(row["share"]))
    for row in tables["parameters"]:
        own = shown[int(row["component"]) - 1]
        assert float(own[row["parameter"]]) == pytest.approx(float(row["value"]))
        assert float(own[f"{row['parameter']} high"]) == pytest.approx(float(row["high"]))
    n = len(shown)
    assert len(tables["weights"]) == 3 * (n + 1)
    assert sum(float(row["weight"]) for row in tables["weights"]) == pytest.approx(3.0, abs=1e-6)
    points = tables["points"]
    assert [row["group"] for row in points[:3]] == ["farm 0", "farm 1", "farm 2"]
    assert len(points) == 120
    total = [sum(float(row[f"component_{k + 1}"]) for k in range(n)) for row in points]
    assert total == pytest.approx([1.0] * 120, abs=1e-6)
    assert run("export", folder, "--to", "json", "--out", tmp_path / "all.json").exit_code == 0
    told = json.loads((tmp_path / "all.json").read_text())
    assert {name: len(rows) for name, rows in told.items()} == {k: len(rows) for k, rows in tables.items()}
    assert run("export", folder, "--to", "excel", "--out", tmp_path / "all.xlsx").exit_code == 0
