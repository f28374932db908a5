"""Scores by time."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import lines, number
from hdpkit.checks import flag, number_array
from hdpkit.errors import ParameterError, printable
from hdpkit.posterior.readings import named


def perplexity(curves: Any, *, logarithmic: bool = True) -> Any:
    """Plot perplexity by computing time.

    Parameters
    ----------
    curves : dict
        Name -> (seconds, perplexity), two sequences of the same length.
    logarithmic : bool
        Whether the time axis is logarithmic; it has no place for zero seconds.

    Returns
    -------
    altair.Chart

    Raises
    ------
    ParameterError
        If a curve isn't a pair of equally long sequences of positive numbers.
    MissingExtraError
        If Altair is not installed.
    """
    rows = named("curves", curves, "a dict: name -> (seconds, perplexity)", "Give one entry per curve.")
    flag("logarithmic", logarithmic)
    found = {printable(name): _curve(name, curve) for name, curve in rows.items()}
    values = [
        {"curve": name, "seconds": seconds, "perplexity": value}
        for name, curve in found.items()
        for seconds, value in zip(*(part.tolist() for part in curve), strict=True)
        if seconds > 0 or not logarithmic
    ]
    x = number("X", "seconds", "seconds", "~g", scale={"type": "log" if logarithmic else "linear"})
    y = number("Y", "perplexity", "perplexity", "~s", scale={"zero": False})
    return lines(values, x, y, "curve", points=True)


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
