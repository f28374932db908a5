"""The program of every rank of MPI: chains with priors on every hyperparameter; rank 0 writes their ends."""

import pickle
import sys
from pathlib import Path

from shard_cases import cases, run_shards

import hdpkit as hk
from hdpkit import shards


def main(folder, sweeps, out, kept=None):
    """Run every chain that has a start."""
    folder, backend, ended = Path(folder), shards.MPI(), {}
    for name, begun in pickle.loads((folder / "begun.pickle").read_bytes()).items():
        case = cases()[name]
        run = run_shards(
            case.restaurant, hk.ShardedCorpus.open(folder / "corpus"), case.schedule, sweeps=int(sweeps),
            rng=11, init=begun, root=case.root, backend=backend,
            folder=None if kept is None else Path(kept) / name,
        )  # fmt: skip
        ended[name] = run.state(), run.trace
    if backend.leads:
        (folder / out).write_bytes(pickle.dumps(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
