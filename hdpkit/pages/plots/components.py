"""Components of numbers in a plane: points, and ellipses of the components."""

from __future__ import annotations

from typing import Any, Self

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.canvas import colours, evenly, given_axes, plain
from hdpkit.checks import instance, items, number_array, whole_number, whole_numbers
from hdpkit.errors import RUN_FIRST, DataError, ParameterError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.measures.protocol import BaseMeasure

_MOST_POINTS = 20_000
_MOST_GROUPS = 40
RADIUS = 2.0
"""Standard deviations from the mean to an ellipse; a normal component has 86 % of its points inside."""


@attrs.frozen(eq=False)
class Plane:
    """A plane, or a line for data of one dimension, on which vectors are drawn.

    Attributes
    ----------
    centre : float64 array, shape (D,)
    directions : float64 array, shape (D, 2) or (D, 1)
        A vector x is drawn at (x - centre) directions.
    titles : tuple of str
        Titles of the axes.
    """

    centre: Floats
    directions: Floats
    titles: tuple[str, ...]

    @classmethod
    def of(cls, values: Any, axes: Any = None, columns: Any = None) -> Self:
        """The plane of two dimensions, or of the first two principal components of standardised dimensions.

        Parameters
        ----------
        values : array, shape (n,) or (n, D)
        axes : (int or str, int or str), optional
            Two dimensions, by number or by their name in ``columns``. By default the dimensions themselves
            if there are at most two, otherwise principal components.
        columns : sequence of str, optional
            Names of the dimensions.
        """
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


def components(franchise: Any, aligned: Any = None, *, axes: Any = None, ax: Any = None) -> Any:
    """Plot the points of a mixture, coloured by component, with an ellipse for each component.

    Ellipses are at two standard deviations, given the posterior mean parameters of a component. Numbers at
    their centres are those of the components, from 1, by descending share. Data of one dimension are drawn
    as ticks, one row for each component and one for points in none, with a line of two standard deviations.

    Parameters
    ----------
    franchise : Franchise
        Over numbers or vectors; of a run of several chains one of ``trace.franchises``.
    aligned : Components, optional
        Components that samples have in common (`hdpkit.summaries.components`), drawn instead of the dishes of
        the state. A point has the colour of its most probable component, and points that most samples have in
        none are grey.
    axes : (int or str, int or str), optional
        Two dimensions, by number or name. By default the dimensions themselves if there are at most two,
        otherwise the first two principal components of the standardised dimensions.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    StateError
        If no customer is seated.
    DataError, ParameterError
        If the data aren't numbers, or an argument doesn't fit.
    MissingExtraError
        If Matplotlib is not installed.
    """
    instance("franchise", franchise, Franchise, "a franchise over numbers", remedy="trace.franchises[0].")
    if franchise.measure.takes_terms or not franchise.measure.supports("moments"):
        raise DataError(
            "franchise", franchise, "of a measure of numbers that has moments",
            "For topics see hdpkit.pages.plots.topics; a measure of your own can define moments().",
        )  # fmt: skip
    if franchise.n_dishes == 0:
        raise StateError("franchise", franchise, "a franchise with dishes", RUN_FIRST)
    labels, means = _of_state(franchise) if aligned is None else _of_samples(franchise, aligned)
    X = franchise.data.values
    plane = Plane.of(X, axes, getattr(franchise.data, "columns", None))
    places, around = plane.moments(*_moments(franchise.measure, means))
    ax = given_axes(ax, (6.4, 5.2 if len(plane.titles) == 2 else 1.6 + 0.4 * len(means)))
    chosen = evenly(len(X), _MOST_POINTS)
    draw = _draw_plane if len(plane.titles) == 2 else _draw_line
    draw(ax, plane.points(X[chosen]), labels[chosen], places, around)
    ax.set_xlabel(plain(plane.titles[0]))
    if len(plane.titles) == 2:
        ax.set_ylabel(plain(plane.titles[1]))
    return ax


def _moments(measure: BaseMeasure, means: Any) -> tuple[Floats, Floats]:
    mean, covariance = measure.moments(means)
    return np.asarray(mean, dtype=np.float64), np.asarray(covariance, dtype=np.float64)


