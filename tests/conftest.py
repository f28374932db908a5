"""Shared set-up: the examples are registered, so that they are tested as the package's own are."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "examples"))

import gaussian_measure  # noqa: E402, F401
import python_move  # noqa: E402, F401
