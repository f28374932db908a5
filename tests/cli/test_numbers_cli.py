"""Points and sequences on the command line: tables, runs and their pages, new points, exports."""

import csv
import io
import json

import numpy as np
import pytest
from fit_command import call, hdpkit
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.report import write_report


def table(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """Points of three components in two sites, and their components."""
    rng = np.random.default_rng(1)
    z = rng.choice(3, size=150, p=[0.5, 0.3, 0.2])
    middles = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
    lines = ["id,site,height,width"]
    for i, (x, y) in enumerate(middles[z] + rng.normal(0, 0.7, size=(150, 2))):
        lines.append(f"p{i},{'<b>a' if i % 3 else '1'},{x:.3f},{y:.3f}")
    return table(tmp_path_factory.mktemp("data") / "data.csv", lines), z


@pytest.fixture(scope="module")
def mixture(points, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    told = call(
        "mixture", points[0], "--columns", "height,width", "--group", "site", "--sweeps", 40, "--chains", 2,
        "--samples", 8, "--out", folder,
    )  # fmt: skip
    return folder, told


def test_the_run_has_the_points_and_the_model(mixture, points):
    folder, told = mixture
    assert "150 points in 2 dimensions, 2 groups" in told
    assert "mean" in told
    assert "height" in told
    assert "Can it be read?" in told
    assert "3 groups of 3 components of" in told
    assert "words" not in told
    run = hk.open_run(folder)
    assert run.data.columns == ("height", "width")
    assert run.data.keys("site") == ["1", "<b>a"]
    found = hk.summaries.components(list(run.samples), partition=True)
    assert adjusted_rand_score(points[1], found.partition) > 0.95


@pytest.mark.quick
def test_new_points(mixture, points, tmp_path):
    folder, _ = mixture
    new = table(tmp_path / "new.csv", ["width,height", "0,0", "0,7", "7,0", "900,900"])
    told = call("infer", folder, new, "--quiet")
    rows = list(csv.DictReader(io.StringIO(told)))
    assert [row["component"] for row in rows[:3]] == ["1", "2", "3"]
    assert [row["group_of_component"] for row in rows[:3]] == ["1", "2", "3"]
    assert float(rows[3]["log_density"]) < float(rows[0]["log_density"]) - 20.0
    for row in rows:
        total = sum(float(value) for name, value in row.items() if name.startswith("component_"))
        assert total == pytest.approx(1.0)
    # Points with their groups, in a file; the components have the numbers of `hdpkit topics`.
    place = tmp_path / "out.csv"
    assert "150 points, 150 of them in groups" in call("infer", folder, points[0], "--out", place)
    rows = list(csv.DictReader(place.open()))
    assert adjusted_rand_score(points[1], [row["component"] for row in rows]) > 0.95
    run = hk.open_run(folder)
    assert run.franchise().declarations[-1].each == "site"
    wrong = table(tmp_path / "wrong.csv", ["width", "1"])
    assert "height" in call("infer", folder, wrong, code=2)


def test_exports_have_components_parameters_weights_and_points(mixture, tmp_path):
    assert hdpkit("export", mixture[0], "--to", "csv", "--out", tmp_path / "tables").exit_code == 0
    tables = {path.stem: list(csv.DictReader(path.open())) for path in (tmp_path / "tables").iterdir()}
    assert set(tables) == {"components", "parameters", "weights", "points"}
    shown = list(csv.DictReader(io.StringIO(hdpkit("topics", mixture[0], "--format", "csv").stdout)))
    for one, row in zip(shown, tables["components"], strict=True):
        assert float(one["share"]) == pytest.approx(float(row["share"]))
    for row in tables["parameters"]:
        own = shown[int(row["component"]) - 1]
        assert float(own[row["parameter"]]) == pytest.approx(float(row["value"]))
        assert float(own[f"{row['parameter']} high"]) == pytest.approx(float(row["high"]))
    n = len(shown)
    assert len(tables["weights"]) == 2 * (n + 1)
    assert sum(float(row["weight"]) for row in tables["weights"]) == pytest.approx(2.0, abs=1e-6)
    points = tables["points"]
    assert [row["group"] for row in points[:2]] == ["1", "<b>a"]
    assert len(points) == 150
    total = [sum(float(row[f"component_{k + 1}"]) for k in range(n)) for row in points]
    assert total == pytest.approx([1.0] * 150, abs=1e-6)
    assert hdpkit("export", mixture[0], "--to", "json", "--out", tmp_path / "all.json").exit_code == 0
    told = json.loads((tmp_path / "all.json").read_text())
    assert {name: len(rows) for name, rows in told.items()} == {k: len(rows) for k, rows in tables.items()}
    assert hdpkit("export", mixture[0], "--to", "excel", "--out", tmp_path / "all.xlsx").exit_code == 0


@pytest.fixture(scope="module")
def sequences(tmp_path_factory):
    """Two trips of three states, with a missing observation."""
    rng = np.random.default_rng(1)
    z = np.cumsum(rng.random(160) < 0.06) % 3
    lines = ["trip,speed,height,word"]
    for i, k in enumerate(z.tolist()):
        numbers = "," if i == 3 else f"{rng.normal(5 * k, 0.4):.3f},{rng.normal(-5 * k, 0.4):.3f}"
        lines.append(f"{'<b>a' if i < 60 else 'b'},{numbers},w{k}")
    return table(tmp_path_factory.mktemp("data") / "data.csv", lines)


@pytest.fixture(scope="module")
def states(sequences, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    told = call(
        "hmm", "fit", sequences, "--column", "speed", "--column", "height", "--sequence", "trip", "--sticky",
        "gamma(10,1)", "--sweeps", 40, "--chains", 2, "--samples", 8, "--out", folder,
    )  # fmt: skip
    return folder, told


def test_states_and_transitions_are_exported(states, tmp_path):
    told = call("export", states[0], "--to", "csv", "--out", tmp_path / "tables")
    assert "states of" in told
    tables = {path.stem: path.read_text().splitlines() for path in (tmp_path / "tables").iterdir()}
    assert sorted(tables) == ["components", "parameters", "points", "transitions"]
    n = len(tables["components"]) - 1
    assert len(tables["transitions"]) == 1 + (n + 1) ** 2
    assert tables["points"][0].startswith("point,sequence,component,component_1")
    assert len(tables["points"]) == 161
    assert tables["points"][1].startswith("1,<b>a,")
    rows = [line.split(",") for line in tables["points"][1:]]
    for row in rows:
        shares = np.array(row[3:], dtype=float)
        none = 1.0 - shares.sum()
        assert int(row[2]) == (0 if none > shares.max() + 1e-9 else shares.argmax() + 1)
    assert "must be one of csv" in call("export", states[0], "--to", "pdf", "--out", tmp_path / "a", code=2)


def test_words_and_counts_and_a_finite_model(sequences, tmp_path):
    told = call(
        "hmm", "fit", sequences, "--column", "word", "--emission", "words", "--sequence", "trip", "--sweeps",
        15, "--samples", 6, "--states", 4, "--out", tmp_path / "words",
    )  # fmt: skip
    assert "p(w0)" in told
    assert write_report(tmp_path / "words", tmp_path / "words.html").exists()
    run = hk.open_run(tmp_path / "words")
    assert run.data.vocabulary[0] == "w0"
    assert run.franchises()[0].root.most_dishes == 4
    counts = table(tmp_path / "counts.tsv", ["n\tm", "1\t2", "0\t3", "NA\tnan", "4\t4"])
    call("hmm", "fit", counts, "--emission", "poisson", "--sweeps", 3, "--quiet", "--out", tmp_path / "n")
    assert hk.open_run(tmp_path / "n").data.values.dtype.kind == "i"
