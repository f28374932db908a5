"""Common parts of the pictures: Altair, colours, data, kinds of charts, and files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ParameterError, importing_extra
from hdpkit.files import check_place, save

ROW = 20
"""Pixels from one row of a chart to the next."""
WIDTH = 480
_FORMATS = ("html", "pdf", "png", "svg")


class _Altair:
    """The module of this name, imported when it is first used: it is an extra."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by inspection, not by a picture
            raise AttributeError(name)
        with importing_extra("altair", "plots"):
            import altair
        return getattr(altair, name)


alt: Any = _Altair()

# The first ten can be told apart with deuteranopia and protanopia. All are readable on white and on black.
PALETTE = (
    "#3094ff", "#d29800", "#00a978", "#fb325e", "#683df9", "#9a6900", "#4babd8", "#ff2eb1", "#744d6d",
    "#5c5c2c", "#860c9e", "#e79e55", "#1861db", "#18869e", "#e79eb6", "#793d49", "#793186", "#86aaff",
    "#c20c31", "#2400ff",
)  # fmt: skip
GREY = "#8a8a8a"


def colour(number: int | None) -> str:
    """The colour of component, state, topic or group `number`, from 1, in all pictures; grey without one."""
    return PALETTE[(number - 1) % len(PALETTE)] if number else GREY


def colours(n: int, *, rest: bool = False) -> list[str]:
    """Colours of numbers 1 to n and, last, of the rest."""
    return [colour(number) for number in range(1, n + 1)] + [GREY] * rest


def data(values: Sequence[Any]) -> dict[str, Any]:
    """Rows as the data of a chart."""
    # Names are in the order of the rows (``sort`` is None), not by lists of ``sort`` or ``domain``, and Vega
    # stacks nothing: for these it looks names up as properties of an object, and fails for names like
    # "constructor". "__proto__" can be no key of an object of Vega: it gets an invisible word joiner.
    # A plain dict: Altair checks the values of its own class one by one.
    return {
        "values": [
            {key: "\u2060__proto__" if value == "__proto__" else value for key, value in row.items()}
            for row in values
        ]
    }


def chart(values: Sequence[Any], height: float, width: int = WIDTH) -> Any:
    """A chart of rows of data without a mark."""
    return alt.Chart(data(values), width=width, height=height)


def over(values: Sequence[Any] | None = None) -> Any:
    """A layer without a mark, of rows of its own or of those of the whole."""
    return alt.Chart() if values is None else alt.Chart(data(values))


def layered(values: Sequence[Any], height: float, *layers: Any, width: int = WIDTH, **more: Any) -> Any:
    """Layers over rows of data, the first at the bottom."""
    return alt.layer(*layers, data=data(values), width=width, height=height, **more)


def number(channel: str, field: str, title: str | None, form: str = "", **more: Any) -> Any:
    """A channel with numbers."""
    axis = {"title": title, "tickCount": 5, **({"format": form} if form else {})}
    return getattr(alt, channel)(field=field, type="quantitative", axis=axis, **more)


def names(channel: str, field: str, limit: int = 240, **axis: Any) -> Any:
    """A channel with a place for each name, in the order of the rows."""
    shown = {"title": None, "labelLimit": limit, **axis}
    return getattr(alt, channel)(field=field, type="nominal", sort=None, axis=shown)


def places(channel: str, field: str, first: float, end: float, *, down: bool = False) -> Any:
    """Places without an axis, on a scale from ``first`` to ``end``."""
    scale = {"domain": [first, end], "nice": False, "zero": False, "reverse": down}
    return getattr(alt, channel)(
        field=field, type="quantitative", scale=scale,
        axis={"title": None, "labels": False, "ticks": False, "grid": False},
    )  # fmt: skip


def told(field: str, title: str | None = None, form: str = "") -> Any:
    """A number in the text at the pointer."""
    return alt.Tooltip(field=field, type="quantitative", title=title or field, format=form)


def named(field: str, title: str | None = None) -> Any:
    """A name in the text at the pointer."""
    return alt.Tooltip(field=field, type="nominal", title=title or field)


def bars(
    values: Sequence[Any],
    category: str,
    value: str,
    title: str,
    form: str = ".1%",
    *,
    noun: str | None = None,
    fill: str = PALETTE[0],
    width: int = WIDTH,
) -> Any:
    """Horizontal bars, in the order of the rows; ``noun`` is what a category is called."""
    return (
        chart(values, ROW * len(values), width)
        .mark_bar(cornerRadiusEnd=2, color=fill)
        .encode(
            names("Y", category, 220),
            number("X", value, title, form, stack=None),
            tooltip=[named(category, noun), told(value, form=form)],
        )
    )


