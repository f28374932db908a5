"""Commands on what a run has found: check, effects, match, components of numbers."""

import csv
import io
import json

import numpy as np
import pytest
from fit_command import FIT, hdpkit


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.full(40, 0.2), size=3)
    shares = generator.dirichlet(np.full(3, 0.5), size=30)
    counts = [3 * generator.multinomial(25, row @ topics) for row in shares]
    lines = [
        " ".join([str(np.count_nonzero(row)), *(f"{v}:{n}" for v, n in enumerate(row.tolist()) if n)])
        for row in counts
    ]
    (folder / "repeated.ldac").write_text("\n".join(lines) + "\n")
    done = hdpkit(*FIT, folder / "repeated.ldac", "--sweeps", 40, "--out", folder / "run", "--quiet")
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_the_verdict_in_words(checked):
    done = hdpkit("check", checked, "--sweeps", 40, "--init", "one,auto")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("The model does not fit: different pairs of document and term: ")
    assert "within a topic" in done.stdout
    assert "dish" not in done.stdout
    assert "| own state" in done.stdout
    assert "9/9 redrawn copy, chain 2 from own state" in done.stderr


def test_the_verdict_as_json_is_the_same_with_the_same_seed(checked):
    words = ("check", checked, "--sweeps", 40, "--init", "one", "--seed", 2, "--format", "json", "--quiet")
    first, again = (json.loads(hdpkit(*words).stdout) for _ in range(2))
    assert first["verdict"] in ("misfit", "slow", "converged")
    assert first["data"]["chains"][0]["statistics"] == again["data"]["chains"][0]["statistics"]
    assert [chain["start"] for chain in first["simulated"]["chains"]] == ["one", "own state"]
    assert first["sweeps"] == 40
    assert first["seconds"] is None


@pytest.fixture(scope="module")
def dated(tmp_path_factory):
    pytest.importorskip("formulaic")
    place = tmp_path_factory.mktemp("effects")
    rng = np.random.default_rng(0)
    rows = ["name,date,section,text"]
    for i in range(40):
        late = rng.random(20) < (i + 5) / 50
        words = " ".join(f"{'sea' if one else 'moon'}{rng.choice(list('abcd'))}" for one in late)
        rows.append(f"d{i},{1980 + i},{'home' if i % 2 else 'world'},{words}")
    (place / "posts.csv").write_text("\n".join(rows), encoding="utf-8")
    result = hdpkit(
        *FIT, place / "posts.csv", "--date-column", "date", "--group-column", "section", "--sweeps", 40,
        "--chains", 2, "--quiet", "--out", place / "run",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return place / "run"


def test_covariates_that_the_run_keeps(dated):
    result = hdpkit("effects", dated, "--formula", "date + section")
    assert result.exit_code == 0, result.output
    assert "section[T.world]" in result.stdout
    assert "not 0" in result.stdout
    assert "shares in 40 of 40 documents" in result.stdout
    told = hdpkit("effects", dated, "--formula", "date + section", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(told)))
    assert {row["term"] for row in rows} == {"Intercept", "date", "section[T.world]"}
    assert any(float(row["lower"]) > 0 for row in rows if row["term"] == "date")


def test_covariates_of_a_table(dated, tmp_path):
    table = tmp_path / "incomes.csv"
    table.write_text(
        "income,post\n" + "\n".join(f"{i + 1},d{i}" for i in reversed(range(30))) + "\n,d31\n9,x"
    )
    result = hdpkit("effects", dated, "--formula", "log(income)", "--table", table, "--id-column", "post")
    assert result.exit_code == 0, result.output
    assert "shares in 30 of 40 documents" in result.stdout
    assert "log(income)" in result.stdout
    wrong = hdpkit("effects", dated, "--formula", "income", "--table", table)  # the first column has no names
    assert wrong.exit_code == 2
    assert "--id-column" in wrong.output
    table.write_text("post,income\nd1,1\nd1,2\n")
    assert "Remove one" in hdpkit("effects", dated, "--formula", "income", "--table", table).output


@pytest.fixture(scope="module")
def matched(tmp_path_factory):
    place = tmp_path_factory.mktemp("match")
    rng = np.random.default_rng(0)
    found = []
    for name, subjects in (("first", ["sea", "[bold]moon"]), ("second", ["moon", "sea"])):
        texts = [" ".join(f"{subjects[i % 2]}{j}" for j in rng.integers(6, size=30)) for i in range(30)]
        file = place / f"{name}.txt"
        file.write_text("\n".join(texts), encoding="utf-8")
        result = hdpkit(*FIT, file, "--sweeps", 40, "--chains", 2, "--quiet", "--out", place / name)
        assert result.exit_code == 0, result.output
        found.append(place / name)
    return found


def test_csv_and_json_have_every_row(matched):
    result = hdpkit("match", *matched, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    told = json.loads(hdpkit("match", *matched, "--format", "json").stdout)
    assert len(rows) == len(told["rows"]) == told["n_matched"] + told["n_missing"] + told["n_new"]
    assert [row["status"] for row in rows] == [row["status"] for row in told["rows"]]
    assert 0.0 < told["share_matched_1"] <= 1.0
    topics = json.loads(hdpkit("topics", matched[0], "--format", "json").stdout)
    ours = {row["topic_1"]: row["share_1"] for row in told["rows"] if row["topic_1"]}
    assert ours == {str(one["topic"]): pytest.approx(one["share"]) for one in topics["topics"]}


def test_a_picture(matched, tmp_path):
    pytest.importorskip("vl_convert")
    picture = tmp_path / "cosines.png"
    result = hdpkit("match", *matched, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.stat().st_size > 2000
    assert hdpkit("match", *matched, "--plot", tmp_path / "a.docx").exit_code == 2
