"""With MPI and Dask the chain equals that of one process, also from checkpoints of other backends."""

import os
import pickle
import re
import shutil
import signal
import time
from pathlib import Path

import distributed
import pytest
from programs import ranks
from shard_cases import BURSTY, corpus, in_one_process, restaurant, run_shards, same

import hdpkit as hk
from hdpkit import shards
from hdpkit.errors import SlowPartError
from hdpkit.run.shards.worker import FOLDER

PROGRAM = Path(__file__).resolve().parents[1] / "support" / "shard_program.py"
SWEEPS = 4


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A corpus in shards, the state at the start, and that at the end; topics differ by document."""
    folder = tmp_path_factory.mktemp("shards")
    hk.ShardedCorpus.write(corpus(), folder / "corpus", 4)
    begun, ended, _ = in_one_process(SWEEPS, corpus(), schedule=BURSTY, bursty=True)
    (folder / "begun.pickle").write_bytes(pickle.dumps(begun))
    return folder, begun, ended


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process that a nanny replaces."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def on_mpi(n, *arguments, module=("-m", "mpi4py")):
    return ranks(n, *module, PROGRAM, *arguments, timeout=120)


def nothing_is_left(folder, n):
    """No process of the ranks, and no name of memory that they shared."""
    for rank in range(n):
        process, end = Path(f"/proc/{(folder / f'pid-{rank}').read_text()}"), time.monotonic() + 20
        while process.exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not process.exists()
        assert (folder / f"named-{rank}").read_text() == ""
    return True


def here(chain, backend, folder=None, **more):
    source = hk.ShardedCorpus.open(chain[0] / "corpus")
    return run_shards(
        restaurant(bursty=True), source, BURSTY, sweeps=SWEEPS, rng=11, init=chain[1], backend=backend,
        folder=folder, checkpoint=2, **more,
    )  # fmt: skip


@pytest.mark.parametrize("module", [("-m", "mpi4py"), ()], ids=["as a module of mpi4py", "as a script"])
def test_a_rank_that_hangs_is_an_error_that_names_its_shards(chain, tmp_path, module):
    done = on_mpi(2, chain[0], SWEEPS, 1, tmp_path / "run", 1, 2, -1, -1, 1.5, module=module)
    assert done.returncode != 0
    assert nothing_is_left(chain[0], 2)
    assert 'SlowPartError: shards 2 to 3 (rank 1) = "no answer to' in done.stderr
    same(here(chain, shards.Local(), folder=tmp_path / "run").state(), chain[2])


def test_a_worker_of_dask_that_hangs_is_an_error_that_names_its_shards(chain, client):
    pids = list(client.run(os.getpid).values())

    def hanging(draw):
        if draw.sweep == 2:
            os.kill(pids[0], signal.SIGSTOP)

    try:
        with pytest.raises(SlowPartError, match=r"shards (0 to 1 \(worker 0\)|2 to 3 \(worker 1\)) = "):
            here(chain, shards.Dask(client, workers=2, patience=1.5), callback=hanging)
    finally:
        os.kill(pids[0], signal.SIGCONT)


@pytest.mark.parametrize(("rank", "what"), [(1, r"shard [23] = "), (0, r"shard [01] = ")])
def test_a_disk_that_is_full_for_one_rank_ends_all_and_the_run_goes_on(chain, tmp_path, rank, what):
    kept = tmp_path / "run"
    done = on_mpi(2, chain[0], SWEEPS, 1, kept, 1, -1, 1, rank)
    assert done.returncode != 0
    # Both ranks say it. What they print may be mixed, but neither of these two parts is broken up.
    assert len(re.findall(r"errors\.StorageError\b", done.stderr)) == 2, done.stderr
    assert len(re.findall(r": " + what, done.stderr)) == 2, done.stderr
    assert "run again: the run goes on from its last checkpoint" in done.stderr
    run = here(chain, shards.Local(), folder=kept)
    assert run.made == 3
    same(run.state(), chain[2])


def test_ranks_of_mpi(chain):
    folder, _, ended = chain
    done = on_mpi(3, folder, SWEEPS, 1, folder / "patient", SWEEPS, -1, -1, -1, 100)
    assert done.returncode == 0, done.stderr
    same(pickle.loads((folder / "ended.pickle").read_bytes()), ended)
    assert [(folder / f"in-common-{rank}").read_text() for rank in range(3)] == ["True"] * 3


def has_topics_in_common():
    return str(FOLDER / "hdpkit-") in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_workers_of_dask(chain, client, workers):
    run = here(chain, shards.Dask(client, workers=workers, patience=100))
    same(run.state(), chain[2])
    if workers > 1:
        assert list(client.run(has_topics_in_common).values()) == [True, True]


def test_a_killed_rank_ends_the_run_and_others_go_on_from_its_checkpoint(chain, client, tmp_path):
    kept = tmp_path / "run"
    done = on_mpi(2, chain[0], SWEEPS, 1, kept, 2, 3)
    assert done.returncode != 0
    assert nothing_is_left(chain[0], 2)
    assert hk.open_run(kept).sweeps == [2]
    again = tmp_path / "again"
    shutil.copytree(kept, again)
    run = here(chain, shards.Dask(client), folder=kept)
    assert run.made == 2
    assert len(run.trace["n_dishes"]) == SWEEPS
    same(run.state(), chain[2])
    same(here(chain, shards.Local(3), folder=again).state(), chain[2])


def test_a_killed_worker_of_dask_is_replaced(chain, client, tmp_path):
    def killing(draw):
        if draw.sweep == 3 and not killed:
            killed.append(draw.sweep)
            pids = client.run(os.getpid)
            os.kill(next(iter(pids.values())), 9)

    killed = []
    run = here(chain, shards.Dask(client), folder=tmp_path / "run", callback=killing)
    assert killed == [3]
    same(run.state(), chain[2])
