"""Compiled code allocates memory in one way, and failed allocations leave a consistent franchise."""

import json
import platform
import re
import subprocess
from pathlib import Path

import pytest
from programs import TRIALS, python

PACKAGE = Path(__file__).resolve().parents[2] / "hdpkit"
CYTHON = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in (".pyx", ".pxd")]
VECTORS = re.compile(
    r"^\s*(?:cdef (?:readonly |public )?)?vector\[[^=(]*?\]+ ([\w, ]+?)(?:\s*#.*)?$", re.MULTILINE
)
FUNCTION = re.compile(r"^( *)(?:cdef|cpdef) [^\n]*?(?:\n[^\n:]*?)?noexcept[^\n]*:\n", re.MULTILINE)
MAY_THROW = re.compile(r"\.(?:assign|push_back|reserve|resize|shrink_to_fit)\(|copy_into\(|\.at\(")


def test_vectors_are_declared_in_one_place():
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        assert "libcpp" not in text, (
            f"{path}: cimport vector from hdpkit.vectors, where every call is guarded"
        )
        assert "libc.stdlib" not in text, path


def test_vectors_are_copied_by_copy_into():
    """Cython guards no assignment, which asks for memory as much as any other call."""
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        own = text + "".join(p.read_text("utf-8") for p in CYTHON if p == path.with_suffix(".pxd"))
        names = {name.strip() for found in VECTORS.findall(own) for name in found.split(",")}
        for line, left, right in re.findall(r"^( +(?:\w+\.)*(\w+) = (?:\w+\.)*(\w+))$", text, re.MULTILINE):
            assert not ({left, right} <= names), f"{path.name}: {line.strip()}"


def test_functions_that_cannot_raise_ask_whether_there_is_room():
    for path in CYTHON:
        text = path.read_text(encoding="utf-8")
        for found in FUNCTION.finditer(text):
            body = re.match(rf"(?:{found.group(1)} +.*\n|\n)*", text[found.end() :]).group(0)
            if MAY_THROW.search(body):
                assert "has_room(" in body or "has_place(" in body, f"{path.name}: {found.group(0).strip()}"


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if platform.libc_ver()[0] != "glibc":
        return None
    path = tmp_path_factory.mktemp("allocations") / "failing.so"
    source = TRIALS / "allocations" / "failing.cpp"
    command = ["g++", "-O1", "-shared", "-fPIC", "-std=c++17", "-o", str(path), str(source)]
    subprocess.run(command, check=True)
    return path


SCENARIOS = [
    "sweeps histogram", "sweeps explicit", "sweeps bursts", "sweeps contexts", "sweeps normal-gamma",
    "sweeps indicators", "sweeps weights", "sweeps cells", "sweeps states", "sweeps slices", "sweeps sparse",
    "thaw histogram", "thaw indicators", "thaw cells", "extend contexts", "start auto histogram",
    "score histogram",
]  # fmt: skip


def test_a_failed_allocation_leaves_the_franchise_whole(library):
    """Some of the trials of `failing_allocations.py`, which says what it looks at; run it for all of them."""
    if library is None:  # the library replaces functions of glibc
        return
    trials = TRIALS / "failing_allocations.py"
    done = python(trials, library, "--every", 89, "--only", *SCENARIOS, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(counts) >= 2 * len(SCENARIOS)
    assert sum(count["MemoryError"] for count in counts) > 40
