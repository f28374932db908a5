"""On ranks of MPI and workers of Dask the chain is that of one process, also from checkpoints of others."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import distributed
import pytest
import shard_kills
from shard_cases import SCHEDULE, corpus, in_one_process, restaurant, same

import hdpkit as hk
from hdpkit import shards
from hdpkit.shards.memory import FOLDER

PROGRAM = Path(__file__).resolve().parents[1] / "support" / "shard_program.py"
SWEEPS = 4


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A folder with the corpus in shards and the state at the start; the state at the end."""
    data, folder = corpus(), tmp_path_factory.mktemp("shards")
    hk.ShardedCorpus.write(data, folder / "corpus", 4)
    begun, ended, _ = in_one_process(SWEEPS, data)
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


def mpiexec():
    """The launcher of the runtime that is installed."""
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert found, "no mpiexec: pip install hdpkit[mpi]"
    return found


def on_mpi(ranks, *arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    command = [mpiexec(), "-n", str(ranks), sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)


def here(chain, carrier, sweeps=SWEEPS, folder=None):
    root, begun, _ = chain
    return shards.run(
        restaurant(), hk.ShardedCorpus.open(root / "corpus"), SCHEDULE, sweeps=sweeps, rng=11, init=begun,
        carrier=carrier, folder=folder, checkpoint=2,
    )  # fmt: skip


def test_ranks_of_mpi(chain):
    folder, _, ended = chain
    done = on_mpi(3, folder, SWEEPS, 1)
    assert done.returncode == 0, done.stderr
    same(pickle.loads((folder / "ended.pickle").read_bytes()), ended)
    assert [(folder / f"in-common-{rank}").read_text() for rank in range(3)] == ["True"] * 3


def has_topics_in_common():
    return str(FOLDER / "hdpkit-") in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_workers_of_dask(chain, client, parts):
    run = here(chain, shards.Dask(client, parts=parts))
    same(run.state(), chain[2])
    if parts > 1:
        assert list(client.run(has_topics_in_common).values()) == [True, True]


def test_a_killed_rank_ends_the_run_and_others_go_on_from_its_checkpoint(chain, client, tmp_path):
    kept = tmp_path / "run"
    done = on_mpi(2, chain[0], SWEEPS, 1, kept, 2, 3)
    assert done.returncode != 0
    assert (kept / "run.bin").exists()
    again = tmp_path / "again"
    shutil.copytree(kept, again)
    run = here(chain, shards.Dask(client), folder=kept)
    assert len(run.seconds) == 2
    assert len(run.numbers["n_dishes"]) == SWEEPS
    same(run.state(), chain[2])
    same(here(chain, shards.Local(3), folder=again).state(), chain[2])


def test_ranks_go_on_from_the_checkpoint_of_dask(chain, client, tmp_path):
    kept = tmp_path / "run"
    here(chain, shards.Dask(client, parts=2), sweeps=2, folder=kept)
    done = on_mpi(2, chain[0], SWEEPS, 2, kept)
    assert done.returncode == 0, done.stderr
    same(pickle.loads((chain[0] / "ended.pickle").read_bytes()), chain[2])


def test_a_killed_worker_of_dask_is_replaced(chain, client, tmp_path):
    root, begun, ended = chain

    def killing(sweep, numbers):
        if sweep == 3 and not killed:
            killed.append(sweep)
            pids = client.run(os.getpid)
            os.kill(next(iter(pids.values())), 9)

    killed = []
    run = shards.run(
        restaurant(), hk.ShardedCorpus.open(root / "corpus"), SCHEDULE, sweeps=SWEEPS, rng=11, init=begun,
        carrier=shards.Dask(client), folder=tmp_path / "run", checkpoint=2, progress=killing,
    )  # fmt: skip
    assert killed == [3]
    same(run.state(), ended)


@pytest.mark.long
@pytest.mark.parametrize("carrier", ["mpi", "dask"])
def test_runs_that_are_killed_at_random_moments_end_as_unbroken_ones(carrier):
    shard_kills.main(["--kills", "50", "--carriers", carrier])
