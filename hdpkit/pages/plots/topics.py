"""Plots of topics: bars, similarities, matches, trees; and who is together in a partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from hdpkit.canvas import (
    PALETTE,
    ROW,
    alt,
    bars,
    chart,
    colour,
    evenly,
    heat,
    layered,
    names,
    number,
    over,
    places,
    rounded,
    told,
)
from hdpkit.canvas import named as name_of
from hdpkit.checks import flag, items, number_array, whole_number, whole_numbers
from hdpkit.data.files.tables import rows_of
from hdpkit.data.matrices import sparse_entries
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.readings import named, term_names, topic_weights

_COLUMNS = 4
_MOST_PAIRS = 5_000
_MOST_NAMED = 60


def topics(topics: Any, vocabulary: Any = None, *, n_topics: int = 12, n_terms: int = 8) -> Any:
    """Plot topics as bars, one panel per topic, with the terms that have the largest weights.

    Returns an ``altair.ConcatChart``. Raises a ParameterError or DataError if these aren't topics over terms,
    or the vocabulary has the wrong length.

    Parameters
    ----------
    topics : Franchise, Sample or array_like of float, shape (K, V)
        Topics of a franchise are ordered by size, the largest first; rows of an array keep their order.
    vocabulary : sequence of str, length V, optional
        Words of the terms; by default those of the franchise's corpus, or numbers.
    n_topics, n_terms : int
        The largest number of topics, and of terms of each.
    """
    whole_number("n_topics", n_topics, 1, remedy="12 fit on a page.")
    whole_number("n_terms", n_terms, 1, remedy="8 are usual.")
    weights = topic_weights(topics)
    words = term_names(topics, vocabulary, weights.shape[1])
    sizes = _sizes(topics, len(weights))
    order = np.arange(len(weights)) if sizes is None else np.argsort(-sizes, kind="stable")
    panels = []
    for place, k in enumerate(order[:n_topics].tolist(), start=1):
        top = largest(weights[k], n_terms)
        values = [
            {"term": printable(str(words[v])), "weight": float(weights[k, v])}
            for v in top[weights[k, top] > 0].tolist()
        ]
        shown = place if sizes is not None else k + 1
        share = "" if sizes is None else f", {sizes[k] / max(sizes.sum(), 1):.1%}"
        drawn = bars(values, "term", "weight", "", ".3~g", fill=colour(shown), width=160)
        panels.append(drawn.properties(title=f"topic {shown}{share}"))
    return alt.concat(*panels, columns=_COLUMNS)


def _sizes(topics: Any, n: int) -> Any:
    """Number of customers of each topic, if known."""
    found = getattr(topics, "sizes", None)
    if isinstance(topics, Franchise):
        found = topics.dish_counts.sum(axis=1)
    sizes = None if found is None else np.asarray(found, dtype=np.float64)
    return sizes if sizes is not None and sizes.shape == (n,) else None


def similarity(topics: Any, *, rng: int = 0) -> Any:
    """Plot the cosine similarity of every pair of topics (Wang & Blei 2012, Figure 8).

    Each dot is a pair of topics. Its height within a row is random. Returns an ``altair.Chart``. Raises a
    ParameterError or DataError if these aren't topics over terms, or there is only one topic.

    Parameters
    ----------
    topics : Franchise, Sample, array_like of float, shape (K, V), or dict of these
        For a dict the plot has one row per entry, labelled by its key.
    rng : int
        Seed for the heights of the dots.
    """
    whole_number("rng", rng, remedy="Give a seed, such as 0.")
    given = topics if isinstance(topics, Mapping) else {"": topics}
    rows = named("topics", given, "topics, or a dict of them", "Give a franchise.")
    pairs = {}
    for name, value in rows.items():
        weights = topic_weights(value)
        if len(weights) < 2:
            raise DataError("topics", value, "at least two topics", "One topic makes no pair.")
        unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        similar = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
        # Of too many, quantiles are drawn, which keep the ends and the density.
        pairs[name] = np.sort(similar)[evenly(len(similar), _MOST_PAIRS)]
    heights = np.random.default_rng(rng)
    values = [
        {"topics": printable(name), "cosine": cosine, "height": height}
        for name, similar in pairs.items()
        for cosine, height in np.column_stack([similar, heights.uniform(-1, 1, len(similar))]).tolist()
    ]
    return (
        chart(values, 60 * len(pairs))
        .mark_circle(size=9, opacity=0.6)
        .encode(
            number("X", "cosine", "cosine similarity of two topics", scale={"domain": [0, 1]}),
            names("Y", "topics"),
            alt.YOffset(field="height", type="quantitative", scale={"domain": [-1.5, 1.5]}),
            alt.Color(field="topics", type="nominal", sort=None, legend=None, scale={"range": list(PALETTE)}),
            tooltip=[name_of("topics"), told("cosine", form=".3f")],
        )
    )


def match(found: Any) -> Any:
    """Plot the cosines of the topics of two runs as a heat map, pairs first.

    Rows are the topics of the first run, columns those of the second: first the pairs, by descending share in
    the first run, which are outlined, then those without a partner. Returns an ``altair.Chart``.

    Parameters
    ----------
    found : TopicMatch
        `hdpkit.summaries.match_topics` returns it; a ParameterError for anything else.
    """
    parts: Any = [
        getattr(found, name, None) for name in ("cosines", "pairs", "unmatched", "names", "sources")
    ]
    if isinstance(found, type) or any(part is None for part in parts):
        raise ParameterError(
            "found", found, "a match of two runs", "hdpkit.summaries.match_topics(one, other)."
        )
    cosines, pairs, unmatched, names, sources = parts
    orders = [np.concatenate([pairs[:, side], unmatched[side]]).astype(np.int64) for side in (0, 1)]
    one, other = ([printable(str(own[k])) for k in order] for own, order in zip(names, orders, strict=True))
    values = [
        {"one": one[i], "other": other[j], "cosine": round(float(cosines[orders[0][i], orders[1][j]]), 3),
         "pair": i == j < len(pairs)}
        for i in range(len(one))
        for j in range(len(other))
    ]  # fmt: skip
    titles = [f"topics of {printable(source)}" for source in sources]
    most = max(len(one), len(other))
    cell = ROW if most <= _MOST_NAMED else max(2.0, 1_200 / most)
    drawn = heat(
        values, ("one", titles[0]), ("other", titles[1]), ("cosine", "cosine", ".2f"), len(one),
        scale={"domain": [0, 1]}, row=cell, width=round(cell * len(other)), labels=most <= _MOST_NAMED,
        labelAngle=-90, title=titles[1], row_title=titles[0],
    )  # fmt: skip
    outline = {"condition": {"test": "datum.pair", "value": "#fb325e"}, "value": None}
    return drawn.encode(stroke=outline, strokeWidth=alt.value(2))


_MOST = 5_000
_MOST_DRAWN = 150


def posterior_similarity(
    matrix: Any, *, labels: Any = None, ordered: bool = True, partition: Any = None
) -> Any:
    """Plot the posterior similarity matrix, the probability that two items share a cluster, as a heat map.

    `hdpkit.summaries.co_clustering` computes it from samples of a run. Returns an ``altair.LayerChart``.
    Raises a ParameterError or DataError if the matrix isn't symmetric or has values that aren't
    probabilities, or the number of labels is wrong.

    Parameters
    ----------
    matrix : array_like of float, shape (n, n)
        Probabilities, symmetric; n at most 5,000. Of more than 150 items, 150 are drawn, evenly spaced in
        their order.
    labels : sequence of str, length n, optional
        Names, which are shown if there are at most 60.
    ordered : bool
        Whether to order rows and columns by the leaves of an average-linkage tree, so that clusters are
        blocks.
    partition : int array of shape (n,), optional
        Cluster of each item (`PointPartition.labels`, or ``labels_`` of `MixtureModel`): rows and columns are
        in its order, with lines between clusters, instead of that of a tree.
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
    order = np.arange(len(values))
    clusters = np.zeros(len(values), dtype=np.int64)
    if partition is not None:
        remedy = "For instance point_partition(trace).labels."
        clusters = whole_numbers("partition", partition, 0, 2**31 - 1, length=len(values), remedy=remedy)
        order = np.argsort(clusters, kind="stable")
    elif ordered and len(values) > 2:
        apart = 1.0 - np.minimum(0.5 * (values + values.T), 1.0)
        np.fill_diagonal(apart, 0.0)
        tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(apart), "average")
        order = scipy.cluster.hierarchy.leaves_list(tree)
    order = order[evenly(len(order), _MOST_DRAWN)]
    ends = (np.flatnonzero(np.diff(clusters[order])) + 1).tolist()
    shown = names is not None and len(values) <= _MOST_NAMED
    texts = [(names[i], at + 0.5) for at, i in enumerate(order.tolist())] if names and shown else []
    return together(values[np.ix_(order, order)], order, ends, texts, size=9)


