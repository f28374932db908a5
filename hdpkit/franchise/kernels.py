"""Which code runs a verb: a table keyed by verb, store, measure and depth.

The rows are tried in order of speed; the first whose condition holds serves the verb, unless a kernel is
forced. A fused sweep is one more row.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs

import hdpkit._compiled.fused_blocks as fused_blocks
import hdpkit._compiled.fused_observed as fused_observed
import hdpkit._compiled.fused_topics as fused_topics
import hdpkit._compiled.groups as compiled_groups
import hdpkit._compiled.seating_out as compiled_seating_out
import hdpkit._compiled.sweeps as sweeps
import hdpkit._compiled.units as units
from hdpkit._compiled.atomic import AtomicBank
from hdpkit._compiled.dirichlet_multinomial import DirichletMultinomialBank
from hdpkit._compiled.measure import CompiledBank
from hdpkit._compiled.seating import Seating
from hdpkit.errors import KernelError
from hdpkit.franchise import groups, reference
from hdpkit.stores import seating_out

__all__ = ["KERNELS", "VERBS", "available_kernels", "choose_kernel", "is_compiled"]

VERBS = {
    # verb: whether it needs to know who sits where
    "enter": False,
    "enter_given": False,
    "reseat": False,
    "leave": False,
    "seat_out": False,
    "index_units": True,
    "unit_dishes": True,
    "redish": True,
    "scan_units": True,
    "add_units": True,
    "move_units": True,
    "reseat_groups": True,
}
KERNELS = ("auto", "fused", "generic", "reference")


def is_compiled(store: type) -> bool:
    """Whether compiled code may run a store: not a subclass in Python, whose overrides it would not see."""
    return issubclass(store, Seating) and store.__module__.startswith("hdpkit._compiled")


@attrs.frozen
class Row:
    """One kernel: its name, the verbs that it has, and when it can run."""

    name: str
    verbs: Any
    serves: Callable[[type, Any, int], bool]


def _namespace(*modules: ModuleType) -> SimpleNamespace:
    """Every verb from the module that has it."""
    return SimpleNamespace(
        **{verb: next(getattr(m, verb) for m in modules if hasattr(m, verb)) for verb in VERBS}
    )


def _is_topic_model(store: type, bank: Any, depth: int) -> bool:
    return is_compiled(store) and type(bank) is DirichletMultinomialBank and depth == 2


TABLE = [
    Row(
        "fused",
        SimpleNamespace(reseat=fused_topics.reseat),
        lambda store, bank, depth: _is_topic_model(store, bank, depth) and bank.in_floats,
    ),
    Row(
        "fused",
        SimpleNamespace(
            index_units=fused_blocks.index_units,
            unit_dishes=fused_blocks.unit_dishes,
            redish=fused_blocks.redish,
            scan_units=fused_blocks.scan_units,
        ),
        _is_topic_model,
    ),
    Row(
        "fused",
        SimpleNamespace(reseat=fused_observed.reseat),
        lambda store, bank, depth: is_compiled(store) and isinstance(bank, AtomicBank),
    ),
    Row(
        "generic",
        _namespace(sweeps, units, compiled_groups, compiled_seating_out),
        lambda store, bank, depth: is_compiled(store) and isinstance(bank, CompiledBank),
    ),
    Row("reference", _namespace(reference, groups, seating_out), lambda store, bank, depth: True),
]


def available_kernels(store: type, bank: Any, depth: int) -> list[str]:
    """Names of the kernels that can be forced for a store, a bank and a depth, the fastest first."""
    return list(dict.fromkeys(row.name for row in TABLE if row.serves(store, bank, depth)))


def choose_kernel(
    verb: str, forced: str, store: type, bank: Any, depth: int
) -> tuple[str, Callable[..., Any]]:
    """Name and function that serve a verb.

    A forced "fused" takes the next best code for the verbs that no fused sweep has.

    Raises
    ------
    KernelError
        If there is no such kernel for this store, measure and depth.
    """
    serving = [row for row in TABLE if row.serves(store, bank, depth)]
    if forced not in ("auto", "fused"):
        serving = [row for row in serving if row.name == forced]
    if forced != "fused" or any(row.name == forced for row in serving):
        for row in serving:
            if hasattr(row.verbs, verb):
                return row.name, getattr(row.verbs, verb)
    raise KernelError(
        "kernel", forced, f"one that serves {verb!r} over {store.__name__} and {type(bank).__name__}",
        "Use kernel='auto', or a compiled store and measure.",
    )  # fmt: skip
