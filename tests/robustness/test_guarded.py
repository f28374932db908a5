"""Compiled objects of a franchise answer the thread that holds the lock, and no other: every member."""

import gc
import inspect
import re

import compiled_trials
import failing_allocations as runs
import numpy as np
import pytest
import thread_trials
from hdpkit._guarded import Guarded
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from test_threads import in_thread

import hdpkit as hk
from hdpkit.errors import BusyError, ClosedError, ParameterError
from hdpkit.steps import _sweeps as sweeps

KINDS = [kind for kind in compiled_trials.classes() if issubclass(kind, Guarded)]
# Methods with names of Python's own that read or change nothing of the franchise.
OF_PYTHON = {"__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__pyx_vtable__"}
OF_PYTHON |= {
    "__module__",
    "__doc__",
    "__reduce__",
    "__setstate__",
    "__dict__",
    "__weakref__",
    "__getstate__",
}


def open_now(one):
    """Whether an object isn't one of a franchise that another test closed."""
    try:
        return one.lock is None or not one.lock.closed
    except ClosedError:
        return False


@pytest.fixture(scope="module")
def franchise():
    f = thread_trials.franchise("histogram")
    hk.Scheduler(thread_trials.SCHEDULE).run(f, 1, rng=0)
    return f


@pytest.fixture(scope="module")
def objects():
    """One object of each class, from franchises of many kinds."""
    made = [runs.franchise("histogram", family) for family in runs.MEASURES]
    made += [
        runs.franchise("explicit"),
        runs.franchise("counts", root="restaurant"),
        runs.franchise("counts", depth=3),
    ]
    made += [runs.cells(2)]
    walks = [f.walk() for f in made]
    found = {
        type(one): one
        for one in [*walks, *gc.get_objects()]
        if issubclass(type(one), Guarded) and open_now(one)
    }
    for kind in KINDS:
        if kind not in found:
            try:
                found[kind] = kind.__new__(kind)
            except TypeError:
                continue  # is made of arguments
    return found


class Mine(DirichletMultinomialBank):
    """A class of a user's, with members of its own."""

    def half(self):
        return 0.5

    @property
    def whole(self):
        return 1.0


def members(kind):
    return [name for name in dir(kind) if not name.startswith("_")]


def refused(use):
    return isinstance(in_thread(use), BusyError)


def test_whoever_has_a_lock_is_guarded():
    others = {
        kind.__name__
        for kind in compiled_trials.classes()
        if hasattr(kind, "lock") and not issubclass(kind, np.random.BitGenerator)  # NumPy's own lock
    }
    assert others == {kind.__name__ for kind in KINDS}
    assert len(KINDS) > 20


def test_there_are_objects_of_most_classes(objects):
    assert len(objects) >= 20
    assert {"Walk", "CountsWalk", "DishSlots", "WeightTable", "ProportionTable"} <= {
        k.__name__ for k in objects
    }


@pytest.mark.parametrize("kind", [*KINDS, Mine], ids=lambda kind: kind.__name__)
def test_every_member_refuses_another_thread(kind, franchise, objects):
    if kind is Mine:
        thing = Mine(np.array([0, 1], dtype=np.int32), np.array([0.5, 0.5]))
    elif kind in objects:
        thing = objects[kind]
    else:
        assert not [name for k in kind.__mro__[:-2] for name in vars(k) if name == "__getattribute__"]
        return
    before = thing.lock
    thing.lock = franchise.store.lock
    try:
        with franchise.lock():
            for name in members(kind):
                member = inspect.getattr_static(kind, name)
                if callable(member):
                    assert refused(lambda name=name: getattr(thing, name)()), name
                else:
                    assert refused(lambda name=name: getattr(thing, name)), name
                    assert refused(lambda name=name: setattr(thing, name, None)), name
                    assert refused(lambda name=name: delattr(thing, name)), name
            own = {name: k for k in kind.__mro__ if issubclass(k, Guarded) for name in vars(k)}
            for name in own:
                if name.startswith("__") and name not in OF_PYTHON and "pyx" not in name:
                    assert refused(lambda name=name: getattr(own[name], name)(thing)), name
    finally:
        thing.lock = before


def functions():
    """Functions of compiled modules that take a guarded object, by name, with its class."""
    names = "|".join(kind.__name__ for kind in KINDS)
    for module in compiled_trials.modules():
        for name, value in vars(module).items():
            if "cython_function" in value.__class__.__name__ and value.__module__ == module.__name__:
                found = re.search(rf"\b({names}) \w+", (value.__doc__ or "").partition("\n")[0])
                if found:
                    yield pytest.param(value, found[1], id=f"{module.__name__.rpartition('.')[2]}.{name}")


@pytest.mark.parametrize(("function", "kind"), list(functions()))
def test_every_function_refuses_another_thread(function, kind, franchise, objects):
    thing = next(one for found, one in objects.items() if kind in {k.__name__ for k in found.__mro__})
    name = next(iter(inspect.signature(function).parameters))
    before = thing.lock
    thing.lock = franchise.store.lock
    try:
        with franchise.lock():
            assert refused(lambda: function(thing))
            assert refused(lambda: function(**{name: thing}))
    finally:
        thing.lock = before


def test_a_guarded_method_is_the_method_otherwise(franchise):
    method = franchise.bank.log_predictive
    assert method.__name__ == "log_predictive"
    assert "nats" in method.__doc__
    assert list(inspect.signature(method).parameters) == ["customer", "slots"]
    assert method.__self__ is franchise.bank
    assert repr(method).startswith("<bound method")
    assert callable(method)
    assert method(0, slots=[]).shape == method(customer=0, slots=[]).shape == (1,)
    assert list(map(franchise.slots.is_occupied, [0]))


def test_errors_of_c_name_method_and_argument(franchise):
    bank, walk = franchise.bank, franchise.walk()
    with pytest.raises(ParameterError, match=r"measure = 3: .*adopt"):
        bank.adopt(3)
    with pytest.raises(AttributeError, match="deleted"):
        del franchise.store.lock
    source = hk.random.RandomStream((1, 2))
    with pytest.raises(ParameterError, match=r"last = 100.*reseat"):
        sweeps.reseat(walk, bank, 0, 10**30, source)


def test_errors_of_users_code_stay(franchise):
    class Measure:
        @property
        def eta_vector(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        franchise.bank.adopt(Measure())


def test_an_attribute_of_the_object_comes_first():
    thing = Mine(np.array([0, 1], dtype=np.int32), np.array([0.5, 0.5]))
    thing.half = lambda: 7
    assert thing.half() == 7
