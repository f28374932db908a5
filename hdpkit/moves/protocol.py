"""The protocol of moves: Markov kernels that leave p(state | data) invariant; and moves with a time table."""

from __future__ import annotations

import abc
import functools
import math
import numbers
from contextlib import nullcontext
from typing import Any

import attrs

from hdpkit.checks import instance, validator, whole_number, whole_numbers, wrap_methods
from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.random import ChoiceSource
from hdpkit.returned import one_of_kind, refuse

__all__ = [
    "Move",
    "MoveInfo",
    "Scheduled",
    "check_arguments",
    "checked_info",
    "needs_latent_dishes",
    "needs_marginals",
]

_FROM_ONE = "Sweeps are numbered from 1."


@attrs.frozen
class MoveInfo:
    """The result of a move: how many updates it tried, and how many were accepted.

    Gibbs updates are always accepted.
    """

    tried: int = 0
    accepted: int = 0

    def __add__(self, other: MoveInfo) -> MoveInfo:
        return MoveInfo(self.tried + other.tried, self.accepted + other.accepted)


def _franchise(state: Any) -> None:
    instance("state", state, Franchise, "a franchise", remedy="Pass the franchise that the move changes.")


def _checked(name: str, function: Any) -> Any:
    """Return a method of a move of the package that checks its arguments first."""

    @functools.wraps(function)
    def of_state(self: Any, state: Any) -> Any:
        _franchise(state)
        return function(self, state)

    @functools.wraps(function)
    def apply(self: Any, state: Any, rng: Any, steps: Any = None) -> Any:
        _franchise(state)
        instance("rng", rng, ChoiceSource, "a choice source", remedy="Pass a RandomStream.")
        if steps is not None:
            n = self.n_steps(state)
            first, last = whole_numbers("steps", steps, 0, n, length=2, remedy="Give (first, last).").tolist()
            if first > last:
                raise ParameterError("steps", steps, f"first <= last <= {n}", "Give (first, last).")
            steps = first, last
        return function(self, state, rng, steps)

    return apply if name == "apply" else of_state


def check_arguments(kind: type) -> None:
    """Make the moves of the package that derive from this class check their arguments."""
    wrap_methods(kind, str(__package__), ("apply", "check", "n_steps"), _checked)


def checked_info(move: Move, info: Any) -> MoveInfo:
    """Return the value returned by a move's `apply` if it is a valid MoveInfo; otherwise raise an error."""
    one_of_kind(move, "apply", info, MoveInfo, "a MoveInfo")
    counts = (info.tried, info.accepted)
    whole = all(isinstance(n, numbers.Integral) and not isinstance(n, bool) for n in counts)
    if not whole or not 0 <= info.accepted <= info.tried:
        raise refuse(
            move, "apply", info, "a MoveInfo of whole numbers, 0 <= accepted <= tried",
            "Count the updates that were tried, and those that took effect.",
        )  # fmt: skip
    return info


class Move(abc.ABC):
    """Base class of all moves. A move must define `apply`.

    Attributes
    ----------
    exact : bool
        False for a move that leaves the posterior only approximately invariant; the trace records this.
    continuous : bool
        Whether the move draws continuous quantities; then it is tested by Geweke's test, not by enumeration.
    needs_tables : bool
        Whether the move needs seats; over a store without seats these are drawn while the move runs.
    by_cell : bool
        Whether the move doesn't distinguish customers with the same document and term (`CountGibbs`). If all
        moves of a run have this set, no array with an entry per customer is allocated.
    updates : tuple of str
        What the move changes: "seating", "concentration", ...
    """

    exact: bool = True
    continuous: bool = False
    needs_tables: bool = False
    by_cell: bool = False
    updates: tuple[str, ...] = ("seating",)

    @property
    def name(self) -> str:
        """Name in the trace."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"{self.name}()"

    @abc.abstractmethod
    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run the move once, in place.

        Parameters
        ----------
        state : Franchise
        rng : ChoiceSource
            Draw discrete quantities from ``choose``, ``bernoulli``, ``index``, ``permutation``, ``binomial``;
            continuous ones from ``uniform``, ``normal``, ``gamma``, ``beta``, ``dirichlet``.
        steps : (int, int), optional
            Only steps first .. last - 1 of `n_steps`, so that a step can be tested alone.
        """

    def n_steps(self, state: Franchise) -> int:
        """Number of steps of which one application is the product; 1 if it can't be split."""
        return 1

    def check(self, state: Franchise) -> None:  # noqa: B027 - by default every franchise is accepted
        """Raise a ScheduleError if the move can't run over this franchise or would have nothing to do."""

    def threaded(self, threads: int) -> Move:
        """Return the move with this number of threads; by default the move itself, which uses one.

        The chain must not depend on the number of threads.
        """
        return self

    # ------------------------------------------------------------------ schedules

    def until(self, sweep: int) -> Scheduled:
        """Run in sweeps 1 .. sweep."""
        return Scheduled(self, last=whole_number("sweep", sweep, remedy=_FROM_ONE))

    def after(self, sweep: int) -> Scheduled:
        """Run from sweep + 1 on."""
        return Scheduled(self, first=whole_number("sweep", sweep, remedy=_FROM_ONE) + 1)

    def every(self, n: int) -> Scheduled:
        """Run in sweeps n, 2n, ..."""
        return Scheduled(self, period=whole_number("n", n, 1, remedy=_FROM_ONE))

    def repeat(self, n: int) -> Scheduled:
        """Run n times in a sweep."""
        return Scheduled(
            self, times=whole_number("n", n, 1, remedy="Leave the move out if it is not to run.")
        )

    def runs_in(self, sweep: int) -> bool:
        """Whether the move runs in this sweep (counted from 1)."""
        return True


