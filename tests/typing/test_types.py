"""Types in a user's program: through the installed package and its ``py.typed``."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("user_program.py")


def test_mypy_strict_accepts_a_users_program(tmp_path):
    """Away from the repository, so that mypy finds the package as it finds any other that is installed."""
    arguments = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}", str(PROGRAM)]
    environment = {name: value for name, value in os.environ.items() if name != "MYPYPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_runs(capsys):
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert capsys.readouterr().out
