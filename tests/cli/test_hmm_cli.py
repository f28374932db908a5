"""``hdpkit hmm fit``: tables as sequences, the run and its page, errors."""

import numpy as np
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit.cli.main import main
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
