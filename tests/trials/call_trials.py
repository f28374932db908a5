"""Bad calls of all public names: `python tests/trials/call_trials.py`, or a part: `--every 50 --seed 1`.

Public are the names in `__all__` of every package, those that the reference documents, their methods, setters
and pickles, but for methods of measures, moves and stores. Each parameter is given some hundred bad values
while the others are good. Calls run in workers that may be killed. Allowed are the package's own errors,
MemoryError, TypeError for a call that doesn't fit the signature, what a Python protocol demands, and errors
of the value itself. One JSON line for each other outcome is printed, and counts at the end.
`tests/robustness` runs a part.
"""

import argparse
import collections
import contextlib
import faulthandler
import functools
import importlib
import inspect
import io
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import threading
import types
import warnings
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from hdpkit.stores._seating import Seating
from memory_limit import limit_memory

import hdpkit as hk
from hdpkit.errors import HdpkitError
from hdpkit.stores.counts import CountedStore

SECONDS = 8  # of a processor
PATIENCE = 300  # of a clock
BYTES = 6 * 2**30
ROOT = Path(hk.__file__).parent
DOCS = ROOT.parent / "docs" / "reference"
COMPILED = ("cython_function_or_method", "method_descriptor", "fused_function")
SPECIAL = ("__call__", "__getitem__", "__len__", "__iter__", "__eq__", "__contains__", "__setstate__")
PROTOCOL = {
    "__getitem__": (KeyError, IndexError, TypeError),
    "__contains__": (TypeError,),
    "__setattr__": (AttributeError,),
    "index": (ValueError,),
}
SIGNATURE = re.compile(r"(missing|takes) .*arguments?|unexpected keyword argument|multiple values for")
CALLED = re.compile("'Tick'|ScriptedSource|with explicit base")
SLOW = {
    "permutation.n": "a permutation of 2**31 takes as long as it takes",
    "check_part.name": "Geweke's test takes longer than other calls, and any name is good",
    "check_part.measure": "Geweke's test takes longer than other calls",
    "check_part.seed": "Geweke's test takes longer than other calls",
    "check_part.move": "Geweke's test takes longer than other calls",
}
LONG = ("sweeps", "n")  # so many are no mistake
# Not called, for a reason.
EXCLUDED = {
    "shards.MPI": "needs a communicator; its trials are shard_kills.py",
    "shards.Dask": "needs a cluster; its trials are shard_kills.py",
    "errors.": "an error takes any arguments",
    "stores.Detail": "the constructor of an enumeration is Python's",
    "random.Purpose": "the constructor of an enumeration is Python's",
}


# Whose methods the package calls; users call the constructors.
CALLED_BY_THE_PACKAGE = (hk.BaseMeasure, hk.moves.Move, CountedStore, Seating)
# What users are given: the constructor is for the package.
MADE = (
    "Components",
    "CutCorpus",
    "NGrams",
    "RankChoice",
    "Run",
    "Sample",
    "Snapshot",
)


# ------------------------------------------------------------------ what is public


def faces():
    """Names of public modules, and the names in each."""
    found = {"hdpkit": [*hk.__all__, "TopicModel", "SparseTopicModel"]}
    for module in pkgutil.walk_packages(hk.__path__, "hdpkit."):
        if module.ispkg and not any(part.startswith("_") for part in module.name.split(".")):
            found[module.name] = list(getattr(importlib.import_module(module.name), "__all__", ()))
    for name in ("init", "errors", "parts", "priors", "registry"):
        found[f"hdpkit.{name}"] = list(importlib.import_module(f"hdpkit.{name}").__all__)
    current = "hdpkit"
    for page in sorted(DOCS.glob("*.md")):
        for line in page.read_text().splitlines():
            if line.startswith(".. currentmodule::"):
                current = line.split()[-1]
            elif re.fullmatch(r"   [\w.]+", line):
                module, _, name = f"{current}.{line.strip()}".rpartition(".")
                if isinstance(importlib.import_module(module), types.ModuleType):
                    found.setdefault(module, []).append(name)
    return found


