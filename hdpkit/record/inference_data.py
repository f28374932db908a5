"""Traces as ArviZ wants them. ArviZ is an extra."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hdpkit.checks import text, whole_number
from hdpkit.errors import DataError, MissingExtraError

__all__ = ["inference_data", "load_arviz", "summary"]

_STATISTICS = {"log_joint": "log_joint", "log_likelihood": "log_likelihood_total"}


class Recorded(Protocol):
    """What is needed of a `Trace`, whose module imports this one."""

    @property
    def n_draws(self) -> int:
        """Recorded sweeps."""

    @property
    def moves(self) -> Any:
        """What each move did in each sweep."""

    def __getitem__(self, key: str) -> Any: ...

    def __iter__(self) -> Iterator[str]: ...

    def records(self) -> Any:
        """The record of each move of each sweep."""


def load_arviz() -> Any:
    """Import ArviZ, or say that it is an extra."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # its announcement of its own next version
            import arviz
    except ImportError as error:
        raise MissingExtraError(
            "arviz", None, "installed", "It is an extra: pip install 'hdpkit[arviz]'."
        ) from error
    return arviz


def inference_data(
    traces: Sequence[Recorded], numbers: Sequence[int], after: int, separator: str = "/"
) -> Any:
    """Several traces as one InferenceData; what the longer ones have more is left out, with a warning."""
    whole_number("after", after, 0, remedy="0 keeps all sweeps.")
    text("separator", separator, remedy='For instance "_".')
    arviz = load_arviz()
    sweeps = [np.asarray(trace["sweep"]) if trace.n_draws else np.empty(0, np.int64) for trace in traces]
    kept = [np.flatnonzero(own > after) for own in sweeps]
    n = min((len(rows) for rows in kept), default=0)
    if n == 0:
        raise DataError(
            "trace", "no draws", f"at least one draw of every chain after sweep {after}", "Run more sweeps."
        )
    if max(len(rows) for rows in kept) > n:
        warnings.warn(
            f"chains of {[len(rows) for rows in kept]} draws: only the first {n} of each are taken",
            UserWarning,
            stacklevel=3,
        )
    rows = kept[0][:n]
    values: dict[str, npt.NDArray[Any]] = {}
    for key in traces[0]:
        stacked = [trace[key][own[:n]] for trace, own in zip(traces, kept, strict=True)]
        # What has no common shape (one value a dish, say) has no place in an InferenceData.
        if key != "sweep" and len({part.shape for part in stacked}) == 1 and stacked[0].dtype != object:
            values[key] = np.stack(stacked)
    # ArviZ would take a statistic named log_likelihood for one number an observation (loo, waic).
    statistics = {_STATISTICS[key]: values.pop(key) for key in _STATISTICS if key in values}
    statistics |= _acceptance(traces, sweeps[0][rows])
    return arviz.from_dict(
        posterior=_renamed(values, separator),
        sample_stats=_renamed(statistics, separator),
        coords={"chain": list(numbers), "draw": sweeps[0][rows]},
    )


def _renamed(values: dict[str, Any], separator: str) -> dict[str, Any]:
    return {key.replace("/", separator): value for key, value in values.items()}


def _acceptance(traces: Sequence[Recorded], sweeps: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Share of accepted updates of every move in every recorded sweep; NaN where it had no turn."""
    names = list(dict.fromkeys(record.move for trace in traces for record in trace.records()))
    out = {}
    for name in names:
        rates = np.full((len(traces), len(sweeps)), np.nan)
        for c, trace in enumerate(traces):
            own = trace.moves
            own = own[(own["move"] == name) & (own["tried"] > 0)]
            # A move that stands twice in a schedule has two records a sweep; both count.
            tried, accepted = (
                np.bincount(own["sweep"], own[what], minlength=int(sweeps[-1]) + 1)
                for what in ("tried", "accepted")
            )
            there = tried[sweeps] > 0
            rates[c, there] = accepted[sweeps][there] / tried[sweeps][there]
        out[f"acceptance/{name}"] = rates
    return out


def summary(data: Any, options: dict[str, Any]) -> Any:
    """ArviZ's summary of all scalars; by default of what isn't constant."""
    data = data.copy()
    data.posterior = data.posterior.assign(
        {key: data.sample_stats[name] for key, name in _STATISTICS.items() if name in data.sample_stats}
    )
    if "var_names" not in options:
        moving = [
            name
            for name, values in data.posterior.data_vars.items()
            if bool((values != values.isel(chain=0, draw=0)).any())
        ]
        if not moving:
            raise DataError(
                "trace", "constant", "something that changes from sweep to sweep", "Pass var_names."
            )
        options = {**options, "var_names": moving}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return load_arviz().summary(data, **options)
