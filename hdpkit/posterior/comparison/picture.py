"""A comparison as a picture. Matplotlib is an extra."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.canvas import LINES, check_picture, evenly, plain, save_picture

_MOST_POINTS = 2_000


def draw_picture(comparison: Any, path: Path) -> None:
    """Draw and write log joint by time, K by time and effective draws per second."""
    check_picture(path)
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    names = list(comparison)
    colours = [colormaps["tab20"](i % 20) for i in range(len(names))]
    figure = Figure(figsize=(15, 4.0 + 0.12 * len(names)), layout="constrained")
    joint, dishes, bars = figure.subplots(1, 3, width_ratios=[4, 4, 3])
    for name, colour in zip(names, colours, strict=True):
        for c, chain in enumerate(comparison[name].chains):
            at = evenly(len(chain.seconds), _MOST_POINTS, logarithmic=True)
            # The start is at time zero, which a logarithmic axis can't show.
            seconds = np.maximum(chain.seconds[at], comparison.seconds * 1e-4)
            style = {"color": colour, "linestyle": LINES[c % len(LINES)], "linewidth": 1.0}
            joint.plot(seconds, chain.log_joint[at], **style)
            dishes.plot(seconds, np.maximum(chain.n_dishes[at], 1), **style)
    _axes(joint, "log joint (colours: schedules; line styles: chains)", comparison.seconds)
    _axes(dishes, "K, dishes with customers", comparison.seconds)
    dishes.set_yscale("log")
    if comparison.best_chain is not None:
        joint.axhline(comparison.target, color="grey", linewidth=0.8)
        # Chains begin far below: the axis shows the range that they reach later.
        chains = [chain for one in comparison.values() for chain in one.chains]
        low = min(float(chain.log_joint[len(chain.log_joint) // 2 :].min()) for chain in chains)
        high = max(float(chain.log_joint.max()) for chain in chains)
        low = min(low, comparison.target)
        joint.set_ylim(low - 0.05 * (high - low) - 1.0, high + 0.05 * (high - low) + 1.0)
    _draw_bars(bars, comparison, colours)
    save_picture(figure, path)


def _axes(axes: Any, title: str, seconds: float) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xscale("log")
    axes.set_xlabel("seconds of the moves")
    axes.set_xlim(left=1e-3 * seconds)


def _draw_bars(axes: Any, comparison: Any, colours: list[Any]) -> None:
    rates = [result.ess_per_second["log_joint"] for result in comparison.values()]
    place = np.arange(len(rates))
    axes.barh(place, [0.0 if math.isnan(rate) else rate for rate in rates], color=colours)
    for i, (result, rate) in enumerate(zip(comparison.values(), rates, strict=True)):
        if not result.converged:
            axes.text(0.0, i, " not converged", va="center", fontsize=7)
        else:
            axes.text(rate, i, f" {rate:.3g}", va="center", fontsize=7)
    axes.set_yticks(place, [plain(name) for name in comparison], fontsize=8, fontweight="bold")
    for label, colour in zip(axes.get_yticklabels(), colours, strict=True):
        label.set_color(colour)  # serves as the legend of the lines
    axes.invert_yaxis()
    axes.set_title("effective draws of the log joint per second", fontsize=10)
    if all(math.isnan(rate) for rate in rates):
        axes.set_xlim(0.0, 1.0)
