"""Declarations of the two-level topic model, and its schedule."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.moves import (
    BaseMeasureParameters,
    Concentration,
    Discount,
    DishGibbs,
    Move,
    SelectorCounts,
    Smoothing,
    SplitMerge,
    TableGibbs,
)
from hdpkit.priors import Gamma
from hdpkit.run.samples import Samples

PURPOSES: dict[str, dict[str, Any]] = {
    "reading": {"eta": 0.2, "bursty": True, "chains": 2, "sweeps": 500, "until": "readable"},
    "prediction": {"eta": 0.05, "bursty": False, "chains": 1, "sweeps": 500, "until": None},
}
"""Settings of a topic model that aren't given, by what it is for (docs/default_topics.md)."""


def for_purpose(purpose: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for a purpose, with those of ``given`` that aren't None in their place.

    Sweeps or samples that are given are run as given. Sparse topics don't differ by document unless they are
    asked to (Wang & Blei 2009).
    """
    settings = dict(PURPOSES[purpose])
    if given.get("sweeps") is not None or isinstance(given.get("samples"), Samples):
        settings["until"] = None
    if given.get("sparse"):
        settings["bursty"] = False
    return settings | {name: given[name] for name in settings if given.get(name) is not None}


def topic_measure(eta: Any, sparse: bool, bursty: Any = False, **of_sparse: Any) -> BaseMeasure:
    """The base measure of topics: Dirichlet or, with `sparse`, one whose topics select terms.

    If ``bursty`` is True, or the concentration of bursts, topics differ by document.
    """
    given = {name: value for name, value in of_sparse.items() if value is not None}
    measure = SparseDirichletMultinomial(**given) if sparse else DirichletMultinomial(eta=eta)
    if bursty is False or bursty == math.inf:  # the same chain as without
        return measure
    return Bursty(measure) if bursty is True else Bursty(measure, bursty)


def topic_restaurants(
    measure: BaseMeasure,
    document: Any,
    root: Any,
    n_topics: int | None,
    groups: Iterable[str] = (),
    group: Any = None,
) -> Restaurant:
    """The restaurants of documents, of groups of documents (the largest first) and the root above them.

    Concentrations that are None are Gamma(1, 1); for the root of a finite model 1.0, which is not used.
    """
    if root is None:
        root = Gamma(1.0, 1.0) if n_topics is None else 1.0
    above = Restaurant(base=measure, concentration=root, name="root")
    for label in groups:
        above = Restaurant(base=above, concentration=Gamma(1.0, 1.0) if group is None else group, each=label)
    return Restaurant(
        base=above, concentration=Gamma(1.0, 1.0) if document is None else document, each="document"
    )


def default_moves(restaurant: Restaurant) -> list[Move]:
    """The sweep of a fit: moves for topics with this measure, and updates of hyperparameters with a prior.

    DishGibbs runs in each of the first 20 sweeps, where it brings the number of topics up, and then in every
    fifth, which costs less for the same log joint and held-out perplexity (docs/startup.md). Where topics
    differ by document, SplitMerge has no fused code and is left out (docs/measures.md).
    """
    measure = restaurant.measure
    dishes = [DishGibbs().until(20), DishGibbs().after(20).every(5)]
    proposals = [SplitMerge().until(50)] if measure.conjugate and not measure.seats_values else []
    return [TableGibbs(), *dishes, *proposals, *updates_of(restaurant)]


def updates_of(restaurant: Restaurant) -> list[Move]:
    """Moves of parameters with a prior: concentrations, parameters of the base measure and of dishes."""
    base = restaurant.measure
    moves: list[Move] = []
    declared = any(declared.hyperparameters[0].prior is not None for declared in restaurant.chain())
    if declared or "concentration/bursts" in base.priors or (base.seats_values and not base.conjugate):
        moves.append(Concentration())
    if "discount/bursts" in base.priors:
        moves.append(Discount())
    if any("/" not in name for name in base.priors):
        moves.append(BaseMeasureParameters())
    if not base.conjugate and not base.seats_values:  # each dish has a smoothing
        moves.append(Smoothing())
    if getattr(base, "proportions", None) == "stored":
        moves.append(SelectorCounts())
    return moves


def root_of(root: str, n_topics: int | None) -> str | FixedWeights:
    """The root above the documents: fixed weights if a number of topics is given."""
    return root if n_topics is None else FixedWeights(n_topics)
