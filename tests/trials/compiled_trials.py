"""Bad calls of all compiled code, by introspection: `python tests/trials/compiled_trials.py --count 20000`.

Every function, class, method and attribute of every compiled module is called with one to three wrong
arguments, also on objects that were never initialised. What fits comes from small runs: while they are made,
objects of compiled classes are kept, and values of local variables by the names of parameters. Calls are made
in forks of a process that has made such runs, a few in each, and then a chain goes on. Counted are calls that
end the process or take longer than 20 seconds, by callable. `test_compiled.py` runs a few of them.
"""

import argparse
import collections
import contextlib
import copy
import enum
import faulthandler
import gc
import importlib
import importlib.machinery
import inspect
import io
import json
import os
import pkgutil
import re
import select
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import failing_allocations as runs
import numpy as np
from memory_limit import limit_memory
from verb_trials import Liar, Thief, Unmade

import hdpkit as hk
from hdpkit.errors import HdpkitError
from hdpkit.franchise.shard_state import draw_shards, end_shards, sweep_shards
from hdpkit.random import ChoiceSource, RandomStream, ScriptedSource

SECONDS = 20
CALLS = 12  # in a fork
FORKS = 100  # of a process, before the next one makes other runs
MEMORY = 6 << 30
VALUES = 40  # of each name
RUNS = 12  # of each process
PLAIN = (TypeError, ValueError, MemoryError, BufferError, StopIteration)
"""Errors of Python and NumPy that may be raised for an argument of a wrong type or shape."""


# ------------------------------------------------------------------ what is called


def modules():
    """The compiled modules of the package."""
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    for found in pkgutil.walk_packages(hk.__path__, "hdpkit."):
        spec = found.module_finder.find_spec(found.name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(suffixes):
            with contextlib.suppress(ImportError):  # an instruction set that this processor lacks
                yield importlib.import_module(found.name)


def classes():
    """Their classes; an enumeration among them is Python's own."""
    found = {kind for module in modules() for kind in vars(module).values() if inspect.isclass(kind)}
    own = {module.__name__ for module in modules()}
    mine = (kind for kind in found if kind.__module__ in own and not issubclass(kind, enum.Enum))
    return sorted(mine, key=lambda kind: kind.__qualname__)


def targets():
    """(name, class or None, attribute or function, what is done) of everything that Python can call."""
    found = []
    for module in modules():
        for name, value in sorted(vars(module).items()):
            if "cython" in value.__class__.__name__ and value.__module__ == module.__name__:
                found.append((f"{module.__name__}.{name}", None, value, "call"))
    for kind in classes():
        label = f"{kind.__module__}.{kind.__qualname__}"
        found.append((label, None, kind, "call"))
        if kind.__init__ is not object.__init__:
            found.append((f"{label}.__init__", kind, "__init__", "method"))
        for name in sorted(set(dir(kind)) - set(dir(object)) | {"__reduce__", "__setstate__"}):
            member = inspect.getattr_static(kind, name, None)
            if inspect.isgetsetdescriptor(member) or inspect.ismemberdescriptor(member):
                found += [(f"{label}.{name}", kind, name, what) for what in ("get", "set")]
            elif callable(member) and not name.startswith("__pyx"):
                found.append((f"{label}.{name}", kind, name, "method"))
    return found


def parameters(function):
    """(name, whether it has to be named) of each parameter, None where they aren't known."""
    if inspect.isclass(function):  # Cython writes down no signature of a constructor in C
        lines = [line.strip() for line in (function.__doc__ or "").partition("----------\n")[2].split("\n")]
        names = [line for line in lines if re.fullmatch(r"[a-z_]+(, [a-z_]+)*( : .*)?", line)]
        return [(name, True) for line in names for name in line.split(" : ")[0].split(", ")] or None
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in found):
        return None
    return [(one.name, one.kind == one.KEYWORD_ONLY) for one in found if one.name != "self"]


# ------------------------------------------------------------------ what fits


