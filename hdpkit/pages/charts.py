"""Charts as Vega-Lite specifications. The page supplies colours and fonts, for the light or dark theme.

Names from the data are shown in the order of the values (``sort`` is None), never by lists of ``sort`` or
``domain``, and nothing is stacked by Vega: for these it looks names up as properties of an object, and fails
for names like "constructor".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hdpkit.kinds.kind import Nouns

_ROW = 20
AREAS = (25, 1600)
"""Areas of the circles for share zero and for the largest share, in square pixels."""


def _no_key(value: Any) -> Any:
    """The value, but "__proto__" with an invisible word joiner: no object of Vega can have it as a key."""
    return "\u2060__proto__" if value == "__proto__" else value


def _rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{key: _no_key(value) for key, value in row.items()} for row in values]


def _chart(height: Any, values: Sequence[Any], **parts: Any) -> dict[str, Any]:
    return {
        "width": "container",
        "height": height,
        "data": {"values": _rows(values)},
        **parts,
    }


def _quantitative(field: str, title: str | None, form: str | None = None, **more: Any) -> dict[str, Any]:
    axis = {"title": title, "tickCount": 5, **({"format": form} if form else {})}
    return {"field": field, "type": "quantitative", "axis": axis, **more}


def _names(field: str, limit: int = 240, **axis: Any) -> dict[str, Any]:
    """A channel with a place for each name, in the order of the values."""
    shown = {"title": None, "labelLimit": limit, **axis}
    return {"field": field, "type": "nominal", "sort": None, "axis": shown}


def _places(field: str, first: float, end: float) -> dict[str, Any]:
    """Horizontal places without an axis, on a scale from ``first`` to ``end``."""
    return {
        "field": field, "type": "quantitative",
        "scale": {"domain": [first, end], "nice": False, "zero": False},
        "axis": {"title": None, "labels": False, "ticks": False, "grid": False},
    }  # fmt: skip


def bars(
    values: Sequence[Any],
    category: str,
    value: str,
    title: str,
    form: str = ".1%",
    height: int | None = None,
    noun: str | None = None,
) -> dict[str, Any]:
    """Horizontal bars, in the order of the rows; ``noun`` is what a category is called."""
    y = _names(category, 220)
    tooltip = [
        {"field": category, "type": "nominal", "title": noun or category},
        {"field": value, "type": "quantitative", "format": form},
    ]
    return _chart(
        _ROW * len(values) if height is None else height,
        values,
        mark={"type": "bar", "cornerRadiusEnd": 2},
        encoding={"y": y, "x": _quantitative(value, title, form, stack=None), "tooltip": tooltip},
    )


def intervals(
    values: Sequence[Any], category: str, title: str, form: str = ".1%", noun: str | None = None
) -> dict[str, Any]:
    """Shares as points with intervals, one row per topic; topics that fewer samples have are fainter."""
    y = _names(category, 260)
    faint = {"field": "occurrence", "type": "quantitative", "legend": None,
             "scale": {"domain": [0, 1], "range": [0.35, 1]}}  # fmt: skip
    tooltip = [
        {"field": category, "type": "nominal", "title": noun or category},
        *({"field": name, "type": "quantitative", "format": ".2%"} for name in ("share", "lower", "upper")),
        {"field": "occurrence", "type": "quantitative", "format": ".0%", "title": "states that have it"},
    ]
    x = _quantitative("lower", title, form, scale={"zero": True})
    rule = {"mark": {"type": "rule", "strokeWidth": 2.5}, "encoding": {"x": x, "x2": {"field": "upper"}}}
    point = {
        "mark": {"type": "circle", "size": 60, "opacity": 1},
        "encoding": {"x": _quantitative("share", title, form)},
    }
    return _chart(
        _ROW * len(values),
        values,
        encoding={"y": y, "opacity": faint, "tooltip": tooltip},
        layer=[rule, point],
    )


def lines(
    values: Sequence[Any], value: str, title: str, by: str | None, form: str = "~s", legend: bool = True
) -> dict[str, Any]:
    """A value by sweep, with one line for each value of ``by``, distinguished by colour and dashes.

    Of charts with the same lines only the first needs a legend.
    """
    encoding: dict[str, Any] = {
        "x": {"field": "sweep", "type": "quantitative", "axis": {"title": "sweep", "tickMinStep": 1}},
        "y": _quantitative(value, title, form, scale={"zero": False}),
        "tooltip": [
            {"field": "sweep", "type": "quantitative"},
            {"field": value, "type": "quantitative", "format": ",.6~g"},
        ],
    }
    if by is not None:
        shown = {"title": None, "orient": "top", "columns": 8} if legend else None
        encoding["color"] = {"field": by, "type": "nominal", "legend": shown}
        encoding["strokeDash"] = {"field": by, "type": "nominal", "legend": shown}
        encoding["tooltip"].append({"field": by, "type": "nominal"})
    return _chart(190, values, mark={"type": "line", "interpolate": "linear"}, encoding=encoding)


def by_rank(values: Sequence[Any], value: str, title: str, noun: str, form: str = "~s") -> dict[str, Any]:
    """A value by the number of components, with its error where there is one; the chosen number is a disc."""
    x = {"field": "rank", "type": "quantitative", "axis": {"title": noun, "tickMinStep": 1},
         "scale": {"zero": False}}  # fmt: skip
    scale = {"type": "symlog", "constant": 10} if value == "score" else {"zero": False}
    tooltip = [
        {"field": "rank", "type": "quantitative", "title": noun},
        {"field": value, "type": "quantitative", "format": ",.4~g", "title": title},
    ]
    y = _quantitative(value, title, form, scale=scale)
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "line", "interpolate": "linear"}, "encoding": {"y": y}},
        {
            "mark": {"type": "point", "size": 40, "opacity": 1},
            "encoding": {"y": y, "tooltip": tooltip},
        },
        {
            "mark": {"type": "circle", "size": 120, "opacity": 1},
            "transform": [{"filter": "datum.chosen"}],
            "encoding": {"y": y, "tooltip": tooltip},
        },
    ]
    if value == "score":
        ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
        layers.insert(0, {"mark": {"type": "rule", "opacity": 0.6}, "encoding": ends})
    return _chart(190, values, encoding={"x": x}, layer=layers)


def trend(values: Sequence[Any], highest: float, banded: bool) -> dict[str, Any]:
    """A share by period, with a band from ``lower`` to ``upper``; the scale ends at ``highest``."""
    x = {
        "field": "period", "type": "ordinal", "sort": None,
        "axis": {"title": None, "labelAngle": 0, "labelOverlap": "greedy", "labelLimit": 90, "ticks": False},
    }  # fmt: skip
    axis = {"title": None, "tickCount": 3, "format": ".1~%"}
    y = {
        "field": "share",
        "type": "quantitative",
        "axis": axis,
        "scale": {"domain": [0, max(highest, 0.001)]},
    }
    tooltip = [
        {"field": "period", "type": "ordinal"},
        {"field": "share", "type": "quantitative", "format": ".2%"},
        *({"field": end, "type": "quantitative", "format": ".2%"} for end in ("lower", "upper") if banded),
    ]
    line = {
        "mark": {"type": "line", "interpolate": "linear", "point": {"size": 22}},
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
    }
    band = {
        "mark": {"type": "area", "opacity": 0.25},
        "encoding": {"x": x, "y": {**y, "field": "lower"}, "y2": {"field": "upper"}},
    }
    return _chart(110, values, layer=[band, line] if banded else [line])


def scatter(values: Sequence[Any], groups: Sequence[str], nouns: Nouns, height: int = 460) -> dict[str, Any]:
    """The map: topics as circles with area by share and colour by group; the largest have words."""
    hidden = {"axis": None, "scale": {"zero": False, "nice": False, "padding": 34}}
    place = {axis: {"field": axis, "type": "quantitative", **hidden} for axis in ("x", "y")}
    tooltip = [
        {"field": "number", "type": "quantitative", "title": nouns.topic},
        {"field": "label", "type": "nominal", "title": nouns.terms},
        {"field": "share", "type": "quantitative", "format": ".2%"},
        {"field": "group", "type": "nominal"},
    ]
    colour = {
        "field": "group",
        "type": "nominal",
        "scale": {"domain": list(groups)},
        "legend": {
            "title": "group",
            "orient": "bottom",
            "labelLimit": 190,
            "columns": {"expr": "max(1, floor(width / 230))"},
        },
    }
    circle = {
        "mark": {"type": "circle", "cursor": "pointer"},
        "encoding": {
            **place,
            "size": {
                "field": "share",
                "type": "quantitative",
                "scale": {"range": list(AREAS)},
                "legend": None,
            },
            "color": colour,
            "opacity": {"condition": {"test": "datum.number === chosen", "value": 1}, "value": 0.65},
            "stroke": {
                "condition": {"test": "datum.number === chosen", "value": "currentColor"},
                "value": None,
            },
            "strokeWidth": {"value": 2.5},
            "tooltip": tooltip,
        },
    }
    words = {
        "transform": [{"filter": "datum.named || datum.number === chosen"}],
        "mark": {
            "type": "text",
            "dy": {"expr": "-datum.up"},
            "baseline": "bottom",
            "limit": 130,
            "style": "on-chart",
        },
        "encoding": {**place, "text": {"field": "short", "type": "nominal"}, "tooltip": tooltip},
    }
    return _chart(height, values, params=[{"name": "chosen", "value": 0}], layer=[circle, words])


def heat(values: Sequence[Any], n_rows: int, title: str, nouns: Nouns) -> dict[str, Any]:
    """Shares of topics (rows) in the documents of each label (columns)."""
    return _chart(
        _ROW * n_rows,
        values,
        mark={"type": "rect"},
        encoding={
            "y": _names("topic"),
            "x": _names("label", 140, title=title, orient="top", labelAngle=-45),
            "color": {
                "field": "share", "type": "quantitative", "scale": {"type": "sqrt"},
                "legend": {"title": f"share of {nouns.tokens}", "format": ".0%", "orient": "bottom"},
            },
            "tooltip": [
                {"field": "topic", "type": "nominal", "title": nouns.topic},
                {"field": "label", "type": "nominal", "title": title},
                {"field": "share", "type": "quantitative", "format": ".2%"},
            ],
        },
    )  # fmt: skip


def _component_colour(numbers: Sequence[str]) -> dict[str, Any]:
    """The colour of a component, the same in all layers."""
    return {"field": "component", "type": "nominal", "scale": {"domain": list(numbers)}, "legend": None}


def _dimension(field: str, title: str) -> dict[str, Any]:
    axis = {"title": title, "tickCount": 6}
    return {"field": field, "type": "quantitative", "scale": {"zero": False}, "axis": axis}


_GREY_OF_NONE = {"condition": {"test": "indexof(numbers, datum.component) < 0", "value": "#8a8a8a"}}
"""Of points in no component; ``numbers``, a parameter of the chart, has those of the components."""
_POINT = [
    {"field": "point", "type": "quantitative", "title": "observation"},
    {"field": "component", "type": "nominal"},
    {"field": "probability", "type": "quantitative", "format": ".0%"},
]


def plane(
    points: Sequence[Any],
    lines: Sequence[Any],
    centres: Sequence[Any],
    numbers: Sequence[str],
    titles: Sequence[str],
    height: int = 460,
) -> dict[str, Any]:
    """Points in the plane, coloured by component; components as lines around them, with their numbers."""
    x, y = (_dimension(name, title) for name, title in zip("xy", titles, strict=True))
    colour = _component_colour(numbers)
    faint = {"field": "probability", "type": "quantitative", "legend": None,
             "scale": {"domain": [0, 1], "range": [0.1, 0.8]}}  # fmt: skip
    dots = {
        "mark": {"type": "circle", "size": 26},
        "encoding": {
            "x": x, "y": y, "tooltip": _POINT, "opacity": faint, "color": {**_GREY_OF_NONE, **colour},
        },
    }  # fmt: skip
    around = {
        "data": {"values": list(lines)},
        "mark": {"type": "line", "strokeWidth": 2, "interpolate": "linear"},
        "encoding": {"x": x, "y": y, "color": colour, "order": {"field": "order", "type": "quantitative"}},
    }
    names = {
        "data": {"values": list(centres)},
        "mark": {"type": "text", "style": "on-chart", "fontWeight": "bold", "fontSize": 15},
        "encoding": {"x": x, "y": y, "text": {"field": "component", "type": "nominal"}},
    }
    numbered = [{"name": "numbers", "value": list(numbers)}]
    return _chart(height, points, params=numbered, layer=[dots, around, names])


def strips(points: Sequence[Any], ends: Sequence[Any], numbers: Sequence[str], title: str) -> dict[str, Any]:
    """Numbers as ticks, a row for each component, with a line of two standard deviations and the mean."""
    others = sorted({point["component"] for point in points} - set(numbers))
    # Only numbers and "none": names from the data would need the order of the values.
    shown = {"domain": [*numbers, *others]}
    y = {"field": "component", "type": "nominal", "scale": shown, "axis": {"title": "component"}}
    x = _dimension("x", title)
    colour = _component_colour(numbers)
    ticks = {
        "mark": {"type": "tick", "thickness": 1.5, "size": 20, "opacity": 0.5},
        "encoding": {
            "x": x, "y": y, "tooltip": _POINT, "color": {**_GREY_OF_NONE, **colour},
        },
    }  # fmt: skip
    rule = {
        "data": {"values": list(ends)},
        "mark": {"type": "rule", "strokeWidth": 2.5, "yOffset": 15},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "color": colour},
    }
    mean = {
        "data": {"values": list(ends)},
        "mark": {"type": "circle", "size": 70, "opacity": 1, "yOffset": 15},
        "encoding": {"x": x, "y": y, "color": colour},
    }
    rows = len(numbers) + len(others)
    numbered = [{"name": "numbers", "value": list(numbers)}]
    return _chart(46 * rows, points, params=numbered, layer=[ticks, rule, mean])


def together(cells: Sequence[Any], ends: Sequence[int], numbers: Sequence[str], n: int) -> dict[str, Any]:
    """Probabilities that observations (rows and columns) are together, with lines between components."""

    def place(field: str, channel: str) -> dict[str, Any]:
        scale = {"domain": [0, n], "nice": False, "reverse": channel == "y"}
        axis = {"title": None, "labels": False, "ticks": False, "grid": False}
        return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}

    between = [{"end": end, "first": 0, "last": n} for end in ends[:-1]]
    middles = [
        {"component": number, "at": (first + last) / 2, "first": 0}
        for number, first, last in zip(numbers, [0, *ends[:-1]], ends, strict=True)
    ]
    squares = {
        "mark": {"type": "rect", "stroke": None},
        "encoding": {
            "x": place("column", "x"), "x2": {"field": "column_end"},
            "y": place("row", "y"), "y2": {"field": "row_end"},
            "color": {
                "field": "probability", "type": "quantitative", "scale": {"domain": [0, 1]},
                "legend": {"title": "probability of being together", "format": ".0%", "orient": "bottom"},
            },
            "tooltip": [
                {"field": "one", "type": "quantitative", "title": "observation"},
                {"field": "other", "type": "quantitative", "title": "and observation"},
                {"field": "probability", "type": "quantitative", "format": ".0%"},
            ],
        },
    }  # fmt: skip
    line = {"type": "rule", "strokeWidth": 1}
    across = {
        "data": {"values": between}, "mark": line,
        "encoding": {"y": place("end", "y"), "x": place("first", "x"), "x2": {"field": "last"}},
    }  # fmt: skip
    down = {
        "data": {"values": between}, "mark": line,
        "encoding": {"x": place("end", "x"), "y": place("first", "y"), "y2": {"field": "last"}},
    }  # fmt: skip
    names = {
        "data": {"values": middles},
        "mark": {"type": "text", "style": "on-chart", "fontWeight": "bold", "fontSize": 13, "align": "right",
                 "dx": -6, "clip": False},
        "encoding": {
            "y": place("at", "y"), "x": place("first", "x"),
            "text": {"field": "component", "type": "nominal"},
        },
    }  # fmt: skip
    ends_of = [{"calculate": f"datum.{name} + 1", "as": f"{name}_end"} for name in ("row", "column")]
    return _chart(460, cells, transform=ends_of, layer=[squares, across, down, names])


def over_time(runs: Sequence[Any], numbers: Sequence[str], n_rows: int) -> dict[str, Any]:
    """Sequences as rows, of which each run of observations of one state has the state's colour."""
    others = sorted({run["component"] for run in runs} - set(numbers))
    legend = {"title": "state", "orient": "bottom", "columns": 12}
    return _chart(
        max(_ROW * n_rows, 40),
        runs,
        mark={"type": "rect"},
        encoding={
            "y": _names("sequence"),
            "x": {"field": "begin", "type": "quantitative", "title": "observation", "scale": {"zero": False}},
            "x2": {"field": "end"},
            "color": {
                "field": "component", "type": "nominal", "legend": legend,
                "scale": {"domain": [*numbers, *others], "range": _distinct(len(numbers) + 1)},
            },
            "tooltip": [
                {"field": "sequence", "type": "nominal"},
                {"field": "component", "type": "nominal", "title": "state"},
                {"field": "begin", "type": "quantitative", "title": "from"},
                {"field": "last", "type": "quantitative", "title": "to"},
                {"field": "probability", "type": "quantitative", "format": ".0%"},
            ],
        },
    )  # fmt: skip


