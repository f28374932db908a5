"""The scalars of a trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.franchise import Franchise

__all__ = ["scalars"]


def scalars(franchise: Franchise) -> dict[str, Any]:
    """What every sweep records, by key."""
    _, tables = franchise.totals()
    log_likelihood = franchise.log_likelihood()
    values: dict[str, Any] = {
        "n_dishes": franchise.n_dishes,
        "n_tables": franchise.n_tables,
        "log_likelihood": log_likelihood,
        "log_joint": franchise.log_seating() + log_likelihood + franchise.log_prior() + franchise.log_parts(),
    }
    for number, declaration in enumerate(franchise.declarations):
        name = declaration.name
        values[f"n_tables/{name}"] = int(tables[franchise.topology.nodes(number)].sum())
        values[f"concentration/{name}"] = franchise.concentration(name)
        values[f"discount/{name}"] = franchise.discount(name)
    for name, value in franchise.measure.parameters.items():
        values[f"base/{name}"] = float(value) if np.ndim(value) == 0 else value
    for name, part in franchise.parts.items():
        for key, scalar in part.scalars(franchise).items():
            values[f"{name}/{key}"] = float(scalar)
    return values
