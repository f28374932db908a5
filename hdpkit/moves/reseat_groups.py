"""A whole group seated anew at once."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from hdpkit.errors import ParameterError, ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["ReseatGroups"]

def _scans(instance: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 0:
        raise ParameterError("scans", value, "a whole number >= 0", "For instance 3.")


@attrs.define
class ReseatGroups(Move):
    """Take all data customers of a restaurant out at once, seat them anew, accept by Metropolis and Hastings.

    Parameters
    ----------
    scans : int
        Restricted Gibbs scans of the launch state, after its sequential allocation.
    """

    needs_tables = True

    scans: int = attrs.field(default=3, validator=_scans)

    def n_steps(self, state: Franchise) -> int:
        """One a restaurant that has data customers."""
        return len(state.groups()[0])

    def check(self, state: Franchise) -> None:
        """Refuse a franchise of one restaurant: the group would be all the data."""
        if state.topology.n_nodes == 1:
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "A franchise of one restaurant has no groups; leave ReseatGroups out.",
            )  # fmt: skip

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal for each restaurant."""
        groups = state.groups()
        first, last = steps or (0, len(groups[0]))
        accepted = 0

        def piece(a: int, b: int) -> None:
            nonlocal accepted
            accepted += state.reseat_groups(groups, a, b, self.scans, rng)

        with state.seated_out(rng):
            state.in_chunks(first, last, piece)
        return MoveInfo(last - first, accepted)


moves.register("reseat-groups", ReseatGroups, lambda: [ReseatGroups(scans=0)])
