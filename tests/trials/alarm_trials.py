"""Trials of signal handlers that raise: by real alarms at random times, and at chosen byte codes.

    python tests/trials/alarm_trials.py [count] [seed]

After each exception the state must be, bit for bit, one that the undisturbed chain has between two sweeps. If
the exception came while the state before was restored, the franchise is closed and `transaction` restores it.
"""

import contextlib
import os
import signal
import sys
import time
from collections import Counter

import numpy as np
from states import same_state

import hdpkit as hk
from hdpkit import moves

PACKAGE = os.path.dirname(hk.__file__)


class Alarm(Exception):
    """What the handler raises."""


def of_alarm(error):
    """Whether an error is an alarm, or what NumPy made of one (comparisons of records raise a TypeError)."""
    while error is not None:
        if isinstance(error, Alarm):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def alarms_caught():
    """No alarm leaves the block."""
    try:
        yield
    except Exception as error:
        if not of_alarm(error):
            raise


def corpus(n_documents, length, n_terms=8):
    rng = np.random.default_rng(0)
    docs = [rng.integers(rng.integers(1, n_terms), size=length).tolist() for _ in range(n_documents)]
    return hk.Corpus.from_documents(docs, n_terms=n_terms)


def franchise(store, data, kernel="auto", base=None):
    root = hk.Restaurant(base=base or hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    bottom = hk.Restaurant(
        base=root, concentration=hk.Shifted(hk.Gamma(1.0, 1.0)), discount=hk.Beta(1.0, 1.0), each="document"
    )
    return hk.Franchise(bottom, data, store=store, kernel=kernel)


MOVES = {
    "table Gibbs": lambda: moves.TableGibbs(),
    "dish Gibbs": lambda: moves.DishGibbs(),
    "split-merge": lambda: moves.SplitMerge(),
    "split-merge with scans": lambda: moves.SplitMerge(scans=1),
    "groups": lambda: moves.ReseatGroups(),
    "concentration": lambda: moves.Concentration(),
    "discount": lambda: moves.Discount(),
}


def check(f, again, states=()):
    """The franchise is in one of the states (if there are any), and the next run works."""
    if f.access.closed:
        with f.transaction():
            pass
    if states:
        there = f.freeze()
        assert any(same_state(there, state) for state in states), "a state between the sweeps"
    f.audit()
    assert (f.dishes >= 0).all(), "somebody has no seat"
    assert f.on_pulse is None
    again.run(f, 1, init=None)
    f.audit()


def at_byte_code(number, run):
    """Call a function, and raise an Alarm at this byte code of the package (counted as they are run).

    Returns how many byte codes there were, or None where the alarm was raised.
    """
    try:
        return traced(number, run, PACKAGE)
    finally:
        ctrl_c_is_what_it_was()


def traced(number, run, file):
    """The same for the byte codes of files whose path begins with this one."""
    seen = 0

    def count(of):
        nonlocal seen
        if not of.co_filename.startswith(file):
            return False
        seen += 1
        if seen == number:
            raise Alarm
        return True

    try:
        with monitored(count) if hasattr(sys, "monitoring") else under_trace(count, file):
            run()
    except Alarm:
        return None
    return seen


@contextlib.contextmanager
def under_trace(count, file):
    """Call a function with the code of each byte code that is run. Python 3.12 and later leave some out."""

    def local(frame, event, arg):
        if event == "opcode":
            count(frame.f_code)
        return local

    def begun(frame, event, arg):
        if not frame.f_code.co_filename.startswith(file):
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    sys.settrace(begun)
    try:
        yield
    finally:
        sys.settrace(before)


@contextlib.contextmanager
def monitored(count):
    """The same by `sys.monitoring`."""
    monitoring = sys.monitoring
    tool, instruction = monitoring.DEBUGGER_ID, monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, "alarms")
    monitoring.register_callback(
        tool, instruction, lambda code, offset: None if count(code) else monitoring.DISABLE
    )
    monitoring.set_events(tool, instruction)
    try:
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, instruction, None)
        monitoring.free_tool_id(tool)


