"""Fold-in: dishes and proportions of new groups, given fixed dishes of the state."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import whole_number
from hdpkit.data import GroupedData
from hdpkit.errors import printable
from hdpkit.franchise.fixed_dishes import FixedDishes, fixed_dishes
from hdpkit.franchise.guard import unguarded
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source

__all__ = ["FoldIn", "fold_in", "sample_groups"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_STEPS = 500_000  # customers reseated between two checks for Ctrl-C


@attrs.frozen(eq=False, repr=False, kw_only=True)
class FoldIn:
    """New groups under the dishes of a state, as `Franchise.fold_in` returns them. Arrays are read-only.

    Attributes
    ----------
    label : str
        The label of the groups, for instance "document".
    names : tuple
        Its values, one per group.
    proportions : float64 array, shape (n_groups, K + 1)
        Posterior means of the weights of the groups over the K dishes of the state and, in the last column,
        of all new dishes. Rows sum to one.
    dishes : int64 array, shape (n_customers,)
        Dish of each customer after the last sweep, in the order of the data; K stands for a new dish.
    group : int64 array, shape (n_customers,)
        Group of each customer, in the order of the data.
    sweeps, burn_in : int
        Sweeps that were averaged, and those before them.
    """

    label: str
    names: tuple[Any, ...]
    proportions: Floats
    dishes: Ints
    group: Ints
    sweeps: int
    burn_in: int

    @property
    def n_groups(self) -> int:
        """Number of new groups."""
        return len(self.names)

    @property
    def n_dishes(self) -> int:
        """Number of dishes of the state, K; the last column of `proportions` is not among them."""
        return self.proportions.shape[1] - 1

    def to_counts(self) -> scipy.sparse.csr_array:
        """Number of customers by group and dish after the last sweep: shape (n_groups, K + 1)."""
        ones = np.ones(len(self.dishes), dtype=np.int64)
        counts = scipy.sparse.coo_array((ones, (self.group, self.dishes)), shape=self.proportions.shape)
        return counts.tocsr()

    def __repr__(self) -> str:
        return (
            f"<FoldIn: {self.n_groups} groups ({printable(self.label)}), {len(self.dishes)} customers, "
            f"{self.n_dishes} dishes and a new one, {self.sweeps} sweeps after {self.burn_in}>"
        )


@unguarded
def fold_in(
    self: Any,
    data: GroupedData,
    sweeps: int = 50,
    *,
    burn_in: int = 20,
    rng: ChoiceSource | Seed = None,
) -> FoldIn:
    """Dishes and proportions of new groups, by Gibbs sampling; the franchise doesn't change.

    The statistics of the dishes and all restaurants are fixed, so groups don't influence each other. A group
    draws from the restaurant above it, whose row is fixed, with the concentration and the discount of its
    declaration. See docs/evaluation.md.

    Parameters
    ----------
    data : Corpus or Groups
        Each value of the last declaration's label is a new group, even if the franchise has a group of that
        name. Labels of the levels in between name restaurants of the franchise; if one is missing, the group
        draws from the restaurant above. Words are matched by the vocabularies if both have one.
    sweeps : int
        Number of sweeps to average.
    burn_in : int
        Number of sweeps before those averaged.
    rng : seed, Generator or choice source
        The same seed gives the same result.

    Returns
    -------
    FoldIn

    Raises
    ------
    DataError
        If the data have unknown terms, values that are impossible under every dish, or labels without a
        restaurant in the franchise; the message names them.
    DeclarationError
        If dishes are observed, if a value has no density in closed form under a new dish, if the last
        declaration has no label, or if its restaurants have separate concentrations or discounts.
    """
    sweeps = whole_number("sweeps", sweeps, 1, 2**31, remedy="At least one sweep is averaged.")
    burn_in = whole_number("burn_in", burn_in, 0, 2**31, remedy="Sweeps before those that are averaged.")
    source = as_source(rng, Purpose.FOLD_IN)
    fixed = fixed_dishes(self, data)
    proportions, drawn = sample_groups(fixed, sweeps, burn_in, source)
    layout = fixed.layout
    dishes, group = np.empty_like(drawn), np.empty_like(drawn)
    dishes[layout.order], group[layout.order] = drawn, layout.group
    for array in (proportions, dishes, group):
        array.setflags(write=False)
    return FoldIn(
        label=layout.label,
        names=layout.names,
        proportions=proportions,
        dishes=dishes,
        group=group,
        sweeps=sweeps,
        burn_in=burn_in,
    )


def sample_groups(fixed: FixedDishes, sweeps: int, burn_in: int, source: ChoiceSource) -> tuple[Floats, Ints]:
    """Sweep over new groups in order.

    Returns
    -------
    proportions : float64 array, shape (n_groups, K + 1)
        Mean over the sweeps after the burn-in of the posterior mean given the seating.
    dishes : int64 array, shape (n_customers,)
        After the last sweep, group by group.
    """
    groups, begins = fixed.new_groups(), fixed.layout.begins
    proportions = np.empty((len(begins) - 1, fixed.density.shape[1]))
    dishes = np.empty(len(fixed.row), dtype=np.int64)
    steps = begins * (1 + burn_in + sweeps)
    first = 0
    while first < len(begins) - 1:
        last = int(np.searchsorted(steps, steps[first] + _STEPS, side="right")) - 1
        last = min(max(last, first + 1), len(begins) - 1)
        groups.fold_in(first, last, burn_in, sweeps, source, proportions, dishes)
        first = last
    return proportions, dishes
