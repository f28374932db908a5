"""A seed gives the chains that are recorded here, bit for bit: on every processor, in pieces of a sweep."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, many_dishes
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from recorded_chains import digests

from hdpkit.random import RandomStream
from hdpkit.steps.fused import instruction_set
from hdpkit.testing.machines import same

PACKAGE = Path(__file__).resolve().parents[2] / "hdpkit"
FUSED = PACKAGE / "steps" / "fused"
RECORDED = {
    "one concentration": "7f7682e66d7d0391",
    "a concentration each": "3964975af3deb32c",
    "auxiliary variables": "05fac24b6d5567f0",
    "slice": "e2b6e6dfe5be8eb9",
    "direct assignment": "6b5e81f0f75c6f2f",
    "table indicators": "1aeb872c6847b0ae",
    "repeated words": "2373ac44d274c9b3",
    "repeated words by counts": "7e6f76a8096db597",
    "documents in parallel": "034efcc4378297e8",
    "many dishes": "bd45210c7df50abe",
    "sparse topics": "d9647750785c7c9a",
    "levels by cell": "8af37476c381bcca",
    "levels by customer": "d62753cba6bad6ca",
    "language model": "79e21ac6b79e951b",
    "numbers": "152628eedc644b33",
}


@pytest.mark.quick
def test_chains_are_those_that_were_recorded():
    assert digests() == RECORDED


NO_FMA = {
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX2,-FMA,-FMA4",
    "OPENBLAS_CORETYPE": "Nehalem",
}
NO_VECTORS = {
    **NO_FMA,
    "GLIBC_TUNABLES": NO_FMA["GLIBC_TUNABLES"] + ",-AVX",
    "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name]),
}


PROGRAM = str(Path(__file__).parents[1] / "support" / "recorded_chains.py")
WITH_BASELINE = """
import importlib.util, runpy, sys

name = "hdpkit.steps.fused.isa_baseline"  # there before the package looks for its own
spec = importlib.util.spec_from_file_location(name, sys.argv[1])
sys.modules[name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules[name])
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def elsewhere(*arguments, **environment):
    """What another process has: its chains, its instruction set and the file of that."""
    given = {key: value for key, value in os.environ.items() if key != "HDPKIT_ISA"}
    done = subprocess.run(
        [sys.executable, *arguments, PROGRAM],
        env={**given, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "lacking",
    [
        pytest.param(NO_FMA, id="no fused multiply-add", marks=pytest.mark.long),
        pytest.param(NO_VECTORS, id="no wide vectors"),  # nor fused multiply-add
    ],
)
def test_a_lesser_processor_runs_the_same_chains(lacking):
    """The libraries are told to leave alone what this processor has: their last bits are then others."""
    assert elsewhere(**lacking)[0] == RECORDED


# The first, the widest, is taken in this process.
@pytest.mark.parametrize("isa", instruction_set.available()[1:])
def test_every_instruction_set_has_the_same_chains(isa):
    assert elsewhere(HDPKIT_ISA=isa)[:2] == [RECORDED, isa]
    assert instruction_set.instruction_set() == instruction_set.available()[0]


def test_all_that_were_compiled_are_tried():
    assert "baseline" in instruction_set.available()
    compiled = {path.name.split(".")[0] for path in FUSED.glob("isa_*.cpp")}
    assert compiled == {f"isa_{name}" for name in instruction_set.WIDEST_FIRST}


PLAIN = """
import sys
from setuptools import Extension, setup

flags = ["-O1", "-std=c++17", "-ffp-contract=off"]
if sys.platform == "win32":
    flags = ["/O1", "/std:c++17", "/fp:precise"]
macros = [("HDPKIT_PLAIN_LANES", "1")]
files = {"sources": ["isa_baseline.cpp"], "include_dirs": %r, "define_macros": macros, "language": "c++"}
setup(name="plain", ext_modules=[Extension("isa_baseline", extra_compile_args=flags, **files)])
"""


def test_plain_loops_have_the_same_chains(tmp_path):
    """What a compiler without vector types gets: the same text over arrays, here optimised otherwise too."""
    headers = [str(folder) for folder in (FUSED, PACKAGE / "stores", PACKAGE / "include")]
    (tmp_path / "isa_baseline.cpp").write_text((FUSED / "isa_baseline.cpp").read_text(encoding="utf-8"))
    (tmp_path / "setup.py").write_text(PLAIN % headers, encoding="utf-8")
    built = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (module,) = [path for path in tmp_path.glob("isa_baseline.*") if path.suffix in (".so", ".pyd")]
    assert elsewhere("-c", WITH_BASELINE, str(module), HDPKIT_ISA="baseline") == [
        RECORDED,
        "baseline",
        str(module),
    ]


STATES = {
    "many dishes": many_dishes,
    "long documents": lambda store: franchise_over(corpus(15, 120, 200), store, eta=0.05),
}


@pytest.mark.quick
@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("state", STATES)
def test_a_sweep_in_pieces_is_the_sweep(state, store):
    whole = STATES[state](store)
    pieces = whole.copy()
    n, generator = whole.topology.n_customers, np.random.default_rng(2)
    sources = [RandomStream((6, 6)) for _ in range(2)]
    for _ in range(3):
        whole.reseat(0, n, sources[0])
        cuts = [0, *sorted(generator.choice(np.arange(1, n), size=20, replace=False).tolist()), n]
        assert any(whole.topology.home[cut] == whole.topology.home[cut - 1] for cut in cuts[1:-1])
        for first, last in itertools.pairwise(cuts):
            pieces.reseat(first, last, sources[1])
        assert same(whole.freeze(), pieces.freeze())
        whole.settle()
        pieces.settle()
    for _ in range(2):
        whole.reseat(0, n // 2, sources[0])
        for i in range(n // 2):
            pieces.reseat(i, i + 1, sources[1])
    assert same(whole.freeze(), pieces.freeze())
    whole.audit()
