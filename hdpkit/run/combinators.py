"""Combinators: moves composed of other moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdpkit.checks import items, positive_number
from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Move, MoveInfo, Scheduled
from hdpkit.moves.protocol import EVERYWHERE, applied, check_move
from hdpkit.random import ChoiceSource

_DEEPEST = 50  # limit of nesting of mixtures


class Mixture(Move):
    """One of several moves, chosen at random by weight each time.

    Parameters
    ----------
    weighted : sequence of (Move, float)
        Moves with weights, which need not sum to one. Set time tables on the mixture, not on its moves.
    """

    serves: tuple[str, ...] = ()

    def __init__(self, weighted: Sequence[tuple[Move, float]]) -> None:
        allowed, remedy = "pairs of a move and a weight", "For instance [(TableGibbs(), 1.0), ...]."
        pairs: list[Any] = [
            items("weighted", pair, allowed, remedy=remedy)
            for pair in items("weighted", weighted, allowed, remedy=remedy)
        ]
        if not pairs or any(len(pair) != 2 or not isinstance(pair[0], Move) for pair in pairs):
            raise ParameterError("weighted", weighted, allowed, remedy)
        for move, weight in pairs:
            positive_number("weight, in weighted", weight, remedy="Leave moves without weight out.")
            if move.ensemble:
                raise ScheduleError(
                    "weighted", move, "moves that see one franchise",
                    "Put it into the schedule, with every(n) to run it less often.",
                )  # fmt: skip
            if isinstance(move, Scheduled) and not move.always:
                raise ScheduleError(
                    "weighted",
                    move,
                    "moves without a time table",
                    "Put until, after or every on the mixture.",
                )
        self.moves: tuple[Move, ...] = tuple(move for move, _ in pairs)
        inner = [move.move if isinstance(move, Scheduled) else move for move in self.moves]
        self.depth: int = 1 + max(getattr(move, "depth", 0) for move in inner)
        if self.depth > _DEEPEST:
            raise ScheduleError(
                "weighted", f"mixtures nested {self.depth} deep", f"nested at most {_DEEPEST} deep",
                "Replace them by one mixture with the products of the weights.",
            )  # fmt: skip
        self.weights = tuple(float(weight) for _, weight in pairs)
        self.exact = all(move.exact for move in self.moves)
        self.continuous = any(move.continuous for move in self.moves)
        self.needs_tables = any(move.needs_tables for move in self.moves)
        self.serves = tuple(one for one in EVERYWHERE if all(one in move.serves for move in self.moves))
        self.over = "totals" if all(move.over == "totals" for move in self.moves) else None
        self.updates = tuple(sorted({what for move in self.moves for what in move.updates}))

    def __repr__(self) -> str:
        return f"Mixture({list(zip(self.moves, self.weights, strict=True))!r})"

    def constructor_arguments(self) -> dict[str, Any]:
        """Arguments for building it again, for a run folder."""
        return {"weighted": list(zip(self.moves, self.weights, strict=True))}

    @property
    def name(self) -> str:
        """Names of the parts."""
        return "|".join(move.name for move in self.moves)

    def check(self, state: Franchise) -> None:
        """Check every move of the mixture."""
        for move in self.moves:
            check_move(move, state)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw a move and run it."""
        move = self.moves[rng.choose(self.weights)]
        return applied(move, state, rng)