def transition_heat(values: Sequence[Any], n_rows: int) -> dict[str, Any]:
    """Transition probabilities from states (rows) to states (columns)."""
    return _chart(
        _ROW * n_rows,
        values,
        mark={"type": "rect"},
        encoding={
            "y": _names("from"),
            "x": _names("to", 140, title="next state", orient="top", labelAngle=0),
            "color": {
                "field": "share", "type": "quantitative", "scale": {"type": "sqrt"},
                "legend": {"title": "probability", "format": ".0%", "orient": "bottom"},
            },
            "tooltip": [
                {"field": "from", "type": "nominal"},
                {"field": "to", "type": "nominal"},
                {"field": "share", "type": "quantitative", "title": "probability", "format": ".2%"},
            ],
        },
    )  # fmt: skip


def tree(branches: Sequence[Any], leaves: Sequence[Any], farthest: float) -> dict[str, Any]:
    """A horizontal dendrogram: the root is at the left, and each line has one leaf with its words."""
    x = {
        "field": "distance", "type": "quantitative",
        "scale": {"domain": [farthest * 1.03, -farthest * 1.4], "nice": False, "zero": False},
        "axis": {"title": "height of the merge (Ward)", "values": [farthest * part / 4 for part in range(5)],
                 "format": ".2f", "grid": False},
    }  # fmt: skip
    y = {
        "field": "place", "type": "quantitative", "axis": None,
        "scale": {"domain": [len(leaves) * 10, 0], "nice": False},
    }  # fmt: skip
    line = {
        "mark": {"type": "line", "interpolate": "linear", "strokeWidth": 1.4},
        "encoding": {
            "x": x, "y": y, "detail": {"field": "branch", "type": "nominal"},
            "order": {"field": "order", "type": "quantitative"},
        },
    }  # fmt: skip
    words = {
        "data": {"values": list(leaves)},
        "mark": {"type": "text", "align": "left", "dx": 6, "style": "on-chart", "limit": 420},
        "encoding": {"x": x, "y": y, "text": {"field": "label", "type": "nominal"}},
    }
    return _chart(max(26 * len(leaves), 80), branches, layer=[line, words])