class Kept:
    """Objects of compiled classes by class, and values by name, from runs under a profiler."""

    def __init__(self, names, rng):
        self.wanted, self.rng = names, rng
        self.kinds = tuple(classes())
        self.objects = collections.defaultdict(list)
        self.named = collections.defaultdict(list)
        self.seen = set()

    def keep(self, name, value):
        if isinstance(value, self.kinds) and not isinstance(value, type) and id(value) not in self.seen:
            self.seen.add(id(value))
            self.objects[type(value)].append(value)
        values = self.named[name]
        if name not in self.wanted or inspect.isframe(value):
            return
        if len(values) < VALUES:
            values.append(value)
        else:
            values[self.rng.integers(VALUES)] = value

    def watch(self, frame, event, _):
        if event != "return" or "hdpkit" not in frame.f_code.co_filename:
            return
        for name, value in list(frame.f_locals.items()):
            self.keep(name, value)
            if name == "self":
                for inner, part in list(getattr(value, "__dict__", {}).items()):
                    self.keep(inner.lstrip("_"), part)

    def follow(self):
        """Keep what the kept objects refer to: Python can't name all of it."""
        for _ in range(3):
            for value in [one for found in self.objects.values() for one in found]:
                for part in gc.get_referents(value):
                    self.keep("", part)

    @contextlib.contextmanager
    def watching(self):
        sys.setprofile(self.watch)
        try:
            yield
        finally:
            sys.setprofile(None)


def more_runs():
    """Fixed topics, fitted and held-out shares, contexts, and a part of a run over shards."""
    counts = np.random.default_rng(3).poisson(1.0, size=(12, 9))
    model = hk.TopicModel(purpose="prediction", sweeps=3, random_state=1).fit(counts)
    model.transform(counts)
    model.score(counts)
    state = runs.topics("histogram")
    hk.evaluate(state, state.data, method="completion", rng=1)
    hk.evaluate(state, state.data, method="left-to-right", rng=1)
    words = hk.NGramModel(order=2).fit([["a", "b", "c"], ["b", "a"]], sweeps=2, burn_in=1, samples=1, rng=1)
    words.perplexity([["a"]])
    state = runs.franchise("counts", "dm", 2)
    draw_shards(state, RandomStream((1, 2)), "integrated", 1)
    end_shards(state, sweep_shards(state, 2))
    return state


def made(names, rng, n_runs):
    """What runs kept, and their franchises."""
    kept, states = Kept(names, rng), []
    scenarios = list(runs.scenarios())
    with kept.watching():
        states.append(more_runs())
        for place in rng.choice(len(scenarios), size=n_runs, replace=False):
            _, make, act = scenarios[place]
            states.append(make())
            act(states[-1])
    kept.follow()
    kept.states = states
    for kind, build in EXTRA.items():
        kept.objects[kind] += build()
    return kept


def extra():
    """Objects of classes that runs don't keep."""
    from hdpkit._franchise_lock import FranchiseLock, HeldInterrupt
    from hdpkit.measures._selection import Selection
    from hdpkit.steps._walk import ContextTree

    return {
        Selection: lambda: [Selection(9, 1.0, r=1.0, s=1.0)],
        HeldInterrupt: lambda: [HeldInterrupt()],
        FranchiseLock: lambda: [FranchiseLock()],
        ContextTree: lambda: [ContextTree()],
        RandomStream: lambda: [RandomStream((1, 2))],
        ScriptedSource: lambda: [ScriptedSource([0] * 5)],
    }


EXTRA = extra()


# ------------------------------------------------------------------ what doesn't


def wrong(rng, kept):
    """A value that is wrong nearly everywhere."""
    liar = Liar()
    liar.answer = [10**6, -1, None, "a", 2**63, 0.5][rng.integers(6)]
    n = int(rng.integers(1, 60))
    frozen = np.arange(n, dtype=np.int64)
    frozen.setflags(write=False)
    kind = kept.kinds[rng.integers(len(kept.kinds))]
    pool = [
        None, "a", "", b"x", b"", bytearray(8), memoryview(b"abc"), 1.5, float("nan"), float("inf"), True,
        0, 1, -1, -2, n, 2**31 - 1, 2**31, -(2**31), 2**32, 2**62, 2**63 - 1, 2**63, -(2**63), 10**30,
        1e300, 5e-324, 1j, [], [0], [None], [-1], [n], [2**31], [2**63], [0, [1]], [[]], {}, {0}, {"a": 1},
        (), (1, 2), np.array(3), np.int64(-5), np.int32(n), np.arange(3.0),
        np.zeros((2, 2), dtype=np.int64), np.zeros((0, 3)), np.zeros((3, 0)),
        np.full(n, 2**31 - 1, dtype=np.int32), np.full(n, -7, dtype=np.int64), np.zeros(n, dtype=np.int32),
        np.full(n, 2**62, dtype=np.int64), np.arange(2 * n, dtype=np.int64)[::2],
        np.arange(n, dtype=np.int32)[::-1], np.array([], dtype=np.int64), np.array([], dtype=np.int32),
        np.array([]), np.array(["x"]), np.array([None]), np.full(n, np.nan), np.zeros(n, dtype=np.int8),
        np.zeros(n, dtype=">i4"), np.ma.masked_array([1, 2], [0, 1]), object(), lambda *_: 0, liar,
        Thief(), Unmade(), ScriptedSource([10**6] * 50), ScriptedSource([-1]), RandomStream(), type,
        ChoiceSource, iter([1]), io.BytesIO(b"x"), frozen, uninitialised(kind), some(rng, kept, kind),
        kind,
    ]  # fmt: skip
    return pool[rng.integers(len(pool))]