_from_one = validator(whole_number, 1, remedy="Sweeps are numbered from 1.")
_from_zero = validator(whole_number, 0, remedy="Sweeps are numbered from 1.")


@attrs.frozen
class Scheduled(Move):
    """A move that runs ``times`` times in every sweep from first to last that is a multiple of ``period``.

    Returned by `Move.until`, `Move.after`, `Move.every` and `Move.repeat`. These may be chained; the result
    is a single time table of the move.
    """

    move: Move = attrs.field(
        validator=validator(
            instance, Move, "a move", remedy="Pass an instance: TableGibbs(), not TableGibbs."
        )
    )
    first: int = attrs.field(default=1, validator=_from_one)
    last: int | None = attrs.field(default=None, validator=attrs.validators.optional(_from_zero))
    period: int = attrs.field(default=1, validator=_from_one)
    times: int = attrs.field(default=1, validator=_from_one)

    def __attrs_post_init__(self) -> None:
        inner = self.move
        if not isinstance(inner, Scheduled):
            return
        ends = [end for end in (self.last, inner.last) if end is not None]
        merged = {
            "move": inner.move,
            "first": max(self.first, inner.first),
            "last": min(ends) if ends else None,
            "period": math.lcm(self.period, inner.period),
            "times": self.times * inner.times,
        }
        for name, value in merged.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """Name of the move."""
        return self.move.name

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """As the move."""
        return self.move.exact

    @property
    def continuous(self) -> bool:  # type: ignore[override]
        """As the move."""
        return self.move.continuous

    @property
    def needs_tables(self) -> bool:  # type: ignore[override]
        """As the move."""
        return self.move.needs_tables

    @property
    def by_cell(self) -> bool:  # type: ignore[override]
        """As the move."""
        return self.move.by_cell

    @property
    def updates(self) -> tuple[str, ...]:  # type: ignore[override]
        """As the move."""
        return self.move.updates

    @property
    def always(self) -> bool:
        """Whether the move runs in every sweep."""
        return self.first == 1 and self.last is None and self.period == 1

    def runs_in(self, sweep: int) -> bool:
        """Whether the move runs in this sweep."""
        in_time = self.first <= sweep and (self.last is None or sweep <= self.last)
        return in_time and sweep % self.period == 0 and self.move.runs_in(sweep)

    def threaded(self, threads: int) -> Move:
        """As the move."""
        return attrs.evolve(self, move=self.move.threaded(threads))

    def n_steps(self, state: Franchise) -> int:
        """Steps of the move if it runs once per sweep, otherwise 1."""
        return self.move.n_steps(state) if self.times == 1 else 1

    def check(self, state: Franchise) -> None:
        """As the move."""
        self.move.check(state)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run the move ``times`` times; the repetitions share one drawn seating."""
        if self.times == 1:
            return self.move.apply(state, rng, steps)
        info = MoveInfo()
        with state.seated_out(rng) if self.move.needs_tables else nullcontext():
            for _ in range(0 if steps == (0, 0) else self.times):
                info += checked_info(self.move, self.move.apply(state, rng))
        return info


def needs_latent_dishes(move: Move, state: Franchise) -> None:
    """Raise an error if dishes are observed: a customer's dish is then its value and can't change."""
    instance("move", move, Move, "a move", remedy="For instance hk.moves.TableGibbs().")
    instance("state", state, Franchise, "a Franchise", remedy="The one over which the move runs.")
    if state.measure.atomic:
        raise ScheduleError(
            "moves", move.name, "moves that have something to do",
            "Dishes are observed, each customer's is its value: use TableGibbs and DishGibbs.",
        )  # fmt: skip


def needs_marginals(move: Move, state: Franchise) -> None:
    """Raise an error if the measure has no marginals (it keeps parameters, or dishes are observed)."""
    needs_latent_dishes(move, state)
    if not state.measure.conjugate:
        raise ScheduleError(
            "moves", move.name, "moves that need no marginal likelihood of a dish",
            f"{type(state.measure).__name__} is not conjugate: use TableGibbs, DishGibbs and DishParameters.",
        )  # fmt: skip
