"""Declarations of the two-level topic model, and its schedule."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hdpkit.base_measures import BaseMeasure, DirichletMultinomial, SparseDirichletMultinomial
from hdpkit.franchise import FixedWeights, Restaurant
from hdpkit.moves import (
    BaseMeasureParameters,
    Concentration,
    DishGibbs,
    Move,
    SelectorCounts,
    Smoothing,
    SplitMerge,
    TableGibbs,
)
from hdpkit.priors import Gamma

__all__ = ["default_moves", "root_of", "topic_measure", "topic_restaurants", "updates_of"]


def topic_measure(eta: Any, sparse: bool, smoothing: Any, selection: Any) -> BaseMeasure:
    """The base measure of topics: Dirichlet or, with `sparse`, one whose topics select terms.

    Parameters
    ----------
    eta : float, array or prior
    sparse : bool
        If true, eta is not used.
    smoothing, selection
        Parameters of `SparseDirichletMultinomial`; None: its defaults.
    """
    if not sparse:
        return DirichletMultinomial(eta=eta)
    given = {"smoothing": smoothing, "selection": selection}
    return SparseDirichletMultinomial(**{name: value for name, value in given.items() if value is not None})


def topic_restaurants(measure: BaseMeasure, document: Any, root: Any, n_topics: int | None) -> Restaurant:
    """The restaurants of documents below a root.

    Parameters
    ----------
    measure : BaseMeasure
    document, root : float or prior, optional
        Concentrations; None: Gamma(1, 1), and for the root 1.0 (which is not used) in a finite model.
    n_topics : int, optional
        Number of topics of a finite model.
    """
    if root is None:
        root = Gamma(1.0, 1.0) if n_topics is None else 1.0
    above = Restaurant(base=measure, concentration=root, name="root")
    return Restaurant(
        base=above, concentration=Gamma(1.0, 1.0) if document is None else document, each="document"
    )


def default_moves(base: BaseMeasure, concentrations: Iterable[Any]) -> list[Move]:
    """Moves for topics with this measure, and updates of all hyperparameters with a prior.

    Parameters
    ----------
    base : BaseMeasure
    concentrations : iterable of float or prior
        Those of the restaurants.
    """
    proposals = [SplitMerge().until(50)] if base.conjugate else []
    return [TableGibbs(), DishGibbs(), *proposals, *updates_of(base, concentrations)]


def updates_of(base: BaseMeasure, concentrations: Iterable[Any]) -> list[Move]:
    """Moves of parameters with a prior: concentrations, parameters of the base measure and of dishes.

    Parameters
    ----------
    base : BaseMeasure
    concentrations : iterable of float or prior
        Those of the restaurants.
    """
    moves: list[Move] = []
    if any(hasattr(concentration, "draw") for concentration in concentrations):
        moves.append(Concentration())
    if base.priors:
        moves.append(BaseMeasureParameters())
    if not base.conjugate:  # each dish has a smoothing
        moves.append(Smoothing())
    if getattr(base, "proportions", None) == "stored":
        moves.append(SelectorCounts())
    return moves


def root_of(root: str, n_topics: int | None) -> str | FixedWeights:
    """The root above the documents: fixed weights if a number of topics is given."""
    return root if n_topics is None else FixedWeights(n_topics)
