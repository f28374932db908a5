"""Signal handlers that raise, at any byte code, leave a consistent franchise."""

import contextlib
import copy
import signal

import alarm_trials
import numpy as np
import pytest
from alarm_trials import MOVES, at_byte_code, check, corpus, franchise, states_of, trial_at
from states import same_state

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

needs_alarms = pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="the system has no SIGALRM")


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
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_alarms(store):
    fallen = alarm_trials.trials_by_time(store, 40, seed=2, data=corpus(10, 10))
    assert fallen > 10


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
