"""Acceptance and running time of moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import LINES, colours, given_axes, plain
from hdpkit.checks import items, text, whole_number
from hdpkit.errors import DataError, RegistryError
from hdpkit.posterior.readings import chains_of


def acceptance(trace: Any, *, moves: Any = None, parts: int = 40, ax: Any = None) -> Any:
    """Plot the acceptance rate of each move by sweep.

    Moves that never reject are left out unless they are named. Proposals of all chains are combined.

    Parameters
    ----------
    trace : Trace or ChainTrace
    moves : sequence of str, optional
        Names of moves, as in ``trace.moves["move"]``.
    parts : int
        Number of intervals into which the sweeps are divided; each has one point.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    RegistryError
        If no move of the run has such a name.
    DataError
        If the trace has no moves.
    MissingExtraError
        If Matplotlib is not installed.
    """
    records = _records(trace)
    whole_number("parts", parts, 1, remedy="40 are enough for most.")
    known = list(dict.fromkeys(records["move"].tolist()))
    if moves is None:
        chosen = [name for name in known if _rejects(records[records["move"] == name])]
    else:
        chosen = list(
            items("moves", moves, "a sequence of names of moves", remedy="Put a single one in a list.")
        )
        for name in chosen:
            text("moves", name, remedy="Names of moves are strings.")
            if name not in known:
                raise RegistryError("moves", name, f"one of {known}", "See trace.moves.")
    ax = given_axes(ax)
    last = int(records["sweep"].max())
    edges = np.unique(np.linspace(0, last, min(parts, last) + 1).astype(np.int64))
    for place, (name, colour) in enumerate(zip(chosen, colours(len(chosen)), strict=True)):
        own = records[records["move"] == name]
        part = np.searchsorted(edges, own["sweep"], side="left") - 1
        tried, accepted = (np.bincount(part, own[what], len(edges) - 1) for what in ("tried", "accepted"))
        there = tried > 0
        at = 0.5 * (edges[:-1] + edges[1:] + 1)[there]
        style = LINES[place % len(LINES)]
        ax.plot(
            at, accepted[there] / tried[there], marker=".", linestyle=style, color=colour, label=plain(name)
        )
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("sweep")
    ax.set_ylabel("share of proposals accepted")
    if chosen:
        ax.legend(fontsize="small")
    else:
        ax.set_title("no move of this run rejects anything", fontsize=9)
    return ax


def move_times(trace: Any, *, ax: Any = None) -> Any:
    """Plot the total seconds of each move over all sweeps and chains.

    Parameters
    ----------
    trace : Trace or ChainTrace
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the trace has no moves.
    MissingExtraError
        If Matplotlib is not installed.
    """
    records = _records(trace)
    names, which = np.unique(records["move"], return_inverse=True)
    seconds = np.bincount(which, records["seconds"], len(names))
    order = np.argsort(-seconds, kind="stable")
    ax = given_axes(ax, (6.4, 1.0 + 0.35 * len(names)))
    ax.barh(np.arange(len(names)), seconds[order], color=colours(1)[0])
    ax.set_yticks(np.arange(len(names)), [plain(name) for name in names[order]])
    for place, value in enumerate(seconds[order].tolist()):
        ax.text(value, place, f" {value / max(seconds.sum(), 1e-300):.0%}", va="center", fontsize=8)
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set_xlabel("seconds")
    return ax


def _records(trace: Any) -> Any:
    parts = [chain.moves for _, chain in chains_of(trace)]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise DataError("trace", trace, "a trace of moves", "Scheduler.run records them.")
    return np.concatenate(parts)


def _rejects(records: Any) -> bool:
    return bool(records["accepted"].sum() < records["tried"].sum())
