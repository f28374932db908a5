"""Bar plots of the terms of topics, and similarities of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hdpkit.canvas import colours, evenly, given_axes, given_figure, plain
from hdpkit.checks import whole_number
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.readings import named, term_names, topic_weights

_COLUMNS = 4
_MOST_PAIRS = 20_000
_MOST_NAMED = 60


def topics(
    topics: Any, vocabulary: Any = None, *, n_topics: int = 12, n_terms: int = 8, figure: Any = None
) -> Any:
    """Plot topics as bars, one panel per topic, with the terms that have the largest weights.

    Parameters
    ----------
    topics : Franchise, Sample or array_like of float, shape (K, V)
        Topics of a franchise are ordered by size, the largest first; rows of an array keep their order.
    vocabulary : sequence of str, length V, optional
        Words of the terms; by default those of the franchise's corpus, or numbers.
    n_topics, n_terms : int
        The largest number of topics, and of terms of each.
    figure : matplotlib.figure.Figure, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ParameterError, DataError
        If these aren't topics over terms, or the vocabulary has the wrong length.
    MissingExtraError
        If Matplotlib is not installed.
    """
    whole_number("n_topics", n_topics, 1, remedy="12 fit on a page.")
    whole_number("n_terms", n_terms, 1, remedy="8 are usual.")
    weights = topic_weights(topics)
    words = term_names(topics, vocabulary, weights.shape[1])
    sizes = _sizes(topics, len(weights))
    order = np.arange(len(weights)) if sizes is None else np.argsort(-sizes, kind="stable")
    order = order[:n_topics]
    columns = min(_COLUMNS, len(order))
    rows = -(-len(order) // columns)
    figure = given_figure(figure, (2.9 * columns, (0.55 + 0.2 * n_terms) * rows))
    for place, k in enumerate(order.tolist(), start=1):
        ax = figure.add_subplot(rows, columns, place)
        top = largest(weights[k], n_terms)
        top = top[weights[k, top] > 0]
        ax.barh(np.arange(len(top)), weights[k, top], color=colours(1)[0])
        ax.set_yticks(np.arange(len(top)), [plain(words[v]) for v in top], fontsize=8)
        ax.invert_yaxis()
        ax.tick_params(axis="x", labelsize=7)
        ax.locator_params(axis="x", nbins=3)
        share = "" if sizes is None else f", {sizes[k] / max(sizes.sum(), 1):.1%}"
        ax.set_title(f"topic {place if sizes is not None else k + 1}{share}", fontsize=9)
    return figure


def _sizes(topics: Any, n: int) -> Any:
    """Number of customers of each topic, if known."""
    found = getattr(topics, "sizes", None)
    if isinstance(topics, Franchise):
        found = topics.dish_counts.sum(axis=1)
    sizes = None if found is None else np.asarray(found, dtype=np.float64)
    return sizes if sizes is not None and sizes.shape == (n,) else None


def similarity(topics: Any, *, rng: int = 0, ax: Any = None) -> Any:
    """Plot the cosine similarity of every pair of topics (Wang & Blei 2012, Figure 8).

    Each dot is a pair of topics. Its height within a row is random.

    Parameters
    ----------
    topics : Franchise, Sample, array_like of float, shape (K, V), or dict of these
        For a dict the plot has one row per entry, labelled by its key.
    rng : int
        Seed for the heights of the dots.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError, DataError
        If these aren't topics over terms, or there is only one topic.
    MissingExtraError
        If Matplotlib is not installed.
    """
    whole_number("rng", rng, remedy="A seed.")
    given = topics if isinstance(topics, Mapping) else {"": topics}
    rows = named("topics", given, "topics, or a dict of them", "Give a franchise.")
    pairs = {}
    for name, value in rows.items():
        weights = topic_weights(value)
        if len(weights) < 2:
            raise DataError("topics", value, "at least two topics", "One topic makes no pair.")
        unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        similar = (unit @ unit.T)[np.triu_indices(len(unit), 1)]
        # If there are too many to draw, quantiles are drawn, which keep the ends and the density.
        pairs[name] = np.sort(similar)[evenly(len(similar), _MOST_PAIRS)]
    ax = given_axes(ax, (6.4, 1.2 + 0.7 * len(pairs)))
    heights = np.random.default_rng(rng)
    for row, (similar, colour) in enumerate(zip(pairs.values(), colours(len(pairs)), strict=True)):
        jitter = heights.uniform(-0.3, 0.3, len(similar))
        ax.plot(similar, row + jitter, linestyle="none", marker=".", markersize=3, color=colour, alpha=0.6)
    ax.set_yticks(np.arange(len(pairs)), [plain(name) for name in pairs])
    ax.set_ylim(len(pairs) - 0.5, -0.5)
    ax.set_xlim(-0.02, 1.02)
    ax.set_xlabel("cosine similarity of two topics")
    return ax


def match(found: Any, *, ax: Any = None) -> Any:
    """Plot the cosines of the topics of two runs as a heat map, pairs first.

    Rows are the topics of the first run, columns those of the second: first the pairs, by descending share in
    the first run, which are outlined, then those without a partner.

    Parameters
    ----------
    found : TopicMatch
        `hdpkit.summaries.match_topics` returns it.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If this isn't such a match.
    MissingExtraError
        If Matplotlib is not installed.
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
    size = [1.6 + 0.17 * min(len(order), _MOST_NAMED) for order in orders]
    ax = given_axes(ax, (max(4.8, size[1] + 1.2), max(3.6, size[0])))
    image = ax.imshow(cosines[np.ix_(*orders)], vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="cosine")
    for place in range(len(pairs)):
        square = ([place - 0.5, place + 0.5, place + 0.5, place - 0.5, place - 0.5],
                  [place - 0.5, place - 0.5, place + 0.5, place + 0.5, place - 0.5])  # fmt: skip
        ax.plot(*square, color="white", linewidth=0.8)
    axes = ((ax.set_yticks, ax.set_ylabel), (ax.set_xticks, ax.set_xlabel))
    for order, own, source, (ticks, label) in zip(orders, names, sources, axes, strict=True):
        shown = [plain(own[k]) for k in order] if len(order) <= _MOST_NAMED else []
        ticks(np.arange(len(shown)), shown, fontsize=6)
        label(f"topics of {plain(source)}")
    ax.set_xlim(-0.5, len(orders[1]) - 0.5)
    ax.set_ylim(len(orders[0]) - 0.5, -0.5)
    if any(len(name) > 3 for name in names[1]):
        ax.tick_params(axis="x", rotation=90)
    return ax
