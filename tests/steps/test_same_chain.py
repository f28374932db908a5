"""Same seed, same chain, bit for bit: between runs, pieces of a sweep, and instruction sets."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from chain_digest import digests
from fused_cases import corpus, franchise_over, many_dishes

from hdpkit.random import RandomStream
from hdpkit.steps.fused import instruction_set
from hdpkit.testing.machines import same

TESTS = Path(__file__).resolve().parents[1]
SOURCES = TESTS.parent / "hdpkit"
FUSED = SOURCES / "steps" / "fused"

STATES = {
    "many dishes": many_dishes,
    "long documents": lambda store: franchise_over(corpus(15, 120, 200), store, eta=0.05),
}


@pytest.fixture(scope="module")
def here():
    """What this process makes of it."""
    return digests()


def elsewhere(isa, *arguments):
    """What another process makes of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("HDPKIT_ISA", None)
    if isa:
        environment["HDPKIT_ISA"] = isa
    return subprocess.run(
        [sys.executable, str(TESTS / "support" / "chain_digest.py"), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_run_is_another_chain(here):
    # That two runs of one seed are one chain is the first case of the instruction sets, below.
    assert len(set(here.values())) == len(here)


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


# None takes the first of them, the widest.
@pytest.mark.parametrize("isa", [None, *instruction_set.available()[1:]], ids=str)
def test_every_instruction_set_has_the_same_chain(here, isa):
    done = elsewhere(isa)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["instruction_set"] == (isa or instruction_set.available()[0])
    assert found["digests"] == here


def test_the_widest_is_chosen_and_all_that_were_compiled_are_tried():
    assert "baseline" in instruction_set.available()
    compiled = {path.name.split(".")[0] for path in FUSED.glob("isa_*.cpp")}
    assert compiled == {f"isa_{name}" for name in instruction_set.WIDEST_FIRST}


PLAIN = """
import sys
from setuptools import Extension, setup

flags = ["-O1", "-std=c++17", "-ffp-contract=off"]
if sys.platform == "win32":
    flags = ["/O1", "/std:c++17", "/fp:precise"]
setup(
    name="plain",
    ext_modules=[
        Extension(
            "isa_baseline",
            ["isa_baseline.cpp"],
            include_dirs={headers!r},
            define_macros=[("HDPKIT_PLAIN_LANES", "1")],
            extra_compile_args=flags,
            language="c++",
        )
    ],
)
"""


def test_plain_loops_have_the_same_chain(here, tmp_path):
    """What a compiler without vector types gets: the same text over arrays, here optimised otherwise too."""
    headers = [str(folder) for folder in (FUSED, SOURCES / "stores", SOURCES / "include")]
    (tmp_path / "isa_baseline.cpp").write_text((FUSED / "isa_baseline.cpp").read_text(encoding="utf-8"))
    script = PLAIN.format(headers=headers)
    (tmp_path / "setup.py").write_text(script, encoding="utf-8")
    built = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    (module,) = [path for path in tmp_path.glob("isa_baseline.*") if path.suffix in (".so", ".pyd")]
    done = elsewhere("baseline", str(module))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["file"] == str(module)
    assert found["digests"] == here
