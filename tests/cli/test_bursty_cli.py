"""Commands over runs whose terms repeat within documents: ``hdpkit fit --bursty``."""

import json
import random
import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

import hdpkit as hk
from hdpkit.base_measures import Bursty, DirichletMultinomial
from hdpkit.cli.main import main

WORDS = ["bread", "butter", "oven", "salt", "harbour", "sail", "ship", "storm"]


def command(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def done(*arguments):
    result = command(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def fit(texts, sweeps, folder):
    bursty = ("--bursty", "--burst-concentration", "gamma(2,1)")
    done(*FIT, texts, "--text-column", "text", *bursty, "--sweeps", sweeps, "--out", folder, "--quiet")


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    generator, path = random.Random(0), tmp_path_factory.mktemp("texts") / "texts.csv"
    rows = ["id,text"]
    for d in range(10):
        own = generator.sample(WORDS[:4] if d % 2 else WORDS[4:], 3)
        rows.append(f"{d},{' '.join(generator.choices(own, k=10))}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def run(texts, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    fit(texts, 6, folder)
    return folder


def test_a_run_has_bursts(run):
    opened = hk.open_run(run)
    franchise = opened.state().franchise
    assert isinstance(franchise.measure, Bursty)
    assert len(set(opened.trace["concentration/bursts"])) == 6
    sample = opened.samples[-1]
    assert 0 < sample.tables.sum() < sample.counts.sum()
    assert np.allclose(sample.topics(), franchise.dish_parameters())


def test_a_run_that_was_resumed_equals_one_in_one_go(texts, run, tmp_path):
    fit(texts, 9, tmp_path / "nine")
    shutil.copytree(run, tmp_path / "six")
    done("resume", tmp_path / "six", "--sweeps", 3, "--quiet")
    nine, six = (hk.open_run(tmp_path / name).trace for name in ("nine", "six"))
    for key in nine:
        assert np.array_equal(nine[key], six[key]), key


def test_every_command_shows_it(texts, run, tmp_path):
    assert "bursts concentration = " in done("topics", run)
    topics = json.loads(done("topics", run, "--format", "json"))
    words = hk.open_run(run).data.vocabulary
    for topic, row in zip(topics["topics"], hk.summaries.components(run).rows, strict=True):
        assert list(topic["terms"]) == [words[v] for v in np.argsort(-row, kind="stable")[:10]]
    done("export", run, "--to", "csv", "--out", tmp_path / "tables")
    assert (tmp_path / "tables" / "terms.csv").exists()
    done("infer", run, texts, "--text-column", "text", "--out", tmp_path / "shares.csv")
    done("report", run, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "different pairs of a document and a term in it" in page
    assert "Concentration of bursts" in page


def test_options(texts, tmp_path):
    common = (texts, "--text-column", "text", "--sweeps", 2, "--quiet")
    done(*FIT, *common, "--bursty", "--burst-concentration", 5, "--sparse", "--out", tmp_path / "sparse")
    measure = hk.open_run(tmp_path / "sparse").state().franchise.measure
    assert isinstance(measure.measure, hk.SparseDirichletMultinomial)
    assert measure.concentration == 5.0
    done(*FIT, *common, "--no-bursty", "--out", tmp_path / "plain")
    assert type(hk.open_run(tmp_path / "plain").state().franchise.measure) is DirichletMultinomial
    for bad in (("--burst-concentration", 5), ("--bursty", "--burst-concentration", -1)):
        refused = command(*FIT, *common, *bad, "--out", tmp_path / "none")
        assert refused.exit_code != 0
        assert "concentration" in refused.output
        assert not (tmp_path / "none").exists()
