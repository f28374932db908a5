"""Mixtures of points with an inferred number of components."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.checks import choice
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.kind import setting
from hdpkit.kinds.numbers import as_counts
from hdpkit.kinds.points import Points
from hdpkit.kinds.values import OneOf
from hdpkit.measures.gamma_poisson import GammaPoisson
from hdpkit.measures.normal_gamma import NormalGamma
from hdpkit.measures.normal_inverse_wishart import NormalInverseWishart
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.von_mises_fisher import VonMisesFisher

MEASURES = ("normal", "diagonal", "directions")
_DISHES = 10.0  # ellipsoids of the prior guess have together the volume of the data's


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Mixture(Points):
    """Find the components of points in a table and save the run in a folder.

    POINTS is a table (CSV, TSV or similar, plain or compressed) with a header and a row for each point,
    without missing values. Columns without a name, such as an index, are left out. The number of components
    is inferred. With --group each group has weights of its own over shared components; a point without a
    group is drawn from the components of all groups. The prior of the components has the scale of the data.

    Ctrl-C stops the run, and hdpkit resume RUN continues it. hdpkit report RUN shows the components in the
    plane, weights by group, and which points are together; hdpkit infer RUN NEW has the components of new
    points. In Python hk.open_run(RUN) has the states, and hk.MixtureModel is the same model as an estimator.

    \b
    Examples:
      hdpkit mixture points.csv --out run
      hdpkit mixture points.csv --columns height,width --group site --chains 4 --until readable --out run
    """

    name = "mixture"

    measure: Any = setting(
        "normal",
        OneOf(MEASURES, "Or a base measure, for instance hk.NormalGamma.", BaseMeasure, "base measure"),
        "Components: normal distributions with any covariance, or with independent columns, or "
        "distributions of directions, for which rows are divided by their lengths, as for embeddings that "
        "are compared by cosine. The prior comes from the data, by ``hierarchical`` of "
        "`NormalInverseWishart` or `NormalGamma`, or ``weakly_informative`` of `VonMisesFisher`. Of normal "
        "ones it has the mean of the data without outliers, and a guess of the covariance within a "
        "component with the shape of the differences of near points and a size that is resampled. Columns "
        "that are constant, or linear functions of others, are left out with a warning, here and in new "
        "points. Rounded values are spread over the intervals that they stand for. Means, covariances and "
        "new draws have all columns. A measure over numbers is used as it is.",
    )

    def __attrs_post_init__(self) -> None:
        if isinstance(self.measure, BaseMeasure) and not self.measure.predicts:
            raise ParameterError(
                "measure", type(self.measure).__name__, "a measure with a predictive density of a new dish",
                "Others have franchises: hk.Franchise, hk.Scheduler.",
            )  # fmt: skip

    def measure_of(self, values: Floats) -> BaseMeasure:
        """The base measure of components of points, shape (n, D)."""
        return measure_of_points(self.measure, values)

    @property
    def by_default(self) -> bool:
        """Whether the prior comes from the data, and can't describe every column."""
        return self.measure in ("normal", "diagonal")

    def same(self, data: Any) -> Any:
        """Points as directions, or without the columns that are left out."""
        if self.measure == "directions":
            return data.with_values(directions_of(data.values))
        return super().same(data)

    def rows(self, X: Floats) -> npt.NDArray[Any]:
        """Rows of numbers as the measure takes them."""
        if self.measure == "directions" or getattr(self.measure, "support", None) == "sphere":
            return directions_of(X)
        if isinstance(self.measure, GammaPoisson):
            return as_counts(X)
        parameter = getattr(self.measure, "mean", getattr(self.measure, "shape", 0.0))
        alone = isinstance(self.measure, BaseMeasure) and np.ndim(parameter) == 0 and X.shape[1] == 1
        return X[:, 0] if alone else X


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


def directions_of(X: Floats) -> Floats:
    """Rows divided by their lengths."""
    lengths = np.linalg.norm(X, axis=1)
    if X.shape[1] < 2 or not (lengths > 0.0).all():
        at = f"row {int(np.argmin(lengths))} of zeros" if X.shape[1] > 1 else "one column"
        raise DataError("X", at, "rows that have a direction, in two columns or more", "Leave it out.")
    return np.asarray(X / lengths[:, None], dtype=np.float64)