def methods(kind):
    for name in dir(kind):
        if name.startswith("_") and name not in SPECIAL:
            continue
        thing = inspect.getattr_static(kind, name)
        if isinstance(thing, property):
            if thing.fset is not None:
                yield name, thing
            continue
        function = getattr(thing, "__func__", thing)
        if not any(name in vars(base) for base in kind.__mro__ if base.__module__.startswith("hdpkit")):
            continue  # inherited from a tuple, say
        ours = (getattr(function, "__module__", None) or getattr(kind, "__module__", "")).startswith("hdpkit")
        if ours and (inspect.isfunction(function) or type(function).__name__ in COMPILED):
            yield name, thing


def targets():
    """Name -> (class or None, function or property)."""
    found, seen = {}, set()
    for module, names in faces().items():
        prefix = "" if module == "hdpkit" else module.removeprefix("hdpkit.") + "."
        for name in names:
            thing = getattr(importlib.import_module(module), name)
            if isinstance(thing, hk.base_measures.__class__):
                thing = type(thing)
            if not callable(thing) or isinstance(thing, types.GenericAlias) or id(thing) in seen:
                continue
            if getattr(thing, "_is_protocol", False) or inspect.isabstract(thing):
                continue  # users write it
            seen.add(id(thing))
            if name not in MADE:
                found[prefix + name] = (None, thing)
            if isinstance(thing, type) and not issubclass(thing, CALLED_BY_THE_PACKAGE):
                for method, function in methods(thing):
                    key = id(getattr(function, "__func__", function))
                    if key not in seen:
                        seen.add(key)
                        found[f"{prefix}{name}.{method}"] = (thing, function)
    return {name: what for name, what in found.items() if not name.startswith(tuple(EXCLUDED))}


# ------------------------------------------------------------------ good arguments


class Target:
    """A public name, with good arguments."""

    def __init__(self, name, kind, thing):
        self.name, self.kind, self.thing = name, kind, thing
        self.short = name.rsplit(".", 1)[-1]

    def _row(self, rows):
        if self.name in rows:
            return rows[self.name]
        if self.kind is None:
            return rows.get(self.short)
        prefix = self.name.rsplit(".", 2)[0] + "." if self.name.count(".") > 1 else ""
        for base in self.kind.__mro__:
            for key in (f"{prefix}{base.__name__}.{self.short}", f"{base.__name__}.{self.short}"):
                if key in rows:
                    return rows[key]
        return None

    def build(self):
        """The function, its good arguments and its parameters, made anew."""
        import bad_input_rows as table
        import call_cases as cases

        row = self._row(table.ROWS)
        function = self._function(cases)
        if isinstance(self.thing, property):
            return function, {"value": None}, {"value": None}
        parameters = parameters_of(function)
        good = {}
        if row is not None:
            function, good = row.build(table.tiny())
            parameters = parameters_of(function) or parameters
        for parameter, which in parameters.items():
            if parameter not in good and which.default is which.empty and which.kind not in (2, 4):
                good[parameter] = self._good(parameter, which, cases)
        return function, dict(good), parameters

    def _good(self, parameter, which, cases):
        for key in (f"{self.name}.{parameter}", f"{self.name.split('.', 1)[-1]}.{parameter}"):
            if key in cases.GOOD:
                return cases.GOOD[key]()
        make = cases.BY_NAME.get(parameter) or cases.annotated(which.annotation)
        return None if make is None else make()

    def _function(self, cases):
        if self.kind is None:
            return self.thing
        static = inspect.getattr_static(self.kind, self.short)
        if isinstance(static, classmethod | staticmethod):
            return getattr(self.kind, self.short)
        make = cases.OBJECTS.get(self.kind.__name__, self._made)
        holder = make()
        if isinstance(static, property):
            return lambda value: setattr(holder, self.short, value)
        return getattr(holder, self.short)

    def _made(self):
        """An object of a class without a maker, by its constructor."""
        name = self.name.rsplit(".", 1)[0]
        function, good, parameters = Target(name, None, self.kind).build()
        return invoke(function, good, parameters)


