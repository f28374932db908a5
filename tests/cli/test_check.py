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
