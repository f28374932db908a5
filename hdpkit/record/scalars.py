"""The scalars of a trace."""

from __future__ import annotations

from typing import Any

from hdpkit.franchise import Franchise, hyperparameter_values

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
        values[f"n_tables/{declaration.name}"] = int(tables[franchise.topology.nodes(number)].sum())
    values |= hyperparameter_values(franchise)
    for name, part in franchise.parts.items():
        for key, scalar in part.scalars(franchise).items():
            values[f"{name}/{key}"] = float(scalar)
    return values
