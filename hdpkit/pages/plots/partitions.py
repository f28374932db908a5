"""The posterior similarity matrix of a partition, and groups of topics as a dendrogram."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from hdpkit.canvas import given_axes, plain
from hdpkit.checks import flag, items, number_array, whole_numbers
from hdpkit.data.matrices import sparse_entries
from hdpkit.errors import DataError, ParameterError

_MOST = 5_000
_MOST_NAMED = 60


def posterior_similarity(
    matrix: Any, *, labels: Any = None, ordered: bool = True, partition: Any = None, ax: Any = None
) -> Any:
    """Plot the posterior similarity matrix, the probability that two items share a cluster, as a heat map.

    `hdpkit.summaries.co_clustering` computes it from samples of a run.

    Parameters
    ----------
    matrix : array_like of float, shape (n, n)
        Probabilities, symmetric; n at most 5,000.
    labels : sequence of str, length n, optional
        Names, which are shown if there are at most 60.
    ordered : bool
        Whether to order rows and columns by the leaves of an average-linkage tree, so that clusters appear
        as blocks.
    partition : int array of shape (n,), optional
        Cluster of each item (`PointPartition.labels`, or ``labels_`` of `MixtureModel`): rows and columns are
        in its order, with lines between clusters, instead of that of a tree.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError, DataError
        If the matrix isn't symmetric or has values that aren't probabilities, or the number of labels is
        wrong.
    MissingExtraError
        If Matplotlib is not installed.
    """
    allowed = f"symmetric probabilities, shape (n, n), n from 1 to {_MOST:,}"
    remedy = "For more items draw a sample of them."
    if scipy.sparse.issparse(matrix):
        entries = sparse_entries("matrix", matrix)
        values = entries.matrix().toarray() if max(entries.shape) <= _MOST else None
    else:
        values = number_array(matrix)
    if (
        values is None
        or values.ndim != 2
        or values.shape[0] != values.shape[1]
        or not 1 <= len(values) <= _MOST
        or not ((values >= 0) & (values <= 1 + 1e-9)).all()
        or not np.allclose(values, values.T)
    ):
        raise ParameterError("matrix", matrix, allowed, remedy)
    flag("ordered", ordered)
    names = _names(labels, len(values))
    ends: list[int] = []
    if partition is not None:
        remedy = "For instance point_partition(trace).labels."
        clusters = whole_numbers("partition", partition, 0, 2**31 - 1, length=len(values), remedy=remedy)
        order = np.argsort(clusters, kind="stable")
        ends = (np.flatnonzero(np.diff(clusters[order])) + 1).tolist()
        values, names = values[np.ix_(order, order)], None if names is None else [names[i] for i in order]
    elif ordered and len(values) > 2:
        apart = 1.0 - np.minimum(0.5 * (values + values.T), 1.0)
        np.fill_diagonal(apart, 0.0)
        tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart), "average")
        order = scipy.cluster.hierarchy.leaves_list(tree)
        values, names = values[np.ix_(order, order)], None if names is None else [names[i] for i in order]
    ax = given_axes(ax, (5.6, 4.8))
    image = ax.imshow(values, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="probability of being together")
    for end in ends:
        ax.axhline(end - 0.5, color="white", linewidth=0.8)
        ax.axvline(end - 0.5, color="white", linewidth=0.8)
    if names is not None and len(names) <= _MOST_NAMED:
        ax.set_yticks(np.arange(len(names)), names, fontsize=7)
        ax.set_xticks([])
    return ax


def dendrogram(groups: Any, *, labels: Any = None, ax: Any = None) -> Any:
    """Plot groups of topics as a dendrogram.

    Parameters
    ----------
    groups : TopicGroups or array_like of float, shape (K - 1, 4)
        Groups, or a linkage matrix as returned by ``scipy.cluster.hierarchy.linkage``.
    labels : sequence of str, length K, optional
        Names of the topics, for instance their first terms; by default their numbers, from 1 for
        the largest.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError, DataError
        If this isn't a linkage, or the number of labels is wrong.
    MissingExtraError
        If Matplotlib is not installed.
    """
    linkage = number_array(getattr(groups, "linkage", groups))
    finite = linkage is not None and np.isfinite(linkage).all()
    if (
        linkage is None
        or not finite
        or linkage.ndim != 2
        or not scipy.cluster.hierarchy.is_valid_linkage(linkage)
    ):
        raise ParameterError("groups", groups, "groups of topics, or a linkage matrix", "See group_topics.")
    n = len(linkage) + 1
    order = np.argsort(-getattr(groups, "weights", np.ones(n)), kind="stable")
    names = _names(labels, n) or [str(rank + 1) for rank in np.argsort(order).tolist()]
    ax = given_axes(ax, (6.4, 1.0 + 0.18 * n))
    scipy.cluster.hierarchy.dendrogram(
        linkage, orientation="left", labels=names, ax=ax, color_threshold=0.0, above_threshold_color="C0",
        leaf_font_size=8,
    )  # fmt: skip
    ax.set_xlabel("distance")
    return ax


def _names(labels: Any, n: int) -> list[str] | None:
    if labels is None:
        return None
    names = items("labels", labels, "a sequence of names", remedy="Leave it out for numbers.")
    if len(names) != n:
        raise DataError("labels", f"{len(names)} names", f"{n} names", "One for each row.")
    return [plain(name) for name in names]