def uninitialised(kind):
    try:
        return kind.__new__(kind)
    except TypeError:  # has a constructor in C with arguments
        return None


def some(rng, kept, kind):
    """An object of this class or of one derived from it, None if no run kept one."""
    fitting = [one for other in kept.objects for one in kept.objects[other] if issubclass(other, kind)]
    return fitting[rng.integers(len(fitting))] if fitting else None


def spoilt(value, rng, kept):
    """A value that nearly fits."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf" and value.ndim:
        return spoilt_array(value, rng)
    if isinstance(value, bool) or value is None:
        return wrong(rng, kept)
    if isinstance(value, (int, np.integer)):
        far = [
            -1,
            0,
            int(value) + 1,
            int(value) - 1,
            10**6,
            2**31 - 1,
            2**31,
            2**62,
            2**63 - 1,
            -(2**63),
            2**63,
        ]
        return far[rng.integers(len(far))]
    if isinstance(value, float):
        far = [0.0, -1.0, 1.0, 1e308, 5e-324, np.nan, np.inf, -np.inf, -value]
        return far[rng.integers(len(far))]
    if isinstance(value, dict) and value:
        keys = list(value)
        key = keys[rng.integers(len(keys))]
        changed = {**value, key: spoilt(value[key], rng, kept)}
        return changed if rng.random() < 0.7 else {k: v for k, v in value.items() if k != key}
    if isinstance(value, (list, tuple)) and value:
        place = int(rng.integers(len(value)))
        changed = [*value[:place], spoilt(value[place], rng, kept), *value[place + 1 :]]
        return type(value)(changed) if type(value) in (list, tuple) and rng.random() < 0.7 else value[:place]
    if isinstance(value, kept.kinds):
        return [
            uninitialised(type(value)),
            some(rng, kept, type(value)),
            some(rng, kept, type(value).__base__),
        ][rng.integers(3)]
    fields = getattr(type(value), "__attrs_attrs__", ())
    if fields:
        changed = copy.copy(value)
        name = fields[rng.integers(len(fields))].name
        with contextlib.suppress(Exception):
            object.__setattr__(changed, name, spoilt(getattr(value, name), rng, kept))
        return changed
    return wrong(rng, kept)


def spoilt_array(value, rng):
    flat = value.reshape(-1)
    whole = value.dtype.kind in "iu"
    far = (
        [-1, -2, value.size, 10**6, np.iinfo(value.dtype).max]
        if whole
        else [np.nan, np.inf, -1.0, 0.0, 1e308]
    )
    most = np.array(far[rng.integers(len(far))]).astype(value.dtype)  # may wrap around
    one = value.copy()
    if value.size:
        one.reshape(-1)[rng.integers(value.size)] = most
    read_only = value.copy()
    read_only.setflags(write=False)
    other = {"int32": "int64", "int64": "int32", "float64": "float32"}.get(value.dtype.name, "float64")
    pool = [
        value[:0], value[:-1], np.concatenate([value, value]), value.astype(other),
        value.repeat(2, axis=0)[::2], value[::-1], read_only, value.reshape(1, -1), flat, one, one,
        one, np.full_like(value, most),
        value[..., :0], value.astype(value.dtype.newbyteorder()),
    ]  # fmt: skip
    return pool[rng.integers(len(pool))]


FITTING = {
    "a": lambda: 0.5, "a0": lambda: 0.5, "a1": lambda: 0.25, "n": lambda: 3, "n0": lambda: 3,
    "n1": lambda: 2, "base": lambda: np.array([0.1, 0.2]), "entries": lambda: np.array([0, 1, 2]),
    "begins": lambda: np.array([0, 1, 2]), "topic": lambda: np.array([0, 1], dtype=np.int32),
    "excess": lambda: np.array([0.3, 0.1]), "prior": lambda: np.array([0.5, 0.5]),
    "mass": lambda: np.array([5.0, 6.0]), "term": lambda: np.array([0, 1]),
    "count": lambda: np.array([1.0, 2.0]), "held_begins": lambda: np.array([0, 1, 2]),
    "held_term": lambda: np.array([1, 0]), "frozen_key": lambda: np.arange(4, dtype=np.int32),
    "memory": lambda: bytearray(1 << 16), "worker": lambda: 0, "n_workers": lambda: 2, "n_slots": lambda: 16,
    "n_blocks": lambda: 2, "block": lambda: 0, "degree": lambda: 20, "size": lambda: 5, "p": lambda: 0.3,
    "weights": lambda: np.array([1.0, 2.0]), "customers": lambda: 5, "floats": lambda: True,
    "by_jumps": lambda: True, "coarse": lambda: False,
}  # fmt: skip
"""What fits where no run has a variable of this name."""
OTHER_NAMES = {"rng": "source", "work": "workspace", "node": "nodes"}


def argument(name, rng, kept):
    """A value for a parameter of this name."""
    known = kept.named.get(name) or kept.named.get(OTHER_NAMES.get(name)) or ()
    if name in FITTING and (not known or rng.random() < 0.5):
        return FITTING[name]()
    known = [value for value in known if value is not None] or known
    if name in ("source", "rng") and rng.random() < 0.8:
        return RandomStream((int(rng.integers(9)), 1))
    return known[rng.integers(len(known))] if known else wrong(rng, kept)


def arguments(signature, rng, kept):
    """Arguments in their order, and those that are named."""
    if signature is None:
        return [wrong(rng, kept) for _ in range(rng.integers(4))], {}
    given = [argument(name, rng, kept) for name, _ in signature]
    for place in rng.integers(len(given), size=1 + rng.integers(min(3, len(given)))) if given else ():
        given[place] = wrong(rng, kept) if rng.random() < 0.5 else spoilt(given[place], rng, kept)
    if rng.random() < 0.1:
        given = given[: rng.integers(len(given) + 1)]
    both = list(zip(signature, given, strict=False))
    return [value for (_, named), value in both if not named], {
        name: value for (name, named), value in both if named
    }


# ------------------------------------------------------------------ a call


def bound(kind, rng, kept):
    """An object of a class: as a run left it, or never initialised."""
    good = kept.objects.get(kind)
    if good and rng.random() < 0.8:
        return good[rng.integers(len(good))]
    return uninitialised(kind)


def signature_of(target):
    """Names of the parameters of a target: see `parameters`."""
    _, kind, value, what = target
    if what == "call":
        return parameters(value)
    if what == "method":
        return parameters(kind if value == "__init__" else getattr(kind, value, None))
    return [] if what == "get" else [(value, False)]


def call(target, rng, kept):
    """Make the call: what happened."""
    name, kind, value, what = target
    owner = None if kind is None else bound(kind, rng, kept)
    if kind is not None and owner is None:
        return "no object"
    given, named = arguments(signature_of(target), rng, kept)
    bare = owner is not None and not any(owner is one for one in kept.objects[kind])
    name = f"{name} (never initialised)" if bare else name
    print(json.dumps({"begin": name, "arguments": shown((owner, given, named))}), flush=True)
    try:
        if what == "get":
            getattr(owner, value)
        elif what == "set":
            setattr(owner, value, *given) if given else delattr(owner, value)
        else:
            (value if owner is None else getattr(owner, value))(*given, **named)
    except HdpkitError:
        return "typed"
    except PLAIN as error:
        return type(error).__name__
    except BaseException as error:
        plain = isinstance(error, AttributeError) and (bare or what in ("get", "set"))
        return f"{'' if plain else 'untyped '}{type(error).__name__}"
    return "accepted"


def shown(given):
    with contextlib.suppress(Exception):
        return repr(given)[:400]
    return "?"


def go_on(kept, rng):
    """A sweep of a franchise whose parts may have been told anything."""
    state = kept.states[rng.integers(len(kept.states))]
    with contextlib.suppress(Exception):
        state.reseat(0, state.topology.n_customers, RandomStream((1, 2)))
        state.log_joint()
        state.audit()


def calls(seed, numbers, every, kept):
    """Some calls in this process."""
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        target = every[number % len(every)]
        outcome = call(target, rng, kept)
        print(json.dumps({"end": target[0], "what": target[3], "outcome": outcome}), flush=True)
    print(json.dumps({"begin": "the chain afterwards", "arguments": ""}), flush=True)
    go_on(kept, np.random.default_rng([seed, numbers[0], 1]))
    print(json.dumps({"end": "the chain afterwards", "what": "", "outcome": "accepted"}), flush=True)


# ------------------------------------------------------------------ forks


def in_a_fork(act):
    """What the function prints in a fork, and how the fork ended: None if as it should."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(write, 1)
        limit_memory(MEMORY)
        act()
        os._exit(0)
    os.close(write)
    text, heard = b"", time.monotonic()
    while True:
        ready, _, _ = select.select([read], [], [], max(0.0, heard + SECONDS - time.monotonic()))
        piece = os.read(read, 1 << 16) if ready else b""
        if not piece:
            break
        text += piece
        heard = time.monotonic()
    os.close(read)
    ended, status = os.waitpid(child, os.WNOHANG if ready == [] else 0)
    if ended == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return text, "hang"
    return text, None if status == 0 else f"end of the process ({status})"


