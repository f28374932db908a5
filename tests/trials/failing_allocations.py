"""Fails the n-th allocation of small runs, for every n, and checks the result; Linux with glibc only.

``python failing_allocations.py LIBRARY [--only WORDS ...] [--every K] [--many M ...] [--kinds new array]``

LIBRARY is `allocations/failing.cpp` compiled as a shared library (``--compile`` does it first). Each trial
is a separate process: a franchise is prepared, then one allocation fails (M in a row; 0: all from there on,
until an error is raised), and afterwards

- a MemoryError was raised, the franchise is, bit for bit, in the state before, and another sweep runs; or
- no error was raised, and the chain equals the undisturbed one.

Prints a JSON line for every scenario: trials, MemoryErrors, undisturbed runs, and failures.
"""

import argparse
import ctypes
import faulthandler
import hashlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from shard_cases import run_shards
from states import same_state

import hdpkit as hk
import hdpkit.shards
from hdpkit import moves
from hdpkit.base_measures import base_measures
from hdpkit.franchise.starts import start
from hdpkit.random import Streams
from hdpkit.testing.cases import repeated

SOURCE = Path(__file__).resolve().parent / "allocations" / "failing.cpp"
KINDS = {"new": 1, "array": 2, "python": 4}
SECONDS = 20.0  # of a trial; more is a hang
ALL = 1 << 40


def example(name):
    """The last example that a base measure has in the registry."""
    return base_measures[name].examples()[-1]


MEASURES = {
    "dm": lambda: hk.DirichletMultinomial(0.5),
    "dm-eta": lambda: hk.DirichletMultinomial(hk.Gamma(2.0, 4.0)),
    "sparse": lambda: hk.SparseDirichletMultinomial(0.5),
    "sparse-stored": lambda: hk.SparseDirichletMultinomial(hk.Gamma(2.0, 4.0), proportions="stored"),
    "sparse-each": lambda: hk.SparseDirichletMultinomial(hk.Each(hk.Gamma(2.0, 4.0)), proportions="stored"),
    "bursty": lambda: hk.Bursty(hk.DirichletMultinomial(0.5), 2.0, 0.2),
    "normal": lambda: example("normal-gamma"),
    "wishart": lambda: example("normal-inverse-wishart"),
    "poisson": lambda: example("gamma-poisson"),
    "bernoulli": lambda: example("beta-bernoulli"),
    "non-conjugate": lambda: example("non-conjugate"),
    "uniform": lambda: hk.Uniform(6),
}


def values_for(measure, n):
    examples = measure.example_values()
    return repeated([0, 3, 1, 1, 5, 0, 2, 1, 4, 2, 3, 3, 5], n) if examples is None else repeated(examples, n)


def franchise(store="histogram", family="dm", depth=2, kernel="auto", n=60, root=None):
    """Many dishes and tables for its size, so that everything grows; seated at one dish, or by its values."""
    measure = MEASURES[family]()
    discount = hk.Beta(1.0, 3.0) if family == "uniform" else 0.0
    restaurant = hk.Restaurant(measure, concentration=hk.Gamma(60.0, 2.0), discount=discount)
    labels = {}
    for level, label in enumerate(["author", "document"][3 - depth :] if depth > 1 else []):
        labels[label] = [i * (3, 9)[level + 3 - depth] // n for i in range(n)]
        restaurant = hk.Restaurant(
            restaurant, concentration=hk.Gamma(10.0, 2.0), discount=discount, each=label
        )
    data = hk.Groups.from_labels(values_for(measure, n), labels)
    root = root or ("weights" if store.startswith("counts") else "restaurant")
    made = hk.Franchise(restaurant, data, store=store, kernel=kernel, root=root)
    run_in(made, [], "sequential" if family == "uniform" else "one", 0)
    return made


def topics(store, root="restaurant"):
    """A topic model over a corpus."""
    top = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(4.0, 2.0))
    corpus = hk.Corpus.from_documents(
        np.random.default_rng(3).integers(0, 9, size=(8, 10)).tolist(), n_terms=9
    )
    made = hk.Franchise(hk.Restaurant(top, each="document"), corpus, store=store, root=root)
    run_in(made, [], "one", 0)
    return made


