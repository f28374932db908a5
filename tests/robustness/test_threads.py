"""Only one thread at a time can use a franchise, also for reading; any thread can take looks."""

import inspect
import sys
import sysconfig
import threading
import time
from collections import Counter

import numpy as np
import pytest
from hdpkit._franchise_lock import Inside

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import BusyError, StateError
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.proposals import Proposal
from hdpkit.franchise.root import Root
from hdpkit.franchise.view import RestaurantView
from hdpkit.random import Purpose, RandomStream, as_source

WEIGHTS = ", weights"
STORES = ("histogram", "explicit", "explicit" + WEIGHTS, "histogram" + WEIGHTS, "counts", "counts" + WEIGHTS)
SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]


def franchise(store):
    """Over this store, "explicit, weights" for one whose root has weights."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(30, 0.2), size=6)
    documents = [rng.choice(30, size=60, p=topics[rng.integers(6)]).tolist() for _ in range(40)]
    data = hk.Corpus.from_documents(documents, n_terms=30)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    declared = hk.Restaurant(base=root, concentration=1.0, each="document")
    kind = "weights" if store.endswith(WEIGHTS) else "restaurant"
    return hk.Franchise(declared, data, store=store.removesuffix(WEIGHTS), root=kind)


def members(f):
    """Uses by name: members of a franchise and of a view, without arguments (a turn comes before them)."""
    things = {"": f, "view.": f.restaurant("document", 0)}
    found = {
        f"{place}{name}": lambda thing=thing, name=name: use(getattr(thing, name))
        for place, thing in things.items()
        for name in dir(thing)
        if not name.startswith("_")
    }
    return found | {
        "look": lambda: f.look(5.0),
        "group_weights": lambda: f.group_weights("document"),
        "reseat": lambda: f.reseat(0, 3, RandomStream((1, 1))),
        "Snapshot": lambda: Snapshot(f),
        "Scheduler.run": lambda: hk.Scheduler(SCHEDULE).run(f, 1, rng=1, init=None),
        "Scheduler.sample": lambda: next(hk.Scheduler(SCHEDULE).sample(f, 1, rng=1, init=None)),
        "repr": lambda: repr(f),
    }


def use(thing):
    return thing() if callable(thing) and not isinstance(thing, type) else thing


def trial(store, n_reads, seed):
    """Reads by threads while a run goes on and on; returns counts of (member, end), and if all is well."""
    f = franchise(store)
    expected = franchise(store)
    scheduler = hk.Scheduler(SCHEDULE)
    scheduler.run(f, 2, rng=seed)
    scheduler.run(expected, 2, rng=seed)
    readers = members(f)
    ends, over, done = Counter(), threading.Event(), [0]
    names = list(readers)

    def read(number):
        rng = np.random.default_rng([seed, number])
        while not over.is_set():
            name = names[rng.integers(len(names))]
            try:
                readers[name]()
                end = "answer"
            except BusyError:
                end = "BusyError"
            except StateError as error:
                # A store of counts can't answer what is asked of sizes.
                sizes = store.startswith("counts") and "sizes of tables" in str(error)
                end = "answer" if sizes else f"StateError: {error}"
            except TypeError as error:
                end = "answer" if "argument" in str(error) else f"TypeError: {error}"
            except BaseException as error:
                end = f"{type(error).__name__}: {error}"
            ends[name, end] += 1
            done[0] += 1
            time.sleep(0.0005 * rng.random())

    threads = [threading.Thread(target=read, args=(number,)) for number in range(3)]
    total = []

    def enough(draw):
        """Readers come after the first sweep and are gone before the run is over."""
        if not total:
            for thread in threads:
                thread.start()
        total.append(draw.sweep)
        if done[0] < n_reads or len(total) < 3:
            return False
        over.set()
        for thread in threads:
            thread.join()
        return True

    scheduler.run(f, 10**6, init=None, callbacks=[enough])
    scheduler.run(expected, len(total), init=None)
    f.audit()
    well = f.sweep == expected.sweep and np.array_equal(f.dishes, expected.dishes)
    return ends, well


# Methods that take the lock themselves, or need none.
OPEN = {
    "lock", "labelled_seating", "root_integrated", "parts_integrated", "at_power", "integrated", "reserved",
    "look", "fold_in", "draw_sequences", "state_probabilities", "proposal", "transaction", "with_documents",
}  # fmt: skip


@pytest.mark.parametrize("kind", [hk.Franchise, Proposal, RestaurantView, Root])
def test_every_public_member_is_under_the_turn(kind):
    for name in dir(kind):
        getattr(kind, name)  # methods of later rooms are imported
        member = inspect.getattr_static(kind, name)
        if name.startswith("_") or isinstance(member, Inside):
            continue
        if isinstance(member, property):
            # `Root.state` is the franchise itself.
            assert member.fget.__dict__.get("guarded") is True or name == "state", name
        else:
            assert member.__dict__.get("guarded") is (name not in OPEN), name


@pytest.mark.parametrize("store", STORES)
def test_reads_during_runs(store):
    ends, well = trial(store, n_reads=300, seed=1)
    assert well
    assert {end for _, end in ends} <= {"answer", "BusyError"}, ends
    assert sum(n for (_, end), n in ends.items() if end == "BusyError") > 50


@pytest.mark.parametrize("store", STORES)
def test_steps_of_many_threads_never_overlap(store):
    """Each step is either done as a whole or refused."""
    f, begin, done = franchise(store), threading.Barrier(4), []
    hk.Scheduler(SCHEDULE).run(f, 1, rng=0)
    n_customers = len(f.data)

    def work(seed):
        rng, n = as_source(seed, Purpose.OTHER), 0
        begin.wait()
        for _ in range(150):
            try:
                f.reseat(0, n_customers, rng)
                n += 1
                assert f.dish_counts.sum() == n_customers
            except BusyError:
                continue
        done.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 4
    assert sum(done) > 0
    f.audit()


def test_the_interpreter_keeps_its_lock_off():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this Python has a global interpreter lock")
    assert not sys._is_gil_enabled()


def in_thread(function):
    """Result or error of a function in another thread."""
    found = []

    def call():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return found[0]


def test_a_second_run_is_refused_before_anything_is_read():
    f = franchise("histogram")
    scheduler = hk.Scheduler(SCHEDULE)
    draws = scheduler.sample(f, 5, rng=0)
    next(draws)
    for init in (None, "sequential"):
        assert isinstance(in_thread(lambda init=init: scheduler.run(f, 1, init=init)), BusyError)
        with pytest.raises(BusyError, match="in another run"):
            scheduler.run(f, 1, init=init)
    draws.close()
    scheduler.run(f, 1, init=None)


def test_a_view_from_before_a_run_is_refused():
    f = franchise("histogram")
    hk.Scheduler([moves.TableGibbs()]).run(f, 1, rng=0)
    view = f.restaurant("document", 0)
    with f.lock():
        for use in (
            lambda: view.dishes, lambda: f.bank, lambda: setattr(f, "store", 0),
            lambda: f.labelled_seating(RandomStream((1, 1))).__enter__(),
        ):  # fmt: skip
            assert isinstance(in_thread(use), BusyError)
        assert in_thread(lambda: f.sweep) == 1
        assert "in use" in in_thread(lambda: repr(f))


def run_with_looks(f, folder=None):
    """A run with a thread that looks at it; returns the looks and the trace."""
    looks = []
    begun = threading.Event()

    def watch():
        begun.wait()
        while len(looks) < 4:
            looks.append(f.look(timeout=60))

    thread = threading.Thread(target=watch)
    thread.start()
    scheduler = hk.Scheduler(SCHEDULE)

    def listener(draw):
        begun.set()
        return len(looks) >= 4

    trace = scheduler.run(f, 10**6, rng=3, callbacks=[listener], folder=folder)
    thread.join()
    return looks, trace


@pytest.mark.parametrize("store", ["histogram", "explicit"])
@pytest.mark.parametrize("in_folder", [False, True])
def test_looks_see_ends_of_sweeps_and_change_nothing(store, in_folder, tmp_path):
    f = franchise(store)
    looks, trace = run_with_looks(f, tmp_path / "run" if in_folder else None)
    for look in looks:
        at = look.sweep - 1
        assert look.n_dishes == trace["n_dishes"][at]
        assert look.n_tables == trace["n_tables"][at]
        assert look.log_joint() == pytest.approx(trace["log_joint"][at], rel=1e-12)
        assert look.log_likelihood() == pytest.approx(trace["log_likelihood"][at], rel=1e-12)
        assert look.concentration("root") == trace["concentration/root"][at]
        assert look.dish_counts.sum() == len(f.data)
        look.audit()
    alone = franchise(store)
    hk.Scheduler(SCHEDULE).run(alone, f.sweep, rng=3)
    assert np.array_equal(alone.dishes, f.dishes)
    assert alone.log_joint() == f.log_joint()


class Fails(moves.Move):
    def __init__(self):
        self.entered, self.go = threading.Event(), threading.Event()

    def apply(self, state, rng, steps=None):
        self.entered.set()
        self.go.wait()
        raise RuntimeError("on purpose")


def test_a_look_has_a_limit_and_outlives_a_run_that_fails():
    f = franchise("histogram")
    hk.Scheduler([moves.TableGibbs()]).run(f, 1, rng=0)
    move, caught = Fails(), []

    def run():
        try:
            hk.Scheduler([moves.TableGibbs(), move]).run(f, 1, init=None)
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    move.entered.wait()
    began = time.monotonic()
    with pytest.raises(BusyError, match="timeout"):
        f.look(timeout=0.1)
    assert time.monotonic() - began < 5
    assert not f._requests
    threading.Timer(0.2, move.go.set).start()
    assert f.look().sweep == 1
    thread.join()
    assert str(caught[0]) == "on purpose"


def test_a_model_predicts_while_it_is_swept():
    text = [["the", "cat", "sat"], ["the", "hat", "sat"], ["the", "cat"]] * 20
    model = hk.NGramModel(order=3).fit(text, sweeps=3, burn_in=1, samples=2, rng=0)
    expected, ends, over = model.probability("sat", ("the", "cat")), [], threading.Event()

    def ask():
        while not over.is_set():
            try:
                ends.append(0.0 < model.probability("sat", ("the", "cat")) < 1.0)
                ends.append(np.isfinite(model.perplexity([["the", "cat", "hat"]])))
            except BaseException as error:
                ends.append(error)
                return

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    model.sweep(60)
    over.set()
    for thread in threads:
        thread.join()
    assert all(end is True or end is np.True_ or end == True for end in ends), ends[-1]  # noqa: E712
    assert len(ends) > 0
    assert expected > 0
