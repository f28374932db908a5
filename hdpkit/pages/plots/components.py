"""Components of numbers in a plane: points, and ellipses of the components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.canvas import (
    WIDTH,
    alt,
    chart,
    colours,
    evenly,
    heat,
    layered,
    named,
    names,
    number,
    over,
    rounded,
    told,
)
from hdpkit.checks import instance, items, number_array, whole_number, whole_numbers
from hdpkit.errors import RUN_FIRST, DataError, ParameterError, StateError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.listing import Nouns

MOST_POINTS = 2_500
_MOST_GROUPS = 40
NOBODY = "none"
"""In place of the number of a component: none of them."""
RADIUS = 2.0
"""Standard deviations from the mean to an ellipse; a normal component has 86 % of its points inside."""


@attrs.frozen(eq=False)
class Plane:
    """A plane, or a line for data of one dimension, on which vectors are drawn."""

    centre: Floats  # shape (D,)
    directions: Floats  # A vector x is drawn at (x - centre) directions, shape (D, 2) or (D, 1)
    titles: tuple[str, ...]  # titles of the axes

    @classmethod
    def of(cls, values: Any, axes: Any = None, columns: Any = None) -> Self:
        """The plane of two dimensions, or of the first two principal components if standardised."""
        X = _vectors(values)
        D = X.shape[1]
        names = (
            [str(name) for name in columns] if columns is not None else [f"dimension {i}" for i in range(D)]
        )
        if axes is not None:
            chosen = _chosen(axes, names, D)
            return cls(np.zeros(D), np.eye(D)[:, chosen], tuple(names[i] for i in chosen))
        if D <= 2:
            titles = tuple(names) if D == 2 or columns is not None else ("value",)
            return cls(np.zeros(D), np.eye(D), titles)
        centre, sd = X.mean(axis=0), X.std(axis=0)
        scaled = (X - centre) / np.where(sd > 0, sd, 1.0)
        _, sizes, right = np.linalg.svd(scaled, full_matrices=False)
        # Signs of singular vectors depend on the processor; pictures should not.
        largest = np.abs(right[:2]).argmax(axis=1)
        right = right[:2] * np.where(right[[0, 1], largest] < 0, -1.0, 1.0)[:, None]
        parts = sizes[:2] ** 2 / max(float((sizes**2).sum()), np.finfo(float).tiny)
        titles = tuple(
            f"{which} principal component ({part:.0%} of the variance)"
            for which, part in zip(("first", "second"), parts.tolist(), strict=True)
        )
        return cls(centre, (right / np.where(sd > 0, sd, 1.0)).T, titles)

    def points(self, values: Any) -> Floats:
        """Places of vectors, shape (n, D): shape (n, 2) or (n, 1)."""
        return np.asarray((_vectors(values) - self.centre) @ self.directions, dtype=np.float64)

    def moments(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """Means (n, D) and covariances (n, D, D) in the plane."""
        there: Floats = np.einsum("di,kde,ej->kij", self.directions, covariance, self.directions)
        return self.points(mean), there


def _vectors(values: Any) -> Floats:
    X = number_array(values)
    if X is None or X.ndim not in (1, 2) or not X.size or not np.isfinite(X).all():
        raise DataError("values", values, "finite numbers, shape (n,) or (n, D)", "Give numbers.")
    return X[:, None] if X.ndim == 1 else X


def _chosen(axes: Any, names: list[str], D: int) -> list[int]:
    allowed, remedy = f"two of the dimensions {names[:12]}", "Leave it out for principal components."
    given = items("axes", axes, allowed, remedy=remedy)
    chosen = []
    for one in given:
        place = names.index(one) if isinstance(one, str) and one in names else one
        if isinstance(place, bool) or not isinstance(place, int | np.integer) or not 0 <= place < D:
            raise ParameterError("axes", axes, allowed, remedy)
        chosen.append(int(place))
    if len(chosen) != 2 or chosen[0] == chosen[1]:
        raise ParameterError("axes", axes, allowed, remedy)
    return chosen


def ellipse(mean: Floats, covariance: Floats, n: int = 60) -> Floats:
    """Points at two standard deviations from a mean (2,) by a covariance (2, 2): shape (n, 2), closed."""
    values, vectors = scipy.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    angle = np.linspace(0.0, 2.0 * np.pi, n)
    around: Floats = mean + RADIUS * np.column_stack([np.cos(angle), np.sin(angle)]) @ root.T
    return around


def components(franchise: Any, aligned: Any = None, *, axes: Any = None) -> Any:
    """Plot the points of a mixture, coloured by component, with an ellipse for each component.

    Ellipses are at two standard deviations, given the posterior mean parameters of a component; numbers at
    their centres are those of the components, from 1, by descending share. Data of one dimension are drawn as
    ticks, a row for each component and one for points in none. Of more than 2,500 points, 2,500 are drawn,
    evenly spaced. Returns an ``altair.LayerChart``. Raises a StateError if no customer is seated; a DataError
    or ParameterError if the data aren't numbers, or an argument doesn't fit.

    Parameters
    ----------
    franchise : Franchise
        Over numbers or vectors; of a run of several chains one of ``trace.franchises``.
    aligned : Components, optional
        Components that samples have in common (`hdpkit.summaries.components`), drawn instead of the dishes of
        the state. A point has the colour of its most probable component; those in none are grey.
    axes : (int or str, int or str), optional
        Two dimensions, by number or name. By default the dimensions themselves if there are at most two,
        otherwise the first two principal components of the standardised dimensions.
    """
    instance("franchise", franchise, Franchise, "a franchise over numbers", remedy="trace.franchises[0].")
    if franchise.measure.takes_terms or not franchise.measure.supports("moments"):
        raise DataError(
            "franchise", franchise, "of a measure of numbers that has moments",
            "For topics see hdpkit.pages.plots.topics; a measure of your own can define moments().",
        )  # fmt: skip
    if franchise.n_dishes == 0:
        raise StateError("franchise", franchise, "a franchise with dishes", RUN_FIRST)
    labels, sure, means = _of_state(franchise) if aligned is None else _of_samples(franchise, aligned)
    X = franchise.data.values
    plane = Plane.of(X, axes, getattr(franchise.data, "columns", None))
    moments = plane.moments(*map(np.asarray, franchise.measure.moments(means)))
    return picture(plane, X, labels, sure, len(means), moments)


def picture(
    plane: Plane, X: Any, labels: Any, sure: Any, n: int, moments: tuple[Floats, Floats] | None
) -> Any:
    """Points with their component (-1: none) and its probability, and n components if they have moments."""
    chosen = evenly(len(X), MOST_POINTS)
    points = [
        {"point": i + 1, **dict(zip("xy", place, strict=False)), "probability": round(float(sure[i]), 3),
         "component": str(labels[i] + 1) if labels[i] >= 0 else NOBODY}
        for i, place in zip(chosen.tolist(), rounded(plane.points(X[chosen]), 6), strict=True)
    ]  # fmt: skip
    numbers = [str(k + 1) for k in range(n)]
    titles = [printable(title) for title in plane.titles]
    d = len(titles)
    centres, around = moments or (np.empty((0, d)), np.empty((0, d, d)))
    # Only numbers and "none": names from the data would need the order of the values.
    shown = [*numbers, *([NOBODY] if (np.asarray(labels)[chosen] < 0).any() else [])]
    scale = {"domain": shown, "range": colours(n, rest=len(shown) > n)}
    draw = _on_plane if d == 2 else _on_line
    return draw(points, scale, titles, centres, around)


def _dimension(channel: str, field: str, title: str) -> Any:
    return number(channel, field, title, scale={"zero": False})


_POINT = (("point", "observation", ""), ("probability", "probability", ".0%"))


def _on_plane(points: Any, scale: Any, titles: Any, centres: Floats, around: Floats) -> Any:
    shown, colour = scale["domain"], alt.Color(field="component", type="nominal", legend=None, scale=scale)
    x, y = (_dimension(channel, channel.lower(), title) for channel, title in zip("XY", titles, strict=True))
    faint = {"domain": [0, 1], "range": [0.1, 0.8]}
    dots = over().mark_circle(size=26)
    dots = dots.encode(
        x, y, colour, alt.Opacity(field="probability", type="quantitative", legend=None, scale=faint),
        tooltip=[named("component"), *(told(*one) for one in _POINT)],
    )  # fmt: skip
    lines = [
        {"component": name, "order": order, "x": at, "y": height}
        for name, mean, covariance in zip(shown, centres, around, strict=False)
        for order, (at, height) in enumerate(rounded(ellipse(mean, covariance), 6))
    ]
    middles = [
        {"component": name, "x": at, "y": height}
        for name, (at, height) in zip(shown, rounded(centres, 6), strict=False)
    ]
    ellipses = over(lines).mark_line(strokeWidth=2, interpolate="linear")
    ellipses = ellipses.encode(x, y, colour, order=alt.Order(field="order", type="quantitative"))
    # Numbers on points can't be read; discs are white in both themes.
    discs = over(middles).mark_point(size=380, filled=True, fill="white", opacity=0.9, strokeWidth=1.5)
    discs = discs.encode(x, y, stroke=alt.Stroke(field="component", type="nominal", legend=None, scale=scale))
    numbers = over(middles).mark_text(fontWeight="bold", fontSize=14, color="black")
    numbers = numbers.encode(x, y, text=alt.Text(field="component", type="nominal"))
    return layered(points, 460, dots, ellipses, discs, numbers)


def _on_line(points: Any, scale: Any, titles: Any, centres: Floats, around: Floats) -> Any:
    shown, colour = scale["domain"], alt.Color(field="component", type="nominal", legend=None, scale=scale)
    x = _dimension("X", "x", titles[0])
    y = alt.Y(field="component", type="nominal", scale={"domain": list(shown)}, axis={"title": "component"})
    ticks = over().mark_tick(thickness=1.5, size=20, opacity=0.5)
    ticks = ticks.encode(x, y, colour, tooltip=[named("component"), *(told(*one) for one in _POINT)])
    half = RADIUS * np.sqrt(around[:, 0, 0])
    ends = [
        {"component": name, "x": at, "low": at - one, "high": at + one}
        for name, at, one in zip(shown, centres[:, 0].tolist(), half.tolist(), strict=False)
    ]
    low, high = _dimension("X", "low", titles[0]), alt.X2(field="high")
    spans = over(ends).mark_rule(strokeWidth=2.5, yOffset=15).encode(low, high, y, colour)
    means = over(ends).mark_circle(size=70, opacity=1, yOffset=15).encode(x, y, colour)
    return layered(points, 46 * len(shown), ticks, spans, means)


def _of_state(franchise: Franchise) -> tuple[Any, Any, Any]:
    """Component of each point, the largest is 0, ones, and the parameters of the components."""
    dishes = np.asarray(franchise.dishes)
    sizes = np.bincount(dishes[dishes >= 0], minlength=franchise.n_dishes)
    order = np.argsort(-sizes, kind="stable")
    rank = np.append(np.argsort(order, kind="stable"), -1)
    return rank[dishes], np.ones(len(dishes)), np.asarray(franchise.dish_parameters())[order]


def _of_samples(franchise: Franchise, aligned: Any) -> tuple[Any, Any, Any]:
    members, means = getattr(aligned, "memberships", None), getattr(aligned, "rows", None)
    n = len(franchise.data)
    if isinstance(aligned, type) or members is None or means is None or len(members) != n or len(means) == 0:
        raise ParameterError(
            "aligned", aligned, "components that samples of this franchise have in common",
            "hdpkit.summaries.components(trace).",
        )  # fmt: skip
    members = np.asarray(members)
    best = members.argmax(axis=1)
    return np.where(best == len(means), -1, best), members.max(axis=1), np.asarray(means)


def by_group(shares: Floats, rows: Sequence[str], columns: Sequence[str], nouns: Nouns, label: str) -> Any:
    """Shares of components (rows) in groups (columns), shape (n_groups, n), as a heat map."""
    values = [
        {"topic": row, "label": column, "share": share}
        for row, own in zip(rows, shares.T, strict=True)
        for column, share in zip(columns, rounded(own, 3), strict=True)
    ]
    return heat(
        values, ("topic", nouns.topic), ("label", label),
        ("share", f"share of {nouns.tokens}", ".0%"), len(rows), title=label,
    )  # fmt: skip


def group_weights(aligned: Any, *, groups: Any = None, components: int = 10) -> Any:
    """Plot the weights of components in groups, with their intervals: a row for each group.

    Returns an ``altair.LayerChart``. Raises a DataError or ParameterError if there are no groups, or an
    argument doesn't fit.

    Parameters
    ----------
    aligned : Components
        ``model.aligned_`` of a `MixtureModel` with groups, or what `hdpkit.summaries.components` returned.
    groups : sequence of int, optional
        Numbers of the groups, from the top; by default the first 40.
    components : int
        How many of the largest components are drawn.
    """
    shares = getattr(aligned, "group_shares", None)
    if isinstance(aligned, type) or shares is None or not aligned.samples[0].levels:
        raise DataError(
            "aligned", aligned, "components of a model with groups", "model.aligned_, or components(trace)."
        )
    n = min(whole_number("components", components, 1, remedy="10 can be told apart."), len(aligned))
    remedy = "Numbers of groups, as in aligned.names."
    chosen = np.arange(min(len(shares), _MOST_GROUPS))
    if groups is not None:
        chosen = whole_numbers("groups", groups, 0, len(shares) - 1, remedy=remedy)
    if not len(chosen):
        raise ParameterError("groups", groups, "at least one group", remedy)
    ends = shares, aligned.group_shares_lower, aligned.group_shares_upper
    values = [
        {"group": printable(str(aligned.names[j])), "component": str(k + 1),
         **dict(zip(("weight", "lower", "upper"), (float(end[j, k]) for end in ends), strict=True))}
        for j in chosen.tolist()
        for k in range(n)
    ]  # fmt: skip
    numbers = [str(k + 1) for k in range(n)]
    x = number("X", "weight", f"weight, with {aligned.level:.0%} intervals", ".0%", scale={"domain": [0, 1]})
    drawn = chart(values, len(chosen) * (10 + 8 * n), WIDTH).encode(
        names("Y", "group", title=printable(str(aligned.label))),
        alt.YOffset(field="component", type="nominal", scale={"domain": numbers}),
        alt.Color(field="component", type="nominal", scale={"domain": numbers, "range": colours(n)}),
        tooltip=[named("group"), named("component"),
                 *(told(name, form=".1%") for name in ("weight", "lower", "upper"))],
    )  # fmt: skip
    rule = drawn.mark_rule(strokeWidth=2).encode(
        alt.X(field="lower", type="quantitative"), alt.X2(field="upper")
    )
    return alt.layer(rule, drawn.mark_circle(size=36, opacity=1).encode(x))
