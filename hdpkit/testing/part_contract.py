"""The contract of a part of the state: it is kept with the state, and its distribution is invariant."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from hdpkit.checks import one_of_kind, text, whole_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.frozen import FrozenState
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move, TableGibbs
from hdpkit.parts import Part
from hdpkit.random import RandomStream
from hdpkit.testing.cases import check_arguments, tiny_franchise
from hdpkit.testing.combinations import cells
from hdpkit.testing.exact import ExactFailure
from hdpkit.testing.geweke import check_together
from hdpkit.testing.machines import same


def check_part(
    make: Callable[[], Part],
    move: Move,
    *,
    name: str = "part",
    measure: BaseMeasure | None = None,
    shapes: Sequence[str] = ("3+3",),
    seed: int = 0,
    replicas: int = 100,
    rounds: int = 3,
) -> list[str]:
    """Check a user-defined part of the state and the move that updates it, or raise.

    The checks run over every registered store, kernel and kind of root. After sweeps of table Gibbs and of
    the move, the state must pass the audit. A copy and a thawed state must equal the original, including
    the part, and must continue in the same way. The log joint must be finite. In addition to its usual
    statistics, Geweke's joint-distribution test compares the `scalars` of the part.

    Parameters
    ----------
    make : callable
        Returns a new part; can be its class if that takes no arguments.
    move : Move
    name : str
        Name under which the part is registered and the move finds it.
    measure : BaseMeasure, optional
        By default the Dirichlet-multinomial with three terms.
    shapes : sequence of str
        Keys of ``hdpkit.testing.SHAPES``.
    seed : int
        Seed of the tests that use random numbers.
    replicas, rounds : int
        See ``hdpkit.testing.geweke.geweke``.

    Returns
    -------
    list of str
        What was checked, one line each.

    Raises
    ------
    AssertionError
        Names the franchise and the error. A correct part fails with probability at most 1e-4.
    """
    if not callable(make):
        raise ParameterError("make", make, "a function without arguments that returns a part", "Its class.")
    measure = check_arguments(move, measure, shapes, seed)
    text("name", name, remedy="The name under which the move finds the part.")
    whole_number("replicas", replicas, 1, 10_000_000)
    whole_number("rounds", rounds, 1, 10_000_000)
    schedule = [TableGibbs(), move]
    cases = {}
    for shape in shapes:
        for store, kernel, root in cells(measure, shape=shape):
            franchise = tiny_franchise(shape, measure, store=store, kernel=kernel, root=root)
            franchise.register(name, one_of_kind(make, "make", make(), Part, "a part"))
            label = f"{name} on {shape!r}, {store}/{kernel}, root {root!r}"
            _check_kept(label, franchise, schedule, name)
            cases[label] = franchise
    return check_together(cases, schedule, replicas, rounds, seed)


def _check_kept(label: str, franchise: Franchise, schedule: Sequence[Move], name: str) -> None:
    """States pass the audit, and copies and frozen states keep them completely."""

    def sweeps(state: Franchise, stream: int) -> None:
        source = RandomStream((7, stream))
        for _ in range(5):
            for move in schedule:
                move.apply(state, source)
            state.settle()
            state.audit()
            if not math.isfinite(state.log_joint()):
                raise ExactFailure(f"{label}: log joint {state.log_joint()!r}")

    sweeps(franchise, 1)
    frozen, twin = franchise.freeze(), franchise.copy()
    if twin.components[name] is franchise.components[name]:
        raise ExactFailure(f"{label}: a copy of the franchise has the same part, not a clone")
    ways: dict[str, Callable[[], Any]] = {
        "a copy": twin.freeze,
        "a thawed state": functools.partial(_thawed, twin, frozen),
    }
    for what, again in ways.items():
        if not same(again(), frozen):
            raise ExactFailure(f"{label}: {what} differs from the state that it was made of")
    sweeps(franchise, 2)
    sweeps(twin, 2)
    if not same(twin.freeze(), franchise.freeze()):
        raise ExactFailure(f"{label}: a thawed state goes on in another way")


def _thawed(twin: Franchise, frozen: FrozenState) -> FrozenState:
    twin.thaw(frozen)
    return twin.freeze()
