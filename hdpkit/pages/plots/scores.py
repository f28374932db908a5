"""Scores by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import LINES, colours, given_axes, plain
from hdpkit.checks import flag, number_array
from hdpkit.errors import ParameterError
from hdpkit.posterior.readings import named


def perplexity(curves: Any, *, logarithmic: bool = True, ax: Any = None) -> Any:
    """Plot perplexity by computing time.

    Parameters
    ----------
    curves : dict
        Name -> (seconds, perplexity), two sequences of the same length.
    logarithmic : bool
        Whether the time axis is logarithmic.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a curve isn't a pair of equally long sequences of positive numbers.
    MissingExtraError
        If Matplotlib is not installed.
    """
    rows = named("curves", curves, "a dict: name -> (seconds, perplexity)", "Give one entry per curve.")
    flag("logarithmic", logarithmic)
    lines = {name: _curve(name, curve) for name, curve in rows.items()}
    ax = given_axes(ax)
    for place, ((name, (seconds, values)), colour) in enumerate(
        zip(lines.items(), colours(len(lines)), strict=True)
    ):
        ax.plot(
            seconds, values, color=colour, linestyle=LINES[place % len(LINES)], marker=".", label=plain(name)
        )
    if logarithmic:
        ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("perplexity")
    ax.legend(fontsize="small")
    return ax


def _curve(name: str, curve: Any) -> Any:
    allowed, remedy = "two equally long sequences of positive numbers", "curves={name: (seconds, perplexity)}"
    try:
        seconds, values = curve
    except (TypeError, ValueError) as error:
        raise ParameterError(f"curves[{name!r}]", curve, allowed, remedy) from error
    at, scores = number_array(seconds), number_array(values)
    if at is None or scores is None or at.ndim != 1 or at.shape != scores.shape or not at.size:
        raise ParameterError(f"curves[{name!r}]", curve, allowed, remedy)
    if not (np.isfinite(at).all() and np.isfinite(scores).all() and (at >= 0).all() and (scores > 0).all()):
        raise ParameterError(f"curves[{name!r}]", curve, allowed, remedy)
    return at, scores