def work(seed, first, last, n_runs):
    """Calls first .. last - 1, in forks; prints each that ended a fork, and counts."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    every = targets()
    names = {name for target in every for name, _ in signature_of(target) or ()} | set(OTHER_NAMES.values())
    kept = made(names, np.random.default_rng([seed, first]), n_runs)
    faulthandler.enable()
    sys.unraisablehook = lambda _: None
    done = 0
    numbers = list(range(first, last))
    while done < len(numbers):
        some_calls = numbers[done : done + CALLS]
        text, end = in_a_fork(lambda some_calls=some_calls: calls(seed, some_calls, every, kept))
        lines = [json.loads(line) for line in text.decode().splitlines() if line.startswith("{")]
        ended = [line for line in lines if "end" in line]
        for line in ended:
            print(json.dumps(line), flush=True)
        if end is not None:
            begun = [line for line in lines if "begin" in line]
            lost = begun[-1] if len(begun) > len(ended) else {"begin": "set-up", "arguments": ""}
            number = some_calls[min(len(ended), len(some_calls) - 1)]
            told = {"end": lost["begin"], "outcome": end, "arguments": lost["arguments"], "number": number}
            print(json.dumps(told), flush=True)
        done += len(ended) + 1 if end is not None else len(some_calls)


def campaign(count, seed, first=0, n_runs=RUNS):
    """What each call told, by workers that make other runs each."""
    told = []
    for begin in range(first, first + count, CALLS * FORKS):
        end = min(begin + CALLS * FORKS, first + count)
        worker = subprocess.run(
            [sys.executable, __file__, "--worker", str(seed), str(begin), str(end), str(n_runs)],
            capture_output=True, text=True, check=False, env={**os.environ, "MALLOC_PERTURB_": "165"},
        )  # fmt: skip
        told += [json.loads(line) for line in worker.stdout.splitlines() if line.startswith("{")]
        if worker.returncode:
            raise RuntimeError(worker.stderr[-3000:])
    return told


def is_fault(told):
    """Whether this must not happen."""
    return told["outcome"] == "hang" or told["outcome"].startswith("end of the process")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--worker", nargs=4, type=int)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return
    told = campaign(options.count, options.seed, options.first)
    print(
        len(targets()), "callables;", dict(collections.Counter(one["outcome"] for one in told).most_common())
    )
    by_callable = collections.Counter(
        (one["end"], one["outcome"])
        for one in told
        if is_fault(one) or (options.verbose and "untyped" in one["outcome"])
    )
    for (name, outcome), n in by_callable.most_common():
        print(n, name, outcome)
        example = next(one for one in told if (one["end"], one["outcome"]) == (name, outcome))
        print("    ", example.get("number"), example.get("arguments", "")[:200])


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    main()
