"""Programs in less memory than their data would take; files that are mapped to be read don't count."""

import os
import subprocess
import sys
import textwrap

import pytest

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="mapped files count elsewhere")

BEGIN = """
import resource, sys
from pathlib import Path

import scipy.sparse, scipy.special  # loaded when they are first used; data are what this is about

import hdpkit as hk
from hdpkit import moves

assert all(getattr(hk, name) is not None for name in hk.__all__)  # imported on first use

def leave(room):
    lines = Path("/proc/self/status").read_text().splitlines()
    held = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held + room, held + room))
"""


def answer(program, *arguments):
    """What a program prints, of one thread: each would have a stack and an arena of its own."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", BEGIN + textwrap.dedent(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