def parameters_of(function):
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def invoke(function, given, parameters):
    positional, named = [], {}
    for name, value in given.items():
        which = parameters.get(name)
        if (which is not None and which.kind == which.POSITIONAL_ONLY) or (
            which is not None and which.kind == which.VAR_POSITIONAL
        ):
            positional.append(value)
        elif which is not None and which.kind == which.VAR_KEYWORD:
            named |= value if isinstance(value, dict) and all(isinstance(k, str) for k in value) else {}
        elif which is None and not parameters:
            positional.append(value)
        else:
            named[name] = value
    return function(*positional, **named)


def used(answer):
    """What a caller does next with an answer."""
    if isinstance(answer, types.GeneratorType):
        for _, _item in zip(range(3), answer, strict=False):
            pass
    elif hasattr(answer, "__enter__") and not isinstance(answer, io.IOBase):
        with answer:
            pass


# ------------------------------------------------------------------ outcomes


def frames(error):
    """Files of the package in the traceback of an error."""
    trace, found = error.__traceback__, []
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file.startswith(str(ROOT)) or file.startswith("hdpkit" + os.sep):
            found.append(f"{file.removeprefix(str(ROOT.parent) + os.sep)}:{trace.tb_lineno}")
        trace = trace.tb_next
    return found


def text_of(error):
    try:
        return str(error)[:160]
    except Exception:  # it shows a value that can't be shown
        return ""


def innermost(error):
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_filename


def of_the_value(error, value):
    """Whether an error is that of a bad object itself: it has no attributes, or its methods fail."""
    if (value is int or value is len) and CALLED.search(
        text_of(error)
    ):  # a function for ticks, say, that takes others
        return True
    if value is None or isinstance(value, int | float | str | type):
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    empty = type(value).__module__.startswith("hdpkit")
    holders = (trace.tb_frame.f_locals.get("self"), getattr(error, "obj", None))
    return empty and any(holder is value for holder in holders)


def judged(name, error, value=None):
    """What an error is: allowed, or how it fails."""
    if isinstance(error, (HdpkitError, NotImplementedError)):  # the second: abstract methods of kinds
        str(error).encode("utf-8")  # it can be printed
        return "typed"
    if isinstance(error, MemoryError):
        return "memory"
    found = frames(error)
    if not found and isinstance(error, TypeError | StopIteration):
        return "signature"
    if isinstance(error, TypeError) and SIGNATURE.search(text_of(error)):
        return "signature"
    compiled = all(".pyx:" in frame for frame in found)
    if compiled and (isinstance(error, TypeError) or text_of(error).startswith("Buffer ")):
        return "signature"
    if "call_cases" in innermost(error) or of_the_value(error, value):
        return "of the value"
    if name.startswith("testing.") and isinstance(error, AssertionError):
        return "protocol"
    if isinstance(error, PROTOCOL.get(name.rsplit(".", 1)[-1], ())):
        return "protocol"
    if not found and name.startswith("pickle"):
        return "pickle"
    return "loose" if type(error) in (TypeError, ValueError) else "untyped"


# ------------------------------------------------------------------ pickles


