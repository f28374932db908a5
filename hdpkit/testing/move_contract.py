"""The contracts of a move and of a part of the state: what they draw leaves the posterior invariant."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hdpkit.checks import flag, one_of_kind, text, whole_number
from hdpkit.errors import HdpkitError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.frozen import FrozenState
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move, TableGibbs
from hdpkit.moves.protocol import models_of
from hdpkit.parts import Part
from hdpkit.random import RandomStream
from hdpkit.stores import Detail
from hdpkit.testing.cases import (
    CORNERS,
    cells,
    check_arguments,
    check_keys,
    served_franchises,
    serves,
    stores_and_kernels,
    tiny_franchise,
)
from hdpkit.testing.exact import (
    TOLERANCE,
    ExactFailure,
    ExactModel,
    check_exact,
    check_irreducible,
    step_matrices,
    where,
)
from hdpkit.testing.exact_models import GivenWeightsModel, HiddenMarkovModel, check_given_weights, exact_model
from hdpkit.testing.geweke import check_geweke, check_together
from hdpkit.testing.states import same

SHAPES = ("flat 4", "2+2", "2+1 with one at the root", "three levels", "three levels, inner customers")


def check_move(
    move: Move,
    *,
    measure: BaseMeasure | None = None,
    shapes: Sequence[str] = SHAPES,
    corners: Sequence[str] = ("middle", "discounts"),
    reversible: bool = False,
    seed: int = 0,
) -> list[str]:
    """Check a move, and raise an error if it is wrong.

    A discrete move is enumerated from every state of tiny franchises of every depth (some with customers at
    inner restaurants), over every registered store and kernel. The exact transition matrix of each step must
    leave the exact posterior invariant to 1e-12. Together with table Gibbs, every state must be reachable.
    Compiled and readable kernels must have the same transition probabilities. Over a conjugate measure the
    same holds for what else `Move.serves` declares: other roots, hidden Markov models, known components, held
    groups. A move with a continuous part is tested by Geweke's joint-distribution test instead. Returns what
    was checked, one line each. Raises an AssertionError that names the step, the franchise and the error.

    Parameters
    ----------
    move : Move
    measure : BaseMeasure, optional
        By default the Dirichlet-multinomial with three terms.
    shapes, corners : sequence of str
        Keys of ``hdpkit.testing.SHAPES`` and ``hdpkit.testing.CORNERS``.
    reversible : bool
        Also check detailed balance (Metropolis moves).
    seed : int
        Seed of the tests that use random numbers.
    """
    measure = check_arguments(move, measure, shapes, seed)
    check_keys("corners", corners, CORNERS)
    flag("reversible", reversible)
    if move.continuous:
        return check_geweke(move, measure=measure, shapes=shapes, seed=seed)
    report = []
    for shape in shapes:
        for corner in corners:
            report += _check_shape(move, measure, shape, corner, reversible)
    if measure.conjugate and not measure.atomic:
        for franchise in served_franchises(move, measure, shapes):
            report += check_further(move, franchise, reversible)
    if not report:
        raise ExactFailure(f"{move.name}: no franchise of {list(shapes)} gives it anything to do")
    return report


def _check_shape(move: Move, measure: BaseMeasure, shape: str, corner: str, reversible: bool) -> list[str]:
    report = []
    law: dict[Detail, list[np.ndarray]] = {}
    for store, kernel in stores_and_kernels(measure, shape=shape):
        franchise = tiny_franchise(shape, measure, store=store, kernel=kernel, corner=corner)
        if not serves(franchise, move):
            continue
        model = exact_model(franchise)
        matrices = step_matrices(model, move)
        whole = check_exact(model, move, reversible=reversible, matrices=matrices)
        if move.updates and "seating" in move.updates:
            gibbs = np.linalg.multi_dot([whole, *step_matrices(model, TableGibbs())])
            check_irreducible(model, gibbs, f"TableGibbs and {move.name}")
        # Stores that keep the same things have the same states: all kernels must have one law.
        for number, (P, Q) in enumerate(zip(matrices, law.setdefault(model.detail, matrices), strict=True)):
            if not np.abs(P - Q).max() <= TOLERANCE:
                raise ExactFailure(
                    f"{move.name}, step {number}: {store}/{kernel} has another law than its twin"
                )
        _check_production(move, model)
        report.append(
            f"{move.name} on {shape!r} ({corner}), {store}/{kernel}: {len(model.states)} states, exact"
        )
    return report


def check_further(move: Move, franchise: Franchise, reversible: bool) -> list[str]:
    """Check a move over a franchise that it serves by `Move.serves`."""
    if not serves(franchise, move):
        return []
    of_chain, root = franchise.topology.kind == "chain", franchise.root.declared
    kind = HiddenMarkovModel if of_chain else GivenWeightsModel if root == "weights" else ExactModel
    model = kind(franchise)
    try:
        if isinstance(model, GivenWeightsModel):
            check_given_weights(model, move)
        else:
            check_exact(model, move, reversible=reversible, matrices=step_matrices(model, move))
    except HdpkitError as error:
        raise ExactFailure(
            f"{move.name}, {where(model)}: it serves {models_of(franchise)}, but: {error}"
        ) from error
    served = ", ".join(models_of(franchise))
    return [f"{move.name}, {served}, {type(franchise.store).__name__}: {len(model.states)} states, exact"]


def _check_production(move: Move, model: ExactModel) -> None:
    """With the production source, the move must leave a state that passes the audit, from every state."""
    stream = RandomStream((1, 2))
    for state in range(0, len(model.states), 7):
        franchise = model.enter(state)
        move.apply(franchise, stream)
        franchise.freeze()  # an error if a dish was opened for nobody
        franchise.audit()


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
    the move, the state must pass the audit, and the log joint must be finite. A copy and a thawed state must
    equal the original, including the part, and continue in the same way. Geweke's joint-distribution test
    compares its usual statistics and the `scalars` of the part. Returns what was checked, one line each.
    Raises an AssertionError that names the franchise and the error. A correct part fails with probability at
    most 1e-4.

    Parameters
    ----------
    make : callable
        Returns a new part; can be its class if that takes no arguments.
    move : Move
    name : str
        Name under which the part is registered and the move finds it.
    measure, shapes, seed
        As in `check_move`.
    replicas, rounds : int
        How many independent states Geweke's test compares, each after how many sweeps.
    """
    if not callable(make):
        raise ParameterError(
            "make", make, "a function without arguments that returns a part", "Give a class."
        )
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
