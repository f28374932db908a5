"""Choice of the compilation of the fused sweeps: the widest that the processor supports, or a forced one.

Scripted sources have theirs in the baseline copy only.
"""

from __future__ import annotations

import importlib.util
import os
from types import ModuleType

from hdpkit.errors import ParameterError
from hdpkit.steps.fused._processor import has_avx2, has_avx512

VARIABLE = "HDPKIT_ISA"
WIDEST_FIRST = {"avx512": has_avx512, "avx2": has_avx2, "baseline": lambda: True}


def available() -> list[str]:
    """Instruction sets that were compiled and that this processor supports, the widest first."""
    found = []
    for name, supported in WIDEST_FIRST.items():
        if supported() and importlib.util.find_spec(f"hdpkit.steps.fused.isa_{name}") is not None:
            found.append(name)
    return found


def _choose() -> tuple[str, ModuleType]:
    names = available()
    name = os.environ.get(VARIABLE, "") or names[0]
    if name not in names:
        raise ParameterError(
            VARIABLE,
            name,
            f"one of {names} on this machine",
            "Unset the variable to use the widest instruction set.",
        )
    return name, importlib.import_module(f"hdpkit.steps.fused.isa_{name}")


_name, chosen = _choose()
scripts = importlib.import_module("hdpkit.steps.fused.isa_baseline")


def instruction_set() -> str:
    """Name of the instruction set that the fused sweeps run on: "baseline", "avx2" or "avx512".

    The widest one that the processor supports is chosen at import; the environment variable HDPKIT_ISA forces
    one. A chain is the same on all of them, bit for bit.
    """
    return _name
