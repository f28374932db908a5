"""Kinds of models of points, which may be in groups: mixtures with an inferred number of components."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int64s
from hdpkit.data import Groups
from hdpkit.data.files.tables import Columns, Table, missing
from hdpkit.data.files.text_files import place_of, reading
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.kinds.kind import of_the_data, setting, updates_of
from hdpkit.kinds.listing import Nouns
from hdpkit.kinds.numbers import Numbers, Rounding, as_counts
from hdpkit.kinds.values import Name, Names, OneOf, Whole
from hdpkit.measures.gamma_poisson import GammaPoisson
from hdpkit.measures.normal_gamma import NormalGamma
from hdpkit.measures.normal_inverse_wishart import NormalInverseWishart
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.von_mises_fisher import VonMisesFisher
from hdpkit.moves import DishGibbs, Move, SplitMerge, TableGibbs
from hdpkit.posterior.components import Components
from hdpkit.posterior.finding import components
from hdpkit.posterior.new_data import new_points
from hdpkit.run.runs import Run

_CANDIDATES = 100  # units compared for the second of a pair
_PROPOSALS = 5  # of each kind of split and merge in a sweep


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Points(Numbers):
    """Points in the rows of a table, which may be in groups."""

    nouns = Nouns("Components", "component", "component", "observation", "group", "dimension")
    argument = "points"
    estimator = "points_model:PointsModel"
    schedule = "table-gibbs, split-merge, with groups dish-gibbs, and updates of parameters"
    sampling: ClassVar[Mapping[str, Any]] = {"samples": 40}
    spoken: ClassVar[Mapping[str, Any]] = {
        "concentration": {"told": "Of the mixture, or of the weights of each group."}
    }

    columns: tuple[str, ...] = setting(
        (),
        Names(),
        "Columns of the numbers, with commas between them or several times.  [default: all but the group]",
        of="commands",
        reads=True,
    )
    groups: str | None = setting(
        None,
        Name(),
        "Column with the group of each point. None: a mixture without groups.",
        option="group",
        reads=True,
    )
    partial_sweeps: int = setting(50, Whole(1), "Sweeps of each further `partial_fit`.", of="estimators")

    rounding: Rounding | None = of_the_data(Rounding)

    @classmethod
    def serves(cls, data: Any) -> bool:
        return isinstance(data, Groups)

    def check(self) -> None:
        self.check_root(self.groups is not None)

    def measure_of(self, values: Floats) -> BaseMeasure:
        """The base measure of components of rows of numbers, shape (n, D)."""
        raise NotImplementedError

    def rows(self, X: Floats) -> npt.NDArray[Any]:
        """Rows of numbers as the measure takes them."""
        return X

    def spreading(self, data: Any) -> tuple[Self, Any]:
        if self.kept is None:
            return self, data
        made = attrs.evolve(self, rounding=Rounding.of(data.values))
        return made, made.spread(data)

    def spread(self, data: Any, before: int = 0) -> Any:
        """Points of a fit with rounded values spread, after ``before`` others."""
        return data if self.rounding is None else self.rounding.spread(data, before)

    def declare(self, data: Any) -> Restaurant:
        """The restaurants: one, or one for each group below a root."""
        for label in data.label_names:
            if not (data.labels[label][0] >= 0).any():
                raise DataError(
                    "groups",
                    "all missing",
                    "a group of some points",
                    "Leave the groups out, or fill them in.",
                )
        values = np.asarray(data.values, dtype=np.float64)
        measure = self.measure_of(values[:, None] if values.ndim == 1 else values)
        return self.restaurants(measure, *data.label_names)

    def moves(self, restaurant: Restaurant) -> list[Move]:
        """Single points, splits and merges, dishes of tables, and parameters."""
        # Half of the proposals are by sequential allocation, half by restricted scans: each leaves states
        # that the other stays in (docs/points.md).
        moves: list[Move] = [TableGibbs()]
        if restaurant.measure.conjugate:
            moves += [
                SplitMerge(candidates=_CANDIDATES).repeat(_PROPOSALS),
                SplitMerge(scans=2, candidates=_CANDIDATES).repeat(_PROPOSALS),
            ]
        if len(list(restaurant.chain())) > 1:
            moves.append(DishGibbs())
        return [*moves, *updates_of(restaurant)]

    def sizes(self, data: Any) -> list[tuple[str, int]]:
        noun, plural = self.nouns.document, self.nouns.documents
        told = {name: plural if name == noun else f"{plural} ({name})" for name in data.label_names}
        return [*super().sizes(data), *((told[name], len(data.keys(name))) for name in told)]

    def said(self, data: Any) -> str:
        grouped = "".join(f", {len(data.keys(label)):,} groups" for label in data.label_names)
        width = int(np.prod(data.values.shape[1:], dtype=np.int64))
        return f"{len(data):,} points in {width:,} dimensions{grouped}"

    def infer(self, run: Run, new: Any, tell: Callable[[str], None], **options: Any) -> tuple[str, Columns]:
        own: Any = run.data
        width = int(np.prod(own.values.shape[1:], dtype=np.int64))
        columns, (label,) = own.columns or (), own.label_names or (None,)
        with reading(new.path):
            data = attrs.evolve(self, columns=columns, groups=label).read(new.table(), new=True)
        if data.values.shape[1] != width:
            raise DataError(
                place_of(new.path), f"{data.values.shape[1]} columns", f"the {width} columns of the run",
                "Give the new points the same columns.",
            )  # fmt: skip
        found = components(run, chain=options["chain"])
        values = self.rows(data.values).reshape(len(data), *own.values.shape[1:]).astype(own.values.dtype)
        group = _places(found, data)
        logs, shares = new_points(found, found.states[0].franchise, values, group)
        probabilities = {f"component_{k + 1}": shares[:, k] for k in range(shares.shape[1])}
        groups = shares @ np.eye(len(found.point_groups))[found.point_groups.of]
        known = f", {int((group >= 0).sum()):,} of them in groups of the run" if found.has_groups else ""
        tell(f"{len(data):,} points{known}")
        return f"{self.nouns.topics} of the points", {
            "point": np.arange(1, len(shares) + 1),
            "log_density": logs,
            "component": shares.argmax(axis=1) + 1,
            "group_of_component": groups.argmax(axis=1) + 1,
            **probabilities,
        }

    def read(self, table: Table, *, new: bool = False) -> Groups:
        """The points of a table; of ``new`` ones the column of the group may be absent."""
        named = [name for given in self.columns for name in _split(given, table.names)]
        group = None if new and self.groups not in table.names else self.groups
        key = None if group is None else table.column("group", group)
        chosen = table.columns("columns", named, key)
        if len(set(chosen)) < len(chosen) or key in chosen:
            raise ParameterError(
                "columns", named, "each column once, without that of the group", "Correct them."
            )
        rows, groups = [], []
        for number, row in table.rows(chosen if key is None else [*chosen, key]):
            numbers = [table.number(cell) for cell in row[: len(chosen)]]
            for i, cell, value in zip(chosen, row, numbers, strict=False):
                if missing(cell):
                    raise table.refused(
                        number, i, cell, "a number: missing values have no density",
                        "Drop the row, or fill the cell, for instance with sklearn.impute.SimpleImputer"
                        + ("." if new else ", or leave the column out."),
                    )  # fmt: skip
                if not math.isfinite(value):
                    others = "" if new else ", or choose other columns with --columns"
                    remedy = f"Correct the cell{others}."
                    raise table.refused(number, i, cell, "a finite number", remedy)
            rows.append(numbers)
            if key is not None:
                groups.append(None if missing(row[-1]) else str(row[-1]).strip())
        if not rows:
            raise DataError(place_of(table.path), "no rows", "a row for each point", "Check the path.")
        data = Groups.from_labels(np.array(rows), None if group is None else {group: groups})
        return attrs.evolve(data, columns=tuple(table.names[i] for i in chosen))


def _places(found: Components, data: Groups) -> Int64s:
    """Number of the group of each new point; -1 for groups that the run doesn't have."""
    if found.label not in data.label_names:
        return np.full(len(data), -1, dtype=np.int64)
    place = {str(name): i for i, name in enumerate(found.names)}
    codes, keys = data.labels[found.label]
    return np.array([*(place.get(key, -1) for key in keys), -1])[codes]


