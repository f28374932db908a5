"""When a store of counts can be used, and how its verbs treat tables.

If the root is a restaurant, numbers of tables are part of the state, and steps change them together with
dishes, at any depth and with discounts. If the root has weights, drawn or fixed, discounts below the root are
not possible. With two levels, tables are then drawn at the end of each verb given the customers, which leaves
the posterior invariant. With more levels they are part of the state, as under a restaurant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.stores import Detail, detail_of

__all__ = ["check_counts_store", "check_no_discount", "check_weights", "tables_at_end"]

_OTHERWISE = "Or use store='histogram'."


def tables_at_end(store: Any, root: str, n_levels: int) -> bool:
    """Whether verbs draw tables at their end, given the customers.

    Parameters
    ----------
    store : SeatingStore or type
    root : str
        The distribution from which the root's children draw.
    n_levels : int
        Levels of restaurants. With more than two, tables are customers of restaurants without weights.
    """
    return detail_of(store) is Detail.COUNTS and root not in ("restaurant", "atoms") and n_levels <= 2


def check_counts_store(
    store: type, root: str, declarations: Sequence[Restaurant], observed: bool = False
) -> None:
    """Raise a DeclarationError if the store is one of counts and can't be used for a franchise.

    Parameters
    ----------
    store : type
        A store class.
    root : str
        The distribution from which the root's children draw: "restaurant", "weights" or "fixed".
    declarations : sequence of Restaurant
        The root's first.
    observed : bool
        Whether dishes are observed.
    """
    if detail_of(store) is not Detail.COUNTS:
        return
    if observed:
        raise DeclarationError(
            "base", "observed dishes", "a measure over latent dishes, over a store of counts", _OTHERWISE
        )
    if not _without_discounts(store, root):
        _check_one_discount(declarations)
        return
    for declaration in declarations[1:]:
        discount = declaration.hyperparameters[1]
        if discount.prior is not None or discount.start != 0.0:
            raise DeclarationError(
                f"discount of {declaration.name!r}", declaration.discount,
                "0 below the root, over a store of counts where the root is no restaurant",
                f"Leave the discount out, or leave root out. {_OTHERWISE}",
            )  # fmt: skip


def _check_one_discount(declarations: Sequence[Restaurant]) -> None:
    """Raise an error if restaurants have separate discounts: each needs a table of Stirling numbers."""
    for declaration in declarations[1:]:
        if declaration.hyperparameters[1].each:
            raise DeclarationError(
                f"discount of {declaration.name!r}", declaration.discount,
                "one for all restaurants of a declaration, over a store of counts",
                f"Leave hk.Each out. {_OTHERWISE}",
            )  # fmt: skip


def _without_discounts(store: Any, root: str) -> bool:
    """Whether restaurants below the root must not have discounts."""
    return tables_at_end(store, root, 2)


def check_weights(store: Any, declared: str, root: str, verb: str, n_levels: int) -> None:
    """Raise a StateError if a verb would draw tables of a store of counts while there are no weights.

    Parameters
    ----------
    store : SeatingStore
    declared, root : str
        The distribution from which the root's children draw: as declared, and at present.
    verb : str
    n_levels : int
    """
    if tables_at_end(store, declared, n_levels) and not tables_at_end(store, root, n_levels):
        raise StateError(
            "root", root, "'weights' while this verb runs over a store of counts",
            f"Call {verb} outside `with franchise.root_integrated(rng):`.",
        )  # fmt: skip


def check_no_discount(
    store: Any, root: str, discount: npt.NDArray[np.float64], *, frozen: bool = False
) -> None:
    """Raise an error if restaurants below the root have a discount and tables are drawn given customers.

    Parameters
    ----------
    store : SeatingStore or type
    root : str
        The distribution from which the root's children draw, as declared.
    discount : float64 array
        Discounts of these restaurants, without the root.
    frozen : bool
        Whether they are from a frozen state: then the error is a DataError.
    """
    if not _without_discounts(store, root) or not np.any(discount != 0.0):
        return
    allowed = "0 below the root, over a store of counts where the root is no restaurant"
    if frozen:
        raise DataError("discount, in the frozen state", discount, allowed, "Thaw it over store='histogram'.")
    raise ParameterError("value (a discount)", discount, allowed, f"Leave it at 0. {_OTHERWISE}")
