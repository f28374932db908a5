"""``hdpkit effects``."""

import csv
import io

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

from hdpkit.cli.main import main

pytest.importorskip("formulaic")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("effects")
    rng = np.random.default_rng(0)
    rows = ["name,date,section,text"]
    for i in range(40):
        late = rng.random(20) < (i + 5) / 50
        words = " ".join(f"{'sea' if one else 'moon'}{rng.choice(list('abcd'))}" for one in late)
        rows.append(f"d{i},{1980 + i},{'home' if i % 2 else 'world'},{words}")
    (place / "posts.csv").write_text("\n".join(rows), encoding="utf-8")
    result = run(
        *FIT, place / "posts.csv", "--date-column", "date", "--group-column", "section", "--sweeps", 40,
        "--chains", 2, "--quiet", "--out", place / "run",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return place / "run"


def test_covariates_that_the_run_keeps(folder):
    result = run("effects", folder, "--formula", "date + section")
    assert result.exit_code == 0, result.output
    assert "section[T.world]" in result.stdout
    assert "not 0" in result.stdout
    assert "shares in 40 of 40 documents" in result.stdout
    told = run("effects", folder, "--formula", "date + section", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(told)))
    assert {row["term"] for row in rows} == {"Intercept", "date", "section[T.world]"}
    assert any(float(row["lower"]) > 0 for row in rows if row["term"] == "date")


def test_covariates_of_a_table(folder, tmp_path):
    table = tmp_path / "incomes.csv"
    table.write_text(
        "income,post\n" + "\n".join(f"{i + 1},d{i}" for i in reversed(range(30))) + "\n,d31\n9,x"
    )
    result = run("effects", folder, "--formula", "log(income)", "--table", table, "--id-column", "post")
    assert result.exit_code == 0, result.output
    assert "shares in 30 of 40 documents" in result.stdout
    assert "log(income)" in result.stdout
    wrong = run("effects", folder, "--formula", "income", "--table", table)  # the first column has no names
    assert wrong.exit_code == 2
    assert "--id-column" in wrong.output
    table.write_text("post,income\nd1,1\nd1,2\n")
    assert "Remove one" in run("effects", folder, "--formula", "income", "--table", table).output