def _split(given: str, names: Any) -> list[str]:
    """Names with commas between them; a column may have commas in its name."""
    return [given] if given in names else [name.strip() for name in given.split(",")]


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
        return measure_of_points(self.measure, values)

    @property
    def by_default(self) -> bool:
        return self.measure in ("normal", "diagonal")

    def same(self, data: Any) -> Any:
        """Points as directions, or without the columns that are left out."""
        if self.measure == "directions":
            return data.with_values(directions_of(data.values))
        return super().same(data)

    def rows(self, X: Floats) -> npt.NDArray[Any]:
        if self.measure == "directions" or getattr(self.measure, "support", None) == "sphere":
            return directions_of(X)
        if isinstance(self.measure, GammaPoisson):
            return as_counts(X)
        parameter = getattr(self.measure, "mean", getattr(self.measure, "shape", 0.0))
        alone = isinstance(self.measure, BaseMeasure) and np.ndim(parameter) == 0 and X.shape[1] == 1
        return X[:, 0] if alone else X


def measure_of_points(measure: str | BaseMeasure, X: Floats) -> BaseMeasure:
    """The base measure of components of points, shape (n, D), as the setting `Mixture.measure` says."""
    if isinstance(measure, BaseMeasure):
        if measure.takes_terms:
            raise ParameterError(
                "measure", type(measure).__name__, "a measure over numbers", "For words see hk.TopicModel."
            )
        return measure
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
        raise DataError("X", at, "rows that have a direction, in two columns or more", "Correct X.")
    return np.asarray(X / lengths[:, None], dtype=np.float64)
