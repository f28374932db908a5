"""``hdpkit mixture``: tables of points, the run and its page, new points, errors."""

import csv
import io

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk
from hdpkit.cli.corpus import given_table
from hdpkit.cli.main import main
from hdpkit.kinds.points import Mixture


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def table(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


def read_points(path, options=None, *, new=False, **settings):
    return Mixture(**settings).read(given_table(path, options), new=new)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Points of three components in two sites, and their components."""
    rng = np.random.default_rng(1)
    z = rng.choice(3, size=150, p=[0.5, 0.3, 0.2])
    middles = np.array([[0.0, 0.0], [7.0, 0.0], [0.0, 7.0]])
    lines = ["id,site,height,width"]
    for i, (x, y) in enumerate(middles[z] + rng.normal(0, 0.7, size=(150, 2))):
        lines.append(f"p{i},{'<b>a' if i % 3 else '1'},{x:.3f},{y:.3f}")
    return table(tmp_path_factory.mktemp("data") / "data.csv", lines), z


@pytest.fixture(scope="module")
def fitted(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    told = call(
        "mixture", data[0], "--columns", "height,width", "--group", "site", "--sweeps", 40, "--chains", 2,
        "--samples", 8, "--out", folder,
    )  # fmt: skip
    return folder, told


def test_the_run_has_the_points_and_the_model(fitted, data):
    folder, told = fitted
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
    assert adjusted_rand_score(data[1], found.partition) > 0.95


def test_other_commands_take_the_run(fitted):
    folder, _ = fitted
    assert "all is well" in call("verify", folder)
    assert "height" in call("topics", folder)
    assert "of the observations" in call("match", folder, folder)
    assert "sweep" in call("resume", folder, "--sweeps", 2)
    assert hk.open_run(folder).sweeps[0] == 42


@pytest.mark.quick
def test_new_points(fitted, data, tmp_path):
    folder, _ = fitted
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
    assert "150 points, 150 of them in groups" in call("infer", folder, data[0], "--out", place)
    rows = list(csv.DictReader(place.open()))
    assert adjusted_rand_score(data[1], [row["component"] for row in rows]) > 0.95
    run = hk.open_run(folder)
    assert run.franchise().declarations[-1].each == "site"
    wrong = table(tmp_path / "wrong.csv", ["width", "1"])
    assert "height" in call("infer", folder, wrong, code=2)


def test_a_mixture_without_groups(data, tmp_path):
    told = call(
        "mixture", data[0], "--columns", "height", "--columns", "width", "--measure", "diagonal", "--sweeps",
        20, "--quiet", "--out", tmp_path / "run",
    )  # fmt: skip
    assert "width" in told
    assert len(hk.open_run(tmp_path / "run").franchise().declarations) == 1


def test_directions(data, tmp_path):
    told = call(
        "mixture", data[0], "--columns", "height,width", "--measure", "directions", "--sweeps", 20, "--out",
        tmp_path / "run",
    )  # fmt: skip
    assert "concentration" in told
    new = table(tmp_path / "new.csv", ["height,width", "1,0.1", "10,1"])
    first, second = csv.DictReader(io.StringIO(call("infer", tmp_path / "run", new, "--quiet")))
    assert float(first["log_density"]) == pytest.approx(float(second["log_density"]))


def test_tables(tmp_path):
    rows = ['x,"a,b",id', "1.5,-3e2,u", "2,3,", "0,1,u"]
    given = table(tmp_path / "t.csv", rows)
    found = read_points(given, groups="id")
    assert found.columns == ("x", "a,b")
    assert found.values.tolist() == [[1.5, -300.0], [2.0, 3.0], [0.0, 1.0]]
    assert found.codes("id").tolist() == [0, -1, 0]
    assert read_points(given, columns=["a,b", "x"]).columns == ("a,b", "x")
    assert read_points(given, columns=["x"], groups="site", new=True).label_names == ()


@pytest.mark.parametrize(
    "rows",
    [
        ["x;y", "1,5;2", "3;-4,25"],
        ["sep=;", "x;y", "1,5;2", "3;-4,25"],
        ["x\ty", "1.5\t2", "3\t-4.25"],
        [",x,y", "0,1.5,2", "1,3,-4.25"],
        ["Unnamed: 0,x,y", "7,1.5,2", "8,3,-4.25"],
        ["x,y", "r1,1.5,2", "r2,3,-4.25"],
        ["x,y,,", "1.5,2,,", "3,-4.25,,"],
        ["x|y", "1.5|2", "3|-4.25"],
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_tables_of_other_programs(tmp_path, rows, encoding):
    given = tmp_path / "t.csv"
    given.write_bytes("\r\n".join(rows).encode(encoding))
    found = read_points(given)
    assert found.columns == ("x", "y")
    assert found.values.tolist() == [[1.5, 2.0], [3.0, -4.25]]
