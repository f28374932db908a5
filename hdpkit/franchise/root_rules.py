"""Checks of the argument ``root`` of a franchise."""

from __future__ import annotations

from typing import Any

from hdpkit.checks import choice
from hdpkit.errors import DeclarationError
from hdpkit.franchise.declarations import FixedWeights, Restaurant

__all__ = ["check_root"]


def check_root(root: Any, restaurant: Restaurant) -> None:
    """Raise an error unless ``root`` is possible with these declarations.

    Parameters
    ----------
    root : str or FixedWeights
    restaurant : Restaurant
        The deepest declaration.

    Raises
    ------
    ParameterError
        If it is not one of the roots.
    DeclarationError
        If weights are fixed and the root has a concentration or discount with a prior, or a discount.
    """
    if not isinstance(root, FixedWeights):
        choice("root", root, ("restaurant", "weights"), remedy="Or pass hk.FixedWeights(K); see Franchise.")
        return
    declared = restaurant.chain()[0]
    for name, read in zip(("concentration", "discount"), declared.hyperparameters, strict=True):
        if read.prior is not None or (name == "discount" and read.start != 0.0):
            raise DeclarationError(
                f"{name} of {declared.name!r}", getattr(declared, name),
                f"{'a number, which is not used,' if name == 'concentration' else '0'} under fixed weights",
                f"Leave the {name} of the root out.",
            )  # fmt: skip
