"""The kinds of distributions from which the root's children draw, in C and in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit._compiled.walk.root as compiled
import hdpkit.franchise.reference.root as readable

__all__ = ["ROOTS", "RootKind"]


Floats = npt.NDArray[np.float64]


@attrs.frozen
class RootKind:
    """Functions that create a root, given the bank and the part that has the weights.

    Attributes
    ----------
    compiled, readable : callable
        The root of a walk over the present state.
    kept : callable
        A compiled root that doesn't change with the franchise, and H if dishes are atoms.
    """

    compiled: Callable[[Any, Any], Any]
    readable: Callable[[Any, Any], Any]
    kept: Callable[[Any, Any], tuple[Any, Floats | None]]


def _atoms_kept(bank: Any) -> tuple[Any, Floats | None]:
    base: Floats = bank.base.copy()
    return compiled.AtomRoot(base, bank.values), base


ROOTS = {
    "restaurant": RootKind(
        lambda bank, part: compiled.LatentRoot(),
        lambda bank, part: readable.LatentRoot(),
        lambda bank, part: (compiled.LatentRoot(), None),
    ),
    "atoms": RootKind(
        lambda bank, part: compiled.AtomRoot(bank.base, bank.values),
        lambda bank, part: readable.AtomRoot(bank.base),
        lambda bank, part: _atoms_kept(bank),
    ),
    "weights": RootKind(
        lambda bank, part: compiled.WeightedRoot(part.table),
        lambda bank, part: readable.WeightedRoot(part.table),
        lambda bank, part: (compiled.WeightedRoot(part.table.copy()), None),
    ),
    "fixed": RootKind(
        lambda bank, part: compiled.FixedRoot(part.table, part.n_dishes),
        lambda bank, part: readable.FixedRoot(part.n_dishes),
        lambda bank, part: (compiled.FixedRoot(part.table.copy(), part.n_dishes), None),
    ),
}