def pickled(name):
    """Calls that read damaged pickles of an object: (what is damaged, the call).

    The content is damaged, not the bytes: damaged bytes end the process inside NumPy's own reading of arrays.
    """
    import call_cases as cases

    thing = cases.OBJECTS[name]()
    try:
        parts = thing.__reduce_ex__(4)
    except Exception:  # it says that it can't be pickled
        return
    if isinstance(parts, tuple):
        function, arguments, state = parts[0], parts[1], parts[2] if len(parts) > 2 else None
        first = 1 if function.__name__ in ("__newobj__", "_reconstructor") else 0
        for place in range(first, len(arguments)):
            yield (
                f"argument {place}",
                lambda bad, place=place: restored(
                    function, (*arguments[:place], bad, *arguments[place + 1 :]), state
                ),
            )
        if state is not None and hasattr(type(thing), "__setstate__"):
            yield "state", lambda bad: restored(function, arguments, bad)
            for key in state if isinstance(state, dict) else ():
                yield (
                    f"state[{key!r}]",
                    lambda bad, key=key: restored(function, arguments, {**state, key: bad}),
                )
                yield (
                    f"state without {key!r}",
                    lambda bad, key=key: restored(
                        function, arguments, {k: v for k, v in state.items() if k != key}
                    ),
                )
            for place in range(len(state)) if isinstance(state, tuple) else ():
                yield (
                    f"state[{place}]",
                    lambda bad, place=place: restored(
                        function, arguments, (*state[:place], bad, *state[place + 1 :])
                    ),
                )


def restored(function, arguments, state):
    made = function(*arguments)
    if state is not None and hasattr(made, "__setstate__"):
        made.__setstate__(state)
    return made


# ------------------------------------------------------------------ a worker


