"""The rows of run folders, chains and their records in the table of bad input."""

import atexit
import shutil
import tempfile
from pathlib import Path

from bad_values import (
    NAN,
    NO_INTERRUPT,
    NO_SEQUENCE,
    POSITIVE,
    Anything,
    Row,
    Told,
    another,
    optional,
    plain,
    skipped,
    whole,
)

import hdpkit as hk
from hdpkit import moves

NO_FOLDER = [None, 5, NAN, True, "", ["run"], {}, object(), "a\0b"]
NO_ALLOW = [None, 5, "module", [5], [None], [hk.Corpus.from_documents([[0]])]]
NO_CHECKPOINT = [5, 60.0, "60", [60], hk.Checkpoint]
NO_SEPARATOR = [None, 5, "", True, ["/"], b"/", "/", "a/b"]
NO_CALLBACKS = [*NO_SEQUENCE, [5], [None], len]
NO_RECORD = [5, "n_dishes", [len], {"mine": 5}, {"n_dishes": len}, {5: len}]


def run_in(franchise):
    """A short run in a folder that goes when Python does."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    hk.Scheduler([moves.TableGibbs()]).run(franchise.copy(), sweeps=1, rng=0, folder=folder / "run")
    return folder / "run"


def trace_of(franchise):
    return hk.Scheduler([moves.TableGibbs()]).run(franchise.copy(), sweeps=2, rng=0)


def chains_of(franchise):
    return hk.ChainTrace([trace_of(franchise), trace_of(franchise)])


# What `Scheduler.run` takes for folders and chains.
CHAINS = {
    "folder": [value for value in NO_FOLDER if value is not None],
    "checkpoint": NO_CHECKPOINT,
    "chains": optional(whole(1)),
    "processes": optional(whole(1)),
    "on_interrupt": NO_INTERRUPT,
    "backend": [5, "mpi", object()],
}

FOLDERS = {
    "Checkpoint": Row(
        plain(hk.Checkpoint, sweeps=5, seconds=1.0),
        {"sweeps": optional(whole(1)), "seconds": optional(POSITIVE)},
    ),
    "open_run": Row(
        lambda franchise: (hk.open_run, {"folder": run_in(franchise), "allow": ()}),
        {"folder": [*NO_FOLDER, "/nowhere"], "allow": NO_ALLOW},
    ),
    "Run.franchise": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).franchise, {"chain": 0}), {"chain": whole(0, 0)}
    ),
    "Run.resume": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).resume, {"sweeps": 1}),
        {
            "sweeps": optional(whole(1)),
            "callbacks": NO_CALLBACKS,
            "record": NO_RECORD,
            "samples": [0, -1, 1.5, True, "some", [3], {"after": 1}],
            "checkpoint": NO_CHECKPOINT,
            "processes": optional(whole(1)),
            "franchise": [5, "franchise", hk.Franchise, Told(another(), "7 customers")],
            "backend": [5, "mpi", object()],
        },
    ),
    "Run.state": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).state, {"chain": 0}), {"chain": [-1, 1, 0.5, "0"]}
    ),
    "Trace.own": Row(lambda franchise: (hk.Trace().own, {"record": {"mine": len}}), {"record": NO_RECORD}),
    "ChainTrace.__getitem__": Row(
        lambda franchise: (chains_of(franchise).__getitem__, {"key": "n_dishes"}),
        {"key": [None, 5, "", "nobody", ["n_dishes"], slice(0, 1)]},
    ),
    "ChainTrace.to_arviz": Row(
        lambda franchise: (chains_of(franchise).to_arviz, {"after": 0, "separator": "_"}),
        {"separator": NO_SEPARATOR},
    ),
    "ChainTrace.summary": Row(
        lambda franchise: (chains_of(franchise).summary, {"after": 0}),
        {"options": Anything("ArviZ's own, which it checks")},
        run=skipped("a summary of two draws warns; test_chains makes one"),
    ),
}
