"""``hdpkit check``: the verdict in words and as JSON, in the words of the field."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

from hdpkit.cli.main import main


def call(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
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
    done = call(*FIT, folder / "repeated.ldac", "--sweeps", 40, "--out", folder / "run", "--quiet")
    assert done.exit_code == 0, done.output
    return folder / "run"


def test_the_verdict_in_words(run):
    done = call("check", run, "--sweeps", 40, "--init", "one,auto")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("The model does not fit: different pairs of document and term: ")
    assert "within a topic" in done.stdout
    assert "dish" not in done.stdout
    assert "| own state" in done.stdout
    assert "9/9 redrawn copy, chain 2 from own state" in done.stderr


def test_the_verdict_as_json_is_the_same_with_the_same_seed(run):
    words = ("check", run, "--sweeps", 40, "--init", "one", "--seed", 2, "--format", "json", "--quiet")
    first, again = (json.loads(call(*words).stdout) for _ in range(2))
    assert first["verdict"] in ("misfit", "slow", "converged")
    assert first["data"]["chains"][0]["statistics"] == again["data"]["chains"][0]["statistics"]
    assert [chain["start"] for chain in first["simulated"]["chains"]] == ["one", "own state"]
    assert first["sweeps"] == 40
    assert first["seconds"] is None


def test_what_is_refused(run, tmp_path):
    done = call("check", run, "--sweeps", 40, "--chain", 1)
    assert done.exit_code == 2
    assert "chain" in done.stderr
    assert call("check", run, "--sweeps", 40, "--seconds", 1).exit_code == 2
    (tmp_path / "text.txt").write_text("the cat sat\nthe dog sat\n")
    assert call("lm", "train", tmp_path / "text.txt", "--into", tmp_path / "lm", "--sweeps", 2).exit_code == 0
    done = call("check", tmp_path / "lm", "--sweeps", 40)
    assert done.exit_code == 2
    assert "language model" in done.stderr


def test_a_cohort_in_the_words_of_its_field(tmp_path):
    from hdpkit.signatures import CHANNELS

    generator = np.random.default_rng(1)
    names = CHANNELS["SBS96"].names
    laws = generator.dirichlet(np.full(96, 0.1), size=2)
    counts = [generator.multinomial(150, row @ laws) for row in generator.dirichlet([1, 1], size=12)]
    rows = ["\t".join(["MutationType", *(f"s{i}" for i in range(12))])]
    rows += ["\t".join([name, *(str(one[v]) for one in counts)]) for v, name in enumerate(names)]
    (tmp_path / "cohort.tsv").write_text("\n".join(rows) + "\n")
    words = ("--sweeps", 20, "--chains", 1, "--out", tmp_path / "run", "--quiet")
    done = call("signatures", tmp_path / "cohort.tsv", *words)
    assert done.exit_code == 0, done.output
    done = call("check", tmp_path / "run", "--sweeps", 40, "--init", "one")
    assert done.exit_code == 0, done.output
    assert "different pairs of sample and channel" in done.stdout
    assert "within a component" in done.stdout
