"""Declarations of the hidden Markov model, and its schedule."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.checks import choice
from hdpkit.data import Sequences
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.state_homes import PreviousDish, read_start
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.gamma_poisson import GammaPoisson
from hdpkit.measures.near_pairs import central
from hdpkit.measures.non_conjugate import NonConjugate
from hdpkit.measures.normal_gamma import NormalGamma
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import (
    BaseMeasureParameters,
    BeamSampler,
    Concentration,
    DishParameters,
    ForwardBackward,
    Move,
    RootWeights,
    SplitMergeStates,
    Sticky,
    TableGibbs,
)
from hdpkit.priors import Gamma

EMISSIONS = ("normal", "words", "poisson")
_STRENGTH, _SHAPE, _SHARE = 0.05, 2.0, 0.25  # of the prior of normal emissions, as in `measure_of`


def measure_of(emission: str | BaseMeasure, data: Sequences) -> BaseMeasure:
    """The base measure of states.

    "normal": independent normal distributions of each column, with the prior mean and a quarter of the
    variance of the data without outliers as the prior guess of the variance within a state. "words":
    Dirichlet(0.5) over the terms. "poisson": rates with the prior Gamma(1, 1 / mean). The first and
    the last use the data for the scale of the prior.
    """
    if isinstance(emission, BaseMeasure):
        return emission
    choice("emission", emission, EMISSIONS, remedy="Or a base measure, for instance hk.NormalInverseWishart.")
    if emission == "words":
        return DirichletMultinomial(0.5)
    there = np.asarray(data.values[~data.missing], dtype=np.float64)
    if emission == "poisson":
        mean = there.mean(axis=0)
        return GammaPoisson(1.0, 1.0 / np.where(mean > 0.0, mean, 1.0))
    there = central(there)
    variance = there.var(axis=0)
    variance = np.where((variance > 0.0) & np.isfinite(variance), variance, 1.0)
    return NormalGamma(there.mean(axis=0), _STRENGTH, _SHAPE, _SHAPE * _SHARE * variance)


def restaurants_of_states(
    measure: BaseMeasure,
    sticky: Any,
    concentration: Any,
    root_concentration: Any,
    start_concentration: Any,
    n_components: int | None,
) -> Restaurant:
    """The restaurants of states, below a root.

    None: Gamma(10, 1) for ``sticky``, Gamma(1, 1) for concentrations; that of the start row is that of the
    transitions.
    """
    if root_concentration is None:
        root_concentration = Gamma(1.0, 1.0) if n_components is None else 1.0
    root = Restaurant(measure, concentration=root_concentration, name="root")
    own = Gamma(1.0, 1.0) if concentration is None else concentration
    sticky = Gamma(10.0, 1.0) if sticky is None else sticky
    return Restaurant(
        root, concentration=own, each=PreviousDish(sticky, start_concentration=start_concentration)
    )


def moves_of_states(restaurant: Restaurant, n_components: int | None) -> list[Move]:
    """The default schedule: whole sequences, splits and merges, single sites now and then, parameters."""
    measure, rule = restaurant.measure, restaurant.each
    kept = isinstance(measure, NonConjugate)
    draws = measure.conjugate and measure.supports("draw_parameters") and measure.supports("log_likelihood")
    moves: list[Move] = [TableGibbs()]
    if draws or kept:
        moves = [BeamSampler() if n_components is None else ForwardBackward(), TableGibbs().every(10)]
    if draws:
        moves.insert(1, SplitMergeStates().repeat(3))
    if not measure.conjugate:
        moves.append(DishParameters())
    if n_components is None:
        moves.append(RootWeights())
    start = read_start(getattr(rule, "start_concentration", None))
    priors = [one.hyperparameters[0].prior for one in restaurant.chain()] + [start[1] if start else None]
    if any(prior is not None for prior in priors):
        moves.append(Concentration())
    if not isinstance(getattr(rule, "sticky", 0.0), float | int):
        moves.append(Sticky())
    if any("/" not in name for name in measure.priors):
        moves.append(BaseMeasureParameters())
    return moves
