"""Plots of a run: traces, shares of topics by sweep, acceptance and time of moves, scores by time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.canvas import PALETTE, ROW, alt, bars, chart, evenly, layered, lines, number, over, rounded, told
from hdpkit.checks import flag, items, number_array, text, whole_number
from hdpkit.data.files.tables import rows_of
from hdpkit.errors import DataError, ParameterError, RegistryError, printable
from hdpkit.posterior.readings import chains_of, named, scalar, shares_of

_MOST_POINTS = 1_000
_MOST_DOTS = 20_000
_NAMES = {"n_dishes": "K", "log_joint": "log probability (nats)"}
_FIRST = ("log_joint", "n_dishes")


def trace(trace: Any, key: str = "log_joint", *, after: int = 0) -> Any:
    """Plot one key of a trace by sweep, with one line per chain.

    Returns an ``altair.Chart``. Of a chain with more than 1,000 sweeps, 1,000 are drawn, evenly spaced.
    Raises a RegistryError, ParameterError or DataError if the trace has no such key, the key has an array per
    sweep, or no sweep is left.

    Parameters
    ----------
    trace : Trace or ChainTrace
    key : str
        A key of the trace with one number per sweep.
    after : int
        Leave out the sweeps up to this one.
    """
    chains = chains_of(trace)
    text("key", key, remedy="For instance log_joint.")
    whole_number("after", after, 0, remedy="0 keeps all sweeps.")
    for _, chain in chains:
        scalar(chain, key)
    drawn = by_sweep(chains, key, printable(_NAMES.get(key, key)), after=after)
    if drawn is None:
        raise DataError("after", after, "less than the number of sweeps", "Run more sweeps, or leave it out.")
    return drawn


def by_sweep(
    chains: Any, key: str, title: str, *, after: int = 0, most: int = _MOST_POINTS, legend: bool = True
) -> Any:
    """A key of the trace of each chain by sweep; None if no chain has a sweep left."""
    values: list[dict[str, Any]] = []
    for place, chain in chains:
        if key not in chain:
            continue
        column, sweeps = scalar(chain, key), np.asarray(chain["sweep"])
        kept = np.flatnonzero(sweeps > after)
        kept = kept[evenly(len(kept), most)]
        names = [f"chain {place}"] * len(kept)
        values += rows_of({"sweep": sweeps[kept].tolist(), "value": rounded(column[kept], 7), "chain": names})
    if not values:
        return None
    x = _sweeps()
    y = number("Y", "value", title, "~s", scale={"zero": False})
    return lines(values, x, y, "chain" if len(chains) > 1 else None, legend=legend)


def traces(trace: Any, keys: Any = None, *, after: int = 0) -> Any:
    """Plot several keys of a trace, one panel per key.

    Returns an ``altair.ConcatChart`` with the panels as `hdpkit.plots.trace` draws them, which raises the
    same errors.

    Parameters
    ----------
    trace : Trace or ChainTrace
    keys : sequence of str, optional
        By default the log joint, the number of dishes, and every other number that isn't constant and differs
        from those before it (in a flat mixture the number of tables is that of dishes).
    after : int
        Leave out the sweeps up to this one.
    """
    chains = chains_of(trace)
    chosen: Sequence[str]
    if keys is None:
        found = [key for key in _FIRST if key in chains[0][1]]
        for key in chains[0][1]:
            same = (all(np.array_equal(one[key], one[other]) for _, one in chains) for other in found)
            if key not in (*_FIRST, "sweep") and _changes(chains, key) and not any(same):
                found.append(key)
        chosen = found
    else:
        chosen = items("keys", keys, "a sequence of keys of the trace", remedy='For instance ["n_dishes"].')
        for key in chosen:
            text("keys", key, remedy="Keys of a trace are strings.")
            for _, chain in chains:
                scalar(chain, key)
    if not chosen:
        raise DataError("keys", keys, "at least one key", "Leave it out for all that change.")
    draw = globals()["trace"]  # the argument has its name
    return alt.concat(*(draw(trace, key, after=after) for key in chosen), columns=2)


def _changes(chains: Any, key: str) -> bool:
    """Whether a key has one number per sweep and isn't constant."""
    columns = [chain[key] for _, chain in chains]
    if any(column.dtype == object or column.ndim != 1 for column in columns):
        return False
    return len(np.unique(np.concatenate(columns))) > 1


