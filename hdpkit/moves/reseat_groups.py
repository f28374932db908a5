"""Split-merge within groups: all customers of a restaurant are reseated at once."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.checks import validator, whole_number
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.protocol import (
    BLOCKS,
    LATENT_DISHES,
    MARGINALS,
    SEVERAL_RESTAURANTS,
    Move,
    MoveInfo,
    no_tables_of_values,
)
from hdpkit.moves.registry import moves
from hdpkit.random import ChoiceSource
from hdpkit.steps.groups import reseat_groups

_scans: Any = attrs.validators.optional(validator(whole_number, 0, remedy="None is sequential allocation."))


@attrs.define
class ReseatGroups(Move):
    """Remove all data customers of a restaurant, reseat them, and accept by Metropolis-Hastings.

    Table Gibbs moves one customer at a time: a document whose only dish is a mixture of two other dishes
    rarely changes to these, because the first customers to leave need a new table and gain little. This move
    changes all customers together. It makes one proposal for each restaurant that has data customers; step g
    is the g-th of these.

    Parameters
    ----------
    scans : int, optional
        t >= 0: a launch state by sequential allocation, t restricted Gibbs scans and a final one, as in
        split-merge (Jain & Neal 2004). None: only sequential allocation.

    Notes
    -----
    Sides are the dishes k of other customers and one new dish. A customer's side is drawn with weights
    ((theta + d + c) P(k) + n_k) f_k(x), where c is the number of customers that remain (tables of children)
    and P(k) the restaurant's predictive probability, both without the group, and n_k the number of the
    group's customers on the side. q is the probability of the final sides given the launch state, which is
    drawn separately for the forward and the reverse proposal. Given the sides, tables are drawn from the
    prior, one customer after the other; the remaining factor of the prior is W, the product over the group of
    P(dish of the customer | those seated before it). The proposal is accepted with ratio W' p(x | sides') q /
    (W p(x | sides) q'); W of the current state is computed by unseating the group in reverse order. If two or
    more dishes are served only in this restaurant, it doesn't change: the reverse proposal would have to open
    two dishes.
    """

    serves = BLOCKS
    needs_tables = True
    calls = (reseat_groups,)
    requires = (
        LATENT_DISHES,
        MARGINALS,
        no_tables_of_values("scans", "ReseatGroups(scans=None)"),
        SEVERAL_RESTAURANTS,  # the group of a single one would be all the data
    )

    scans: int | None = attrs.field(default=3, validator=_scans)

    def n_steps(self, state: Franchise) -> int:
        """One per restaurant that has data customers."""
        return len(state.groups()[0])

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one proposal for each restaurant."""
        groups = state.groups()
        first, last = steps or (0, len(groups[0]))
        launches = 0 if self.scans is None else self.scans + 1
        accepted = 0

        def piece(a: int, b: int) -> None:
            nonlocal accepted
            accepted += state.reseat_groups(groups, a, b, launches, rng)

        with state.parts_integrated(rng), state.labelled_seating(rng):
            state.in_chunks(first, last, piece)
        return MoveInfo(last - first, accepted)


moves.register("reseat-groups", ReseatGroups, lambda: [ReseatGroups(scans=None)])
