"""A move with a time table is a move."""

from __future__ import annotations

import math
from contextlib import nullcontext

import attrs

from hdpkit.checks import instance, validator, whole_number
from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo, checked_info
from hdpkit.random import ChoiceSource

__all__ = ["Scheduled"]


_from_one = validator(whole_number, 1, remedy="Sweeps count from 1.")
_from_zero = validator(whole_number, 0, remedy="Sweeps count from 1.")


@attrs.frozen
class Scheduled(Move):
    """A move that runs ``times`` times in those of the sweeps first .. last that ``period`` divides.

    Made by `Move.until`, `Move.after`, `Move.every` and `Move.repeat`, which may be chained: a time table of
    a time table is one time table of the move.
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
    def updates(self) -> tuple[str, ...]:  # type: ignore[override]
        """As the move."""
        return self.move.updates

    @property
    def always(self) -> bool:
        """Whether it runs in every sweep."""
        return self.first == 1 and self.last is None and self.period == 1

    def runs_in(self, sweep: int) -> bool:
        """Whether the move has a turn in this sweep."""
        in_time = self.first <= sweep and (self.last is None or sweep <= self.last)
        return in_time and sweep % self.period == 0 and self.move.runs_in(sweep)

    def n_steps(self, state: Franchise) -> int:
        """Those of the move where it runs once."""
        return self.move.n_steps(state) if self.times == 1 else 1

    def check(self, state: Franchise) -> None:
        """As the move."""
        self.move.check(state)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run the move as often as it has to; repeated proposals share one seating out."""
        if self.times == 1:
            return self.move.apply(state, rng, steps)
        info = MoveInfo()
        with state.seated_out(rng) if self.move.needs_tables else nullcontext():
            for _ in range(0 if steps == (0, 0) else self.times):
                info += checked_info(self.move, self.move.apply(state, rng))
        return info
