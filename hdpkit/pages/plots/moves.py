"""Acceptance and running time of moves."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import ROW, alt, bars, layered, lines, number, over, rounded
from hdpkit.checks import items, text, whole_number
from hdpkit.errors import DataError, RegistryError, printable
from hdpkit.posterior.readings import chains_of


def acceptance(trace: Any, *, moves: Any = None, parts: int = 40) -> Any:
    """Plot the acceptance rate of each move by sweep.

    Moves that never reject are left out unless they are named. Proposals of all chains are combined.

    Parameters
    ----------
    trace : Trace or ChainTrace
    moves : sequence of str, optional
        Names of moves, as in ``trace.moves["move"]``.
    parts : int
        Number of intervals into which the sweeps are divided; each has one point.

    Returns
    -------
    altair.Chart

    Raises
    ------
    RegistryError
        If no move of the run has such a name.
    DataError
        If the trace has no moves.
    MissingExtraError
        If Altair is not installed.
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
    last = int(records["sweep"].max())
    edges = np.unique(np.linspace(0, last, min(parts, last) + 1).astype(np.int64))
    middles = 0.5 * (edges[:-1] + edges[1:] + 1)
    values = []
    for name in chosen:
        own = records[records["move"] == name]
        part = np.searchsorted(edges, own["sweep"], side="left") - 1
        tried, accepted = (np.bincount(part, own[what], len(edges) - 1) for what in ("tried", "accepted"))
        values += [
            {"sweep": middles[i].item(), "accepted": float(accepted[i] / tried[i]), "move": printable(name)}
            for i in np.flatnonzero(tried).tolist()
        ]
    scale = {"domain": [0, max(last, 1)]}  # also where nothing is drawn
    x = alt.X(field="sweep", type="quantitative", axis={"title": "sweep", "tickMinStep": 1}, scale=scale)
    y = number("Y", "accepted", "share of proposals accepted", ".0%", scale={"domain": [0, 1]})
    drawn = lines(values, x, y, "move", points=True)
    return drawn if chosen else drawn.properties(title="no move of this run rejects anything")


def move_times(trace: Any) -> Any:
    """Plot the total seconds of each move over all sweeps and chains.

    Parameters
    ----------
    trace : Trace or ChainTrace

    Returns
    -------
    altair.Chart

    Raises
    ------
    DataError
        If the trace has no moves.
    MissingExtraError
        If Altair is not installed.
    """
    records = _records(trace)
    names, which = np.unique(records["move"], return_inverse=True)
    seconds = np.bincount(which, records["seconds"], len(names))
    values = [
        {"move": printable(str(names[i])), "seconds": rounded([seconds[i]])[0],
         "share": float(seconds[i] / max(seconds.sum(), 1e-300))}
        for i in np.argsort(-seconds, kind="stable").tolist()
    ]  # fmt: skip
    drawn = bars(values, "move", "seconds", "seconds", ",.4~g")
    text = over().mark_text(align="left", dx=4, style="on-chart")
    text = text.encode(
        alt.Y(field="move", type="nominal", sort=None),
        alt.X(field="seconds", type="quantitative"),
        text=alt.Text(field="share", type="quantitative", format=".0%"),
    )
    return layered(values, ROW * len(values), drawn.properties(data=alt.Undefined), text)


def _records(trace: Any) -> Any:
    parts = [chain.moves for _, chain in chains_of(trace)]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise DataError("trace", trace, "a trace of moves", "Scheduler.run records them.")
    return np.concatenate(parts)


def _rejects(records: Any) -> bool:
    return bool(records["accepted"].sum() < records["tried"].sum())