def cells(depth):
    """The same by cell, of three levels below types."""
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(60.0, 2.0))
    for label in ("type", "document")[3 - depth :]:
        restaurant = hk.Restaurant(restaurant, each=label, concentration=hk.Gamma(10.0, 2.0))
    counts = np.random.default_rng(3).poisson(2.0, size=(8, 9))
    corpus = hk.Corpus.from_counts(counts, groups={"type": [0, 0, 0, 1, 1, 2, 2, None]})
    made = hk.Franchise(restaurant, corpus, store="counts", root="weights")
    run_in(made, [], "one", 0)
    return made


def known(store, depth, frozen=True):
    """Topics of which three are known, beside held groups."""
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(60.0, 2.0))
    for label in ("type", "document")[3 - depth :]:
        restaurant = hk.Restaurant(restaurant, each=label, concentration=hk.Gamma(10.0, 2.0))
    rng = np.random.default_rng(3)
    corpus = hk.Corpus.from_counts(
        rng.poisson(0.8, size=(8, 9)), groups={"type": [0, 0, 0, 1, 1, 2, 2, None]}
    )
    components = hk.Known(rng.dirichlet(np.ones(9), size=3), counts=20, frozen=[frozen, False, False])
    root = "weights" if store == "counts" else "restaurant"
    made = hk.Franchise(restaurant, corpus, store=store, root=root, known=components)
    run_in(made, [], "sequential", 0)
    made.hold([0, 5])
    return made


def ngrams(store="histogram", n=20):
    rng = np.random.default_rng(2)
    sentences = [[f"w{k}" for k in rng.integers(0, 7, size=6)] for _ in range(n)]
    data = hk.NGrams.from_sentences(sentences, order=3)
    restaurant = hk.Restaurant(hk.Uniform(), concentration=0.5, discount=0.5)
    for level in (1, 2):
        restaurant = hk.Restaurant(restaurant, concentration=0.5, discount=0.5, each=f"context {level}")
    made = hk.Franchise(restaurant, data, store=store)
    run_in(made, [moves.TableGibbs()], "sequential", 1)
    return made


def states():
    """A hidden Markov model of which states come and go."""
    values = np.random.default_rng(3).integers(0, 9, size=60).tolist()
    data = hk.Sequences.from_arrays([values[:40], [*values[40:], None]], n_terms=9)
    top = hk.Restaurant(hk.DirichletMultinomial(0.2), concentration=hk.Gamma(60.0, 2.0))
    rule = hk.PreviousDish(2.0, start_concentration=hk.Gamma(2.0, 1.0))
    rows = hk.Restaurant(top, concentration=hk.Gamma(10.0, 2.0), each=rule)
    made = hk.Franchise(rows, data, store="counts", root="weights")
    run_in(made, [], "one", 0)
    return made


def run_in(state, schedule, init, sweeps, seed=1):
    """Sweeps as the scheduler makes them; without one, the start alone."""
    if not schedule:
        start(state, init, Streams(seed).source(0))
    else:
        hk.Scheduler(schedule).run(state, sweeps=sweeps, rng=seed, init=init)


def schedule(state, words):
    found = [moves.TableGibbs()]
    if state.topology.kind == "chain":
        found += [moves.BeamSampler(), moves.SplitMergeStates(), moves.Concentration(), moves.RootWeights()]
        return [move for move in found if words is None or type(move).__name__ in words]
    if not state.measure.atomic:
        found += [moves.DishGibbs()]
    if not state.measure.atomic and state.measure.conjugate:
        scans = [moves.SplitMerge(scans=1), moves.ReseatGroups()]
        found += [
            moves.SplitMerge(),
            *([moves.ReseatGroups(scans=None)] if state.measure.seats_values else scans),
        ]
    found += [moves.Concentration()]
    if state.root.declared == "weights":
        found += [] if state.counts_tables else [moves.TableCounts(), moves.TableCounts("binomial")]
        found += [moves.RootWeights()]
        if (state.draws_tables or state.counts_tables) and hasattr(state.measure, "eta"):
            found += [moves.SliceGibbs(), moves.CountGibbs()]
    if state.measure.atomic:
        found += [moves.Discount()]
    if state.measure.priors:
        found += [moves.BaseMeasureParameters()]
    if state.measure_parts:
        found += [moves.Selectors(), moves.SelectorCounts()]
    if "smoothing" in state.measure_parts:
        found += [moves.Smoothing(), moves.DishParameters()]
    return [move for move in found if words is None or type(move).__name__ in words]


