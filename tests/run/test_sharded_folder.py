"""The folder of a run over shards is that of any run: every command reads it, before a kill and after."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, run_shards, same, same_numbers

import hdpkit as hk
from hdpkit import shards
from hdpkit.cli.main import main
from hdpkit.cli.verification import verify_run
from hdpkit.errors import RunError, ShardError
from hdpkit.run.states import state_of

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
HDPKIT = [sys.executable, "-c", "from hdpkit.cli.main import main; main()"]
SWEEPS = 150
NAMES = [f"d{number}" for number in range(60)]
WORDS = [f"w{v}" for v in range(40)]
DATA = hk.Corpus.from_counts(corpus().to_counts(), vocabulary=WORDS, names=NAMES)


def mpiexec(ranks):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which("mpiexec", path=path)
    assert found, "no mpiexec: pip install hdpkit[mpi]"
    return [found, "-n", str(ranks)]


def command(*arguments, ranks=None):
    launcher = [] if ranks is None else mpiexec(ranks)
    given = [*launcher, *HDPKIT, *map(str, arguments)]
    done = subprocess.run(given, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    return done.stdout


def here(*arguments):
    """A command in this process."""
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == 0, (arguments, done.output)
    return done.stdout


def every_command(run, place):
    """What the commands say and write about a run, but for dates and paths."""
    place.mkdir()
    (place / "new.dat").write_text("2 0:1 3:2\n1 5:4\n")
    said = {
        "topics": here("topics", run, "--all"),
        "json": json.loads(here("topics", run, "--format", "json")),
        "infer": here("infer", run, place / "new.dat", "--quiet"),
    }
    for to, name in (("csv", "csv"), ("parquet", "parquet"), ("json", "t.json"), ("pyldavis", "p.json")):
        here("export", run, "--to", to, "--out", place / name)
    here("export", run, "--to", "arviz", "--out", place / "trace.nc")
    here("report", run, "--out", place / "page.html")
    for path in sorted(place.rglob("*")):
        if path.is_file() and path.suffix not in (".nc", ".html", ".dat"):
            said[path.name + path.parent.name * (path.parent != place)] = path.read_bytes()
    page = (place / "page.html").read_text(encoding="utf-8")
    assert "w0" in page
    assert "d59" in page
    assert "all is well" in here("verify", run)
    return said


def begun(run):
    """The sweep of the newest checkpoint of a run that another process writes."""
    try:
        return hk.open_run(run).sweeps[0] or 0
    except RunError:
        return 0


@pytest.mark.parametrize(
    "options", [pytest.param([], id="plain", marks=pytest.mark.long), pytest.param(["--bursty"], id="bursty")]
)
def test_every_command_on_a_run_of_two_ranks_killed_and_resumed(tmp_path, options):
    hk.ShardedCorpus.write(DATA, tmp_path / "corpus", 4)
    fit = ["fit", "--shards", tmp_path / "corpus", "--sweeps", SWEEPS, "--seed", 3, "--checkpoint-sweeps", 5]
    fit += options
    command(*fit, "--out", tmp_path / "unbroken")
    killed = tmp_path / "killed"
    ranks = subprocess.Popen(
        [*mpiexec(2), *HDPKIT, *map(str, [*fit, "--out", killed])],
        env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + 120
        while begun(killed) < 20 and ranks.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        # The ranks are children of mpiexec's proxy: those with the folder in their command line.
        for entry in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                parts = entry.read_bytes().split(b"\0")
            except OSError:
                continue
            if str(killed).encode() in parts and b"-n" not in parts:
                os.kill(int(entry.parent.name), signal.SIGKILL)
        ranks.wait(60)
    at = begun(killed)
    assert 20 <= at < SWEEPS
    before = every_command(killed, tmp_path / "before")
    assert before["json"]["sweep"] == at
    as_it_was = tmp_path / "copy"
    shutil.copytree(killed, as_it_was)
    command("resume", killed, "--quiet")
    command("resume", as_it_was, "--quiet", ranks=3)
    unbroken = every_command(tmp_path / "unbroken", tmp_path / "all")
    for number, folder in enumerate((killed, as_it_was)):
        assert every_command(folder, tmp_path / f"after-{number}") == unbroken
        one, other = hk.open_run(folder), hk.open_run(tmp_path / "unbroken")
        same_numbers(one.trace, other.trace)
        np.testing.assert_array_equal(one.trace["log_joint"], other.trace["log_joint"])
        same(one.franchise().freeze(), other.franchise().freeze())
    assert "all is well" in command("verify", killed)
    assert "w" in command("resume", killed, "--sweeps", 2, ranks=2)
    assert begun(killed) == SWEEPS + 2


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "bursty"])
def finished(request, tmp_path_factory):
    """A run over shards on disk, its folder, and a franchise over all documents in its state."""
    place = tmp_path_factory.mktemp("finished")
    source = hk.ShardedCorpus.write(DATA, place / "corpus", 3)
    run_shards(
        restaurant(bursty=request.param), source, BURSTY if request.param else SCHEDULE, sweeps=7, rng=2,
        folder=place / "run", init=hk.init.Random(5), backend=shards.Local(2), checkpoint=3,
    )  # fmt: skip
    return place / "run", hk.open_run(place / "run").franchise()


def test_a_state_over_shards_is_read_as_one_of_one_process(finished):
    folder, franchise = finished
    one, other = hk.open_run(folder).state(), state_of(franchise)
    assert one.franchise.n_dishes == other.franchise.n_dishes
    assert one.seed == 2
    np.testing.assert_array_equal(one.sample.topics(), other.sample.topics())
    for name in ("ids", "sizes", "root_weights"):
        np.testing.assert_array_equal(getattr(one.sample, name), getattr(other.sample, name), err_msg=name)
    assert one.sample.hyperparameters == other.sample.hyperparameters
    np.testing.assert_allclose(one.sample.log_joint, other.sample.log_joint, rtol=1e-12)
    assert one.franchise.log_likelihood() == other.franchise.log_likelihood()
    blocks, (whole,) = list(one.documents()), list(other.documents())
    assert [block.first for block in blocks] == [info.first_document for info in one.data.shards]
    np.testing.assert_array_equal(
        np.concatenate([block.counts.toarray() for block in blocks]), whole.counts.toarray()
    )
    np.testing.assert_array_equal(
        np.concatenate([block.sample.group_weights() for block in blocks]), whole.sample.group_weights()
    )
    assert [name for block in blocks for name in block.sample.names] == NAMES
    new = hk.Corpus.from_documents([["w1", "w2", "w2"], ["w39"]])
    folded = [state.franchise.fold_in(new, 5, rng=1).proportions for state in (one, other)]
    np.testing.assert_array_equal(*folded)


def test_a_missing_shard_of_the_corpus_is_named_where_it_is_needed(finished, tmp_path):
    folder, _ = finished
    moved = Path(hk.open_run(folder).data.folder) / "shard-0001"
    moved.rename(tmp_path / "away")
    try:
        run = hk.open_run(folder)
        assert run.state().sample.topics().shape[1] == 40
        with pytest.raises(ShardError, match="shard 1"):
            list(run.state().documents())
        checks = list(verify_run(folder))
        assert all(check.passed for check in checks)
        assert "on other disks" in checks[-1].detail
    finally:
        (tmp_path / "away").rename(moved)
