"""Signal handlers that raise, at any byte code or any time, leave a consistent franchise.

After each exception the state must be, bit for bit, one that the undisturbed chain has between two sweeps. If
the exception came while the state before was restored, the franchise is closed and `transaction` restores it.
"""

import contextlib
import copy
import os
import signal
import sys
import time

import numpy as np
import pytest
from states import same_state

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no SIGALRM")
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


def trials_by_time(store, count, seed):
    """Real alarms at random times of a run with all the moves; returns how many fell into it."""
    rng = np.random.default_rng(seed)
    f = franchise(store, corpus(10, 10))
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


@pytest.mark.parametrize("store", ["histogram", "explicit"])
@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_an_exception_at_byte_codes_of_a_run(store, kernel):
    rng = np.random.default_rng([len(store), len(kernel)])
    for move in MOVES:
        f = franchise(store, corpus(2, 4), kernel)
        scheduler = hk.Scheduler([MOVES[move]()])
        hk.Scheduler([moves.TableGibbs()]).run(f, 2, rng=0)
        states = states_of(f, f.freeze(), scheduler)
        f.thaw(states[0])
        n = at_byte_code(-1, lambda scheduler=scheduler, f=f: scheduler.run(f, 1, init=None))
        for number in rng.integers(1, n + 1, size=12).tolist():
            trial_at(f, states, scheduler, number)


SCHEDULES = {
    "a parameter of the measure": [moves.BaseMeasureParameters()],
    "by a random walk": [moves.BaseMeasureParameters("metropolis")],
    "chains at powers": [moves.TableGibbs(), moves.ReplicaExchange((1.0, 0.8, 0.6))],
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_moves_that_change_the_measure_or_several_franchises(name):
    """An exception inside a step is the one that comes out, also where a move cleans up after itself."""
    f = franchise("histogram", corpus(2, 4), base=hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)))
    scheduler = hk.Scheduler(SCHEDULES[name])
    hk.Scheduler([moves.TableGibbs()]).run(f, 1, rng=0)
    scheduler.run(f, 1, init=None)
    states = states_of(f, f.freeze(), scheduler)
    f.thaw(states[0])
    n = at_byte_code(-1, lambda: scheduler.run(f, 1, init=None))
    for number in range(1, n + 1, max(1, n // 150)):
        trial_at(f, states, scheduler, number)


NUMBERS = np.random.default_rng(0).integers(0, 4, size=(9, 5)).astype(float)
MODELS = {
    "mixture": hk.MixtureModel,
    "topics": hk.TopicModel,
    "sparse topics": hk.SparseTopicModel,
    "states": hk.HiddenMarkovModel,
}


def fitted(kind, **more):
    shorter = {"chains": 1} if kind == "states" else {"partial_sweeps": 2}
    return MODELS[kind](sweeps=3, samples=2, random_state=0, **shorter, **more).fit(NUMBERS[:6])


def fit_more(model, rows=NUMBERS[6:]):
    """Add points; a model of states is fitted anew."""
    return model.partial_fit(rows) if hasattr(model, "partial_fit") else model.fit(rows)


@contextlib.contextmanager
def unchanged(model):
    """The model has the same attributes at the end of the block, and its chains are where they were."""
    before, states = dict(vars(model)), [one.freeze() for one in model.franchises_]
    yield
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items())
    assert all(map(same_state, (one.freeze() for one in model.franchises_), states))


@pytest.mark.parametrize("rows", [NUMBERS[6:], NUMBERS[6:] * 0.0], ids=["new", "empty"])
@pytest.mark.parametrize("kind", MODELS)
def test_an_exception_at_byte_codes_of_a_fit(kind, rows):
    model = fitted(kind)
    n = at_byte_code(-1, lambda: fit_more(copy.copy(model), rows))
    for number in np.random.default_rng(n).integers(1, n - n // 50, size=12).tolist():
        with unchanged(model):
            assert at_byte_code(number, lambda: fit_more(model, rows)) is None
    n_before = len(model.franchise_.data)
    fit_more(model, rows)
    if kind == "mixture":
        assert len(model.labels_) == n_before + len(rows)


class Press(moves.Move):
    def __init__(self, sweep):
        self.sweep = sweep

    def apply(self, state, rng, steps=None):
        if state.sweep + 1 == self.sweep:
            signal.raise_signal(signal.SIGINT)
        return moves.MoveInfo()


@pytest.mark.filterwarnings("ignore::hdpkit.errors.InterruptedRunWarning")
@pytest.mark.parametrize("kind", ["mixture", "topics"])
def test_ctrl_c_before_the_first_sweep_of_a_fit(kind):
    model = fitted(kind, schedule=[moves.TableGibbs(), Press(4)])
    with unchanged(model), pytest.raises(KeyboardInterrupt, match="before the first sweep"):
        fit_more(model)


@needs_alarms
@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.long)])
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_alarms(store, count):
    fallen = trials_by_time(store, count, seed=2)
    assert fallen > count / 4


