"""What is accepted as states of a posterior sample: franchises, draws, looks, runs, chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise import Franchise
from hdpkit.franchise.copies import Look
from hdpkit.record import ChainTrace, Draw
from hdpkit.schedule import Run

__all__ = ["states_of"]

_REMEDY = "For instance [chain_1, chain_2], scheduler.sample(franchise, sweeps), or hk.open_run(folder)."


def _empty(states: Any) -> bool:
    """Whether something is a closed file, or an array without a dimension."""
    return getattr(states, "closed", False) is True or getattr(states, "ndim", None) == 0


def states_of(states: Any) -> Iterator[Franchise]:
    """Franchises in these states, one after another; a generator is advanced when its next state is needed.

    Raises a ParameterError for anything else, and if there is no state.
    """
    if isinstance(states, Franchise | Draw | Look):
        yield _state(states)
        return
    if isinstance(states, Run):
        states = states.franchises()
    elif isinstance(states, ChainTrace):
        states = states.franchises
    wrong = isinstance(states, str | bytes | Mapping | Set | type)
    if wrong or not isinstance(states, Iterable) or _empty(states):
        raise ParameterError("states", states, "a Franchise, or several in an iterable", _REMEDY)
    number = 0
    for state in states:
        yield _state(state)
        number += 1
    if number == 0:
        raise ParameterError("states", states, "at least one state", _REMEDY)


def _state(state: Any) -> Franchise:
    if isinstance(state, Draw):
        if state.franchise.sweep != state.sweep:
            raise StateError(
                "states", f"a draw of sweep {state.sweep} of a franchise at sweep {state.franchise.sweep}",
                "draws that are used as they come, or copies",
                "Pass the generator itself, or keep [draw.franchise.copy() for draw in ...].",
            )  # fmt: skip
        return state.franchise
    if isinstance(state, Look):
        franchise: Franchise = state.franchise()
        return franchise
    if isinstance(state, Franchise):
        return state
    raise ParameterError("states", state, "a Franchise, a Draw or a Look", _REMEDY)