def _of_state(franchise: Franchise) -> tuple[Any, Any]:
    """Component of each point, the largest is 0, and the parameters of the components."""
    dishes = np.asarray(franchise.dishes)
    sizes = np.bincount(dishes[dishes >= 0], minlength=franchise.n_dishes)
    order = np.argsort(-sizes, kind="stable")
    rank = np.append(np.argsort(order, kind="stable"), -1)
    return rank[dishes], np.asarray(franchise.dish_parameters())[order]


def _of_samples(franchise: Franchise, aligned: Any) -> tuple[Any, Any]:
    members, means = getattr(aligned, "memberships", None), getattr(aligned, "rows", None)
    n = len(franchise.data)
    if isinstance(aligned, type) or members is None or means is None or len(members) != n or len(means) == 0:
        raise ParameterError(
            "aligned", aligned, "components that samples of this franchise have in common",
            "hdpkit.summaries.components(trace).",
        )  # fmt: skip
    best = np.asarray(members).argmax(axis=1)
    return np.where(best == len(means), -1, best), np.asarray(means)


def _draw_plane(ax: Any, points: Floats, labels: Any, places: Floats, around: Floats) -> None:
    if (labels < 0).any():
        ax.plot(*points[labels < 0].T, linestyle="none", marker=".", markersize=3, color="0.6", zorder=1)
    for k, colour in enumerate(colours(len(places))):
        own = points[labels == k]
        ax.plot(*own.T, linestyle="none", marker=".", markersize=4, color=colour, alpha=0.7, zorder=2)
        ax.plot(*ellipse(places[k], around[k]).T, color=colour, linewidth=1.5, zorder=3)
        ax.text(
            *places[k], str(k + 1), ha="center", va="center", fontsize=8, zorder=4,
            bbox={"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": colour, "alpha": 0.85},
        )  # fmt: skip


def _draw_line(ax: Any, points: Floats, labels: Any, places: Floats, around: Floats) -> None:
    for k, colour in enumerate(colours(len(places))):
        own = points[labels == k, 0]
        ax.plot(
            own, np.full(len(own), k), linestyle="none", marker="|", markersize=12, color=colour, alpha=0.5
        )
        half = RADIUS * float(np.sqrt(around[k, 0, 0]))
        middle = float(places[k, 0])
        ax.plot([middle - half, middle + half], [k + 0.33, k + 0.33], color=colour, linewidth=2.0)
        ax.plot([middle], [k + 0.33], marker="o", markersize=5, color=colour)
    rows = [str(k + 1) for k in range(len(places))]
    if (labels < 0).any():
        rest = points[labels < 0, 0]
        ax.plot(rest, np.full(len(rest), len(rows)), linestyle="none", marker="|", markersize=12, color="0.6")
        rows.append("none")
    ax.set_yticks(np.arange(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_ylabel("component")


def group_weights(aligned: Any, *, groups: Any = None, components: int = 10, ax: Any = None) -> Any:
    """Plot the weights of components in groups, with their intervals: a row for each group.

    Parameters
    ----------
    aligned : Components
        ``model.aligned_`` of a `MixtureModel` with groups, or what `hdpkit.summaries.components` returned.
    groups : sequence of int, optional
        Numbers of the groups, from the top; by default the first 40.
    components : int
        How many of the largest components are drawn.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError, ParameterError
        If there are no groups, or an argument doesn't fit.
    MissingExtraError
        If Matplotlib is not installed.
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
    lower, upper = aligned.group_shares_lower, aligned.group_shares_upper
    ax = given_axes(ax, (6.4, 1.0 + (0.25 + 0.09 * n) * len(chosen)))
    for k, colour in enumerate(colours(n)):
        mean = shares[chosen, k]
        ends = np.maximum([mean - lower[chosen, k], upper[chosen, k] - mean], 0.0)
        at = np.arange(len(chosen)) + 0.7 * ((k + 0.5) / n - 0.5)
        ax.errorbar(mean, at, xerr=ends, fmt="o", markersize=3, color=colour, linewidth=1.2, label=str(k + 1))
    ax.set_yticks(np.arange(len(chosen)), [plain(aligned.names[j]) for j in chosen.tolist()])
    ax.set_ylim(len(chosen) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel(f"weight, with {aligned.level:.0%} intervals")
    ax.set_ylabel(plain(aligned.label))
    ax.legend(title="component", fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
