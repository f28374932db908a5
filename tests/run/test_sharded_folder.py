"""The folder of a run over shards is that of any run: every command reads it, before a kill and after."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from fit_command import done
from programs import ranks
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, run_shards, same, same_numbers

import hdpkit as hk
from hdpkit import shards
from hdpkit.cli.verification import verify_run
from hdpkit.errors import ShardError
from hdpkit.run.states import state_of

NAMES = [f"d{number}" for number in range(60)]
WORDS = [f"w{v}" for v in range(40)]
DATA = hk.Corpus.from_counts(corpus().to_counts(), vocabulary=WORDS, names=NAMES)


def command(*arguments, n):
    """A command in so many processes."""
    done = ranks(n, "-c", "from hdpkit.cli.main import main; main()", *arguments, timeout=300)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)


def here(*arguments):
    """A command in this process."""
    return done(*arguments).stdout


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


def test_every_command_on_a_run_that_is_resumed_in_one_process_or_by_ranks(tmp_path):
    hk.ShardedCorpus.write(DATA, tmp_path / "corpus", 4)
    fit = ["fit", "--shards", tmp_path / "corpus", "--bursty", "--seed", 3, "--quiet"]
    here(*fit, "--sweeps", 12, "--out", tmp_path / "unbroken")
    command(*fit, "--sweeps", 5, "--out", tmp_path / "broken", n=2)
    assert every_command(tmp_path / "broken", tmp_path / "before")["json"]["sweep"] == 5
    shutil.copytree(tmp_path / "broken", tmp_path / "copy")
    here("resume", tmp_path / "broken", "--sweeps", 7, "--quiet")
    command("resume", tmp_path / "copy", "--sweeps", 7, "--quiet", n=3)
    unbroken = every_command(tmp_path / "unbroken", tmp_path / "all")
    for name in ("broken", "copy"):
        assert every_command(tmp_path / name, tmp_path / f"after-{name}") == unbroken
        one, other = hk.open_run(tmp_path / name), hk.open_run(tmp_path / "unbroken")
        same_numbers(one.trace, other.trace)
        same(one.franchise().freeze(), other.franchise().freeze())


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


def test_new_documents_have_the_scores_of_one_process(finished):
    folder, franchise = finished
    state, new = hk.open_run(folder).state(), corpus(30, seed=8).to_counts().toarray()
    halves = [shards.cut(hk.Corpus.from_counts(half), 3) for half in (new // 2, (new + 1) // 2)]
    for number in range(3):
        observed, held_out = (half.shard(number) for half in halves)
        scores = [hk.evaluate(one, observed, held_out=held_out) for one in (state.franchise, franchise)]
        np.testing.assert_allclose(*(score.perplexity for score in scores), rtol=1e-9)
        assert 1 < scores[0].perplexity < 80