_STRIP = (-13, -3)
"""Upper and lower end of the coloured strips above a spectrum, in pixels from its top."""


_NARROW = 560
_WHERE_WIDE = {"opacity": {"expr": f"width < {_NARROW} ? 0 : 1"}}
_SMALLER = {"expr": f"width < {_NARROW} ? 8 : 11"}
"""On a narrow page labels of a hundred bars would lie on each other."""


def channel_bars(
    values: Sequence[Any], blocks: Sequence[Any], headings: Sequence[Any] = (), height: int = 130
) -> dict[str, Any]:
    """A spectrum: shares of channels as bars with intervals as lines, below coloured strips by group.

    Rows of ``values`` have the channel, its group, label and colour, its place from 0, and share, low and
    high; those of ``blocks`` and ``headings`` have a label, the places of the first channel and of the one
    after the last, and blocks a colour.
    """

    def x(field: str) -> dict[str, Any]:
        return _places(field, -0.6, len(values) - 0.4)

    def label(field: str, top: int, **more: Any) -> dict[str, Any]:
        text = {"condition": {"test": f"width < {_NARROW}", "field": "short", "type": "nominal"},
                "field": "label", "type": "nominal"}  # fmt: skip
        encoding = {"x": x(field), "y": {"value": top}, "text": text}
        return {"mark": {"type": "text", "style": "on-chart", **more}, "encoding": encoding}

    tooltip = [
        *({"field": name, "type": "nominal"} for name in ("group", "channel")),
        *({"field": name, "type": "quantitative", "format": ".2%"} for name in ("share", "low", "high")),
    ]
    colour = {"field": "colour", "type": "nominal", "scale": None}
    rows = [
        {**value, "short": value["label"], "left": i - 0.38, "right": i + 0.38, "place": i}
        for i, value in enumerate(values)
    ]
    over = [
        [{**one, "short": one["label"].removesuffix(">NN"), "left": one["first"] - 0.45,
          "right": one["end"] - 0.55, "middle": (one["first"] + one["end"] - 1) / 2} for one in some]
        for some in (blocks, headings)
    ]  # fmt: skip
    share = {"axis": {"title": None, "tickCount": 4, "format": ".0%", "gridColor": "#d9dfe7"}, "stack": None}
    bar = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": x("left"), "x2": {"field": "right"}, "color": colour, "tooltip": tooltip,
            "y": {"field": "share", "type": "quantitative", **share}, "y2": {"datum": 0},
        },
    }  # fmt: skip
    line = {
        "mark": {"type": "rule", "strokeWidth": 0.9, "color": "#555555"},
        "encoding": {
            "x": x("place"), "y": {"field": "low", "type": "quantitative"}, "y2": {"field": "high"},
            "tooltip": tooltip,
        },
    }  # fmt: skip
    strip = {
        "mark": {"type": "rect", "stroke": "#808b9a", "strokeWidth": 0.5},
        "encoding": {"x": x("left"), "x2": {"field": "right"}, "color": colour,
                     "y": {"value": _STRIP[0]}, "y2": {"value": _STRIP[1]}},
    }  # fmt: skip
    turned = {"angle": 270, "align": "right", "baseline": "middle", "fontSize": 7.5, "font": "monospace"}
    layers = [bar, line, label("place", height + 4, **turned, **_WHERE_WIDE)]
    for one, data in (
        (strip, over[0]),
        (label("middle", _STRIP[0] - 3, baseline="bottom", fontSize=_SMALLER), over[0]),
        (label("middle", _STRIP[0] - 19, baseline="bottom", fontSize=11, **_WHERE_WIDE), over[1]),
    ):
        layers += [{"data": {"values": _rows(data)}, **one}] if data else []
    # Colours of the field are made for white paper: one of them is black.
    return _chart(height, rows, layer=layers, view={"fill": "white", "stroke": None})


