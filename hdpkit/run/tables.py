"""Traces for other programs: HTML for notebooks, and for pandas and ArviZ 0.20 to 1.x, which are extras."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import text, whole_number
from hdpkit.errors import DataError, ParameterError, importing_extra
from hdpkit.franchise.as_html import html_table


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas.DataFrame of these columns, or a MissingExtraError that names the extra."""
    with importing_extra("pandas", "pandas"):
        import pandas
    return pandas.DataFrame(dict(columns))


def trace_frame(chains: Sequence[Any], numbers: Sequence[int]) -> Any:
    """One row per recorded sweep and chain; arrays of one shape have a column per entry, "key[0]"."""
    columns: dict[str, Any] = {
        "chain": [n for n, c in zip(numbers, chains, strict=True) for _ in range(c.n_draws)]
    }
    for key in chains[0] if chains else ():
        parts = [chain[key] for chain in chains]
        if len({part.shape[1:] for part in parts}) > 1 or any(part.dtype == object for part in parts):
            columns[key] = [value for part in parts for value in part]
            continue
        values = np.concatenate(parts)
        if values.ndim == 1:
            columns[key] = values
            continue
        for place in np.ndindex(values.shape[1:]):
            columns[f"{key}[{','.join(map(str, place))}]"] = values[(slice(None), *place)]
    return data_frame(columns)


