"""What is registered, and the chain of a seed, don't depend on what was imported before."""

import ast
import subprocess
import sys
from pathlib import Path

import hdpkit as hk
from hdpkit.kinds import ESTIMATORS

FIRST = (
    "hdpkit.stores._counts",
    "hdpkit.measures.atomic",
    "hdpkit.steps.state_splits",
    "hdpkit.franchise.state_homes",
    "hdpkit.moves.split_merge",
    "hdpkit.run.describe",
    "hdpkit.base_measures",
    "hdpkit.kinds.spelling",
    "hdpkit.cli.main",
    "hdpkit.testing",
)

PROGRAM = """
import importlib, sys
importlib.import_module(sys.argv[1])
import hdpkit as hk
corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]] * 9, n_terms=3)
root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
franchise = hk.Franchise(hk.Restaurant(root, concentration=0.7, each="document"), corpus)
hk.Scheduler([hk.moves.TableGibbs(), hk.moves.Concentration()]).run(franchise, 3, rng=0)
print(franchise.log_likelihood(), franchise.n_dishes, franchise.sweep)
print(*sorted(hk.base_measures), *hk.stores, *sorted(hk.moves.registry.moves))
print(type(hk.base_measures), type(hk.stores), hk.stores["explicit"].name, hk.instruction_set())
from hdpkit.steps import sweeps
for step in (sweeps.reseat, sweeps.enter):
    print(*((kernel.rank, kernel.run.__qualname__) for kernel in step.kernels))
"""


def test_first_imports_change_nothing():
    shown = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True
        ).stdout
        for name in FIRST
    ]
    assert set(shown) == {shown[0]}
    assert "spelling" in shown[0]


def test_names_are_those_that_type_checkers_see():
    tree = ast.parse(Path(hk.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert {name: seen.pop(name) for name in hk._HOMES} == hk._HOMES
    assert set(hk._ESTIMATORS) == set(ESTIMATORS)
    modules = {name for name, home in seen.items() if home == "hdpkit"}
    assert set(seen) == modules | set(ESTIMATORS)
    assert set(hk.__all__) == {*hk._HOMES, *modules, "get_include", *ESTIMATORS}
    assert set(hk.__all__) <= set(dir(hk))
