"""``hdpkit hmm fit``: tables as sequences, the run and its page, errors."""

import numpy as np
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit.cli.main import main
from hdpkit.pages.sections.points import read_states, read_transitions
from hdpkit.report import write_report


def call(*arguments, code=0):
    result = CliRunner().invoke(main, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def table(path, lines):
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two trips of three states, with a missing observation."""
    rng = np.random.default_rng(1)
    z = np.cumsum(rng.random(160) < 0.06) % 3
    lines = ["trip,speed,height,word"]
    for i, k in enumerate(z.tolist()):
        numbers = "," if i == 3 else f"{rng.normal(5 * k, 0.4):.3f},{rng.normal(-5 * k, 0.4):.3f}"
        lines.append(f"{'<b>a' if i < 60 else 'b'},{numbers},w{k}")
    return table(tmp_path_factory.mktemp("data") / "data.csv", lines)


@pytest.fixture(scope="module")
def fitted(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    told = call(
        "hmm", "fit", data, "--column", "speed", "--column", "height", "--sequence", "trip", "--sticky",
        "gamma(10,1)", "--sweeps", 40, "--chains", 2, "--samples", 8, "--out", folder,
    )  # fmt: skip
    return folder, told


@pytest.mark.quick
def test_the_run_has_the_sequences_and_the_model(fitted, data):
    folder, told = fitted
    assert "2 sequences, 160 observations, 1 of them missing" in told
    assert "mean" in told
    assert "speed" in told
    run = hk.open_run(folder)
    assert run.data.names == ("<b>a", "b")
    assert run.data.lengths.tolist() == [60, 100]
    assert run.data.columns == ("speed", "height")
    franchise = run.franchises()[0]
    assert franchise.topology.kappa > 0.0
    assert len(run.samples) >= 16
    assert franchise.n_dishes >= 3


@pytest.mark.quick
def test_other_commands_take_the_run(fitted):
    folder, _ = fitted
    assert "all is well" in call("verify", folder)
    assert "speed" in call("topics", folder)
    assert "sweep" in call("resume", folder, "--sweeps", 2)
    assert hk.open_run(folder).sweeps[0] == 42


def test_states_and_transitions_are_exported(fitted, tmp_path):
    told = call("export", fitted[0], "--to", "csv", "--out", tmp_path / "tables")
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
    assert "must be one of csv" in call("export", fitted[0], "--to", "pdf", "--out", tmp_path / "a", code=2)


def test_what_the_pictures_show(fitted):
    from hdpkit.pages.write import _report_data

    report = _report_data(
        str(fitted[0]), None, None, (), None, about=None, title=None, command=None, most_topics=500,
        n_terms=30, n_documents=20, by=None, texts=None,
    )  # fmt: skip
    runs = read_states(report).charts["states"]["data"]["values"]
    for name, length in zip(("<b>a", "b"), (60, 100), strict=True):
        own = [one for one in runs if one["sequence"] == name]
        assert own[0]["begin"] == 1
        assert own[-1]["last"] == length
        assert [one["end"] for one in own[:-1]] == [one["begin"] for one in own[1:]]
    found = read_transitions(report)
    rows = found.values["rows"]
    assert len(rows) == report.n_topics + 1
    for row in rows:
        assert sum(cell["value"] for cell in row["cells"]) + row["rest"] == pytest.approx(1.0)
        assert all(cell["lower"] <= cell["value"] <= cell["upper"] for cell in row["cells"])
    assert rows[-1]["name"] == "start"
    assert found.values["kappa"] > 0.0


def test_words_and_counts_and_a_finite_model(data, tmp_path):
    told = call(
        "hmm", "fit", data, "--column", "word", "--emission", "words", "--sequence", "trip", "--sweeps", 15,
        "--samples", 6, "--states", 4, "--out", tmp_path / "words",
    )  # fmt: skip
    assert "p(w0)" in told
    assert write_report(tmp_path / "words", tmp_path / "words.html").exists()
    run = hk.open_run(tmp_path / "words")
    assert run.data.vocabulary[0] == "w0"
    assert run.franchises()[0].root.most_dishes == 4
    counts = table(tmp_path / "counts.tsv", ["n\tm", "1\t2", "0\t3", "NA\tnan", "4\t4"])
    call("hmm", "fit", counts, "--emission", "poisson", "--sweeps", 3, "--quiet", "--out", tmp_path / "n")
    assert hk.open_run(tmp_path / "n").data.values.dtype.kind == "i"
