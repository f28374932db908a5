"""Shared set-up: the examples are registered, so that they are tested like those of the package."""

import gc
import itertools
import os
import re
import signal
import sys
from pathlib import Path

import hypothesis
import pytest

# Each worker computes on one processor. The threads of BLAS and OpenMP would wait for processors that other
# workers use: a triangular system of two equations takes a hundred times as long then. The libraries read
# these names when they are loaded; workers, and programs that tests start, inherit them.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

if sys.dont_write_bytecode:
    # Some hundred programs that tests start would each compile every module anew, which is half of what it
    # takes to start one. Nothing is written beside the sources.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if sys.pycache_prefix is None:
        sys.pycache_prefix = str(ROOT / ".pytest_cache" / "bytecode")
        os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

import gaussian_measure  # noqa: E402, F401
import python_move  # noqa: E402, F401

# No assertion is timed: a machine that is busy would fail tests of what is right.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")

# A job in the background has Ctrl-C ignored, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


_SIGNALS = [signal.SIGINT, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A worker that has nothing left takes tests from the others: the long ones come in a row.

    As ``--dist worksteal`` does, which is no setting for all: it is refused where ``-n`` is missing.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def pytest_ignore_collect(collection_path, config):
    """With ``-m quick`` only files that use the mark are imported: all of them take as long as its tests."""
    if config.option.markexpr == "quick" and collection_path.match("test_*.py"):
        return "mark.quick" not in collection_path.read_text(encoding="utf-8") or None
    return None


def each_value_first(items):
    """The cases of a test, those first that together have every value of every parameter."""
    values = {item: set(enumerate(re.split("-|, ", item.nodeid.partition("[")[2]))) for item in items}
    missing = set().union(*values.values())
    while values:
        item = max(values, key=lambda item: len(values[item] & missing))
        if not values[item] & missing:  # all were there: once more
            missing = set().union(*values.values())
            item = next(iter(values))
        missing -= values.pop(item)
        yield item


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `long_cases.txt` leaves out, and begin with the types: one long test, in the last folder.

    The file has, of slow tests, the number of cases that run without ``-m long``.
    """
    lines = (ROOT / "tests" / "long_cases.txt").read_text(encoding="utf-8").splitlines()
    cases = {line.split()[0]: [] for line in lines}
    for item in items:
        test = item.nodeid.partition("[")[0].removeprefix("tests/")
        if test in cases and not item.get_closest_marker("long"):
            cases[test].append(item)
    for line in lines:
        test, number = line.split()
        for item in itertools.islice(each_value_first(cases[test]), int(number), None):
            item.add_marker("long")
    items.sort(key=lambda item: item.path.parent.name != "typing")


def pytest_collection_finish(session):
    """Leave what collection made, which stays to the end, out of the garbage collector's rounds.

    Tests take a seventh less time.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def handlers_of_signals_stay():
    """What a test does with signals is undone by it: the next one may wait for its own."""
    before = [signal.getsignal(number) for number in _SIGNALS]
    yield
    changed = [
        number.name for number, was in zip(_SIGNALS, before, strict=True) if signal.getsignal(number) != was
    ]
    for number, was in zip(_SIGNALS, before, strict=True):
        signal.signal(number, was)
    assert not changed, f"this test leaves handlers of its own: {changed}"
