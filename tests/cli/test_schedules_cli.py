"""``hdpkit schedules``."""

import csv
import importlib.util
import sys

import pytest
from click.testing import CliRunner

from hdpkit import moves
from hdpkit.cli.main import main
from hdpkit.comparison.ready_made import ADDITIONS, SCHEMES, all_names, parts_of, ready_made
from hdpkit.moves.registry import moves as registry

# ArviZ is looked for and not imported: it takes seconds, in each worker that collects tests.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("arviz") is None, reason="ArviZ is not installed")


@pytest.fixture
def ldac(tmp_path):
    path = tmp_path / "corpus.dat"
    path.write_text("2 0:3 1:1\n2 1:2 2:2\n1 2:4\n" * 4, encoding="utf-8")
    return path


def run(*arguments):
    return CliRunner().invoke(main, ["schedules", *(str(argument) for argument in arguments)])


def test_table_csv_states_and_picture(ldac, tmp_path):
    pytest.importorskip("matplotlib")
    table, states, picture = (tmp_path / name for name in ("t.csv", "s.csv", "p.png"))
    result = run(
        ldac, "--seconds", 0.02, "--schedules", "crf-histogram,direct+split-merge", "--eta", 0.5,
        "--csv", table, "--states", states, "--plot", picture, "--chains", 3, "--init", "one,random:3",
        "--seed", 5, "--own", "mine=table-gibbs,split-merge:repeat=2",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    names = ["crf-histogram", "direct+split-merge", "mine"]
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [row["schedule"] for row in rows] == names
    assert {row["chains"] for row in rows} == {"3"}
    assert {row["schedule"] for row in csv.DictReader(states.open(encoding="utf-8"))} == set(names)
    assert picture.stat().st_size > 2000
    assert "| schedule" in result.stdout
    assert "RootWeights" in result.stdout
    assert "9/9 mine, chain 2 from one" in result.stderr
    assert "12 documents, 48 tokens, 3 terms" in result.stderr
    assert "seeds from 5" in result.stdout


def test_the_former_name_runs_and_tells_the_new_one(ldac):
    given = ["compare", str(ldac), "--seconds", "0.01", "--schedules", "direct", "--chains", "1"]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 0, result.output
    assert "hdpkit compare is now called hdpkit schedules" in result.stderr
    assert "| schedule" in result.stdout
    listed = CliRunner().invoke(main, ["--help"]).output
    assert "  schedules " in listed
    assert "  compare " not in listed


def test_quiet_prints_the_table_alone(ldac):
    result = run(ldac, "--seconds", 0.01, "--schedules", "direct", "--chains", 1, "--quiet")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--schedules", "gibbs"], "crf-explicit"),
        (["--schedules", "direct+tables"], "split-merge"),
        (["--schedules", ""], "the name of a scheme"),
        (["--own", "table-gibbs"], "NAME=MOVE"),
        (["--own", "a=table-gips"], "table-gibbs"),
        (["--own", "direct=table-gibbs"], "a name that no other schedule has"),
        (["--own", "a=root-weights"], "root='weights'"),
        (["--csv", "nowhere/a.csv"], "does not exist"),
        (["--plot", "a.docx"], "png"),
        (["--init", "two"], "auto, sequential"),
        (["--seconds", "0"], "0"),
        (["--burn-in", "1"], "1"),
        (["--chains", "0"], "0"),
    ],
)
def test_mistakes_are_told_before_anything_runs(ldac, arguments, told):
    result = run(ldac, "--seconds", "1000", *arguments)
    assert result.exit_code in (1, 2)
    assert told in result.output
    assert "Traceback" not in result.output
    assert "log joint = " not in result.output


def test_without_arviz_the_extra_is_named(ldac, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    result = run(ldac)
    assert result.exit_code == 2
    assert "hdpkit[arviz]" in result.output


def test_ctrl_c_shows_what_was_done(ldac, monkeypatch):
    def stop(self, standing):
        if standing.chain == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr("hdpkit.cli.schedules.ChainProgress.__call__", stop)
    result = run(ldac, "--seconds", 0.01, "--schedules", "direct,table-gibbs")
    assert result.exit_code == 130
    assert "Ctrl-C ended the comparison early" in result.stdout


def test_every_ready_made_schedule_runs(ldac):
    result = run(ldac, "--seconds", 0.001, "--schedules", "all", "--chains", 1)
    assert result.exit_code == 0, result.output
    for name in all_names():
        assert f"| {name} " in result.stdout


def test_names_are_schemes_and_additions():
    assert set(SCHEMES) < set(all_names())
    assert "direct+dish-gibbs" in all_names()
    assert "crf-explicit+dish-gibbs" not in all_names()  # which has it
    assert len(all_names()) == len(SCHEMES) * (1 + len(ADDITIONS)) - 4
    scheme, own = parts_of("direct+split-merge+reseat-groups")
    assert scheme is SCHEMES["direct"]
    assert [move.name for move in own] == ["TableGibbs", "RootWeights", "SplitMerge", "ReseatGroups"]
    assert own[-1].period == 20
    assert parts_of("slices+dish-gibbs-10")[1][-1].period == 10


def test_threads_do_not_change_the_chains(ldac):
    options = "--seconds", 0.05, "--schedules", "slices", "--chains", 1, "--states"
    columns = []
    for threads in (1, 2):
        place = ldac.parent / f"states-{threads}.csv"
        result = run(ldac, *options, place, "--threads", threads)
        assert result.exit_code == 0, result.output
        rows = place.read_text(encoding="utf-8").splitlines()
        drop = rows[0].split(",").index("seconds")
        columns.append([[cell for i, cell in enumerate(row.split(",")) if i != drop] for row in rows])
    n = min(map(len, columns))
    assert n > 2
    assert columns[0][:n] == columns[1][:n]


def test_updates_end_each_sweep():
    import hdpkit as hk

    corpus = hk.Corpus.from_documents([[0, 1], [1]], n_terms=2)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1, 1))
    restaurant = hk.Restaurant(root, concentration=1.0, each="document")
    found = ready_made(["direct"], restaurant, corpus, lambda: [moves.Concentration()])
    assert [move.name for move in found["direct"].schedule.moves] == [
        "TableGibbs",
        "RootWeights",
        "Concentration",
    ]


def test_a_schedule_that_fails_is_told_and_the_others_shown(ldac):
    class Failing(moves.Move):
        def apply(self, state, rng, steps=None):
            raise ArithmeticError("on purpose")

    registry.register("failing", Failing)
    try:
        result = run(ldac, "--seconds", 0.01, "--schedules", "direct", "--own", "bad=table-gibbs,failing")
    finally:
        registry.remove("failing")
    assert result.exit_code == 1
    assert "bad failed: ArithmeticError: on purpose" in result.stdout
    assert "| direct " in result.stdout
