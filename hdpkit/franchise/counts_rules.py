"""Where a store of counts can serve: what stands above the restaurants must be fixed while customers move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.stores import Detail, detail_of

__all__ = ["check_counts_store", "check_no_discount", "check_weights"]

_OTHERWISE = "Or take store='histogram'."


def check_counts_store(
    store: type, root: str, declarations: Sequence[Restaurant], observed: bool = False
) -> None:
    """Raise a DeclarationError unless a store of counts can serve a franchise; any other store passes.

    Tables are drawn at the end of each verb given the customers. That leaves the posterior alone where the
    root's weights are part of the state, at two levels, where restaurants below the root have no discount.

    Parameters
    ----------
    store : type
        A store class.
    root : str
        What stands above the root's children: "restaurant", "weights" or "fixed".
    declarations : sequence of Restaurant
        The root's first.
    observed : bool
        Whether dishes are observed.
    """
    if detail_of(store) is not Detail.COUNTS:
        return
    if root == "restaurant":
        raise DeclarationError(
            "root",
            root,
            "'weights' or FixedWeights over a store of counts",
            f"Write root='weights'. {_OTHERWISE}",
        )
    if len(declarations) > 2:
        raise DeclarationError(
            "restaurant",
            f"{len(declarations)} levels",
            "two levels at most over a store of counts",
            _OTHERWISE,
        )
    if observed:
        raise DeclarationError(
            "base", "observed dishes", "a measure over latent dishes, over a store of counts", _OTHERWISE
        )
    for declaration in declarations[1:]:
        discount = declaration.hyperparameters[1]
        if discount.prior is not None or discount.start != 0.0:
            raise DeclarationError(
                f"discount of {declaration.name!r}", declaration.discount,
                "0 below the root, over a store of counts", f"Leave the discount out. {_OTHERWISE}",
            )  # fmt: skip


def check_weights(store: Any, root: str, verb: str) -> None:
    """Raise a StateError if a verb would draw tables of a store of counts while there are no weights.

    Parameters
    ----------
    store : SeatingStore
    root : str
        What the root's children draw from now.
    verb : str
    """
    if root == "restaurant" and detail_of(store) is Detail.COUNTS:
        raise StateError(
            "root", root, "'weights' for the length of this verb over a store of counts",
            f"Call {verb} outside `with franchise.root_integrated(rng):`.",
        )  # fmt: skip


def check_no_discount(store: Any, discount: npt.NDArray[np.float64], *, frozen: bool = False) -> None:
    """Raise an error if restaurants below the root get a discount over a store of counts.

    Parameters
    ----------
    store : SeatingStore or type
    discount : float64 array
        Of the restaurants in question, without the root.
    frozen : bool
        Whether they are those of a frozen state: then the error is a DataError.
    """
    if detail_of(store) is not Detail.COUNTS or not np.any(discount != 0.0):
        return
    allowed = "0 below the root, over a store of counts"
    if frozen:
        raise DataError("discount, in the frozen state", discount, allowed, "Thaw it over store='histogram'.")
    raise ParameterError("value (a discount)", discount, allowed, f"Leave it at 0. {_OTHERWISE}")
