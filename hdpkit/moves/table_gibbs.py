"""Table Gibbs: draws the table and dish of each customer."""

from __future__ import annotations

from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource
from hdpkit.steps.sweeps import reseat


class TableGibbs(Move):
    """Remove each data customer, in data order, and reseat it from its full conditional.

    P(dish k) is proportional to P_restaurant(k) f_k(x), a new dish included; then the customer joins a table
    of the dish or opens a new one, which is seated in the parent in the same way (Teh et al. 2006, section
    5.1, at any depth).

    Over a store of counts there are two cases. With weights of the root, P(dish k) is proportional to (n_jk +
    alpha beta_k) f_k(x) (section 5.3), and tables are drawn at the end, given the customers, also those of
    held groups. If the root is a restaurant, the customer's dish and table indicators are drawn together,
    with the assignment of customers to tables summed out (Chen, Du & Buntine 2011; here at any depth, with
    discounts). The customer represents a table with probability tables / customers of its dish; if this is
    the only table and has other customers, the customer isn't moved in this step. Step i is customer i.
    """

    serves = EVERYWHERE
    calls = (reseat,)

    def n_steps(self, state: Franchise) -> int:
        """One per customer."""
        return state.topology.n_customers

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Reseat the customers."""
        first, last = steps or (0, self.n_steps(state))
        free = state.free_ranges(first, last)
        for begin, end in free:
            state.in_chunks(begin, end, lambda start, stop: state.reseat(start, stop, rng))
        if state.draws_tables and last == self.n_steps(state):
            for node in state.held.nodes.tolist():  # their customers stay, but not their tables
                state.draw_tables(node, node + 1, rng)
        n = sum(end - begin for begin, end in free)
        return MoveInfo(n, n)


moves.register("table-gibbs", TableGibbs, lambda: [TableGibbs()])