class Worker:
    def __init__(self, options):
        self.options = options
        self.out = os.fdopen(os.dup(1), "w")
        self.status = os.open(options.status, os.O_RDWR)
        self.counts = collections.Counter()
        self.number = 0

    def tell(self, **what):
        print(json.dumps(what), file=self.out, flush=True)

    def wanted(self, *names):
        """Whether a call belongs to the part that is made; counts it."""
        self.number += 1
        return self.number > self.options.begin and self.chosen(self.options.every // self.step, *names)

    @property
    def step(self):
        """A part of the calls is made of a part of the names: one in so many."""
        return min(self.options.every, 40)

    def chosen(self, every, *names):
        return zlib.crc32(" ".join((str(self.options.seed), *names)).encode()) % every == 0

    def call(self, function, *names, given=None):
        os.pwrite(self.status, json.dumps([self.number, *names]).encode().ljust(400)[:400], 0)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        try:
            used(function())
            outcome = "accepted"
        except BaseException as error:
            try:
                outcome = judged(names[0], error, given)
            except Exception as failure:
                outcome, error = "untyped", failure
            if outcome in ("loose", "untyped"):
                where = frames(error)
                self.tell(
                    call=names, outcome=outcome, error=type(error).__name__, told=text_of(error),
                    where=where[-1] if where else innermost(error), top=where[:1],
                )  # fmt: skip
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
        self.counts[outcome] += 1
        return outcome

    def target(self, target, values):
        """All calls of a public name."""
        try:
            _, good, parameters = target.build()
        except Exception as error:
            self.tell(unbuilt=target.name, why=f"{type(error).__name__}: {error}"[:300])
            return
        if self.options.every == 1 and self.number >= self.options.begin:
            try:
                function, good, parameters = target.build()
                used(invoke(function, good, parameters))
            except Exception as error:
                self.tell(refused=target.name, why=f"{type(error).__name__}: {error}"[:200])
        made = None
        places = list(parameters) or ["the first"]
        for place in places:
            for value, make in values.items():
                if not self.wanted(target.name, place, value) or f"{target.short}.{place}" in SLOW:
                    continue
                if place in LONG and value == "int '2147483648'":
                    continue
                if made is None:
                    made = target.build()
                function, good, parameters = made
                bad = make()
                made_call = functools.partial(invoke, function, {**good, place: bad}, parameters)
                outcome = self.call(made_call, target.name, place, value, given=bad)
                if outcome in ("accepted", "untyped", "memory"):
                    made = None

    def pickles(self, name, values):
        for place, read in pickled(name):
            for value, make in values.items():
                if self.wanted(f"pickle of {name}", place, value):
                    bad = make()
                    made_call = functools.partial(read, bad)
                    self.call(made_call, f"pickle of {name}", place, value, given=bad)

    def run(self):
        import call_cases as cases

        values = cases.bad_values()
        found = [Target(name, *what) for name, what in sorted(targets().items())]
        work = [(target.name, target) for target in found]
        work += [(f"pickle of {name}", name) for name in cases.OBJECTS]
        part, parts = self.options.part
        for place, (name, what) in enumerate(work):
            if place % parts != part or not re.search(self.options.only, name):
                continue
            if not self.chosen(self.step, name):
                continue
            if isinstance(what, Target):
                self.target(what, values)
            else:
                self.pickles(what, values)
            self.tell(counts=self.counts, number=self.number, name=name)
            self.counts = collections.Counter()
        self.tell(done=True)


def work(options):
    warnings.simplefilter("ignore")
    importlib.import_module("numpy").seterr(all="ignore")
    limit_memory(BYTES)
    faulthandler.enable()
    sys.path.insert(0, str(Path(__file__).parent))
    worker = Worker(options)
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    worker.run()


# ------------------------------------------------------------------ the parent


def campaign(options, part, told):
    """All calls of a part, in workers that are begun anew when they end early."""
    begin = 0
    while True:
        with tempfile.TemporaryDirectory() as folder:
            status = Path(folder) / "status"
            status.write_bytes(b"[0]")
            command = [
                sys.executable, str(Path(__file__).resolve()), "--worker", "--status", str(status),
                "--every", str(options.every), "--seed", str(options.seed), "--only", options.only,
                "--begin", str(begin), "--part", *map(str, part),
            ]  # fmt: skip
            environment = {
                **os.environ, "MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1",
                "TMPDIR": folder, "PYTHONPATH": os.pathsep.join([str(ROOT.parent), *sys.path[:1]]),
            }  # fmt: skip
            errors = Path(folder) / "errors"
            with errors.open("wb") as stderr:
                worker = subprocess.Popen(
                    command, stdout=subprocess.PIPE, stderr=stderr, stdin=subprocess.DEVNULL, text=True,
                    cwd=folder, env=environment,
                )  # fmt: skip
                lines = []
                for line in worker.stdout:
                    lines.append(json.loads(line))
                    told(lines[-1])
                code = worker.wait()
            if lines and "done" in lines[-1]:
                return
            number, *names = json.loads(status.read_bytes())
            said = errors.read_text(errors="replace")
            hang = code == -signal.SIGPROF or "Timeout (" in said
            if number <= begin:
                told({"outcome": "no start", "call": names, "error": said[-3000:]})
                return
            told({"outcome": "hang" if hang else "end", "call": names, "error": f"{code}: {said[:1500]}"})
            begin = number


def run(every=1, seed=0, only="", processes=1, verbose=print):
    """Make the calls; returns counts by outcome, and all that is not allowed."""
    options = argparse.Namespace(every=every, seed=seed, only=only)
    counts, faults, lock = collections.Counter(), [], threading.Lock()

    def told(line):
        with lock:
            if "counts" in line:
                counts.update(line["counts"])
                counts["names"] += bool(sum(line["counts"].values()))
            elif "done" not in line:
                faults.append(line)
                if "outcome" in line:
                    counts[line["outcome"]] += line["outcome"] in ("hang", "end", "no start")
                verbose(json.dumps(line))
                sys.stdout.flush()

    threads = [
        threading.Thread(target=campaign, args=(options, (part, processes), told))
        for part in range(processes)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counts, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="make one call in so many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a regular expression of names")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--worker", action="store_true")
    parser.add_argument("--begin", type=int, default=0)
    parser.add_argument("--status")
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1))
    options = parser.parse_args()
    if options.worker:
        work(options)
        return
    counts, _ = run(options.every, options.seed, options.only, options.processes)
    print(dict(counts), "calls:", sum(n for what, n in counts.items() if what != "names"))


if __name__ == "__main__":
    main()
