"""Common parts of the plots: importing Matplotlib, axes and figures, and plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import instance
from hdpkit.errors import ParameterError, importing_extra, printable
from hdpkit.writing import check_place, save

LINES = ("-", "--", ":", "-.")
"""Line styles, so that chains can be told apart without colour."""


def load_matplotlib() -> Any:
    """Import Matplotlib, or raise an error that says how to install it."""
    with importing_extra("matplotlib", "plots"):
        import matplotlib
        import matplotlib.figure
    return matplotlib


def check_picture(path: Path) -> str:
    """The format given by a picture's file name, after checking that it can be drawn and written there."""
    known = sorted(load_matplotlib().figure.Figure().canvas.get_supported_filetypes())
    ending = path.suffix.removeprefix(".").lower()
    if ending not in known:
        raise ParameterError("path", str(path), f"a name that ends in one of {known}", "For instance a.png.")
    check_place(path)
    return ending


def save_picture(figure: Any, path: Path, dpi: int = 90) -> None:
    """Write a figure in the format of the file's name, completely or not at all."""
    data = io.BytesIO()
    figure.savefig(data, format=check_picture(path), dpi=dpi)
    save(path, data.getvalue())


def given_axes(ax: Any, size: tuple[float, float] = (6.4, 4.0)) -> Any:
    """Return the Axes that were given, or those of a new figure of this size in inches."""
    load_matplotlib()
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        return pyplot.subplots(figsize=size, layout="constrained")[1]
    return instance("ax", ax, Axes, "a matplotlib Axes, or None", remedy="Leave it out for a new figure.")


def given_figure(figure: Any, size: tuple[float, float]) -> Any:
    """Return the Figure (or SubFigure) that was given, or a new one of this size in inches."""
    load_matplotlib()
    from matplotlib import pyplot
    from matplotlib.figure import FigureBase

    if figure is None:
        return pyplot.figure(figsize=size, layout="constrained")
    return instance(
        "figure", figure, FigureBase, "a matplotlib Figure, or None", remedy="Leave it out for a new one."
    )


def colours(n: int) -> list[Any]:
    """Colours for n items; from the twenty-first on they repeat."""
    colormap = load_matplotlib().colormaps["tab10" if n <= 10 else "tab20"]
    return [colormap(i % colormap.N) for i in range(n)]


def plain(text: Any) -> str:
    """A text escaped so that Matplotlib doesn't interpret it as mathematics."""
    return printable(str(text)).replace("$", r"\$")


def evenly(n: int, most: int, *, logarithmic: bool = False) -> npt.NDArray[np.int64]:
    """Indices of the points to draw: all n, or `most` of them, evenly spaced on a linear or log scale."""
    if n <= most:
        return np.arange(n)
    places: Sequence[float] | npt.NDArray[Any]
    places = np.geomspace(1, n, most) - 1 if logarithmic else np.linspace(0, n - 1, most)
    return np.unique(np.asarray(places).astype(np.int64))
