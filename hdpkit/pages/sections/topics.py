"""Sections of documents: overview, groups, topics, states, map, shares over time and by label, documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from hdpkit.canvas import ROW, alt, bars, colour, colours, layered, named, names, number, over, rounded, told
from hdpkit.data.files.tables import rows_of
from hdpkit.data.top_terms import typical
from hdpkit.errors import printable
from hdpkit.kinds.listing import Nouns, background_told
from hdpkit.pages.plots.components import by_group
from hdpkit.pages.plots.topics import tree
from hdpkit.pages.report_data import ReportData, coordinates, distinct
from hdpkit.pages.section import Content
from hdpkit.pages.sections.run import opening
from hdpkit.posterior.alignment import unit_rows
from hdpkit.posterior.documents import PRESENT, Trends, chooser
from hdpkit.posterior.grouping import ComponentGroups
from hdpkit.posterior.repetition import repetition

_BURSTS = "concentration/bursts"


def read_overview(report: ReportData) -> Content:
    """Sizes, the largest topics, and whether the run has converged."""
    found, nouns = report.components, report.nouns
    merged = found.merged_from
    *sizes, (terms, n_terms) = report.model.sizes(report.corpus)
    sizes = [
        *([] if merged is None else [(f"{nouns.topics} found", merged)]),
        (f"{nouns.topics}{'' if merged is None else ', merged'}", len(found)),
        *sizes,
        (f"different {terms}", n_terms),
    ]
    largest = sorted(report.listed, key=lambda one: -one["share"])
    half = int((np.cumsum([one["share"] for one in largest]) < 0.5).sum()) + 1
    return opening(
        report,
        sizes,
        found.rest,
        merged=merged,
        half=min(half, len(largest)),
        largest=largest[:5],
        source=found.source,
        groups=_groups(report),
        background=background_told(found, report.present, nouns),
        boilerplate=report.model.hint(report.state, None if report.run is None else report.run.folder),
        repetition=_repetition(report),
    )


def _repetition(report: ReportData) -> str | None:
    """How often terms repeat within documents, and the concentration of that; None if it isn't known."""
    often, sample, nouns = report.state.document_frequency(), report.shown, report.nouns
    if often is None or sample.n_groups != report.corpus.n_documents:
        return None
    found = repetition(sample, int(np.sum(often)))
    if found is None:
        return None
    said = found.sentence(nouns.term, nouns.document, nouns.topic)
    settled = [chain[_BURSTS][chain.n_draws // 2 :] for _, chain in report.traces if _BURSTS in chain]
    if found.bursty is None or not settled:
        return said
    low, middle, high = np.quantile(np.concatenate(settled).astype(np.float64), [0.05, 0.5, 0.95])
    spread = "" if low == high else f" (90 % of the sweeps of the second half: {low:,.3g} to {high:,.3g})"
    return (
        f"{said} Concentration of bursts: {middle:,.3g}{spread}; the larger, the less {nouns.terms} repeat."
    )


def _groups(report: ReportData) -> list[dict[str, Any]]:
    """The groups of similar topics, with their labels or first terms; none without groups."""
    if report.groups is None:
        return []
    shares = report.groups.shares
    return [
        {"number": g + 1, "label": name, "share": float(shares[g])}
        for g, name in enumerate(report.group_names(4))
    ]


def read_groups(report: ReportData) -> Content | None:
    """Groups with their topics and shares, and a tree of the groups; None for fewer than four topics."""
    if report.groups is None:
        return None
    of = report.groups.of
    groups = [
        one
        | {
            "label": report.group_labels[g],
            "terms": report.group_words[g],
            "topics": [listed for listed in report.listed if of[listed["number"] - 1] == g],
        }
        for g, one in enumerate(_groups(report))
    ]
    return Content(
        values={"groups": groups, "n_topics": len(report.listed)},
        charts={"groups-tree": _tree(report.groups, report.group_names(4), groups)},
        data={"groups": (report.group + 1).tolist()},
    )


def _tree(grouped: ComponentGroups, names: list[str], groups: list[dict[str, Any]]) -> Any:
    """The top of the tree, down to the groups."""
    n, linkage = len(groups), grouped.tree.linkage
    drawn = scipy.cluster.hierarchy.dendrogram(linkage, p=n, truncate_mode="lastp", no_plot=True)
    leaves = []
    for node in drawn["leaves"]:
        while node >= len(linkage) + 1:  # to a topic below it
            node = int(linkage[node - len(linkage) - 1, 0])
        leaves.append(int(grouped.of[node]))
    labels = [f"{g + 1}  {names[g]}  ({groups[g]['share']:.0%})" for g in leaves]
    return tree(
        drawn, labels, float(linkage[-1, 2]), "height of the merge (Ward)", [colour(g + 1) for g in leaves]
    )


_SIMILAR = 5
_IN_TABLE = 8
_MOST_SEARCHED = 15_000
_TOPICS_OF_A_TERM = 3


def read_topics(report: ReportData) -> Content:
    """A row for each topic, and for the script terms in two orders, documents, and similar topics."""
    nouns = report.nouns
    rows: list[dict[str, Any]] = [
        {
            "number": report.numbers[k],
            "label": report.given_labels[k],
            "terms": [report.words[v] for v in report.top_terms(k, _IN_TABLE)],
            "share": float(report.shares[k]),
            "documents": float(report.present[k]),
            "unsettled": bool(report.components.unsettled[k]),
        }
        for k in range(report.n_topics)
    ]
    details = _details(report)
    data = {
        "topics": details,
        "words": [report.words[v] for v in _numbers(report)],
        "searched": _searched(report),
    }
    if report.texts is not None:
        data["texts"] = {d: report.texts[d] for one in details for d, _ in one["documents"]}
    return Content(
        values={
            "rows": rows,
            "present": PRESENT,
            "n_hidden": len(report.components) - report.n_topics,
            "rest": report.components.rest,
            "has_common": len(report.samples) > 1,
            "largest_share": max(row["share"] for row in rows),
        },
        charts={"topic-terms": bars([], "term", "weight", f"share of the {nouns.topic}", noun=nouns.term)},
        data=data,
    )


def _numbers(report: ReportData) -> list[int]:
    """Terms that the page can show: those in the search index, and the top terms of the topics."""
    if "numbers" not in report.kept:
        order = np.argsort(-report.term_counts, kind="stable")
        frequent = [int(v) for v in order[:_MOST_SEARCHED] if report.term_counts[v] > 0]
        seen = set(frequent)
        both = (top for k in range(report.n_topics) for top in _orders(report, k))
        more = [v for top in both for v in top if v not in seen]
        report.kept["numbers"] = frequent + list(dict.fromkeys(more))
    numbers: list[int] = report.kept["numbers"]
    return numbers


def _orders(report: ReportData, topic: int) -> tuple[list[int], list[int]]:
    """A topic's terms by weight, and by relevance: 0.4 log weight + 0.6 log lift."""
    key = f"orders {topic}"
    if key not in report.kept:
        weights = np.where(report.counts[topic] > 0, report.weights[topic], 0.0)
        report.kept[key] = (
            report.top_terms(topic),
            typical(weights, report.every_term, report.n_terms).tolist(),
        )
    orders: tuple[list[int], list[int]] = report.kept[key]
    return orders


def _details(report: ReportData) -> list[dict[str, Any]]:
    place = {v: i for i, v in enumerate(_numbers(report))}
    unit = unit_rows(report.weights)
    similar = unit @ unit.T
    details = []
    for k in range(report.n_topics):
        weights, lift = report.weights[k], report.weights[k] / np.maximum(report.every_term, 1e-300)
        terms = [
            [[place[v], *rounded([weights[v], lift[v]], 3)] for v in order] for order in _orders(report, k)
        ]
        column = report.document_shares[:, [k]].tocoo()
        # Many short documents have only one topic; among equal shares the longer document comes first.
        lengths = report.document_lengths[column.row]
        order = np.lexsort((column.row, -lengths, -column.data))[: report.n_documents]
        near = [int(j) for j in np.argsort(-similar[k], kind="stable") if j != k][:_SIMILAR]
        details.append(
            {
                "number": report.numbers[k],
                "tokens": round(float(report.shares[k]) * report.n_customers),
                "share": rounded([report.shares[k]])[0],
                "label": report.labels[k],
                "terms": terms[0],
                "apart": terms[1],
                "documents": [[int(column.row[i]), *rounded([column.data[i]], 3)] for i in order],
                "similar": [[report.numbers[j], *rounded([similar[k, j]], 2)] for j in near],
            }
        )
    return details


def _searched(report: ReportData) -> list[list[float]]:
    """For each word the topics with the largest shares of it: [topic, share, topic, ...]."""
    found = []
    for v in _numbers(report):
        column = report.counts[:, v]
        order = np.argsort(-column, kind="stable")[:_TOPICS_OF_A_TERM]
        row: list[float] = []
        for k in order:
            if column[k] > 0:
                row += [report.numbers[k], *rounded([column[k] / report.term_counts[v]], 2)]
        found.append(row)
    return found


_TERMS = 8
_IN_CHART = 30
_MOST_COMMON = 500


def read_samples(report: ReportData) -> Content | None:
    """A row for each topic, with intervals; None if the run has fewer than two states."""
    found = report.components
    if len(found.samples) < 2 or not len(found):
        return None
    rows = report.rows(min(report.n_topics, _MOST_COMMON))
    for k, row in enumerate(rows):
        row["terms"] = [report.words[v] for v in report.top_terms(k, _TERMS)]
    drawn = ("share", "lower", "upper", "occurrence")
    values = [
        {
            "topic": f"{row['number']}  {' '.join(row['terms'][:3])}",
            "colour": colour(row["number"]),
            **{name: rounded(row[name], 3) for name in drawn},
        }
        for row in rows[:_IN_CHART]
    ]
    return Content(
        values={
            "rows": rows,
            "n_common": len(found),
            "n_samples": len(found.samples),
            "sweeps": found.sweeps,
            "n_chains": len(found.chain_numbers),
            "n_agreed": len(found.in_all_chains),
            "level": found.level,
            "rest": found.rest,
            "n_charted": len(values),
        },
        charts={"samples-shares": _intervals(values, report.nouns)},
        data={"common": _terms(report), "level": found.level},
    )


def _terms(report: ReportData) -> list[list[Any]]:
    """Occurrence, share and interval of each topic, and mean and interval of each of its frequent terms."""
    found, rows = report.components, []
    for k in range(report.n_topics):
        facts = [found.occurrence[k], found.shares[k], found.shares_lower[k], found.shares_upper[k]]
        terms = report.top_terms(k)
        ends = [row[terms] for row in (report.weights[k], *found.ends_of(k))]
        words = [x for one in zip(*ends, strict=True) for x in one]
        rows.append([*rounded(facts, 3), rounded(words, 3)])
    return rows


def _intervals(values: list[dict[str, Any]], nouns: Nouns) -> Any:
    """Shares as points with intervals, one row per topic; topics that fewer samples have are fainter."""
    title = f"share of the {nouns.tokens}"
    y = names("Y", "topic", 260)
    faint = {"domain": [0, 1], "range": [0.35, 1]}
    opacity = alt.Opacity(field="occurrence", type="quantitative", legend=None, scale=faint)
    fill = alt.Color(field="colour", type="nominal", scale=None)
    tooltip = [
        named("topic", nouns.topic), *(told(one, form=".2%") for one in ("share", "lower", "upper")),
        told("occurrence", "states that have it", ".0%"),
    ]  # fmt: skip
    lower = number("X", "lower", title, ".1%", scale={"zero": True})
    rule = over().mark_rule(strokeWidth=2.5)
    rule = rule.encode(lower, alt.X2(field="upper"), y, opacity, fill, tooltip=tooltip)
    point = over().mark_circle(size=60, opacity=1)
    point = point.encode(number("X", "share", title, ".1%"), y, opacity, fill, tooltip=tooltip)
    return layered(values, ROW * len(values), rule, point)


_AREAS = (25, 1600)
"""Areas of the circles for share zero and for the largest share, in square pixels."""
_MOST_ON_MAP = 150
_NAMED = 60  # at most; the page leaves out those that would overlap larger ones


def read_map(report: ReportData) -> Content | None:
    """The largest topics as circles; None if there are fewer than three topics."""
    if report.n_topics < 3:
        return None
    n = min(report.n_topics, _MOST_ON_MAP)
    group, apart = report.group, report.apart(n)
    n_groups = int(group.max()) + 1
    places = coordinates(apart)
    names = [f"{g}  {name}" for g, name in enumerate(report.group_names(3), start=1)] or ["1"]
    areas = _AREAS[0] + (_AREAS[1] - _AREAS[0]) * report.shares / report.shares.max()
    radii = np.sqrt(areas / np.pi)
    values = [
        {
            "number": report.numbers[k],
            "label": report.labels[k],
            "short": report.given_labels[k] or " ".join(report.words[v] for v in report.top_terms(k, 2)),
            "share": rounded([report.shares[k]])[0],
            "group": names[group[k]],
            "x": x,
            "y": y,
            "named": k < _NAMED,
            "up": 3 + round(float(radii[k])),
        }
        for k, (x, y) in enumerate(rounded(places))
    ]
    near = (apart + np.diag(np.full(n, np.inf))).argmin(axis=1).tolist()
    rows = [
        one | {"group": group[k] + 1, "near": near[k] + 1, "near_label": report.labels[near[k]]}
        for k, one in enumerate(report.listed[:n])
    ]
    return Content(
        values={"rows": rows, "n": n, "n_topics": report.n_topics, "n_groups": n_groups},
        charts={"map": scatter(values, names, report.nouns)},
    )


def scatter(values: Sequence[Any], groups: Sequence[str], nouns: Nouns) -> Any:
    """The map: topics as circles with area by share and colour by group; the largest have words."""

    def place(channel: str) -> Any:
        scale = {"zero": False, "nice": False, "padding": 34}
        return getattr(alt, channel)(field=channel.lower(), type="quantitative", axis=None, scale=scale)

    tooltip = [
        told("number", nouns.topic), named("label", nouns.terms), told("share", form=".2%"), named("group"),
    ]  # fmt: skip
    legend = {
        "title": "group", "orient": "bottom", "labelLimit": 190,
        "columns": {"expr": "max(1, floor(width / 230))"},
    }  # fmt: skip
    scale = {"domain": list(groups), "range": colours(len(groups))}
    chosen = "datum.number === chosen"
    circle = over().mark_circle(cursor="pointer").encode(
        place("X"), place("Y"),
        alt.Size(field="share", type="quantitative", scale={"range": list(_AREAS)}, legend=None),
        alt.Color(field="group", type="nominal", scale=scale, legend=legend),
        opacity={"condition": {"test": chosen, "value": 1}, "value": 0.65},
        stroke={"condition": {"test": chosen, "value": "currentColor"}, "value": None},
        strokeWidth=alt.value(2.5), tooltip=tooltip,
    )  # fmt: skip
    words = (
        over()
        .mark_text(dy={"expr": "-datum.up"}, baseline="bottom", limit=130, style="on-chart")
        .encode(place("X"), place("Y"), text=alt.Text(field="short", type="nominal"), tooltip=tooltip)
        .transform_filter(f"datum.named || {chosen}")
    )
    return layered(values, 460, circle, words).add_params(alt.param("chosen", value=0))


_MOST_CHANGING = 12  # topics, those whose shares change most


def read_trends(report: ReportData) -> Content | None:
    """A chart of shares by period for each group, and for the topics that change most; None without dates."""
    name = report.dated
    if name is None:
        return None
    codes, _ = report.document_labels[name]
    found = report.components
    charts: dict[str, Any] = {}
    panels: list[dict[str, Any]] = []
    table: dict[str, Any] | None = None
    if report.groups is not None and len(report.groups) > 1:
        of_groups = found.trends(report.by, report.groups.of)
        assert of_groups is not None
        names = [f"{g}  {name}" for g, name in enumerate(report.group_names(3, " · "), start=1)]
        names = names[: of_groups.shares.shape[1]]
        own = range(1, len(names) + 1)
        panels += _panels(charts, of_groups, names, range(len(names)), own, "group")
        table = {"names": names, "rows": _rows(of_groups)}
    single = found.trends(report.by)
    assert single is not None
    change = np.nanmax(single.shares, axis=0) - np.nanmin(single.shares, axis=0)
    most = sorted(sorted(range(report.n_topics), key=lambda k: -float(change[k]))[:_MOST_CHANGING])
    names = [f"{report.numbers[k]}  {report.labels[k]}" for k in most]
    numbers = [report.numbers[k] for k in most]
    topic_panels = _panels(charts, single, names, most, numbers, report.nouns.topic)
    return Content(
        values={
            "name": printable(name),
            "panels": panels,
            "topic_panels": topic_panels,
            "table": table,
            "n_dated": int((codes >= 0).sum()),
            "n_documents": len(codes),
            "first": single.periods[0],
            "last": single.periods[-1],
            "n_samples": len(found.samples),
            "level": 0.9,
        },
        charts=charts,
    )


def _panels(
    charts: dict[str, Any], found: Trends, names: list[str], columns: Any, numbers: Any, kind: str
) -> list[dict[str, Any]]:
    """A chart for each of these columns, each with its own scale."""
    lines = {"share": found.shares, "lower": found.lower, "upper": found.upper}
    drawn = {name: line for name, line in lines.items() if line is not None}
    panels = []
    for title, column, own in zip(names, columns, numbers, strict=True):
        shown = {name: rounded(line[:, column], 3) for name, line in drawn.items()}
        values = rows_of({"period": found.periods} | shown)
        highest = max(float(np.nanmax(line[:, column])) for line in drawn.values())
        chart = f"trends-{len(charts)}"
        charts[chart] = trend(values, highest, "lower" in drawn, colour(own))
        panels.append({"chart": chart, "title": f"{kind} {title}"})
    return panels


def trend(values: list[dict[str, Any]], highest: float, banded: bool, fill: str) -> Any:
    """A share by period, with a band from ``lower`` to ``upper``; the scale ends at ``highest``."""
    x = alt.X(
        field="period", type="ordinal", sort=None,
        axis={"title": None, "labelAngle": 0, "labelOverlap": "greedy", "labelLimit": 90, "ticks": False},
    )  # fmt: skip

    def y(field: str) -> Any:
        axis = {"title": None, "tickCount": 3, "format": ".1~%"}
        return alt.Y(field=field, type="quantitative", axis=axis, scale={"domain": [0, max(highest, 0.001)]})

    tooltip = [
        alt.Tooltip(field="period", type="ordinal"),
        *(told(one, form=".2%") for one in ("share", *(("lower", "upper") if banded else ()))),
    ]
    line = over().mark_line(interpolate="linear", point={"size": 22, "color": fill}, color=fill)
    line = line.encode(x, y("share"), tooltip=tooltip)
    band = over().mark_area(opacity=0.25, color=fill).encode(x, y("lower"), alt.Y2(field="upper"))
    return layered(values, 110, *([band, line] if banded else [line]))


def _rows(found: Trends) -> list[dict[str, Any]]:
    shares = rounded(found.shares, 3)
    return rows_of({"period": found.periods, "documents": found.documents.tolist(), "shares": shares})


_MOST_KEYS = 24
_MOST_TOPICS = 20
_MOST_LABELS = 4


def read_labels(report: ReportData) -> Content | None:
    """A heat map and a table for each label of the documents; None if documents have no labels."""
    shown_elsewhere = ("document", report.dated)
    labels = [name for name in report.corpus.label_names if name not in shown_elsewhere][:_MOST_LABELS]
    found = [one for place, name in enumerate(labels) if (one := _label(report, name, place))]
    if not found:
        return None
    charts = {one["chart"]: one.pop("specification") for one in found}
    return Content(values={"labels": found, "n_topics": report.n_topics}, charts=charts)


def _label(report: ReportData, name: str, place: int) -> dict[str, Any] | None:
    codes, keys = report.document_labels[name]
    if len(keys) < 2:
        return None
    members = chooser(codes, len(keys)).T.tocsr()
    tokens = members @ report.document_lengths
    counts = (members @ report.document_counts).toarray()
    kept = [int(i) for i in np.argsort(-tokens, kind="stable")[:_MOST_KEYS] if tokens[i] > 0]
    shares = counts[kept] / tokens[kept, None]
    # Topics for which labels differ most, not the largest topics.
    spread = np.abs(shares - report.shares).max(axis=0)
    topics = np.sort(np.argsort(-spread, kind="stable")[:_MOST_TOPICS])
    columns = distinct(keys[i] for i in kept)
    rows = [f"{report.numbers[k]}  {report.labels[k]}" for k in topics]
    return {
        "name": printable(name),
        "chart": f"labels-{place}",
        "columns": columns,
        "n_keys": len(keys),
        "documents": [int(members[[i]].sum()) for i in kept],
        "rows": [
            {"number": report.numbers[k], "label": report.labels[k], "shares": shares[:, k].tolist()}
            for k in topics
        ],
        "specification": by_group(shares[:, topics], rows, columns, report.nouns, printable(name)),
    }


_MOST_DOCUMENTS = 10_000
_TOPICS = 4
_IN_PAGE = 15


def read_documents(report: ReportData) -> Content:
    """Names, lengths and largest topics; of more than 10,000 documents those that topics list."""
    n = report.corpus.n_documents
    if n <= _MOST_DOCUMENTS:
        chosen = np.arange(n)
    else:
        column = report.document_shares
        tops = [
            column.indices[first:last][
                np.argsort(-column.data[first:last], kind="stable")[: report.n_documents]
            ]
            for first, last in zip(column.indptr[:-1], column.indptr[1:], strict=True)
        ]
        chosen = np.unique(np.concatenate(tops))
    shares = report.document_shares.tocsr()
    rows = []
    for d in chosen.tolist():
        first, last = shares.indptr[d], shares.indptr[d + 1]
        order = np.argsort(-shares.data[first:last], kind="stable")[:_TOPICS] + first
        row: list[float] = []
        for i in order:
            row += [report.numbers[shares.indices[i]], *rounded([shares.data[i]], 2)]
        rows.append([report.names[d], int(report.document_lengths[d]), *row])
    return Content(
        values={"named": report.named, "n_documents": n, "n_shown": len(rows), "in_page": _IN_PAGE},
        # Topics name documents by their numbers in the corpus.
        data={"documents": rows, "numbers": None if len(rows) == n else chosen.tolist()},
    )