def sweeping(words=None, sweeps=2):
    def act(state):
        chosen = schedule(state, words)
        for sweep in range(1, sweeps + 1):
            for place, move in enumerate(chosen):
                move.apply(state, Streams(5).source(place + 1, sweep))
            state.settle()

    return act


def over_shards(state):
    """A run over two shards, each with a worker, in a folder of this process; the franchise gets its state.

    Called again after an error, it goes on from the last checkpoint.
    """
    if not SHARD_FOLDERS:
        KEPT.append(tempfile.TemporaryDirectory())
        SHARD_FOLDERS.append(KEPT[-1].name)
    schedule = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()]
    run = run_shards(
        state.declarations[-1],
        hdpkit.shards.cut(state.data, 2),
        schedule,
        sweeps=3,
        rng=5,
        backend=hdpkit.shards.Local(2),
        folder=f"{SHARD_FOLDERS[0]}/{os.getpid()}",
        checkpoint=1,
    )
    state.thaw(run.state())


def starting(init):
    def act(state):
        run_in(state, [moves.TableGibbs()], init, 1, seed=3)

    return act


def in_folder(state):
    with tempfile.TemporaryDirectory() as folder:
        hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=2, rng=3, init="auto", folder=folder + "/run")


def thawing(state):
    frozen = state.freeze()
    sweeping(["TableGibbs"], 1)(state)
    state.thaw(frozen)
    other = state.copy()
    sweeping(["TableGibbs"], 1)(other)


def reading(state):
    state.log_joint()
    state.log_likelihood()
    state.dish_counts if hasattr(state.measure, "eta") else None
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
    state.extend(state.data.plus([["w1", "w9", "w2"], ["w3", "w8", "w8", "w1"]]), rng=7)


def discarding(state):
    state.discard(2, 9, rng=8)


