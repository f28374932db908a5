"""Several chains, each in its own process.

Parent and child (`hdpkit.run.worker`) exchange pickles over pipes, which are never written to a
file. The job is pickled by cloudpickle, with classes and functions of a script or a notebook, so no
``__main__`` guard is needed. A child exits as soon as the pipe closes, so it never continues after its parent
has ended.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import attrs
import cloudpickle

from hdpkit._franchise_lock import HeldInterrupt
from hdpkit.errors import ChainError, HdpkitError, ScheduleError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import maker
from hdpkit.franchise.reading import ran_as_copies
from hdpkit.random import Streams
from hdpkit.run.collect import Plan
from hdpkit.run.progress import Tick
from hdpkit.run.sweeps import OneProcess, Progress
from hdpkit.run.trace import ChainTrace, Trace


def run_chains(
    chain: OneProcess, sweeps: int, init: Any, plan: Plan, chains: int, processes: int | None
) -> ChainTrace:
    """Run chains from a start or (``init=None``) from the state of the franchise, which isn't changed."""
    franchise = chain.franchise
    job = {
        "init": init.freeze() if isinstance(init, Franchise) else init,
        "frozen": franchise.freeze() if init is None else None,
        "sweeps": sweeps,
    }
    return _run(job, chain, plan, chains, processes)


def run_chains_in_folder(
    folder: Path, chain: OneProcess, plan: Plan, chains: int, target: int, processes: int | None
) -> ChainTrace:
    """Start or continue the chains of a run folder, all up to the same sweep."""
    return _run({"folder": folder.resolve(), "target": target}, chain, plan, chains, processes)


def _run(
    job: dict[str, Any], chain: OneProcess, plan: Plan, chains: int, processes: int | None
) -> ChainTrace:
    franchise = chain.franchise
    make = maker(franchise, franchise.data)
    job |= {
        "make": make,
        "moves": tuple(chain.moves),
        "seed": chain.streams.seed,
        "threads": chain.threads,
        "plan": attrs.evolve(plan, progress=None, stop=None),
    }
    try:
        text = cloudpickle.dumps(job, protocol=5)
    except Exception as error:  # a user's objects may raise any error
        raise ScheduleError(
            "chains", f"{type(error).__name__}: {error}", "of moves, functions and data that can be pickled",
            "Remove locks, open files and started franchises from them, or run without chains.",
        ) from error  # fmt: skip
    supervisor = _Supervisor(text, chains, plan.progress, processes or min(chains, _processors()))
    supervisor.run()
    failures = dict(sorted(supervisor.failures.items()))
    done = dict(sorted(supervisor.results.items()))
    if not done:
        if supervisor.interrupts:
            raise KeyboardInterrupt
        first = next(iter(failures.values()))
        raise first from first.original
    finals = []
    for number, (trace, frozen) in done.items():
        twin = make(frozen)
        twin.streams = Streams(trace.seed, number)
        finals.append(twin)
    ran_as_copies(franchise)
    return ChainTrace([trace for trace, _ in done.values()], tuple(done), finals, failures)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class _Supervisor:
    """Starts processes, reads their messages, and ensures that all have ended."""

    def __init__(self, job: bytes, chains: int, progress: Progress | None, processes: int) -> None:
        self._job = job
        self._chains = chains
        self._progress = progress
        self._processes = processes
        self._news: queue.Queue[tuple[int, str, Any]] = queue.Queue()
        self._running: dict[int, _Process] = {}
        self._ticks: dict[int, Tick] = {}
        self.results: dict[int, tuple[Trace, dict[str, Any]]] = {}
        self.failures: dict[int, ChainError] = {}
        self.interrupts = 0

    def run(self) -> None:
        """Run all chains. The first Ctrl-C stops them after their current sweeps, the second at once."""
        waiting = list(range(self._chains))
        try:
            with HeldInterrupt() as answer:
                while waiting or self._running:
                    while waiting and len(self._running) < self._processes:
                        self._begin(waiting.pop(0))
                    try:
                        number, kind, value = self._news.get(timeout=0.1)
                    except queue.Empty:
                        pass
                    else:
                        self._hear(number, kind, value)
                    try:
                        answer()
                    except KeyboardInterrupt:
                        self.interrupts += 1
                        for number in waiting:
                            self._fail(number, "not begun before Ctrl-C")
                        waiting = []
                        for process in self._running.values():
                            process.stop(at_once=self.interrupts > 1)
        finally:
            for process in self._running.values():
                process.stop(at_once=True)

    def _begin(self, number: int) -> None:
        head = number, self._chains, self._progress is not None
        self._running[number] = _Process(number, head, self._job, self._news)

    def _hear(self, number: int, kind: str, value: Any) -> None:
        if kind == "tick":
            self._show(value)
        elif kind == "done":
            self.results[number] = value
        elif kind == "failed":
            what, text, carried = value
            self._fail(number, what, text, carried)
        else:
            del self._running[number]
            if number not in self.results and number not in self.failures:
                self._fail(number, f"its process ended with code {value}")
            last = self._ticks.get(number) or Tick(
                0, 0, 0.0, 0, None, None, None, False, number, self._chains
            )
            if not last.finished:
                self._show(attrs.evolve(last, finished=True))

    def _show(self, tick: Tick) -> None:
        self._ticks[tick.chain] = tick
        if self._progress is not None:
            self._progress(tick)

    def _fail(self, number: int, what: str, text: str = "", carried: bytes | None = None) -> None:
        original = None
        if carried is not None:
            with contextlib.suppress(Exception):  # if it can't be unpickled, its text is used
                original = pickle.loads(carried)
        if isinstance(original, HdpkitError):
            remedy = str(original)  # an error of the package says all that helps
        elif isinstance(original, MemoryError):
            remedy = "Run fewer chains at a time (processes=1), or use a machine with more memory."
        else:
            remedy = f"Traceback of its process:\n{text}" if text else "The other chains are not affected."
        error = ChainError(f"chain {number}", what, "a chain that ends without an error", remedy)
        error.remote_traceback = text
        error.original = original
        error.trace = getattr(original, "trace", None)
        self.failures[number] = error


