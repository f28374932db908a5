"""Topics with few terms, and terms that repeat within documents, on the command line."""

import csv
import io
import json

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

import hdpkit as hk
from hdpkit.cli.main import main
from hdpkit.kinds.topics import default_moves
from hdpkit.moves import BaseMeasureParameters, DishGibbs, SelectorCounts, Smoothing, SplitMerge, TableGibbs

ALWAYS = TableGibbs(), DishGibbs(), SplitMerge()


@pytest.fixture
def ldac(tmp_path):
    rng = np.random.default_rng(5)
    kinds = np.array([[6, 5, 4, 3, 0, 0, 0, 0], [0, 0, 0, 1, 4, 5, 4, 4]]) / 18
    rows = [rng.multinomial(25, kinds[d % 2]) for d in range(16)]
    cells = [[f"{v}:{row[v]}" for v in np.flatnonzero(row)] for row in rows]
    lines = [" ".join([str(len(these)), *these]) for these in cells]
    path = tmp_path / "corpus.dat"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def fit(ldac, folder, *options):
    return command(*FIT, ldac, "--out", folder, "--sweeps", 6, "--quiet", "--init", "random:3", *options)


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        ((), set()),
        (("--smoothing", "gamma(1,1)", "--selection", "beta(1, 2)"), {BaseMeasureParameters().name}),
        (("--proportions", "stored"), {SelectorCounts().name}),
        (("--selection", "0.3"), set()),
        (("--smoothing", "Each(gamma(1, 2))"), {Smoothing().name}),
    ],
)
def test_fit_topics_resume_and_verify(ldac, tmp_path, options, moved):
    folder = tmp_path / "run"
    result = fit(ldac, folder, "--sparse", *options)
    assert result.exit_code == 0, result.output
    assert "sparsity" in result.output
    run = hk.open_run(folder)
    measure = run.franchise().measure
    assert isinstance(measure, hk.SparseDirichletMultinomial)
    names = {move.name for move in default_moves(hk.Restaurant(hk.Restaurant(measure), each="document"))}
    always = {move.name for move in ALWAYS if measure.conjugate or move.name != "SplitMerge"}
    assert names == always | moved

    listed = json.loads(command("topics", folder, "--format", "json").output)["topics"]
    franchise = run.franchise()
    expected = 1.0 - franchise.selected_terms() / franchise.measure.n_terms
    found = hk.summaries.components(run)
    assert len(listed) == len(found)
    for k, sparsity in zip(found.which(franchise.sample()), expected, strict=True):
        if np.count_nonzero(found.which(franchise.sample()) == k) == 1 and k >= 0:
            assert listed[k]["sparsity"] == pytest.approx(sparsity)
    assert all(0 < topic["distinct_terms"] <= franchise.measure.n_terms for topic in listed)
    rows = list(csv.DictReader(io.StringIO(command("topics", folder, "--format", "csv").output)))
    assert [float(row["sparsity"]) for row in rows] == [topic["sparsity"] for topic in listed]

    assert command("resume", folder, "--sweeps", 2, "--quiet").exit_code == 0
    assert command("verify", folder).exit_code == 0


def test_terms_repeat_within_documents(ldac, tmp_path):
    result = fit(ldac, tmp_path / "run", "--bursty", "--burst-concentration", "gamma(2,1)")
    assert result.exit_code == 0, result.output
    run = hk.open_run(tmp_path / "run")
    assert isinstance(run.franchise().measure, hk.Bursty)
    assert len(set(run.trace["concentration/bursts"])) == 6
    assert "bursts concentration = " in command("topics", tmp_path / "run").output
    assert command("infer", tmp_path / "run", ldac).exit_code == 0
    result = fit(ldac, tmp_path / "both", "--bursty", "--burst-concentration", "5", "--sparse")
    assert result.exit_code == 0, result.output
    measure = hk.open_run(tmp_path / "both").franchise().measure
    assert isinstance(measure.measure, hk.SparseDirichletMultinomial)
    assert measure.concentration == 5.0
