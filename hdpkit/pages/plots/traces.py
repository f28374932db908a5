"""Plots of traces, and of the shares of topics by sweep."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.canvas import LINES, colours, evenly, given_axes, given_figure, plain
from hdpkit.checks import items, text, whole_number
from hdpkit.errors import DataError
from hdpkit.posterior.readings import chains_of, scalar, shares_of

_MOST_POINTS = 2_000
_NAMES = {"n_dishes": "K", "log_joint": "log probability (nats)"}
_FIRST = ("log_joint", "n_dishes")


def trace(trace: Any, key: str = "log_joint", *, after: int = 0, ax: Any = None) -> Any:
    """Plot one key of a trace by sweep, with one line per chain.

    Parameters
    ----------
    trace : Trace or ChainTrace
    key : str
        A key of the trace with one number per sweep.
    after : int
        Leave out the sweeps up to this one.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    RegistryError, ParameterError
        If the trace has no such key, or the key has an array per sweep.
    DataError
        If no sweep is left.
    MissingExtraError
        If Matplotlib is not installed.
    """
    chains = chains_of(trace)
    text("key", key, remedy="For instance log_joint.")
    whole_number("after", after, 0, remedy="0 keeps all sweeps.")
    lines = []
    for number, chain in chains:
        values, sweeps = scalar(chain, key), np.asarray(chain["sweep"])
        kept = np.flatnonzero(sweeps > after)
        kept = kept[evenly(len(kept), _MOST_POINTS)]
        if len(kept):
            lines.append((number, sweeps[kept], values[kept]))
    if not lines:
        raise DataError("after", after, "less than the number of sweeps", "Run more sweeps, or leave it out.")
    ax = given_axes(ax)
    for (number, sweeps, values), colour in zip(lines, colours(len(lines)), strict=True):
        style = LINES[number % len(LINES)]
        ax.plot(sweeps, values, color=colour, linestyle=style, linewidth=1.2, label=f"chain {number}")
    ax.set_xlabel("sweep")
    ax.set_ylabel(plain(_NAMES.get(key, key)))
    if len(lines) > 1:
        ax.legend(fontsize="small")
    return ax


def traces(trace: Any, keys: Any = None, *, after: int = 0, figure: Any = None) -> Any:
    """Plot several keys of a trace, one panel per key.

    Parameters
    ----------
    trace : Trace or ChainTrace
    keys : sequence of str, optional
        By default the log joint, the number of dishes, and every other number that isn't constant and differs
        from those before it (in a flat mixture the number of tables is that of dishes).
    after : int
        Leave out the sweeps up to this one.
    figure : matplotlib.figure.Figure, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    RegistryError, ParameterError, DataError, MissingExtraError
        As `hdpkit.plots.trace`.
    """
    chains = chains_of(trace)
    if keys is None:
        chosen = [key for key in _FIRST if key in chains[0][1]]
        for key in chains[0][1]:
            if key not in (*_FIRST, "sweep") and _changes(chains, key) and not _same_as(chains, key, chosen):
                chosen.append(key)
    else:
        chosen = list(
            items("keys", keys, "a sequence of keys of the trace", remedy='For instance ["n_dishes"].')
        )
        for key in chosen:
            text("keys", key, remedy="Keys of a trace are strings.")
            for _, chain in chains:
                scalar(chain, key)
    if not chosen:
        raise DataError("keys", keys, "at least one key", "Leave it out for all that change.")
    columns = min(2, len(chosen))
    rows = -(-len(chosen) // columns)
    figure = given_figure(figure, (5.0 * columns, 2.6 * rows))
    for place, key in enumerate(chosen, start=1):
        ax = globals()["trace"](trace, key, after=after, ax=figure.add_subplot(rows, columns, place))
        if place > 1 and ax.get_legend() is not None:  # the chains are those of the first panel
            ax.get_legend().remove()
    return figure


def _changes(chains: Any, key: str) -> bool:
    """Whether a key has one number per sweep and isn't constant."""
    columns = [chain[key] for _, chain in chains]
    if any(column.dtype == object or column.ndim != 1 for column in columns):
        return False
    return len(np.unique(np.concatenate(columns))) > 1


def _same_as(chains: Any, key: str, others: Any) -> bool:
    """Whether a key has the values of one of the others in every sweep of every chain."""
    return any(all(np.array_equal(chain[key], chain[other]) for _, chain in chains) for other in others)


def topic_shares(samples: Any, *, ax: Any = None) -> Any:
    """Plot the cumulative shares of the largest topic, the two largest, and so on, by sweep.

    This is the topic trace plot of Wang & Blei 2012, Figure 4b.

    Parameters
    ----------
    samples : Trace, sequence of Sample, or sequence of arrays
        Samples of one chain, a trace with samples, or the sizes of the topics at each sweep as arrays of
        shape (K,), where K can vary.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError, DataError
        If there are no samples, if they are from several chains, or if sizes are negative.
    MissingExtraError
        If Matplotlib is not installed.
    """
    sweeps, sizes = shares_of(samples)
    ax = given_axes(ax)
    most = max(len(one) for one in sizes)
    ratios = np.full((len(sizes), most), np.nan)  # NaN: there is no such topic in this sample
    for row, one in zip(ratios, sizes, strict=True):
        row[: len(one)] = np.cumsum(np.sort(one)[::-1]) / one.sum()
    ax.plot(sweeps, ratios, linestyle="none", marker=".", markersize=3, color=colours(1)[0])
    ax.set_ylim(0.0, 1.03)
    ax.set_xlabel("sweep")
    ax.set_ylabel("share of the 1, 2, ... largest topics")
    return ax