class _Process:
    """One process, with a thread that reads its messages."""

    def __init__(self, number: int, head: tuple[int, int, bool], job: bytes, news: queue.Queue[Any]) -> None:
        self._number = number
        self._news = news
        self._writing = threading.Lock()
        # The same path as in this process, since it determines which modules the job imports.
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        more: dict[str, Any] = {"start_new_session": True}  # only the parent gets the terminal's Ctrl-C
        if os.name == "nt":
            more = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}  # type: ignore[attr-defined]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hdpkit.run.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            **more,
        )
        threading.Thread(target=self._follow, args=(head, job), daemon=True).start()

    def _follow(self, head: tuple[int, int, bool], job: bytes) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            with self._writing:
                pickle.dump((*head, job), stdin, protocol=5)
                stdin.flush()
            while True:
                self._news.put((self._number, *pickle.load(stdout)))
        except EOFError:
            pass
        except pickle.UnpicklingError:  # it has ended within a message
            self._process.kill()
        except Exception as error:  # a broken pipe, or an answer that can't be read
            self._news.put((self._number, "failed", (repr(error), "", None)))
            self._process.kill()
        code = self._process.wait()
        stdout.close()
        with self._writing, contextlib.suppress(OSError):  # what it didn't read can't be written any more
            stdin.close()
        self._news.put((self._number, "ended", code))

    def stop(self, at_once: bool) -> None:
        """Tell the process to end after the current sweep, or kill it."""
        if at_once:
            self._process.kill()
            return
        threading.Thread(target=self._ask, daemon=True).start()  # the job may still be being sent

    def _ask(self) -> None:
        try:
            with self._writing:
                assert self._process.stdin is not None
                self._process.stdin.write(STOP)
                self._process.stdin.flush()
        except (OSError, ValueError):
            pass  # it has ended already, and the pipe may be closed


STOP = b"s"  # from the parent: end after the current sweep
