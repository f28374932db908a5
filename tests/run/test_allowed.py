"""Code that a run folder may call: defined in an allowed module, and of the expected kind."""

import sys

import pytest

from hdpkit import errors
from hdpkit.allowed import Allowed
from hdpkit.run.describe import find, rebuild

MODULE = """
import abc, functools, os, subprocess
from os import system
import hdpkit as hk
from hdpkit.moves import Move, TableGibbs
from trap_elsewhere import Foreign, wrap, function as borrowed

alias = os.system
partial = functools.partial(os.system, "true")
anonymous = lambda franchise: 0.0
built_in = len

class Mine(hk.moves.Move):
    def __init__(self, helper=None):
        self.helper = helper
    def apply(self, state, rng, steps=None):
        return hk.moves.MoveInfo()
    class Inner(hk.moves.Move):
        def apply(self, state, rng, steps=None):
            return hk.moves.MoveInfo()
    @staticmethod
    def static(franchise):
        return 1.0
    runs = os.system
    outer = subprocess
    @property
    def lazy(self):
        raise AssertionError("never looked at")

class Prior:
    mean = 1.0
    def log_density(self, x): return 0.0
    def draw(self, generator, size=None): return 1.0

class Plain:
    def __init__(self, **more): CALLED.append(("Plain", more))

class Sly:
    __class__ = type
    __module__ = "trap_module"
    __qualname__ = "sly"
    def __call__(self, *a, **k): CALLED.append("sly")

CALLED = []
sly = Sly()
Same = Mine
def function(franchise): return 1.0
@wrap
def wrapped(franchise): return 1.0
@functools.lru_cache
def cached(franchise): return 1.0
def __getattr__(name):
    CALLED.append(name)
    return os.system
"""
ELSEWHERE = """
import functools
from hdpkit.moves import Move, MoveInfo
class Foreign(Move):
    def apply(self, state, rng, steps=None):
        return MoveInfo()
def function(franchise): return 2.0
def wrap(f):
    @functools.wraps(f)
    def inner(*a): return f(*a)
    return inner
"""
PROGRAM = "raise SystemExit('a program ran')\n"


@pytest.fixture
def trap(tmp_path, monkeypatch):
    for name, text in [("trap_module", MODULE), ("trap_elsewhere", ELSEWHERE)]:
        (tmp_path / f"{name}.py").write_text(text)
    package = tmp_path / "trap_package"
    package.mkdir()
    (package / "__init__.py").write_text("from trap_elsewhere import Foreign\nimport trap_package.below\n")
    (package / "below.py").write_text(ELSEWHERE)
    (package / "__main__.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "trap_module"
    for name in [name for name in sys.modules if name.startswith("trap_")]:
        del sys.modules[name]


GOOD = {
    "trap_module:Mine": "move", "trap_module:Mine.Inner": "move", "trap_module:Prior": "hyperparameter",
    "trap_module:function": "function", "trap_module:Mine.static": "function",
    "trap_package.below:Foreign": "move", "trap_module:Plain": "argument",
}  # fmt: skip


def test_what_a_module_defines_is_found(trap):
    allowed = Allowed(["trap_module", "trap_package"])
    for name, place in GOOD.items():
        found = find(allowed, name, place)
        module, _, qualname = name.partition(":")
        assert (found.__module__, found.__qualname__) == (module, qualname)


def test_a_class_belongs_where_it_stands(trap):
    allowed = Allowed([trap, "trap_package"])
    for name, places in {
        "trap_module:Plain": ("move", "component", "hyperparameter", "part of a base measure", "store",
                              "restaurant", "base measure", "start", "number", "function"),
        "trap_module:Mine": ("component", "store", "hyperparameter", "base measure", "start", "number"),
        "trap_module:function": ("move", "store", "argument", "hyperparameter"),
        "store/histogram": ("move", "hyperparameter", "argument", "part of a base measure", "component"),
        "move/table-gibbs": ("store", "hyperparameter", "base measure", "function"),
        "hdpkit.moves.table_gibbs:TableGibbs": ("store", "base measure", "function", "number"),
        "hdpkit.moves.registry:moves": ("move", "argument", "function"),
        "hdpkit.measures._slots:DishSlots": ("move", "argument", "store"),
        "trap_package.__main__:x": ("move", "argument", "function"),
        "trap_package:Foreign": ("move",),
        "trap_package:below.Foreign": ("move",),
    }.items():  # fmt: skip
        for place in places:
            with pytest.raises(errors.RunError):
                find(allowed, name, place)
    for name in (
        None,
        3,
        ["a"],
        "trap_module",
        "trap_module:",
        "os:system",
        "numpy:f2py.os.system",
        "hdpkit.cli.main:main",
    ):
        with pytest.raises(errors.RunError):
            find(Allowed([trap]), name, "argument")


CALLS = []


@pytest.mark.parametrize(
    "tree",
    [
        5, "table-gibbs", None, [], {}, {"object": 3, "arguments": {}}, {"class": "move/table-gibbs"},
        {"object": "move/table-gibbs"}, {"object": "move/table-gibbs", "arguments": 3},
        {"object": "move/table-gibbs", "arguments": {}, "more": 1}, {"dict": {}},
        {"object": "move/table-gibbs", "arguments": {"odd": 1}}, {"function": "os:system"},
        {"object": "store/histogram", "arguments": {"n_customers": 10**15, "n_nodes": 1}},
        {"object": f"{__name__}:Store", "arguments": {"command": "x"}},
        {"object": "hdpkit.moves.protocol:Scheduled",
         "arguments": {"move": {"object": f"{__name__}:Store", "arguments": {}}}},
    ],
)  # fmt: skip
def test_where_a_move_is_wanted_nothing_else_is_built(tree):
    with pytest.raises(errors.RunError):
        rebuild(tree, Allowed([__name__]), "move")
    assert CALLS == []


def test_declarations_nested_without_end_are_an_error():
    tree = {"object": "move/table-gibbs", "arguments": {}}
    for _ in range(5000):
        tree = {"object": "hdpkit.moves.protocol:Scheduled", "arguments": {"move": tree}}
    with pytest.raises(errors.CorruptRunError):
        rebuild(tree, Allowed(), "move")


REACHED = """
os.system alias system partial anonymous built_in Foreign borrowed wrapped cached sly Same Move
TableGibbs Mine.runs Mine.outer.run Mine.apply.x Mine.__init__ __builtins__ __getattr__ nothing CALLED
Mine.lazy hk.moves.TableGibbs <lambda> functools.partial abc.ABC . Mine. Mine.helper subprocess.Popen
"""


@pytest.mark.parametrize("place", ["move", "argument", "function", "hyperparameter", "store", "component"])
def test_what_a_module_only_reaches_is_not(trap, place):
    allowed = Allowed([trap])
    for name in REACHED.split():
        with pytest.raises(errors.RunError):
            find(allowed, f"{trap}:{name}", place)
    assert sys.modules[trap].CALLED == []