def test_transactions_around_blocks():
    """An exception at any byte code of `labelled_seating` and of `reserved`."""
    f = franchise("histogram", corpus(3, 6))
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])
    scheduler.run(f, 2, rng=0)

    def use():
        with f.transaction(), f.labelled_seating(RandomStream((1, 1))), f.reserved(2) as slots:
            units = f.units(1)
            f.add_units(units, np.arange(len(units), dtype=np.int64), slots[0])

    use()  # what is looked up once is there
    start = f.freeze()
    n = at_byte_code(-1, use)
    for number in range(1, n + 1):
        f.thaw(start)
        assert at_byte_code(number, use) is None
        check(f, scheduler, [start])
        assert f.seating is f.store
        assert f.slots.reserved_slots() == []


def test_data_that_come_and_go():
    text = [["a", "b", "a"], ["b", "a"], ["c", "a", "b"]]
    data = hk.NGrams.from_sentences(text, order=2)
    root = hk.Restaurant(base=hk.Uniform(), concentration=1.0, discount=0.5)
    declared = hk.Restaurant(base=root, concentration=1.0, discount=0.5, each="context 1")
    scheduler = hk.Scheduler([moves.TableGibbs()])
    for change in (
        lambda f: f.extend(f.data.plus([["a", "d"], ["d", "b"]]), rng=1),
        lambda f: f.discard(0, 1, rng=1),
    ):
        for _ in range(2):  # the first time, more is run
            f = hk.Franchise(declared, data)
            scheduler.run(f, 1, rng=0)
            n = at_byte_code(-1, lambda f=f, change=change: change(f))
        for number in range(1, n, max(1, n // 60)):
            f = hk.Franchise(declared, data)
            scheduler.run(f, 1, rng=0)
            assert at_byte_code(number, lambda f=f, change=change: change(f)) is None
            check(f, scheduler)
            assert len(f.data) == f.topology.n_customers


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.long)])
def test_two_exceptions_in_a_row(every):
    """The second one while the state before is restored."""
    f = franchise("histogram", corpus(3, 4))
    scheduler = hk.Scheduler([moves.TableGibbs()])
    scheduler.run(f, 2, rng=0)
    states, closed = states_of(f, f.freeze(), scheduler), 0

    class Fails(moves.Move):
        def apply(self, state, rng, steps=None):
            state.reseat(0, 3, rng)
            raise ValueError("on purpose")

    failing = hk.Scheduler([Fails()])

    def run():
        with contextlib.suppress(ValueError):
            failing.run(f, 1, init=None)

    n = at_byte_code(-1, run)
    for number in range(1, n + 1, every):
        f.thaw(states[0])
        at_byte_code(number, run)
        closed += f.access.closed
        check(f, scheduler, states[:1])
    assert closed > 20 / every