def ctrl_c_is_what_it_was():
    """Press Ctrl-C: it raises at once, also where the exception kept a block that holds it from ending."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError("Ctrl-C does nothing any more")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def states_of(f, start, scheduler, sweeps=1):
    """The states of the undisturbed chain from a given one."""
    f.thaw(start)
    states = [f.freeze()]
    for _ in range(sweeps):
        scheduler.run(f, 1, init=None)
        states.append(f.freeze())
    return states


def trial_at(f, states, scheduler, number):
    """One exception at a byte code of one sweep from the first of two states."""
    f.thaw(states[0])
    seen = at_byte_code(number, lambda: scheduler.run(f, 1, init=None))
    check(f, scheduler, states)
    return seen


def trials_at_byte_codes(store, move, kernel="auto", base=None, every=1, first=1, data=None):
    """An exception at every so-many-th byte code of a small run; returns how many there were."""
    f = franchise(store, data or corpus(2, 4), kernel, base)
    scheduler = hk.Scheduler([MOVES[move]()])
    hk.Scheduler([moves.TableGibbs()]).run(f, 2, rng=0)
    states, n, number = states_of(f, f.freeze(), scheduler), 0, first
    while trial_at(f, states, scheduler, number) is None:
        n, number = n + 1, number + every
    return n


def trials_by_time(store, count, seed, kernel="auto", base=None, data=None):
    """Real alarms at random times of a run with all the moves; returns how many fell into it."""
    rng = np.random.default_rng(seed)
    f = franchise(store, data or corpus(20, 30), kernel, base)
    scheduler = hk.Scheduler([make() for make in MOVES.values()])
    hk.Scheduler([moves.TableGibbs()]).run(f, 2, rng=seed)
    began = time.perf_counter()
    scheduler.run(f, 3, init=None)
    length = time.perf_counter() - began
    start = f.freeze()
    states = states_of(f, start, scheduler, 3)
    f.thaw(start)

    left = 0

    def ring(number, frame):
        nonlocal left
        left -= 1
        if left < 0:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        else:
            raise Alarm

    # An alarm in a destructor can't be raised. Python reports it, and the next one may fall into the report.
    reported = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is Alarm else reported(lost)
    before = signal.signal(signal.SIGALRM, ring)
    fallen = 0
    try:
        for _ in range(count):
            left, at, again = 2, length * rng.random() + 1e-5, 1e-4 * rng.random() + 1e-5
            within = False
            with alarms_caught():  # either may come when the run is over already
                try:
                    try:
                        # The second one falls into the way back of the first, now and then.
                        signal.setitimer(signal.ITIMER_REAL, at, again)
                        within = True
                        scheduler.run(f, 3, init=None)
                        within = False
                    finally:
                        signal.setitimer(signal.ITIMER_REAL, 0.0)
                except Exception as error:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
                    if not of_alarm(error):
                        raise
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            left = 0
            fallen += within
            check(f, scheduler, states)
            f.thaw(start)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = reported
    return fallen


def main(count=500, seed=0):
    """Alarms by time over each store and kernel, then byte codes."""
    for store in ("histogram", "explicit"):
        for kernel in ("auto", "generic", "reference"):
            small = corpus(5, 8) if kernel == "reference" else None
            fallen = trials_by_time(store, count, seed, kernel, data=small)
            print(f"{store}, {kernel}: {count} alarms, {fallen} within the run", flush=True)
    ends = Counter()
    for store in ("histogram", "explicit"):
        for move in MOVES:
            for kernel in ("auto", "reference"):
                n = trials_at_byte_codes(store, move, kernel, every=1 if kernel == "auto" else 7)
                ends[store] += n
                print(f"{store}, {move}, {kernel}: {n} byte codes", flush=True)
    print(dict(ends))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
