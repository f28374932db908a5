"""A seed gives the chains that are recorded here, bit for bit, on every processor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
from recorded_chains import digests

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


@pytest.mark.parametrize(
    "lacking",
    [
        pytest.param(NO_FMA, id="no fused multiply-add", marks=pytest.mark.long),
        pytest.param(NO_VECTORS, id="no wide vectors"),  # nor fused multiply-add
    ],
)
def test_a_lesser_processor_runs_the_same_chains(lacking):
    """The libraries are told to leave alone what this processor has: their last bits are then others."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **lacking}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "support" / "recorded_chains.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == RECORDED
