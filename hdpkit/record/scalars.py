"""The scalars of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.franchise import Franchise
from hdpkit.franchise.sample import hyperparameter_values
from hdpkit.franchise.scores import data_sizes, totals

__all__ = ["is_standard", "largest_shares", "scalars"]

_SHARES = 5
_KEYS = ("sweep", "n_dishes", "n_tables", "largest_shares", "log_likelihood", "log_joint")
OF_ANY_SHAPE = ("largest_shares", "concentration/", "discount/", "base/")
"""Keys, or their prefixes, with an array for each sweep; other standard keys have a number."""

_PREFIXES = ("n_tables/", "concentration/", "discount/", "base/")


def is_standard(key: str) -> bool:
    """Whether a key of a trace is one that the package records, so that no function of a user may have it."""
    return key in _KEYS or key.startswith(_PREFIXES)


def scalars(franchise: Franchise) -> dict[str, Any]:
    """The scalars recorded after every sweep, by key."""
    values: dict[str, Any] = franchise._within(_scalars, franchise)
    return values


def _scalars(franchise: Franchise) -> dict[str, Any]:
    store, n_nodes = franchise.seating, franchise.topology.n_nodes
    _, tables = totals(store, n_nodes)
    log_likelihood, parts = franchise._dish_kind.log_likelihood(), franchise._parts
    seated, prior = franchise._log_seating(), franchise._log_prior()
    values: dict[str, Any] = {
        "n_dishes": franchise._dish_kind.number(),
        "n_tables": int(tables.sum() - (tables[0] if len(tables) > 1 else 0)),
        "log_likelihood": log_likelihood,
        "log_joint": seated + log_likelihood + prior + parts.log_density(franchise),
    }
    if not franchise.measure.atomic:
        values["largest_shares"] = largest_shares(data_sizes(store, n_nodes))
    for number, declaration in enumerate(franchise.declarations):
        values[f"n_tables/{declaration.name}"] = int(tables[franchise.topology.nodes(number)].sum())
    values |= hyperparameter_values(franchise)
    for name, part in parts.by_name.items():
        for key, scalar in part.scalars(franchise).items():
            values[f"{name}/{key}"] = float(scalar)
    return values


def largest_shares(dish_sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Shares of the data of the largest dishes, in descending order; 0 if there are fewer dishes."""
    shares = np.zeros(_SHARES)
    largest = np.sort(dish_sizes)[-1 : -1 - _SHARES : -1]
    shares[: len(largest)] = largest / max(int(dish_sizes.sum()), 1)
    return shares
