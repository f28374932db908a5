"""`look`: an immutable copy of a franchise that another thread runs, after its last complete sweep."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import positive_number
from hdpkit.errors import BusyError, DataError
from hdpkit.franchise.guard import unguarded

__all__ = ["Look", "Requests", "look"]

_SECONDS_BETWEEN_TRIES = 0.02


@attrs.frozen(eq=False, kw_only=True)
class Look:
    """The state of a franchise after a complete sweep, as an immutable copy.

    Obtained from `Franchise.look`. Arrays are read-only; dishes are numbered as in `Franchise.dishes`.

    Attributes
    ----------
    sweep, n_dishes, n_tables : int
    log_likelihood, log_joint : float
        In nats.
    dishes : int64 array, shape (n_customers,)
    dish_counts : int64 array, shape (K, V), or None
        None if the data are not terms or dishes are observed.
    root_weights : float64 array, shape (K + 1,)
        Posterior mean weights of the dishes in the root and, last, of all new dishes.
    concentration, discount : dict
        By the name of the declaration.
    base_parameters : dict
        Parameters of the base measure that have a prior.
    """

    sweep: int
    n_dishes: int
    n_tables: int
    log_likelihood: float
    log_joint: float
    dishes: npt.NDArray[np.int64] = attrs.field(repr=False)
    dish_counts: npt.NDArray[np.int64] | None = attrs.field(repr=False)
    root_weights: npt.NDArray[np.float64] = attrs.field(repr=False)
    concentration: Mapping[str, Any]
    discount: Mapping[str, Any]
    base_parameters: Mapping[str, float]
    _twin: Callable[[], Any] = attrs.field(repr=False)

    def franchise(self) -> Any:
        """A new, independent `Franchise` in this state."""
        return self._twin()


class Requests:
    """Requests of other threads to a run, which are answered at the end of the present sweep."""

    def __init__(self) -> None:
        self._waiting: deque[_Request] = deque()

    def ask(self) -> _Request:
        """Add a request."""
        request = _Request()
        self._waiting.append(request)
        return request

    def withdraw(self, request: _Request) -> None:
        """Remove a request."""
        with contextlib.suppress(ValueError):  # it has been answered
            self._waiting.remove(request)

    def answer(self, state: Callable[[], Any]) -> None:
        """Answer all requests with the same state, if there are any."""
        if not self._waiting:
            return
        answer, error = None, None
        try:
            answer = state()
        except Exception as failure:  # the requesting thread gets the exception; the run continues
            error = failure
        for request in list(self._waiting):
            request.answer, request.error = answer, error
            request.there.set()
            self.withdraw(request)


class _Request:
    def __init__(self) -> None:
        self.there = threading.Event()
        self.answer: Any = None
        self.error: Exception | None = None


@unguarded
def look(self: Any, timeout: float | None = None) -> Look:
    """The state at the end of a sweep, from any thread: for watching a run.

    During a run in another thread this waits for the end of the current sweep. Between the draws of
    `Scheduler.sample`, outside a run, or when the run ends or fails it returns at once. The run is not
    affected, and has no extra work unless `look` is called.

    Parameters
    ----------
    timeout : float, optional
        Largest number of seconds to wait; None: until the sweep ends.

    Returns
    -------
    Look
        An immutable copy.

    Raises
    ------
    BusyError
        If no sweep ends in time.
    StateError
        If the running thread calls it within a move, inside `seated_out`.
    """
    if timeout is not None:
        positive_number("timeout", timeout, remedy="Seconds; None waits as long as it takes.")
    return _shown(_state(self, timeout))


def _state(franchise: Any, timeout: float | None) -> tuple[Callable[..., Any], dict[str, Any]]:
    until = None if timeout is None else time.monotonic() + timeout
    requests, request = franchise._requests, None
    try:
        while True:
            try:
                found: tuple[Callable[..., Any], dict[str, Any]] = franchise._turn.look(
                    franchise, franchise._standing
                )
                return found
            except BusyError:
                if until is not None and time.monotonic() >= until:
                    raise BusyError(
                        "franchise", f"in one sweep for {timeout} s", "at the end of a sweep in that time",
                        "Give a longer timeout, or none.",
                    ) from None  # fmt: skip
            if request is None:
                request = requests.ask()
            left = _SECONDS_BETWEEN_TRIES if until is None else until - time.monotonic()
            if request.there.wait(max(0.0, min(left, _SECONDS_BETWEEN_TRIES))):
                if request.error is not None:
                    raise request.error
                answered: tuple[Callable[..., Any], dict[str, Any]] = request.answer
                return answered
    finally:
        if request is not None:
            requests.withdraw(request)


def _shown(state: tuple[Callable[..., Any], dict[str, Any]]) -> Look:
    """The look at a state, computed in this thread from a separate franchise."""
    make, frozen = state
    twin = make(frozen)
    try:
        counts: Any = twin.dish_counts
    except DataError:
        counts = None
    weights, rest = twin.root_weights()
    names = [declaration.name for declaration in twin.declarations]
    return Look(
        sweep=twin.sweep,
        n_dishes=twin.n_dishes,
        n_tables=twin.n_tables,
        log_likelihood=twin.log_likelihood(),
        log_joint=twin.log_joint(),
        dishes=_read_only(twin.dishes),
        dish_counts=None if counts is None else _read_only(counts),
        root_weights=_read_only(np.append(weights, rest)),
        concentration=MappingProxyType({name: _read_only(twin.concentration(name)) for name in names}),
        discount=MappingProxyType({name: _read_only(twin.discount(name)) for name in names}),
        base_parameters=MappingProxyType(twin.base_parameters),
        twin=lambda: make(frozen),
    )


def _read_only(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    return value
