"""Kills runs with a folder at random times and resumes them; in a separate process, so that forks are safe.

``python kill_trials.py TRIALS SEED FOLDER`` prints one JSON line: the number of trials, the number of kills
of a run that had begun (with a run.json), and differences from the run that wasn't killed.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy as np

import hdpkit as hk
from hdpkit import moves

SWEEPS = 60


def model(store="histogram"):
    documents = np.random.default_rng(5).integers(0, 12, size=(20, 12)).tolist()
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(
        hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document"),
        hk.Corpus.from_documents(documents, n_terms=12),
        store=store,
    )


def schedule():
    return hk.Scheduler(
        [
            moves.TableGibbs(),
            moves.DishGibbs().every(3),
            moves.SplitMerge().until(40),
            moves.Concentration().after(5),
        ]
    )


def begin_or_resume(folder, trial):
    if (folder / "run.json").exists():
        return hk.open_run(folder).resume()
    return schedule().run(
        model(stores[trial % 2]),
        SWEEPS,
        rng=trial % 3,
        folder=folder,
        checkpoint=hk.Checkpoint(sweeps=1 + trial % 2),
        thin=1 + trial % 2,
    )


stores = ("histogram", "explicit")


def leaves(tree, path=""):
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{path}/{key}")
    else:
        yield path, tree


def differences(trace, franchise, reference):
    whole, state = reference
    found = [
        key
        for key in whole
        if not np.array_equal(whole[key], trace[key]) or whole[key].dtype != trace[key].dtype
    ]
    for name in ("move", "sweep", "tried", "accepted"):
        if not np.array_equal(whole.moves[name], trace.moves[name]):
            found.append(f"moves.{name}")
    found += ["interrupted"] if trace.interrupted else []
    one, other = dict(leaves(state)), dict(leaves(franchise.freeze()))
    found += sorted(set(one) ^ set(other))
    found += [path for path in one if path in other and not np.array_equal(one[path], other[path])]
    return found


def killed(folder, trial, seconds):
    """Run in a child that is killed after so many seconds; whether the kill came before its end."""
    child = os.fork()
    if child == 0:
        try:
            begin_or_resume(folder, trial)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(trials, seed, place):
    draw = random.Random(seed)
    references, seconds = {}, {}
    for kind in range(6):
        franchise = model(stores[kind % 2])
        trace = schedule().run(franchise, SWEEPS, rng=kind % 3, thin=1 + kind % 2)
        references[kind] = (trace, franchise.freeze())
        began = time.perf_counter()
        begin_or_resume(place / f"timing-{kind}", kind)
        seconds[kind] = time.perf_counter() - began
    begun = kills = 0
    wrong = []
    for trial in range(trials):
        folder = place / f"trial-{trial}"
        kind = trial % 6
        # Every third trial is killed a second time, while it is resumed.
        for _ in range(2 if trial % 3 == 0 else 1):
            kills += killed(folder, trial, draw.uniform(0.0, seconds[kind]))
            begun += (folder / "run.json").exists()
        trace = begin_or_resume(folder, trial)
        found = differences(trace, hk.open_run(folder).franchise(), references[kind])
        found += differences(hk.open_run(folder).trace, hk.open_run(folder).franchise(), references[kind])
        if found:
            wrong.append([trial, found])
        shutil.rmtree(folder)
    print(json.dumps({"trials": trials, "kills": kills, "begun": begun, "wrong": wrong}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