def boxes(values: Sequence[Any], level: str) -> dict[str, Any]:
    """Boxes of shares, a row for each value of a level: quartiles, median, and lines from 5 % to 95 %."""
    y = _names("level", 170)
    names = {"low": "5 %", "first": "first quartile", "middle": "median", "third": "third quartile",
             "high": "95 %"}  # fmt: skip
    tooltip = [
        {"field": "level", "type": "nominal", "title": level},
        *({"field": name, "type": "quantitative", "format": ".1%", "title": told}
          for name, told in names.items()),
        {"field": "samples", "type": "quantitative", "title": "samples with it", "format": ","},
    ]  # fmt: skip
    x = _quantitative("low", None, ".0%", scale={"zero": True})
    span = {"mark": {"type": "rule", "strokeWidth": 1}, "encoding": {"x": x, "x2": {"field": "high"}}}
    box = {
        "mark": {"type": "bar", "height": 11, "opacity": 0.75},
        "encoding": {"x": _quantitative("first", None, ".0%", stack=None), "x2": {"field": "third"}},
    }
    median = {
        "mark": {"type": "tick", "thickness": 2, "height": 15, "style": "median"},
        "encoding": {"x": _quantitative("middle", None, ".0%")},
    }
    return _chart(
        _ROW * len(values), values, encoding={"y": y, "tooltip": tooltip}, layer=[span, box, median]
    )