def trace_table(caption: str, chains: Sequence[Any]) -> str:
    """A table with one row per key: shape, first and last value, mean of the second half of the sweeps."""
    if not any(chain.n_draws for chain in chains):
        return html_table(caption, ["key"], [])
    chains = [chain for chain in chains if chain.n_draws]
    rows = []
    for key in chains[0]:
        columns = [chain[key] for chain in chains if key in chain]
        if key == "sweep" or any(column.dtype.kind not in "iufb" for column in columns):
            continue
        if any(column.ndim != 1 for column in columns):
            rows.append([key, "an array of shape " + str(columns[0].shape[1:]) + " per sweep", "", ""])
            continue
        halves = [column[len(column) // 2 :] for column in columns]
        ends = (columns[0][0], columns[0][-1], np.mean([half.mean() for half in halves]))
        rows.append([key, *(float(value) for value in ends)])
    many = len(chains) > 1
    first, last = ("first (chain 0)", "last (chain 0)") if many else ("first", "last")
    mean = "mean of the second half" + (", all chains" if many else "")
    return html_table(caption, ["key", first, last, mean], rows)


POINTWISE = "log_likelihood/"
"""Prefix of keys of a trace with one log likelihood per observation, as needed by ``arviz.loo``."""
SEPARATOR = "_"

_STATISTICS = {"log_joint": "log_joint", "log_likelihood": "log_likelihood_total"}


def load_arviz() -> Any:
    """Import ArviZ, or raise a MissingExtraError."""
    with importing_extra("arviz", "arviz"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # ArviZ announces its next version
        import arviz
    return arviz


def inference_data(
    traces: Sequence[Any], numbers: Sequence[int], after: int, separator: str = SEPARATOR
) -> Any:
    """Several traces as ArviZ's groups of data; longer traces are cut to the shortest, with a warning."""
    text("separator", separator, remedy='For instance "_".')
    if "/" in separator:
        raise ParameterError(
            "separator", separator, 'a text without "/"',
            "Neither ArviZ 1.x nor netCDF files allow it in a name: leave it out for \"_\".",
        )  # fmt: skip
    groups, coords, dims = _groups(traces, numbers, after)
    renamed = {
        group: {key.replace("/", separator): array for key, array in values.items()}
        for group, values in groups.items()
        if values
    }
    return arviz_data(renamed, coords, dims)


def arviz_data(
    groups: dict[str, dict[str, npt.NDArray[Any]]], coords: dict[str, Any], dims: dict[str, list[str]]
) -> Any:
    """Arrays of shape (chains, draws, ...) by group and name in the format of the installed ArviZ."""
    arviz = load_arviz()
    if int(arviz.__version__.split(".")[0]) < 1:
        return arviz.from_dict(**groups, coords=coords, dims=dims)
    return arviz.from_dict(groups, coords=coords, dims=dims)


def cut_to(sizes: Sequence[int]) -> int:
    """Number of draws of the shortest chain, with a warning if others have more."""
    n = min(sizes, default=0)
    if max(sizes, default=0) > n:
        warnings.warn(
            f"chains of {list(sizes)} draws: only the first {n} of each are taken", UserWarning, stacklevel=5
        )
    return n


def _groups(
    traces: Sequence[Any], numbers: Sequence[int], after: int
) -> tuple[dict[str, dict[str, npt.NDArray[Any]]], dict[str, Any], dict[str, list[str]]]:
    """Arrays of shape (chains, draws, ...) by group and key; coordinates; names of further dimensions."""
    whole_number("after", after, 0, remedy="0 keeps all sweeps.")
    sweeps = [np.asarray(trace["sweep"]) if trace.n_draws else np.empty(0, np.int64) for trace in traces]
    kept = [np.flatnonzero((own > after) & _scored(trace)) for trace, own in zip(traces, sweeps, strict=True)]
    if min((len(rows) for rows in kept), default=0) == 0:
        raise DataError(
            "trace", "no draws", f"at least one draw of every chain after sweep {after}", "Run more sweeps."
        )
    n = cut_to([len(rows) for rows in kept])
    rows = kept[0][:n]
    values: dict[str, npt.NDArray[Any]] = {}
    for key in traces[0]:
        stacked = [trace[key][own[:n]] for trace, own in zip(traces, kept, strict=True)]
        # Values without a common shape (such as one per dish) don't fit into an array of all draws.
        if key != "sweep" and len({part.shape for part in stacked}) == 1 and stacked[0].dtype != object:
            values[key] = np.stack(stacked)
    # ArviZ would treat a statistic named log_likelihood as one number per observation.
    statistics = {_STATISTICS[key]: values.pop(key) for key in _STATISTICS if key in values}
    statistics |= _acceptance(traces, sweeps[0][rows])
    pointwise = {key.removeprefix(POINTWISE): values.pop(key) for key in list(values) if _is_pointwise(key)}
    # A variable mustn't have the name of its own dimension.
    dims = {f"by_{name}": [name] for name, array in pointwise.items() if array.ndim == 3}
    coords = {"chain": list(numbers), "draw": sweeps[0][rows]}
    groups = {
        "posterior": values,
        "sample_stats": statistics,
        "log_likelihood": {f"by_{name}": array for name, array in pointwise.items()},
    }
    return groups, coords, dims


def _is_pointwise(key: str) -> bool:
    return key.startswith(POINTWISE)


def _scored(trace: Any) -> npt.NDArray[np.bool_]:
    """Draws for which all log likelihoods by observation were computed, that is, aren't all NaN."""
    there = np.ones(trace.n_draws, dtype=bool)
    for key in filter(_is_pointwise, trace):
        values = trace[key]
        if values.dtype != object:
            there &= ~np.isnan(values.reshape(len(values), -1)).all(axis=1)
    return there


def _acceptance(traces: Sequence[Any], sweeps: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Share of accepted updates of every move in every recorded sweep; NaN if it had no turn."""
    names = list(dict.fromkeys(record.move for trace in traces for record in trace.records()))
    out = {}
    for name in names:
        rates = np.full((len(traces), len(sweeps)), np.nan)
        for c, trace in enumerate(traces):
            own = trace.moves
            own = own[(own["move"] == name) & (own["tried"] > 0)]
            # A move that occurs twice in a schedule has two records per sweep; both count.
            tried, accepted = (
                np.bincount(own["sweep"], own[what], minlength=int(sweeps[-1]) + 1)
                for what in ("tried", "accepted")
            )
            there = tried[sweeps] > 0
            rates[c, there] = accepted[sweeps][there] / tried[sweeps][there]
        out[f"acceptance/{name}"] = rates
    return out


def summary(
    traces: Sequence[Any],
    numbers: Sequence[int],
    after: int,
    options: dict[str, Any],
    standard: Callable[[str], bool],
) -> Any:
    """ArviZ's summary by key; constant quantities, and arrays not ``standard``, are left out by default."""
    groups, coords, _ = _groups(traces, numbers, after)
    arviz = load_arviz()
    import xarray  # ArviZ needs it

    values = groups["posterior"] | {
        key: groups["sample_stats"][name]
        for key, name in _STATISTICS.items()
        if name in groups["sample_stats"]
    }
    if "var_names" not in options:
        values = {
            key: array
            for key, array in values.items()
            if (array.ndim == 2 or standard(key)) and (array != array[:1, :1]).any()
        }
        if not values:
            raise DataError(
                "trace", "constant", "something that changes from sweep to sweep", "Pass var_names."
            )
    data = xarray.Dataset(
        {
            key: (["chain", "draw", *(f"{key}_dim_{i}" for i in range(array.ndim - 2))], array)
            for key, array in values.items()
        },
        coords=coords,
    )
    with _quiet(arviz):
        return arviz.summary(data, **options)


@contextlib.contextmanager
def _quiet(arviz: Any) -> Iterator[None]:
    """Without ArviZ's messages about one chain and about constant columns: what it can't compute is NaN."""
    names = ("arviz", "arviz_stats")
    loggers = [getattr(arviz, "_log", None), *map(logging.getLogger, names)]
    with warnings.catch_warnings(), contextlib.ExitStack() as stack:
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", RuntimeWarning)
        for logger in loggers:
            if isinstance(logger, logging.Logger):
                logger.addFilter(_of_values)
                stack.callback(logger.removeFilter, _of_values)
        yield


def _of_values(record: logging.LogRecord) -> bool:
    return "Shape validation failed" not in record.getMessage()
