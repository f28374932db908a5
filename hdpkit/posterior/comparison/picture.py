"""A comparison as a picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.canvas import (
    ROW,
    alt,
    chart,
    check_picture,
    colours,
    evenly,
    layered,
    named,
    names,
    number,
    over,
    save_picture,
    told,
)  # fmt: skip
from hdpkit.errors import printable

_MOST_POINTS = 1_000


def draw_picture(comparison: Any, path: Path) -> None:
    """Draw and write log joint by time, K by time and effective draws per second."""
    check_picture(path)
    save_picture(picture_of(comparison), path)


def picture_of(comparison: Any) -> Any:
    """Two charts of lines and one of bars; colours are schedules, dashes are chains."""
    fills = colours(len(comparison))
    values = []
    for name, result in comparison.items():
        for c, chain in enumerate(result.chains):
            at = evenly(len(chain.seconds), _MOST_POINTS, logarithmic=True)
            # The start is at time zero, which a logarithmic axis can't show.
            seconds = np.maximum(chain.seconds[at], comparison.seconds * 1e-3)
            columns = (seconds, chain.log_joint[at], np.maximum(chain.n_dishes[at], 1))
            values += [
                {"schedule": printable(name), "chain": f"chain {c}", "seconds": s, "log_joint": joint, "K": k}
                for s, joint, k in zip(*(column.tolist() for column in columns), strict=True)
            ]
    colour = alt.Color(field="schedule", type="nominal", sort=None, legend=None, scale={"range": fills})
    drawn = (
        chart(values, 300, 420)
        .mark_line(interpolate="linear", strokeWidth=1, clip=True)
        .encode(
            number("X", "seconds", "seconds of the moves", "~g", scale={"type": "log"}), colour,
            alt.StrokeDash(field="chain", type="nominal", sort=None, legend=None),
        )
    )  # fmt: skip
    log_joint = drawn.encode(number("Y", "log_joint", None, "~s", scale=_reached(comparison)))
    dishes = drawn.encode(number("Y", "K", None, "~s", scale={"type": "log"}))
    if comparison.best_chain is not None:
        target = over([{"log_joint": float(comparison.target)}]).mark_rule(color="grey")
        log_joint = alt.layer(log_joint, target.encode(alt.Y(field="log_joint", type="quantitative")))
    return alt.hconcat(
        log_joint.properties(title="log joint (colours: schedules; dashes: chains)"),
        dishes.properties(title="K, dishes with customers"),
        _bars(comparison, colour).properties(title="effective draws of the log joint per second"),
    )


def _reached(comparison: Any) -> dict[str, Any]:
    """Chains begin far below: the scale shows the range that they reach later."""
    if comparison.best_chain is None:
        return {"zero": False}
    chains = [chain for one in comparison.values() for chain in one.chains]
    low = min(float(chain.log_joint[len(chain.log_joint) // 2 :].min()) for chain in chains)
    high = max(float(chain.log_joint.max()) for chain in chains)
    low = min(low, float(comparison.target))
    return {"domain": [low - 0.05 * (high - low) - 1.0, high + 0.05 * (high - low) + 1.0], "nice": False}


def _bars(comparison: Any, colour: Any) -> Any:
    """A bar for each schedule; the names serve as the legend of the lines."""
    values = []
    for name, result in comparison.items():
        rate = result.ess_per_second["log_joint"]
        shown = f"{rate:.3g}" if result.converged else "not converged"
        values.append(
            {"schedule": printable(name), "rate": 0.0 if math.isnan(rate) else rate, "shown": shown}
        )
    y = names("Y", "schedule")
    x = number("X", "rate", None, "~s")
    bars = over().mark_bar().encode(x, y, colour, tooltip=[named("schedule"), told("rate", form=".3~g")])
    text = over().mark_text(align="left", dx=4).encode(x, y, text=alt.Text(field="shown", type="nominal"))
    return layered(values, ROW * len(values), bars, text, width=300)