def scenarios():
    """(name, a function that makes a franchise, what is done with it) of every scenario."""
    compiled, all_stores = ("histogram", "explicit"), ("histogram-reference", "explicit-reference")
    for store in compiled:
        for family in MEASURES:
            for depth in (2, 3) if family == "bursty" else (1, 2, 3):
                yield (
                    f"sweeps {store} {family} {depth}",
                    lambda s=store, f=family, d=depth: franchise(s, f, d),
                    sweeping(),
                )
        for family in ("dm", "uniform"):
            make = lambda s=store, f=family: franchise(s, f, 2, "generic")  # noqa: E731
            yield f"sweeps {store} {family} 2 generic", make, sweeping()
        for family in ("dm", "uniform", "normal"):
            make = lambda s=store, f=family: franchise(s, f, 2)  # noqa: E731
            yield f"thaw {store} {family}", make, thawing
            yield f"read {store} {family}", make, reading
            yield f"make {store} {family}", make, making
            if family != "uniform":
                yield f"score {store} {family}", make, scoring
            yield f"folder {store} {family}", make, in_folder
            yield f"start auto {store} {family}", make, starting("auto")
        make = lambda s=store: franchise(s, "dm", 2)  # noqa: E731
        yield f"start random {store}", make, starting(hk.init.Random(20))
        yield f"start clusters {store}", lambda s=store: topics(s), starting(hk.init.TermClusters())
        make = lambda s=store: ngrams(s)  # noqa: E731
        yield f"sweeps {store} ngrams", make, sweeping(["TableGibbs"], 3)
        yield f"extend {store} ngrams", make, extending
        yield f"discard {store} ngrams", make, discarding
    for family in ("dm", "normal"):
        make = lambda f=family: franchise("counts", f, 2)  # noqa: E731
        yield f"sweeps counts {family} 2", make, sweeping()
        yield f"thaw counts {family}", make, thawing
        yield f"read counts {family}", make, reading
        yield f"make counts {family}", make, making
        if family == "dm":
            make = lambda f=family: franchise("counts", f, 3)  # noqa: E731
            yield f"sweeps counts {family} 3", make, sweeping()
        for depth in (1, 2, 3):
            make = lambda f=family, d=depth: franchise("counts", f, d, root="restaurant")  # noqa: E731
            yield f"sweeps indicators {family} {depth}", make, sweeping()
        yield f"thaw indicators {family}", make, thawing
    for depth in (2, 3):
        make = lambda d=depth: cells(d)  # noqa: E731
        yield f"sweeps cells {depth}", make, sweeping(["CountGibbs", "RootWeights", "Concentration"], 3)
    for store in ("histogram", "explicit", "counts"):
        for depth in (2, 3):
            make = lambda s=store, d=depth: known(s, d)  # noqa: E731
            yield f"sweeps known {store} {depth}", make, sweeping(sweeps=3)
        make = lambda s=store: known(s, 2, frozen=False)  # noqa: E731
        yield f"sweeps known {store} pseudo-counts", make, sweeping(sweeps=3)
        yield f"thaw known {store}", make, thawing
    yield "sweeps states", states, sweeping(["TableGibbs", "BeamSampler"], 1)
    yield "shards counts 2", lambda: topics("counts", "weights"), over_shards
    yield (
        "sweeps indicators reference dm 2",
        lambda: franchise("counts", "dm", 2, kernel="reference", n=24, root="restaurant"),
        sweeping(sweeps=1),
    )
    yield (
        "sweeps counts-reference dm 2",
        lambda: franchise("counts-reference", "dm", 2, n=24),
        sweeping(sweeps=1),
    )
    for store in all_stores:
        for family in ("dm", "uniform"):
            make = lambda s=store, f=family: franchise(s, f, 2, n=24)  # noqa: E731
            yield f"sweeps {store} {family} 2", make, sweeping(sweeps=1)


# ---------------------------------------------------------------------------------------------- trials


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
        run_in(state, [moves.TableGibbs()], "auto", 1)
    sweeping(sweeps=1)(state)
    state.audit()
    return None


SHARD_FOLDERS = []  # one, while trials run
KEPT = []  # a temporary folder, where scenarios are used by other trials
UNBROKEN = {}  # digest of the state by act, where an act that failed is begun again


