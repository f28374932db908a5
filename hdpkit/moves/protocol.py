"""What a move is: a Markov kernel that leaves p(state | data) invariant."""

from __future__ import annotations

import abc
import numbers
from typing import TYPE_CHECKING, Any

import attrs

from hdpkit.checks import whole_number
from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.random import ChoiceSource
from hdpkit.returned import one_of_kind, refuse

if TYPE_CHECKING:
    from hdpkit.moves.scheduled import Scheduled

__all__ = ["Move", "MoveInfo", "checked_info", "needs_latent_dishes", "needs_marginals"]

_FROM_ONE = "Sweeps count from 1."


@attrs.frozen
class MoveInfo:
    """What a move reports: how many updates it tried and how many of them took effect.

    A Gibbs update always does.
    """

    tried: int = 0
    accepted: int = 0

    def __add__(self, other: MoveInfo) -> MoveInfo:
        return MoveInfo(self.tried + other.tried, self.accepted + other.accepted)


def checked_info(move: Move, info: Any) -> MoveInfo:
    """Return what a move's `apply` returned, if it is a MoveInfo that makes sense."""
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
    """Base of all moves. `apply` is all that a move must have.

    Attributes
    ----------
    exact : bool
        False on anything that leaves the posterior only approximately invariant; the trace says so.
    continuous : bool
        Whether it draws continuous quantities from ``rng.generator``; then Geweke's test checks it, not
        enumeration.
    needs_tables : bool
        Whether it needs to know who sits where; a store that doesn't is then seated out for its length.
    updates : tuple of str
        What it changes: "seating", "concentration", ...
    """

    exact: bool = True
    continuous: bool = False
    needs_tables: bool = False
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
            Draw discrete quantities from ``choose``, ``bernoulli``, ``index``, ``permutation``; continuous
            ones from ``rng.generator``.
        steps : (int, int), optional
            Only steps first .. last - 1 of `n_steps`, so that a step can be tested alone.
        """

    def n_steps(self, state: Franchise) -> int:
        """How many steps one application is the product of; 1 where it can't be taken apart."""
        return 1

    def check(self, state: Franchise) -> None:  # noqa: B027 - by default every franchise will do
        """Raise a ScheduleError if this franchise can't serve the move or leaves it nothing to do."""

    # ------------------------------------------------------------------ schedules

    def until(self, sweep: int) -> Scheduled:
        """Run in sweeps 1 .. sweep."""
        return _scheduled(self, last=whole_number("sweep", sweep, remedy=_FROM_ONE))

    def after(self, sweep: int) -> Scheduled:
        """Run from sweep + 1 on."""
        return _scheduled(self, first=whole_number("sweep", sweep, remedy=_FROM_ONE) + 1)

    def every(self, n: int) -> Scheduled:
        """Run in sweeps n, 2n, ..."""
        return _scheduled(self, period=whole_number("n", n, 1, remedy=_FROM_ONE))

    def repeat(self, n: int) -> Scheduled:
        """Run n times in a sweep."""
        return _scheduled(
            self, times=whole_number("n", n, 1, remedy="Leave the move out where it shall not run.")
        )

    def runs_in(self, sweep: int) -> bool:
        """Whether the move has a turn in this sweep (counted from 1)."""
        return True


def needs_latent_dishes(move: Move, state: Franchise) -> None:
    """Refuse observed dishes: a customer's dish is its value and can't be exchanged for another."""
    if state.measure.atomic:
        raise ScheduleError(
            "moves", move.name, "moves that have something to do",
            "Dishes are observed, each customer's is its value: use TableGibbs and DishGibbs.",
        )  # fmt: skip


def needs_marginals(move: Move, state: Franchise) -> None:
    """Refuse a base measure without marginals: dishes that keep their parameters, and observed dishes."""
    needs_latent_dishes(move, state)
    if not state.measure.conjugate:
        raise ScheduleError(
            "moves", move.name, "moves that need no marginal likelihood of a dish",
            f"{type(state.measure).__name__} is not conjugate: use TableGibbs, DishGibbs and DishParameters.",
        )  # fmt: skip


def _scheduled(move: Move, **when: Any) -> Scheduled:
    from hdpkit.moves.scheduled import Scheduled

    return Scheduled(move, **when)
