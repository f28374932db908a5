"""The program of every rank of MPI: a chain over a corpus in shards; rank 0 writes the final state."""

import os
import pickle
import re
import resource
import signal
import sys
from pathlib import Path

from shard_cases import BURSTY, restaurant, run_shards

import hdpkit as hk
from hdpkit import shards
from hdpkit.run.shards.worker import FOLDER


def main(
    folder,
    sweeps,
    threads,
    kept=None,
    checkpoint=2,
    kill_at=None,
    full_at=None,
    full_rank=None,
    patience=None,
):
    folder = Path(folder)
    begun = pickle.loads((folder / "begun.pickle").read_bytes())
    backend = shards.MPI(patience=None if patience is None else float(patience))
    (folder / f"pid-{backend.rank}").write_text(str(os.getpid()))
    mapped = re.findall(r"/dev/shm/.*", Path("/proc/self/maps").read_text())
    (folder / f"named-{backend.rank}").write_text("\n".join(m for m in mapped if "(deleted)" not in m))

    def callback(draw):
        if kill_at is not None and draw.sweep == int(kill_at) and not backend.leads:
            os.kill(os.getpid(), signal.SIGKILL if patience is None else signal.SIGSTOP)
        if full_at is not None and draw.sweep == int(full_at) and backend.rank == int(full_rank):
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

    run = run_shards(
        restaurant(bursty=True), hk.ShardedCorpus.open(folder / "corpus"), BURSTY, sweeps=int(sweeps), rng=11,
        init=begun, backend=backend, threads=int(threads), folder=kept, checkpoint=int(checkpoint),
        callback=callback,
    )  # fmt: skip
    in_common = str(FOLDER / "hdpkit-") in Path("/proc/self/maps").read_text()
    (folder / f"in-common-{backend.rank}").write_text(str(in_common))
    state = run.state()
    if backend.leads:
        (folder / "ended.pickle").write_bytes(pickle.dumps(state))


if __name__ == "__main__":
    main(*sys.argv[1:])
