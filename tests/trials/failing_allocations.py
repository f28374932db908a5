"""Fails the n-th allocation of small runs, for every n, and checks the result; Linux with glibc only.

``python failing_allocations.py LIBRARY [--only WORDS ...] [--every K] [--many M ...] [--kinds new array]``

LIBRARY is `allocations/failing.cpp` compiled as a shared library (`g++ -O1 -shared -fPIC -std=c++17`). Each
trial is a separate process: a franchise is prepared, then one allocation fails (M in a row; 0: all from there
on, until an error is raised), and afterwards

- a MemoryError was raised, the franchise is, bit for bit, in the state before, and another sweep runs; or
- no error was raised, and the chain equals the undisturbed one.

Prints a JSON line for every scenario: trials, MemoryErrors, undisturbed runs, and failures.
"""

import argparse
import ctypes
import hashlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from kind_cases import CASES, started
from shard_cases import run_shards
from states import same_state

import hdpkit as hk
import hdpkit.shards
from hdpkit import moves
from hdpkit.errors import HdpkitError
from hdpkit.franchise.starts import start
from hdpkit.random import Streams

KINDS = {"new": 1, "array": 2}
SECONDS = 20.0  # of a trial; more is a hang
ALL = 1 << 40


def ready(name):
    """The franchise of a case at its start; in one dish where that may be, so that everything grows."""
    state, init = started(name)
    if init is not None:
        grows = init == "sequential" and not state.measure.atomic and state.known is None
        start(state, "one" if grows else init, Streams(1).source(0))
    return state


def sweeping(name):
    return lambda state: hk.Scheduler(CASES[name].schedule).run(state, sweeps=2, rng=5, init=None)


def again(state, sweeps=1):
    """Sweeps of a move that serves the franchise."""
    for move in (moves.TableGibbs(), moves.CountGibbs()):
        try:
            move.check(state)
        except HdpkitError:
            continue
        hk.Scheduler([move]).run(state, sweeps=sweeps, rng=3, init=None)
        return


def over_shards(state):
    """A run over two shards, each with a worker, in a folder of this process; the franchise gets its state.

    Called again after an error, it goes on from the last checkpoint.
    """
    if not SHARD_FOLDERS:
        KEPT.append(tempfile.TemporaryDirectory())
        SHARD_FOLDERS.append(KEPT[-1].name)
    place = Path(SHARD_FOLDERS[0], str(os.getpid()))
    if (place / "run.json").exists() and hk.open_run(place).sweeps[0] == 3:  # only its state was not read
        state.thaw(hk.open_run(place).franchise().freeze())
        return
    run = run_shards(
        state.declarations[-1], hdpkit.shards.cut(state.data, 2),
        [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()], sweeps=3, rng=5,
        backend=hdpkit.shards.Local(2), folder=place, checkpoint=1,
    )  # fmt: skip
    state.thaw(run.state())


def starting(init):
    return lambda state: hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=1, rng=3, init=init)


def in_folder(state):
    with tempfile.TemporaryDirectory() as folder:
        hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=2, rng=3, init="auto", folder=folder + "/run")


def thawing(state):
    frozen = state.freeze()
    again(state)
    state.thaw(frozen)
    again(state.copy())


def reading(state):
    state.log_joint()
    state.log_likelihood()
    state.root_weights()
    if not state.draws_tables and not state.counts_tables:
        state.size_counts([0])
    view = state.restaurant(state.declarations[-1].name, state.keys(state.declarations[-1].name)[0])
    _ = view.customers, view.dishes, None if state.draws_tables else view.table_sizes()
    state.audit()
    state.simulate(4)


def scoring(state):
    state.fold_in(state.data, 2, burn_in=1, rng=5)
    hk.evaluate(state, state.data, fit="gibbs", particles=2, sweeps=2)
    hk.evaluate(state, state.data, method="left-to-right", particles=2)


def making(state):
    twin = hk.Franchise(state.declarations[-1], state.data, store=state.store_type, root=state.root.declared)
    start(twin, "auto", Streams(1).source(0))


def extending(state):
    state.extend(state.data.plus([["a", "d", "b"], ["c", "e", "e", "a"]]), rng=7)


def discarding(state):
    state.discard(1, 3, rng=8)


#: What is done beside sweeps, and the cases that it is done with.
ACTS = {
    "thaw": (thawing, list(CASES)),
    "read": (reading, ["histogram", "explicit", "contexts", "normal-gamma"]),
    "make": (making, ["histogram", "explicit", "indicators", "slices", "contexts", "normal-gamma"]),
    "score": (scoring, ["histogram", "explicit", "normal-gamma"]),
    "folder": (in_folder, ["histogram", "explicit", "contexts"]),
    "start auto": (starting("auto"), ["histogram", "explicit"]),
    "start random": (starting(hk.init.Random(20)), ["histogram", "explicit"]),
    "start clusters": (starting(hk.init.TermClusters()), ["histogram", "explicit"]),
    "extend": (extending, ["contexts"]),
    "discard": (discarding, ["contexts"]),
}


def by_token():
    state = ready("slices")
    state.expand_cells()
    return state


def scenarios():
    """(name, a function that makes a franchise, what is done with it) of every scenario."""
    for name in CASES:
        yield f"sweeps {name}", lambda name=name: ready(name), sweeping(name)
    for what, (act, names) in ACTS.items():
        for name in names:
            yield f"{what} {name}", lambda name=name: ready(name), act
    yield "shards slices", by_token, over_shards