def _sweeps() -> Any:
    axis = {"title": "sweep", "tickMinStep": 1}
    return alt.X(field="sweep", type="quantitative", axis=axis, scale={"zero": False, "nice": False})


def topic_shares(samples: Any) -> Any:
    """Plot the cumulative shares of the largest topic, the two largest, and so on, by sweep.

    This is the topic trace plot of Wang & Blei 2012, Figure 4b. Returns an ``altair.Chart``. Of more than
    20,000 dots, those of sweeps evenly spaced are drawn. Raises a ParameterError or DataError if there are no
    samples, if they are from several chains, or if sizes are negative.

    Parameters
    ----------
    samples : Trace, sequence of Sample, or sequence of arrays
        Samples of one chain, a trace with samples, or the sizes of the topics at each sweep as arrays of
        shape (K,), where K can vary.
    """
    sweeps, sizes = shares_of(samples)
    kept = evenly(len(sizes), max(1, _MOST_DOTS // max(map(len, sizes))))
    values = [
        {"sweep": sweeps[i].item(), "topics": n, "share": share}
        for i in kept.tolist()
        for n, share in enumerate((np.cumsum(np.sort(sizes[i])[::-1]) / sizes[i].sum()).tolist(), start=1)
    ]
    return (
        chart(values, 260)
        .mark_circle(size=14, color=PALETTE[0], opacity=0.8)
        .encode(
            _sweeps(),
            number("Y", "share", "share of the 1, 2, ... largest topics", ".0%", scale={"domain": [0, 1]}),
            tooltip=[told("sweep"), told("topics", "largest topics"), told("share", form=".1%")],
        )
    )


def acceptance(trace: Any, *, moves: Any = None, parts: int = 40) -> Any:
    """Plot the acceptance rate of each move by sweep.

    Moves that never reject are left out unless they are named. Proposals of all chains are combined. Returns
    an ``altair.Chart``. Raises a RegistryError or DataError if no move of the run has such a name, or the
    trace has no moves.

    Parameters
    ----------
    trace : Trace or ChainTrace
    moves : sequence of str, optional
        Names of moves, as in ``trace.moves["move"]``.
    parts : int
        Number of intervals into which the sweeps are divided; each has one point.
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

    Returns an ``altair.Chart``.

    Parameters
    ----------
    trace : Trace or ChainTrace
        A DataError is raised if it has no moves.
    """
    values = [
        {"move": printable(one["move"]), "seconds": rounded(one["seconds"]), "share": one["share"]}
        for one in moves_of(_records(trace))
    ]
    drawn = bars(values, "move", "seconds", "seconds", ",.4~g")
    text = over().mark_text(align="left", dx=4, style="on-chart")
    text = text.encode(
        alt.Y(field="move", type="nominal", sort=None),
        alt.X(field="seconds", type="quantitative"),
        text=alt.Text(field="share", type="quantitative", format=".0%"),
    )
    return layered(values, ROW * len(values), drawn.properties(data=alt.Undefined), text)


def moves_of(records: Any) -> list[dict[str, Any]]:
    """Seconds, their share, proposals and acceptances of each move, the one that takes longest first."""
    names, which = np.unique(records["move"], return_inverse=True)
    seconds, tried, accepted = (np.bincount(which, records[key]) for key in ("seconds", "tried", "accepted"))
    total = max(float(seconds.sum()), 1e-300)
    return [
        {
            "move": str(names[i]), "seconds": float(seconds[i]), "share": float(seconds[i] / total),
            "tried": int(tried[i]), "rate": float(accepted[i] / tried[i]) if tried[i] else None,
        }
        for i in np.argsort(-seconds, kind="stable").tolist()
    ]  # fmt: skip


def _records(trace: Any) -> Any:
    parts = [chain.moves for _, chain in chains_of(trace)]
    parts = [part for part in parts if len(part)]
    if not parts:
        raise DataError("trace", trace, "a trace of moves", "Scheduler.run records them.")
    return np.concatenate(parts)


def _rejects(records: Any) -> bool:
    return bool(records["accepted"].sum() < records["tried"].sum())


def perplexity(curves: Any, *, logarithmic: bool = True) -> Any:
    """Plot perplexity by computing time.

    Returns an ``altair.Chart``.

    Parameters
    ----------
    curves : dict
        Name -> (seconds, perplexity), two sequences of the same length of positive numbers.
    logarithmic : bool
        Whether the time axis is logarithmic; it has no place for zero seconds.
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
