"""Commands where memory ends: one message and an exit code, and runs that stay what they were."""

import csv
import json
import tracemalloc

import numpy as np
import pytest
from fit_command import FIT, hdpkit

import hdpkit as hk
from hdpkit import errors, moves

TOLD = "Unable to allocate 7.45 GiB"


@pytest.fixture
def ldac(tmp_path):
    path = tmp_path / "corpus.dat"
    path.write_text("2 0:2 1:1\n2 1:1 2:1\n2 0:3 2:2\n", encoding="utf-8")
    return path


def fit(ldac, folder, *options):
    return hdpkit(*FIT, ldac, "--out", folder, "--sweeps", 6, "--quiet", *options)


def fails(*arguments, **options):
    raise MemoryError(TOLD)


def in_third_sweep(move, state, rng, steps=None):
    if state.sweep == 2:
        raise MemoryError(TOLD)
    return moves.MoveInfo()


@pytest.mark.parametrize(
    ("command", "where"),
    [
        (("infer", "{run}", "{corpus}"), "hdpkit.kinds.topics.components"),
        (("verify", "{run}"), "hdpkit.cli.verification.verify_run"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_command_that_reads_a_run_says_that_it_was_not_changed(ldac, tmp_path, monkeypatch, command, where):
    run = tmp_path / "run"
    assert fit(ldac, run).exit_code == 0
    monkeypatch.setattr(where, fails)
    result = hdpkit(*(part.format(run=run, corpus=ldac) for part in command))
    assert result.exit_code == 1
    lines = [line for line in result.stderr.splitlines() if "memory" in line]
    assert lines == [
        f"Error: not enough memory ({TOLD}). The run in {run} was not changed. Close other programs, use a "
        "machine with more memory, or less input."
    ]


def test_a_run_that_ends_for_lack_of_memory_says_how_to_go_on(ldac, tmp_path, monkeypatch):
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(moves.Concentration, "apply", in_third_sweep)
        result = fit(ldac, run)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: not enough memory ({TOLD}). The run in {run} is kept")
    assert f"hdpkit resume {run}" in line
    resumed = hdpkit("resume", run, "--quiet")
    assert resumed.exit_code == 0, resumed.output
    assert hk.open_run(run).trace.n_draws == 6


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A run whose 430 topics over 20,000 terms are 69 MB as an array, and new documents."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(0)
    documents = [np.unique(rng.integers(0, 20_000, 10)) for _ in range(200)]
    lines = [f"{len(terms)} " + " ".join(f"{v}:1" for v in terms) for terms in documents]
    (folder / "corpus.ldac").write_text("\n".join(lines) + "\n")
    (folder / "new.ldac").write_text("2 0:1 5:2\n")
    done = hdpkit(
        *FIT, folder / "corpus.ldac", "--moves", "concentration", "--init", "random:450", "--sweeps", 4,
        "--samples", 2, "--eta", 0.001, "--out", folder / "run", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    run = hk.open_run(folder / "run")
    assert run.franchise().n_dishes * run.data.n_terms * 8 > 66e6
    return folder


def most_of(*arguments):
    """Memory that a command has at once."""
    tracemalloc.start()
    try:
        result = hdpkit(*arguments)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.exit_code == 0, result.output
    return most


@pytest.mark.filterwarnings("ignore::hdpkit.errors.ManyTopicsWarning")
@pytest.mark.parametrize("kind", ["infer", "csv", "json", "table"])
def test_no_command_has_an_array_of_topics_by_terms(many, tmp_path, kind):
    run, out = many / "run", tmp_path / "out"
    if kind == "infer":
        most = most_of("infer", run, many / "new.ldac", "--sweeps", 2, "--burn-in", 1, "--out", f"{out}.csv")
    elif kind == "table":
        most = most_of("topics", run)
    else:
        most = most_of("export", run, "--to", kind, "--out", out, "--terms", 3)
    assert most < 60e6
    if kind == "csv":
        rows = list(csv.DictReader((out / "terms.csv").open()))
        assert len(rows) == 3 * len(list(csv.DictReader((out / "topics.csv").open())))
        assert all(float(row["probability_low"]) <= float(row["probability_high"]) for row in rows)
    elif kind == "json":
        topics = json.loads(out.read_text())["topics"]
        assert [topic["topic"] for topic in topics] == list(range(1, len(topics) + 1))
        assert all(len(topic["terms"]) == 3 and "interval" in topic["terms"][0] for topic in topics)


class Hungry(moves.Move):
    """Wants more than there is."""

    def apply(self, state, rng, steps=None):
        raise MemoryError(TOLD)


def test_chains_without_memory_are_told_without_a_traceback():
    corpus = hk.Corpus.from_documents([["a", "b"], ["b", "c"]])
    franchise = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), corpus)
    with pytest.raises(errors.ChainError, match=r"fewer chains at a time \(processes=1\)") as raised:
        hk.Scheduler([Hungry()]).run(franchise, 2, rng=0, chains=2)
    assert "Traceback" not in str(raised.value)