def digest(state):
    found = hashlib.sha256()
    frozen = state.freeze()
    for name in sorted(frozen["seating"]):
        found.update(np.ascontiguousarray(frozen["seating"][name]).tobytes())
    for name in ("slots", "concentration", "discount"):
        found.update(np.ascontiguousarray(frozen[name]).tobytes())
    return found.hexdigest()


def look_at(state, act, before):
    """Why the franchise isn't as it was before an act that failed, or None."""
    if act is over_shards:
        act(state)
        return None if digest(state) == UNBROKEN[act] else "not the unbroken chain"
    if state.access.closed:  # there was no memory for restoring the state either
        with state.transaction():
            pass
    if not same_state(state.freeze(), before):
        return "another state than before"
    state.audit()
    if len(state.dishes) and not np.all(np.asarray(state.dishes) >= 0):
        state.release()
        start(state, "auto", Streams(1).source(0))
    again(state)
    state.audit()
    return None


SHARD_FOLDERS = []  # one, while trials run
KEPT = []  # a temporary folder, where scenarios are used by other trials
UNBROKEN = {}  # digest of the state by act, where an act that failed is begun again


def trial(library, state, act, number, many, kind):
    """What happened: in a process of its own, which is gone afterwards."""
    failed, error = ctypes.c_int64(0), None
    before = None if act is over_shards else state.freeze()
    library.hdpkit_arm(number, many, kind)
    try:
        with nullcontext() if act is over_shards else state.transaction():
            act(state)
    except BaseException as caught:
        error = caught
    report = {"n": number, "counted": library.hdpkit_disarm(ctypes.byref(failed)), "failed": failed.value}
    if error is None:
        report |= {"outcome": "finished", "digest": digest(state)}
        state.audit()
        return report
    report["outcome"] = type(error).__name__
    if isinstance(error, SystemError) and "without" in str(error):
        report["outcome"] = "MemoryError"  # NumPy's fancy indexing doesn't say what failed
    elif not isinstance(error, MemoryError):
        report["wrong"] = "".join(traceback.format_exception(error))[-1500:]
        return report
    try:
        wrong = look_at(state, act, before)
        if wrong:
            report["wrong"] = wrong + "".join(traceback.format_exception(error))[-1500:]
    except BaseException as after:
        report["wrong"] = (
            "afterwards: "
            + "".join(traceback.format_exception(after))[-1500:]
            + "\nthe error was: "
            + "".join(traceback.format_exception(error))[-1500:]
        )
    return report


def in_a_process(function, seconds=SECONDS):
    """A function's report by way of a fork, or how the process ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            report = function()
        except BaseException as error:
            report = {"wrong": "".join(traceback.format_exception(error))[-2500:], "outcome": "harness"}
        with os.fdopen(write, "w") as out:
            out.write(json.dumps(report))
        os._exit(0)
    os.close(write)
    text, deadline = b"", time.monotonic() + seconds
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            os.kill(child, signal.SIGKILL)
            break
        piece = os.read(read, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(read)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 77:
        return {"outcome": "crash in NumPy"}
    if text and os.WIFEXITED(status):
        return json.loads(text)
    how = "hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else f"status {status}"
    return {"outcome": how, "wrong": f"the process ended: {how}"}


def run_scenario(library, name, make, act, chosen):
    """For each kind of allocation and number of them: counts of trials, and what went wrong."""
    ready = make()
    for kind in chosen.kinds:

        def tried(number, many, kind=kind):
            return in_a_process(lambda: trial(library, ready, act, number, many, KINDS[kind]))

        unbroken = tried(ALL // 2, ALL)
        UNBROKEN[act] = unbroken.get("digest")
        if "wrong" in unbroken or unbroken["outcome"] != "finished":
            yield {"scenario": name, "kind": kind}, [unbroken]
            continue
        for many in chosen.many:
            counts, wrong = Counter(), []
            for number in range(0, unbroken["counted"], chosen.every):
                report = tried(number, many or ALL) | {"n": number}
                finished = report["outcome"] == "finished"
                if finished and report["digest"] != unbroken["digest"]:
                    report["wrong"] = "silently another chain"
                if "wrong" in report:
                    wrong.append(report)
                # A crash in NumPy (of a[indices] alone) is not ours to mend.
                counts[report["outcome"] if finished or "crash" in report["outcome"] else "MemoryError"] += 1
            made = {"scenario": name, "kind": kind, "many": many, "allocations": unbroken["counted"]}
            yield {**made, "MemoryError": 0, **counts}, wrong


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--many", type=int, nargs="*", default=[1])
    parser.add_argument("--kinds", nargs="*", default=["new", "array"])
    chosen = parser.parse_args(argv)
    if chosen.library not in os.environ.get("LD_PRELOAD", ""):
        environment = {**os.environ, "LD_PRELOAD": chosen.library, "OPENBLAS_NUM_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, __file__, *argv], environment)
    library = ctypes.CDLL(chosen.library)
    library.hdpkit_arm.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
    library.hdpkit_disarm.argtypes = [ctypes.POINTER(ctypes.c_int64)]
    library.hdpkit_disarm.restype = ctypes.c_int64
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        SHARD_FOLDERS.append(folder)
        for name, make, act in scenarios():
            if chosen.only and not any(set(words.split()) <= set(name.split()) for words in chosen.only):
                continue
            for counts, wrong in run_scenario(library, name, make, act, chosen):
                bad += len(wrong)
                print(json.dumps({**counts, "wrong": len(wrong)}), flush=True)
                for report in wrong[:1]:
                    print("   ", report.get("n"), report["outcome"], report["wrong"], flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