def lines(
    values: Sequence[Any],
    x: Any,
    y: Any,
    by: str | None = None,
    *,
    points: bool = False,
    legend: bool = True,
    fills: Sequence[str] = PALETTE,
) -> Any:
    """Lines, one for each value of ``by``, distinguished by colour and dashes."""
    drawn = chart(values, 190).mark_line(interpolate="linear", color=PALETTE[0], point=points)
    tooltip = [told(one.to_dict()["field"], form=",.6~g") for one in (x, y)]
    if by is None:
        return drawn.encode(x, y, tooltip=tooltip)
    shown = {"title": None, "orient": "top", "columns": 8} if legend else None
    return drawn.encode(
        x, y,
        alt.Color(field=by, type="nominal", sort=None, legend=shown, scale={"range": list(fills)}),
        alt.StrokeDash(field=by, type="nominal", sort=None, legend=shown),
        tooltip=[*tooltip, named(by)],
    )  # fmt: skip


def heat(
    values: Sequence[Any],
    rows: tuple[str, str],
    columns: tuple[str, str],
    value: tuple[str, str, str],
    n_rows: int,
    *,
    scale: Any = None,
    row: float = ROW,
    width: int = WIDTH,
    row_title: str | None = None,
    **axis: Any,
) -> Any:
    """A heat map: rows and columns are a field and what it is called; the value has a format too."""
    field, title, form = value
    return (
        chart(values, max(1, row * n_rows), width)
        .mark_rect()
        .encode(
            names("Y", rows[0], title=row_title, labels=axis.get("labels", True)),
            names("X", columns[0], 140, **{"orient": "top", "labelAngle": -45, **axis}),
            alt.Color(
                field=field, type="quantitative", scale=scale or {"type": "sqrt"},
                legend={"title": title, "format": form, "orient": "bottom"},
            ),
            tooltip=[named(*rows), named(*columns), told(*value)],
        )
    )  # fmt: skip


def rounded(values: Any, digits: int = 4) -> Any:
    """Numbers rounded to this many significant digits, as a list for JSON; NaN and infinity become None."""
    array = np.asarray(values, dtype=np.float64)
    found = [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in array.ravel()]
    return np.array(found, dtype=object).reshape(array.shape).tolist()


def evenly(n: int, most: int, *, logarithmic: bool = False) -> npt.NDArray[np.int64]:
    """Indices of the points to draw: all n, or `most` of them, evenly spaced on a linear or log scale."""
    if n <= most:
        return np.arange(n)
    at: Sequence[float] | npt.NDArray[Any]
    at = np.geomspace(1, n, most) - 1 if logarithmic else np.linspace(0, n - 1, most)
    return np.unique(np.asarray(at).astype(np.int64))


def specification(drawn: Any) -> dict[str, Any]:
    """An Altair chart as a Vega-Lite specification for the page, which sets colours, fonts and the width."""
    if isinstance(drawn, dict):
        return drawn
    found: dict[str, Any] = drawn.to_dict()
    for name in ("config", "$schema"):
        found.pop(name, None)
    held = found.pop("datasets", {})
    for part in (found, *found.get("layer", ())):
        if "name" in part.get("data", {}):
            part["data"] = {"values": held[part["data"]["name"]]}
    return found | ({"width": "container"} if "mark" in found or "layer" in found else {})


def check_drawing() -> None:
    """Raise a MissingExtraError if a package for files of pictures isn't installed."""
    for package in ("altair", "vl_convert"):
        with importing_extra(package, "plots"):
            __import__(package)


def check_picture(path: Path) -> str:
    """The format given by a picture's file name, after checking that it can be drawn and written there."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in _FORMATS:
        raise ParameterError(
            "path", str(path), f"a name that ends in one of {_FORMATS}", "For instance a.png."
        )
    check_drawing()
    check_place(path)
    return ending


def save_picture(drawn: Any, path: Path) -> None:
    """Write a chart in the format of the file's name, completely or not at all."""
    save(path, picture(drawn, check_picture(path)))


def picture(drawn: Any, form: str) -> bytes:
    """A chart as a file: "pdf", "png", "svg", or "html", which needs no network."""
    out: Any = io.BytesIO() if form in ("pdf", "png") else io.StringIO()
    drawn.save(out, format=form, **({"inline": True} if form == "html" else {}))
    data = out.getvalue()
    return data if isinstance(data, bytes) else data.encode("utf-8")
