"""Split-merge of dishes, customer by customer: tables are taken apart."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise import Franchise
from hdpkit.moves.metropolis import accepts
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["CustomerSplitMerge"]

Ints = npt.NDArray[np.int32]


def _scans(instance: Any, attribute: Any, value: Any) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if value is not None and (not whole or value < 0):
        raise ParameterError("scans", value, "None or a whole number >= 0", "None is sequential allocation.")


@attrs.define
class CustomerSplitMerge(Move):
    """Split one dish in two, or merge two into one, and seat every customer of theirs anew.

    Two distinct data customers i and j are drawn uniformly. If they share a dish it is split between them,
    otherwise their dishes are merged. Unlike `SplitMerge`, which moves whole tables, it may give customers of
    one table to both sides; in a flat mixture it is the split-merge of Jain & Neal (2004).

    Parameters
    ----------
    scans : int, optional
        t >= 0: a launch state by sequential allocation, t restricted Gibbs scans and a final one. None:
        sequential allocation alone.

    Notes
    -----
    Let A be all customers of the dish or dishes, i and j first, then restaurant by restaurant, the
    restaurants in a random order. Sides are drawn with weights (n_jk + share (theta_j + d_j)) f_k(x), n_jk
    the customers of restaurant j on side k, share = \\|A\\| / (2 N): q is the probability of the final sides
    given the launch, whose law depends on A, i, j and the data alone. Given the sides, tables are drawn from
    the prior, one customer after the other; what is left of the prior is the product over A of
    P_home(dish of the customer \\| those seated before it), W. A split is accepted with ratio
    W_split / W_merged DM(n_a) DM(n_b) / DM(n) / q, a merge with the inverse, W of the present state being
    found by unseating A in the reverse order. No restaurant needs to know who sits where.
    """

    scans: int | None = attrs.field(default=5, validator=_scans)

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal."""
        if steps == (0, 0):
            return MoveInfo()
        n = state.topology.n_customers
        if n < 2:
            return MoveInfo(1, 0)
        i = rng.index(n)
        j = rng.index(n - 1)
        j += j >= i
        return MoveInfo(1, int(self._propose(state, rng, i, j)))

    def _propose(self, state: Franchise, rng: ChoiceSource, i: int, j: int) -> bool:
        dishes = state.customer_dishes()
        if min(dishes[i], dishes[j]) < 0:
            raise StateError(
                "customer", i if dishes[i] < 0 else j, "seated", "Start the franchise, or seat everybody."
            )
        split = bool(dishes[i] == dishes[j])
        members = (dishes == dishes[i]) | (dishes == dishes[j])
        members[[i, j]] = False
        order = _order(state, rng, np.flatnonzero(members).astype(np.int32), i, j)
        # For a merge the present sides are what the launch must lead back to.
        current = None if split else (dishes[order] == dishes[j]).astype(np.int32)
        sides, log_q, log_data = self._allocate(state, rng, (i, j), order, current)
        after = np.full(len(order) + 2, dishes[i], dtype=np.int32)
        if split:
            after[1] = -1
            after[2:][sides == 1] = -1
        proposal = state.reseating(np.concatenate([[i, j], order]).astype(np.int32), rng)
        log_seats = proposal.seat(after, rng)
        log_split = log_data - log_q
        if not accepts(log_seats + (log_split if split else -log_split), rng):
            return False
        proposal.adopt()
        return True

    def _allocate(
        self, state: Franchise, rng: ChoiceSource, pair: tuple[int, int], order: Ints, current: Ints | None
    ) -> tuple[Ints, float, float]:
        """Sides of the customers, log q of how they came about, and log DM(n_a) DM(n_b) / DM(n).

        With ``current`` the final sides are forced and q is the probability that they would be drawn.
        """
        home = state.topology.home
        nodes, rows = np.unique(np.append(home[order], home[list(pair)]), return_inverse=True)
        share = (len(order) + 2) / (2 * state.topology.n_customers)
        own = share * (state._concentration[nodes] + state._discount[nodes])
        weights = np.repeat(own[:, np.newaxis], 2, axis=1)
        sides = np.full(len(order), -1, dtype=np.int32)
        with state.reserved(2) as reserved:
            slots = np.array(reserved, dtype=np.int32)
            for side, customer in enumerate(pair):
                state.bank.add(reserved[side], np.array([customer], dtype=np.int32))
                weights[rows[side - 2], side] += 1.0
            for _ in range(0 if self.scans is None else self.scans + 1):
                state.scan_customers(order, rows, sides, weights, slots, None, rng)
            log_q = state.scan_customers(order, rows, sides, weights, slots, current, rng)
            block = np.append(order[sides == 1], pair[1]).astype(np.int32)
            on_a, alone = state.bank.log_block(block, slots[:1])
        return sides, log_q, float(alone - on_a)


def _order(state: Franchise, rng: ChoiceSource, others: Ints, i: int, j: int) -> Ints:
    """Customers restaurant by restaurant: those of the pair first, then the rest in a uniform order."""
    home = state.topology.home
    rank = np.zeros(state.topology.n_nodes, dtype=np.int64)
    nodes = np.setdiff1d(home[others], home[[i, j]])
    rank[nodes] = 2 + rng.permutation(len(nodes))
    rank[home[j]] = 1
    rank[home[i]] = 0
    return others[np.argsort(rank[home[others]], kind="stable")]


moves.register(
    "customer-split-merge",
    CustomerSplitMerge,
    lambda: [CustomerSplitMerge(scans=None), CustomerSplitMerge(scans=0)],
)
