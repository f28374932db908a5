"""kill -9 of a rank of MPI or a worker of Dask at random times. Every run must end in the right state.

    python tests/trials/shard_kills.py [--kills 50] [--seed 0]

For each kill a chain of 30 sweeps over a small corpus in four shards begins, with a checkpoint after each
sweep. One of its processes is killed at a time that is uniform over the time of an uninterrupted run. With
MPI the command is started again, with another number of ranks; with Dask the run continues by itself. The
final states are compared with the chain of one process, to the last bit.
"""

import argparse
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent / "support")]

from shard_cases import SCHEDULE, corpus, in_one_process, restaurant, run_shards, same  # noqa: E402

import hdpkit as hk  # noqa: E402
from hdpkit import shards  # noqa: E402
from hdpkit.cli.verification import verify_run  # noqa: E402

SWEEPS = 30


def begin(folder):
    """Write the corpus in shards and the state at the start; returns this and the state at the end."""
    data = corpus()
    hk.ShardedCorpus.write(data, folder / "corpus", 4)
    begun, ended, _ = in_one_process(SWEEPS, data)
    (folder / "begun.pickle").write_bytes(pickle.dumps((SCHEDULE, begun)))
    return begun, ended


def swept(kept):
    """The sweep of the newest checkpoint, all files of which must be intact."""
    try:
        run = hk.open_run(kept)
    except hk.errors.RunError:
        return 0  # killed before it was made
    wrong = [check for check in verify_run(kept) if not check.passed]
    assert not wrong, wrong
    return run.sweeps[0] or 0


def started(folder, kept, ranks):
    """Start ranks of MPI; each writes its process number into the folder."""
    launcher = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    program = [sys.executable, str(HERE.parent / "support" / "shard_program.py")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [launcher, "-n", str(ranks), *program, str(folder), str(SWEEPS), "1", str(kept), "1"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def on_mpi(folder, ended, generator, seconds):
    """Kill a rank; returns how many sweeps the checkpoint had, -1 if the run was done before."""
    kept = folder / "run"
    for path in folder.glob("pid-*"):
        path.unlink()
    shutil.rmtree(kept, ignore_errors=True)
    ranks = int(generator.integers(2, 4))
    process = started(folder, kept, ranks)
    while len(list(folder.glob("pid-*"))) < ranks and process.poll() is None:
        time.sleep(0.01)
    time.sleep(float(generator.uniform(0.0, seconds)))
    victim = int((folder / f"pid-{generator.integers(ranks)}").read_text())
    done = process.poll() is not None
    if not done:
        os.kill(victim, 9)
    done = process.wait(timeout=120) == 0
    at = swept(kept)
    again = started(folder, kept, int(generator.integers(1, 4)))
    assert again.wait(timeout=120) == 0
    same(pickle.loads((folder / "ended.pickle").read_bytes()), ended)
    return -1 if done else at


def on_dask(folder, begun, ended, generator, seconds):
    """Kill a worker of a new cluster; returns how many sweeps were done then, and the seconds of the run.

    A nanny doesn't always replace a worker that is killed while it starts, so that one cluster wouldn't last.
    """
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        return _on_cluster(folder, begun, ended, generator, seconds, client)


def _on_cluster(folder, begun, ended, generator, seconds, client):
    kept = folder / "run"
    shutil.rmtree(kept, ignore_errors=True)
    client.wait_for_workers(2, timeout=60)
    pids = list(client.run(os.getpid).values())
    at = []

    def kill():
        at.append(done[-1] if done else 0)
        os.kill(int(generator.choice(pids)), 9)

    done, began = [], time.perf_counter()
    timer = threading.Timer(float(generator.uniform(0.0, seconds)), kill)
    timer.daemon = True
    timer.start()
    run = run_shards(
        restaurant(), hk.ShardedCorpus.open(folder / "corpus"), SCHEDULE, sweeps=SWEEPS, rng=11, init=begun,
        backend=shards.Dask(client), folder=kept, checkpoint=1, callback=lambda draw: done.append(draw.sweep),
    )  # fmt: skip
    timer.cancel()
    seconds = time.perf_counter() - began
    same(run.state(), ended)
    return at[0] if at else -1, seconds


def report(backend, found):
    """Say at which sweeps processes were killed; -1 where the run was done before."""
    kills = [at for at in sorted(found) if at >= 0]
    print(f"{backend}: {len(kills)} kills, at sweeps {kills}; all ended in the unbroken state", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backends", nargs="+", default=["mpi", "dask"])
    options = parser.parse_args(arguments)
    generator = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        begun, ended = begin(folder)
        if "mpi" in options.backends:
            began = time.perf_counter()
            assert started(folder, folder / "unbroken", 2).wait(timeout=120) == 0
            seconds = time.perf_counter() - began
            found = [on_mpi(folder, ended, generator, seconds) for _ in range(options.kills)]
            report("MPI", found)
        if "dask" in options.backends:
            _, seconds = on_dask(folder, begun, ended, generator, 1e9)
            found = [on_dask(folder, begun, ended, generator, seconds)[0] for _ in range(options.kills)]
            report("Dask", found)


if __name__ == "__main__":
    main()