def samples(
    values: Sequence[Any], columns: Sequence[Any], ends: Sequence[Any], n_parts: int, height: int = 220
) -> dict[str, Any]:
    """Stacked bars of the shares of parts, one column for each sample; samples of a level are neighbours.

    Rows of ``values`` are in the order of the parts within a sample, which has its place from 0; ``columns``
    have names of samples by place (none if there are too many), ``ends`` those of levels, with the places of
    the first sample and of the one after the last.
    """
    n = 1 + max((value["place"] for value in values), default=0)

    def x(field: str) -> dict[str, Any]:
        return _places(field, 0, n)

    gap = 0.08 if n <= 120 else 0.0
    placed = [{**value, "left": value["place"] + gap, "right": value["place"] + 1 - gap}
              for value in _stacked(values, "place")]  # fmt: skip
    text = {"type": "text", "style": "on-chart"}
    bars_ = {
        "mark": {"type": "bar"},
        "encoding": {
            "x": x("left"), "x2": {"field": "right"}, "color": _parts(n_parts, 70 if columns else 12),
            "y": _quantitative("start", "share of the mutations", ".0%", scale={"domain": [0, 1]}),
            "y2": {"field": "end"},
            "tooltip": [
                *({"field": name, "type": "nominal"} for name in ("sample", "level", "signature")),
                {"field": "share", "type": "quantitative", "format": ".1%"},
                {"field": "mutations", "type": "quantitative", "format": ",", "title": "mutations of it"},
            ],
        },
    }  # fmt: skip
    names = {
        "data": {"values": _rows(columns)},
        "mark": {**text, "angle": 270, "align": "right", "baseline": "middle", "fontSize": 9, "limit": 90,
                 **_WHERE_WIDE},
        "encoding": {"x": x("middle"), "y": {"value": height + 4},
                     "text": {"field": "name", "type": "nominal"}},
    }  # fmt: skip
    lines_ = {
        "data": {"values": _rows(ends)},
        "mark": {"type": "rule", "strokeWidth": 1, "style": "border"},
        "encoding": {"x": x("first"), "y": {"value": -6}, "y2": {"value": height}},
    }
    levels = {
        "data": {"values": _rows(ends)},
        "mark": {**text, "angle": 325, "align": "left", "baseline": "middle", "fontSize": 11, "limit": 130},
        "encoding": {"x": x("middle"), "y": {"value": -8}, "text": {"field": "level", "type": "nominal"}},
    }
    layers = [bars_, *([names] if columns else []), *([lines_, levels] if ends else [])]
    return _chart(height, placed, layer=layers)


