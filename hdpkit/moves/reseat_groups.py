"""A whole group seated anew at once."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import ParameterError, ScheduleError, StateError
from hdpkit.franchise import Franchise
from hdpkit.moves.metropolis import accepts
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["ReseatGroups"]

Ints = npt.NDArray[np.int32]


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

    scans: int = attrs.field(default=3, validator=_scans)

    def n_steps(self, state: Franchise) -> int:
        """One a restaurant that has data customers."""
        return len(np.unique(state.topology.home))

    def check(self, state: Franchise) -> None:
        """Refuse a franchise of one restaurant: the group would be all the data."""
        if state.topology.n_nodes == 1:
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "A franchise of one restaurant has no groups; leave ReseatGroups out.",
            )  # fmt: skip

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal for each restaurant."""
        nodes, number = np.unique(state.topology.home, return_inverse=True)
        order = np.argsort(number, kind="stable").astype(np.int32)
        begin = np.searchsorted(number[order], np.arange(len(nodes) + 1))
        first, last = steps or (0, len(nodes))
        info = MoveInfo()
        for j in range(first, last):
            info += MoveInfo(1, int(self._propose(state, rng, int(nodes[j]), order[begin[j] : begin[j + 1]])))
        return info

    def _propose(self, state: Franchise, rng: ChoiceSource, node: int, customers: Ints) -> bool:
        proposal = state.reseating(customers, rng)
        before, others = proposal.before, proposal.dishes
        own = np.setdiff1d(before, others)  # dishes that nobody else eats
        if len(own) > 1:
            return False  # the way back has one new dish at most
        theta, d = state._concentration[node], state._discount[node]
        weights = (theta + d + proposal.customers_of(node)) * proposal.prior_row(node)[np.newaxis]
        rows = np.zeros(len(customers), dtype=np.int64)
        with state.reserved(1) as (fresh,):
            slots = np.append(others, fresh).astype(np.int32)
            current = np.searchsorted(others, before).astype(np.int32)
            current[np.isin(before, own)] = len(others)
            bank = state.bank
            for slot in np.unique(before).tolist():
                bank.remove(slot, customers[before == slot])
            at: Ints = np.full(len(customers), -1, dtype=np.int32)
            empty = weights.copy()

            def final(forced):
                w = empty.copy()
                sides = np.full(len(customers), -1, dtype=np.int32)
                for _ in range(self.scans + 1):
                    state.scan_customers(customers, rows, sides, w, slots, None, rng)
                log_q = state.scan_customers(customers, rows, sides, w, slots, forced, rng)
                log_data = 0.0
                for side in np.unique(sides).tolist():
                    block = customers[sides == side]
                    bank.remove(int(slots[side]), block)
                for side in np.unique(sides).tolist():
                    block = customers[sides == side]
                    log_data += bank.log_block(block, slots[side : side + 1])[0]
                return sides, log_q, log_data

            sides, log_q, log_data = final(None)
            _, log_back, log_data_before = final(current)
            for slot in np.unique(before).tolist():
                bank.add(slot, customers[before == slot])
        new = own[0] if len(own) else -1
        log_seats = proposal.seat(np.append(others, new)[sides].astype(np.int32), rng)
        if not accepts(log_seats + log_data - log_data_before + log_back - log_q, rng):
            return False
        proposal.adopt()
        return True


moves.register("reseat-groups", ReseatGroups, lambda: [ReseatGroups(scans=0)])
