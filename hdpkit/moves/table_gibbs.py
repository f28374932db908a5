"""Table Gibbs: each customer's table, and with it its dish."""

from __future__ import annotations

from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource

__all__ = ["TableGibbs"]


class TableGibbs(Move):
    """Remove each data customer, in data order, and reseat it from its full conditional.

    P(dish k) is proportional to P_restaurant(k) f_k(x), a new dish included; then the customer shares a
    table of the dish or opens one, and so on upwards (Teh et al. 2006, section 5.1, at any depth).

    Over a store of counts there are two laws. With weights of the root, P(dish k) is proportional to
    (n_jk + alpha beta_k) f_k(x) (section 5.3), and tables are drawn at the end, given the customers. Under a
    root that is a restaurant the customer's dish and table indicators are drawn together, and who sits with
    whom is summed out (Chen, Du & Buntine 2011; here at any depth, with discounts): the customer counts for a
    table with probability tables / customers of its dish, and stays as it is for this step where that is the
    only table of several customers. Step i is customer i.
    """

    def n_steps(self, state: Franchise) -> int:
        """One a customer."""
        return state.topology.n_customers

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Reseat the customers."""
        first, last = steps or (0, self.n_steps(state))
        free = state.free_ranges(first, last)
        for begin, end in free:
            state.in_chunks(begin, end, lambda start, stop: state.reseat(start, stop, rng))
        n = sum(end - begin for begin, end in free)
        return MoveInfo(n, n)


moves.register("table-gibbs", TableGibbs, lambda: [TableGibbs()])
