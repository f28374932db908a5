"""Declarations of the mixture, and its schedule."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.checks import choice
from hdpkit.errors import DataError, ParameterError, SlowModelWarning
from hdpkit.franchise.declarations import Restaurant
from hdpkit.measures.normal_gamma import NormalGamma
from hdpkit.measures.normal_inverse_wishart import NormalInverseWishart
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.von_mises_fisher import VonMisesFisher
from hdpkit.moves import BaseMeasureParameters, Concentration, DishGibbs, Move, SplitMerge, TableGibbs
from hdpkit.priors import Gamma

MEASURES = ("normal", "diagonal", "directions")
CANDIDATES = 100  # units compared for the second of a pair
PROPOSALS = 5  # of each kind of split and merge in a sweep
# Seconds of a sweep by points and columns squared, from two sweeps of 500 points on a core of a busy machine
# (28 November 2026): 0.154 s with 96 columns (2 components then), 0.745 s with 192 (5). Not measured beyond.
_SECONDS, _LONG = 4e-8, 10.0  # and the minutes from which a warning says so
_DISHES = 10.0  # ellipsoids of the prior guess have together the volume of the data's


def measure_of_points(measure: str | BaseMeasure, X: Floats) -> BaseMeasure:
    """The base measure of components of points, shape (n, D).

    "normal" is `NormalInverseWishart.hierarchical`, "diagonal" `NormalGamma.hierarchical`, "directions"
    `VonMisesFisher.weakly_informative`. X has the columns that `KeptColumns` keeps; if none varies, the guess
    of a variance is 1.
    """
    if isinstance(measure, BaseMeasure):
        if measure.takes_terms:
            raise ParameterError(
                "measure", type(measure).__name__, "a measure over numbers", "For words see hk.TopicModel."
            )
        return measure
    choice("measure", measure, MEASURES, remedy="Or a base measure, for instance hk.NormalGamma(...).")
    if measure == "directions":
        return VonMisesFisher.weakly_informative(X, _DISHES)
    unknown = None if np.ptp(X, axis=0).all() else np.ones(X.shape[1])
    if measure == "diagonal":
        return NormalGamma.hierarchical(X, _DISHES, unknown)
    return NormalInverseWishart.hierarchical(X, _DISHES, None if unknown is None else np.diag(unknown))


def warn_of_time(measure: BaseMeasure, n: int, sweeps: int) -> None:
    """Warn if covariances of n points take longer than ten minutes, before sweeps begin."""
    if not isinstance(measure, NormalInverseWishart):
        return
    D = len(measure.mean)
    minutes = _SECONDS * n * D * D * sweeps / 60.0
    if minutes > _LONG:
        warnings.warn(
            f"covariances of {D} columns: {sweeps:,} sweeps of a chain over {n:,} rows will take about "
            f'{minutes:,.0f} minutes. measure="directions" or "diagonal" takes a small part of that, and so '
            "do fewer columns, for instance the first 30 of sklearn.decomposition.PCA.",
            SlowModelWarning, stacklevel=4,
        )  # fmt: skip


def directions_of(X: Floats) -> Floats:
    """Rows divided by their lengths."""
    lengths = np.linalg.norm(X, axis=1)
    if X.shape[1] < 2 or not (lengths > 0.0).all():
        at = f"row {int(np.argmin(lengths))} of zeros" if X.shape[1] > 1 else "one column"
        raise DataError("X", at, "rows that have a direction, in two columns or more", "Leave it out.")
    return np.asarray(X / lengths[:, None], dtype=np.float64)


def restaurants_of_mixture(
    measure: BaseMeasure, group: str | None, concentration: Any, root_concentration: Any
) -> Restaurant:
    """A flat mixture, or with a label of groups one restaurant for each group below a root.

    Concentrations that are None are Gamma(1, 1).
    """
    own = Gamma(1.0, 1.0) if concentration is None else concentration
    if group is None:
        return Restaurant(measure, concentration=own, name="root")
    above = Gamma(1.0, 1.0) if root_concentration is None else root_concentration
    root = Restaurant(measure, concentration=above, name="root")
    return Restaurant(root, concentration=own, each=group)


def moves_of_mixture(restaurant: Restaurant) -> list[Move]:
    """The default schedule: single points, splits and merges, dishes of tables, and parameters.

    Pairs for splits and merges are drawn from candidates. Half of the proposals are by sequential allocation,
    half by restricted scans: each leaves states that the other stays in (docs/mixtures.md).
    """
    chain = list(restaurant.chain())
    moves: list[Move] = [TableGibbs()]
    if restaurant.measure.conjugate:
        moves += [
            SplitMerge(candidates=CANDIDATES).repeat(PROPOSALS),
            SplitMerge(scans=2, candidates=CANDIDATES).repeat(PROPOSALS),
        ]
    if len(chain) > 1:
        moves.append(DishGibbs())
    if any(one.hyperparameters[0].prior is not None for one in chain):
        moves.append(Concentration())
    if any("/" not in name for name in restaurant.measure.priors):
        moves.append(BaseMeasureParameters())
    return moves