def together(
    shares: Any, items: Any, ends: Sequence[int], texts: Sequence[tuple[str, float]], size: int = 13
) -> Any:
    """Probabilities of being together as squares (none below 0.5 %), lines after rows, and texts at rows."""
    n = len(shares)
    rows, columns = np.nonzero(np.round(shares, 2) > 0.0)
    cells = rows_of(
        {
            "row": rows.tolist(), "column": columns.tolist(), "one": (items[rows] + 1).tolist(),
            "other": (items[columns] + 1).tolist(), "probability": rounded(shares[rows, columns], 2),
        }
    )  # fmt: skip

    def at(channel: str, field: str) -> Any:
        return places(channel, field, 0, n, down=channel == "Y")

    squares = over().mark_rect(stroke=None).transform_calculate(
        row_end="datum.row + 1", column_end="datum.column + 1"
    ).encode(
        at("X", "column"), alt.X2(field="column_end"), at("Y", "row"), alt.Y2(field="row_end"),
        alt.Color(
            field="probability", type="quantitative", scale={"domain": [0, 1]},
            legend={"title": "probability of being together", "format": ".0%", "orient": "bottom"},
        ),
        tooltip=[told("one", "observation"), told("other", "and observation"),
                 told("probability", form=".0%")],
    )  # fmt: skip
    between = over([{"end": end, "first": 0, "last": n} for end in ends]).mark_rule(strokeWidth=1)
    across = between.encode(at("Y", "end"), at("X", "first"), alt.X2(field="last"))
    down = between.encode(at("X", "end"), at("Y", "first"), alt.Y2(field="last"))
    text = over([{"text": printable(text), "at": place, "first": 0} for text, place in texts]).mark_text(
        style="on-chart", fontWeight="bold", fontSize=size, align="right", dx=-6, clip=False, limit=200
    )
    text = text.encode(at("Y", "at"), at("X", "first"), text=alt.Text(field="text", type="nominal"))
    return layered(cells, 460, squares, across, down, text)