_TABLEAU20 = (
    "#4c78a8", "#9ecae9", "#f58518", "#ffbf79", "#54a24b", "#88d27a", "#b79a20", "#f2cf5b", "#439894",
    "#83bcb6", "#e45756", "#ff9d98", "#79706e", "#bab0ac", "#d67195", "#fcbfd2", "#b279a2", "#d6a5c9",
    "#9e765f", "#d8b5a5",
)  # fmt: skip


def _distinct(n: int) -> list[str]:
    """Colours for n parts; the last part is the rest."""
    return [_TABLEAU20[i % len(_TABLEAU20)] for i in range(n - 1)] + ["#9a9a9a"]


def _stacked(values: Sequence[Any], of: str) -> list[dict[str, Any]]:
    """Rows with the start and the end of each share in its bar; rows of a bar are in the order of parts."""
    ends: dict[Any, float] = {}
    placed = []
    for value in values:
        start = ends.get(value[of], 0.0)
        ends[value[of]] = end = start + value["share"]
        placed.append({**value, "start": start, "end": end})
    return placed


def _parts(n_parts: int, offset: int = 0) -> dict[str, Any]:
    """Colours of the parts of stacked bars; the last part is grey."""
    return {
        "field": "signature", "type": "nominal", "sort": None, "scale": {"range": _distinct(n_parts)},
        "legend": {"title": None, "orient": "bottom", "columns": 8, "offset": offset},
    }  # fmt: skip


