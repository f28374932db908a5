"""Commands where memory ends: one message and an exit code, and runs that stay what they were."""

import csv
import json
import tracemalloc

import numpy as np
import pytest
from fit_command import FIT, done, hdpkit, write_ldac

import hdpkit as hk
from hdpkit import errors, moves

TOLD = "Unable to allocate 7.45 GiB"


def fails(*arguments, **options):
    raise MemoryError(TOLD)


def in_third_sweep(move, state, rng, steps=None):
    if state.sweep == 2:
        raise MemoryError(TOLD)
    return moves.MoveInfo()


def test_memory_that_ends_is_one_message_and_the_run_is_what_it_was(tmp_path, monkeypatch):
    data, run = write_ldac(tmp_path / "corpus.dat", [[2, 1, 0], [0, 1, 1], [3, 0, 2]]), tmp_path / "run"

    def told(where, function, *command):
        with monkeypatch.context() as patch:
            patch.setattr(where, function)
            result = hdpkit(*command)
        assert result.exit_code == 1
        (line,) = [line for line in result.stderr.splitlines() if "memory" in line]
        assert line.startswith(f"Error: not enough memory ({TOLD}). The run in {run} ")
        return line

    fit = (*FIT, data, "--out", run, "--sweeps", 6, "--quiet")
    assert f"hdpkit resume {run}" in told("hdpkit.moves.Concentration.apply", in_third_sweep, *fit)
    done("resume", run, "--quiet")
    assert hk.open_run(run).trace.n_draws == 6
    for where, *command in (
        ("hdpkit.kinds.topics.components", "infer", run, data),
        ("hdpkit.cli.verification.verify_run", "verify", run),
    ):
        assert "was not changed. Close other programs" in told(where, fails, *command)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A run whose 430 topics over 20,000 terms are 69 MB as an array, and new documents."""
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(0)
    counts = np.zeros((200, 20_000), dtype=int)
    np.put_along_axis(counts, rng.integers(0, 20_000, (200, 10)), 1, axis=1)
    data = write_ldac(folder / "corpus.ldac", counts)
    (folder / "new.ldac").write_text("2 0:1 5:2\n")
    done(
        *FIT, data, "--moves", "concentration", "--init", "random:450", "--sweeps", 4, "--samples", 2,
        "--eta", 0.001, "--out", folder / "run", "--quiet",
    )  # fmt: skip
    run = hk.open_run(folder / "run")
    assert run.franchise().n_dishes * run.data.n_terms * 8 > 66e6
    return folder


def most_of(*arguments):
    """Memory that a command has at once."""
    tracemalloc.start()
    try:
        done(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


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