def dendrogram(groups: Any, *, labels: Any = None) -> Any:
    """Plot groups of topics as a dendrogram.

    Returns an ``altair.LayerChart``. Raises a ParameterError or DataError if this isn't a linkage, or the
    number of labels is wrong.

    Parameters
    ----------
    groups : TopicGroups or array_like of float, shape (K - 1, 4)
        Groups, or a linkage matrix as returned by ``scipy.cluster.hierarchy.linkage``.
    labels : sequence of str, length K, optional
        Names of the topics; by default their numbers, from 1 for the largest.
    """
    linkage = number_array(getattr(groups, "linkage", groups))
    finite = linkage is not None and linkage.ndim == 2 and np.isfinite(linkage).all()
    if linkage is None or not finite or not scipy.cluster.hierarchy.is_valid_linkage(linkage):
        raise ParameterError("groups", groups, "groups of topics, or a linkage matrix", "See group_topics.")
    n = len(linkage) + 1
    order = np.argsort(-getattr(groups, "weights", np.ones(n)), kind="stable")
    names = _names(labels, n) or [str(rank + 1) for rank in np.argsort(order).tolist()]
    drawn = scipy.cluster.hierarchy.dendrogram(linkage, no_plot=True)
    return tree(drawn, [names[i] for i in drawn["leaves"]], float(linkage[-1, 2]), "distance")


def tree(
    drawn: Any, labels: Sequence[str], farthest: float, title: str, fills: Sequence[str] | None = None
) -> Any:
    """A horizontal dendrogram of SciPy: its root is at the left, and each line has one leaf with its name."""
    branches = [
        {"branch": b, "order": i, "place": place, "distance": distance}
        for b, found in enumerate(zip(drawn["icoord"], drawn["dcoord"], strict=True))
        for i, (place, distance) in enumerate(zip(*rounded(found), strict=True))
    ]
    leaves = [
        {"place": 5 + 10 * i, "distance": 0.0, "label": label, "colour": fills[i] if fills else None}
        for i, label in enumerate(labels)
    ]
    values = [farthest * part / 4 for part in range(5)]
    axis = {"title": title, "values": values, "format": ".3~g", "grid": False}
    scale = {"domain": [farthest * 1.03, -farthest * 1.4], "nice": False, "zero": False}
    x = alt.X(field="distance", type="quantitative", axis=axis, scale=scale)
    down = {"domain": [10 * len(leaves), 0], "nice": False}
    y = alt.Y(field="place", type="quantitative", axis=None, scale=down)
    line = over().mark_line(interpolate="linear", strokeWidth=1.4)
    order = alt.Order(field="order", type="quantitative")
    line = line.encode(x, y, detail=alt.Detail(field="branch", type="nominal"), order=order)
    words = over(leaves).mark_text(align="left", dx=14 if fills else 6, style="on-chart", limit=420)
    words = words.encode(x, y, text=alt.Text(field="label", type="nominal"))
    dots = over(leaves).mark_circle(size=70, opacity=1, xOffset=6)
    dots = dots.encode(x, y, alt.Color(field="colour", type="nominal", scale=None))
    return layered(branches, max(26 * len(leaves), 80), line, words, *([dots] if fills else []))


def _names(labels: Any, n: int) -> list[str] | None:
    if labels is None:
        return None
    names = items("labels", labels, "a sequence of names", remedy="Leave it out for numbers.")
    if len(names) != n:
        raise DataError("labels", f"{len(names)} names", f"{n} names", "One for each row.")
    return [printable(str(name)) for name in names]
