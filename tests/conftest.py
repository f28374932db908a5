"""Shared set-up: the examples are registered, so that they are tested as the package's own are."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import gaussian_measure  # noqa: E402, F401
import python_move  # noqa: E402, F401


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A worker that has nothing left takes tests from the others: the long ones come in a row.

    As ``--dist worksteal`` does, which is no setting for all: it is refused where ``-n`` is missing.
    """
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