def trial(library, make_ready, act, number, many, kind):
    """What happened: in a process of its own, which is gone afterwards."""
    state = make_ready
    report = {"n": number}
    failed = ctypes.c_int64(0)
    if kind == KINDS["python"]:
        import _testcapi

        arm = lambda: _testcapi.set_nomemory(number, number + many if many < ALL else 0)  # noqa: E731
    else:
        arm = lambda: library.hdpkit_arm(number, many, kind)  # noqa: E731

    def disarm():
        if kind == KINDS["python"]:
            _testcapi.remove_mem_hooks()
            return 0
        return library.hdpkit_disarm(ctypes.byref(failed))

    error, before = None, None if act is over_shards else state.freeze()
    arm()
    try:
        with nullcontext() if act is over_shards else state.transaction():
            act(state)
        report["counted"] = disarm()
    except BaseException as caught:
        report["counted"] = disarm()
        error = caught
    report["failed"] = failed.value
    if error is None:
        report["outcome"] = "finished"
        report["digest"] = digest(state)
        state.audit()
        return report
    report["outcome"] = type(error).__name__
    if isinstance(error, SystemError) and "without" in str(error):
        report["outcome"] = "MemoryError"  # NumPy's fancy indexing doesn't say what failed
        report["numpy"] = True
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
        trace = os.open(os.environ.get("HDPKIT_TRACE", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(trace, 2)
        if "HDPKIT_TRACE" in os.environ:
            faulthandler.enable()
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


def run_scenario(library, name, make, act, kinds, many, every, offset=0, limit=None):
    ready = make()
    found = []
    for kind in kinds:
        if kind == "python":
            unbroken = in_a_process(lambda: trial(library, ready, act, ALL // 2, ALL, KINDS["new"]))
            numbers = range(offset, 40000, every)
        else:
            unbroken = in_a_process(lambda kind=kind: trial(library, ready, act, ALL // 2, ALL, KINDS[kind]))
            numbers = range(offset, unbroken.get("counted", 0), every)
        UNBROKEN[act] = unbroken.get("digest")
        if "wrong" in unbroken or unbroken["outcome"] != "finished":
            found.append({"scenario": name, "kind": kind, "wrong": [unbroken]})
            continue
        for length in many:
            counts = {
                "scenario": name,
                "kind": kind,
                "many": length,
                "trials": 0,
                "MemoryError": 0,
                "undisturbed": 0,
                "of these SystemErrors of NumPy": 0,
                "crashes in NumPy": 0,
            }
            counts["allocations"] = unbroken["counted"]
            wrong = []
            finished_in_a_row = 0
            for number in numbers:
                if limit is not None and counts["trials"] >= limit:
                    break
                report = in_a_process(
                    lambda n=number, m=length, kind=kind: trial(library, ready, act, n, m, KINDS[kind])
                )
                counts["trials"] += 1
                report["n"] = number
                if report["outcome"] == "finished" and report["digest"] != unbroken["digest"]:
                    report["wrong"] = "silently another chain"
                if "wrong" in report:
                    wrong.append(report)
                elif report["outcome"] == "finished":
                    counts["undisturbed"] += 1
                elif report["outcome"] == "crash in NumPy":  # of its own (a[indices] alone): not ours to mend
                    counts["crashes in NumPy"] += 1
                else:
                    counts["MemoryError"] += 1
                    counts["of these SystemErrors of NumPy"] += "numpy" in report
                finished_in_a_row = finished_in_a_row + 1 if report["outcome"] == "finished" else 0
                if kind == "python" and finished_in_a_row > 20:
                    break
            found.append({**counts, "wrong": wrong})
    return found


def main(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--offset", type=int, default=0)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--many", type=int, nargs="*", default=[1])
    parser.add_argument("--kinds", nargs="*", default=["new", "array"])
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args(argv)
    if chosen.compile:
        subprocess.run(
            ["g++", "-O1", "-shared", "-fPIC", "-std=c++17", "-o", chosen.library, str(SOURCE)], check=True
        )
    if chosen.library not in os.environ.get("LD_PRELOAD", ""):
        environment = {**os.environ, "LD_PRELOAD": chosen.library, "OPENBLAS_NUM_THREADS": "1"}
        os.execve(
            sys.executable, [sys.executable, __file__, *[a for a in argv if a != "--compile"]], environment
        )
    library = ctypes.CDLL(chosen.library)
    library.hdpkit_arm.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_int]
    library.hdpkit_disarm.argtypes = [ctypes.POINTER(ctypes.c_int64)]
    library.hdpkit_disarm.restype = ctypes.c_int64
    with tempfile.TemporaryDirectory() as folder:
        SHARD_FOLDERS.append(folder)
        return run_scenarios(chosen, library)


def run_scenarios(chosen, library):
    """Whether the trials of any chosen scenario went wrong; prints a line for each."""
    bad = 0
    for name, make, act in scenarios():
        if chosen.only and not any(
            all(word in name.split() for word in words.split()) for words in chosen.only
        ):
            continue
        for counts in run_scenario(
            library,
            name,
            make,
            act,
            chosen.kinds,
            [m or ALL for m in chosen.many],
            chosen.every,
            chosen.offset,
            chosen.limit,
        ):
            wrong = counts.pop("wrong")
            bad += len(wrong)
            print(json.dumps({**counts, "wrong": len(wrong)}), flush=True)
            for report in wrong[: None if chosen.verbose else 1]:
                print("   ", report.get("n"), report["outcome"], report["wrong"], flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
