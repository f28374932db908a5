"""Commands on what a run has found: check, effects, match, components of numbers."""

import csv
import io
import json

import numpy as np
import pytest
from fit_command import FIT, call, done, write_ldac

import hdpkit as hk


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("check")
    generator = np.random.default_rng(0)
    topics = generator.dirichlet(np.full(40, 0.2), size=3)
    shares = generator.dirichlet(np.full(3, 0.5), size=30)
    counts = [3 * generator.multinomial(25, row @ topics) for row in shares]
    data = write_ldac(folder / "repeated.ldac", counts)
    done(*FIT, data, "--sweeps", 40, "--out", folder / "run", "--quiet")
    return folder / "run"


def test_the_verdict_in_words(checked):
    told = done("check", checked, "--sweeps", 40, "--init", "one,auto")
    assert told.stdout.startswith("The model does not fit: different pairs of document and term: ")
    assert "dish" not in told.stdout
    assert "| own state" in told.stdout
    assert "9/9 redrawn copy, chain 2 from own state" in told.stderr


def test_the_verdict_as_json_is_the_same_with_the_same_seed(checked):
    words = ("check", checked, "--sweeps", 40, "--init", "one", "--seed", 2, "--format", "json", "--quiet")
    first, again = (json.loads(done(*words).stdout) for _ in range(2))
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
    done(
        *FIT, place / "posts.csv", "--date-column", "date", "--group-column", "section", "--sweeps", 40,
        "--chains", 2, "--quiet", "--out", place / "run",
    )  # fmt: skip
    return place / "run"


def test_covariates_that_the_run_keeps(dated):
    shown = done("effects", dated, "--formula", "date + section").stdout
    assert "not 0" in shown
    assert "shares in 40 of 40 documents" in shown
    told = done("effects", dated, "--formula", "date + section", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(told)))
    assert {row["term"] for row in rows} == {"Intercept", "date", "section[T.world]"}
    assert any(float(row["lower"]) > 0 for row in rows if row["term"] == "date")


def test_covariates_of_a_table(dated, tmp_path):
    table = tmp_path / "incomes.csv"
    table.write_text(
        "income,post\n" + "\n".join(f"{i + 1},d{i}" for i in reversed(range(30))) + "\n,d31\n9,x"
    )
    income = ("effects", dated, "--table", table, "--formula")
    assert "shares in 30 of 40 documents" in done(*income, "log(income)", "--id-column", "post").stdout
    assert "--id-column" in call(*income, "income", code=2)  # the first column has no names
    table.write_text("post,income\nd1,1\nd1,2\n")
    assert "Remove one" in call(*income, "income", code=2)


def test_the_components_of_two_runs_beside_each_other(checked, tmp_path):
    pytest.importorskip("vl_convert")
    picture = tmp_path / "cosines.png"
    rows = list(csv.DictReader(io.StringIO(done("match", checked, checked, "--format", "csv").stdout)))
    told = json.loads(done("match", checked, checked, "--format", "json", "--plot", picture).stdout)
    assert len(rows) == len(told["rows"]) == told["n_matched"] + told["n_missing"] + told["n_new"]
    assert picture.stat().st_size > 2000
    topics = json.loads(done("topics", checked, "--format", "json").stdout)
    ours = {row["topic_1"]: row["share_1"] for row in told["rows"]}
    assert ours == {str(one["topic"]): pytest.approx(one["share"]) for one in topics["topics"]}


def test_the_topics_of_a_mixture_without_groups(tmp_path):
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]] * 4, n_terms=3)
    flat = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(flat, sweeps=6, rng=0, samples=2, folder=tmp_path / "run")
    told = json.loads(done("topics", tmp_path / "run", "--format", "json").stdout)
    assert {"share", "terms"} <= told["components"][0].keys()
