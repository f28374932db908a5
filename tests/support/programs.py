"""Programs that tests start, which import what tests do."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

TRIALS = Path(__file__).resolve().parents[1] / "trials"


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}


def python(*arguments, check=False, before=(), **options):
    """A program of Python that has ended, with what it printed."""
    command = [*before, sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, check=check, **options)


def ranks(n, *arguments, **options):
    """The same in so many processes, by the launcher of MPI that is installed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    launcher = shutil.which("mpiexec", path=path)
    assert launcher, "no mpiexec: pip install hdpkit[mpi]"
    return python(*arguments, before=(launcher, "-n", str(n)), **options)