def stacked(values: Sequence[Any], n_rows: int, n_parts: int) -> dict[str, Any]:
    """Stacked bars of the shares of parts, one row each; they sum to one, and the last part is grey.

    Values of a row are in the order of the parts.
    """
    return _chart(
        _ROW * n_rows,
        _stacked(values, "level"),
        mark={"type": "bar"},
        encoding={
            "y": _names("level"),
            "x": _quantitative("start", "mean share of the mutations", ".0%", scale={"domain": [0, 1]}),
            "x2": {"field": "end"},
            "color": {**_parts(n_parts), "legend": None},  # `samples` has it
            "tooltip": [
                {"field": "level", "type": "nominal"},
                {"field": "signature", "type": "nominal"},
                {"field": "share", "type": "quantitative", "format": ".1%"},
            ],
        },
    )  # fmt: skip


def cosines(values: Sequence[Any], n_rows: int) -> dict[str, Any]:
    """Cosines of signatures (rows) with known ones or with each other (columns)."""
    return _chart(
        _ROW * n_rows,
        values,
        mark={"type": "rect"},
        encoding={
            "y": _names("signature"),
            "x": _names("known", 140, orient="top", labelAngle=-90),
            "color": {
                "field": "cosine", "type": "quantitative", "scale": {"domain": [0, 1]},
                "legend": {"title": "cosine", "orient": "bottom"},
            },
            "tooltip": [
                {"field": "signature", "type": "nominal"},
                {"field": "known", "type": "nominal"},
                {"field": "cosine", "type": "quantitative", "format": ".3f"},
            ],
        },
    )  # fmt: skip
