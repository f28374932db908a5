"""Bar plots of the terms of topics, and similarities of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hdpkit.canvas import PALETTE, ROW, alt, bars, chart, colour, evenly, heat, names, number, told
from hdpkit.canvas import named as name_of
from hdpkit.checks import whole_number
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError, printable
from hdpkit.franchise.franchise import Franchise
from hdpkit.posterior.readings import named, term_names, topic_weights

_COLUMNS = 4
_MOST_PAIRS = 5_000
_MOST_NAMED = 60


def topics(topics: Any, vocabulary: Any = None, *, n_topics: int = 12, n_terms: int = 8) -> Any:
    """Plot topics as bars, one panel per topic, with the terms that have the largest weights.

    Parameters
    ----------
    topics : Franchise, Sample or array_like of float, shape (K, V)
        Topics of a franchise are ordered by size, the largest first; rows of an array keep their order.
    vocabulary : sequence of str, length V, optional
        Words of the terms; by default those of the franchise's corpus, or numbers.
    n_topics, n_terms : int
        The largest number of topics, and of terms of each.

    Returns
    -------
    altair.ConcatChart

    Raises
    ------
    ParameterError, DataError
        If these aren't topics over terms, or the vocabulary has the wrong length.
    MissingExtraError
        If Altair is not installed.
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

    Each dot is a pair of topics. Its height within a row is random.

    Parameters
    ----------
    topics : Franchise, Sample, array_like of float, shape (K, V), or dict of these
        For a dict the plot has one row per entry, labelled by its key.
    rng : int
        Seed for the heights of the dots.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ParameterError, DataError
        If these aren't topics over terms, or there is only one topic.
    MissingExtraError
        If Altair is not installed.
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
    the first run, which are outlined, then those without a partner.

    Parameters
    ----------
    found : TopicMatch
        `hdpkit.summaries.match_topics` returns it.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ParameterError
        If this isn't such a match.
    MissingExtraError
        If Altair is not installed.
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
    return _heat(values, titles, len(one), len(other))


def _heat(values: Any, titles: Any, n_rows: int, n_columns: int) -> Any:
    """Cosines as a heat map in which pairs are outlined."""
    labelled = max(n_rows, n_columns) <= _MOST_NAMED
    cell = ROW if labelled else max(2.0, 1_200 / max(n_rows, n_columns))
    drawn = heat(
        values, ("one", titles[0]), ("other", titles[1]), ("cosine", "cosine", ".2f"), n_rows,
        scale={"domain": [0, 1]}, row=cell, width=round(cell * n_columns), labels=labelled, labelAngle=-90,
        title=titles[1], row_title=titles[0],
    )  # fmt: skip
    outline = {"condition": {"test": "datum.pair", "value": "#fb325e"}, "value": None}
    return drawn.encode(stroke=outline, strokeWidth=alt.value(2))
