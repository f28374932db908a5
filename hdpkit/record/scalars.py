"""The scalars of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.franchise import Franchise
from hdpkit.franchise.common_scores import dish_sizes
from hdpkit.franchise.sampling import hyperparameter_values

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
    _, tables = franchise.totals()
    log_likelihood = franchise.log_likelihood()
    values: dict[str, Any] = {
        "n_dishes": franchise.n_dishes,
        "n_tables": franchise.n_tables,
        "log_likelihood": log_likelihood,
        "log_joint": franchise.log_seating() + log_likelihood + franchise.log_prior() + franchise.log_parts(),
    }
    if not franchise.measure.atomic:
        values["largest_shares"] = largest_shares(dish_sizes(franchise))
    for number, declaration in enumerate(franchise.declarations):
        values[f"n_tables/{declaration.name}"] = int(tables[franchise.topology.nodes(number)].sum())
    values |= hyperparameter_values(franchise)
    for name, part in franchise.parts.items():
        for key, scalar in part.scalars(franchise).items():
            values[f"{name}/{key}"] = float(scalar)
    return values


def largest_shares(dish_sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Shares of the data of the largest dishes, in descending order; 0 if there are fewer dishes."""
    sizes = np.sort(dish_sizes)[::-1]
    shares = np.zeros(_SHARES)
    largest = sizes[:_SHARES]
    shares[: len(largest)] = largest / max(int(sizes.sum()), 1)
    return shares
