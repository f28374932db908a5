"""The result of a comparison of schedules, also as a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats
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
from hdpkit.checks import choice, path
from hdpkit.errors import RegistryError, printable
from hdpkit.files import save
from hdpkit.posterior.comparison.chains import ChainRecord, MoveTotals
from hdpkit.posterior.comparison.convergence import ConvergenceRule, NumberDiagnosis
from hdpkit.posterior.comparison.report import CSV_ROWS, csv_text, moves_table, report, schedules_table

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


@attrs.frozen(eq=False, kw_only=True)
class ScheduleResult:
    """Results of the chains of one schedule.

    Attributes
    ----------
    name : str
    chains : tuple of ChainRecord
        Seeds, starts and records (``seconds``, ``log_joint``, ``n_dishes``, ``shares``) of all chains.
    kept : dict of float64 arrays, shape (n_chains, n_draws)
        The numbers after burn-in, by key; the same number of states for each chain.
    n_draws : int
        Recorded states of each chain after burn-in.
    kept_seconds : float
        Time of the moves after burn-in, all chains together.
    diagnoses : dict of NumberDiagnosis
        Mean, sd, R-hat, effective sample size and drift after burn-in, by key: "log_joint", "n_dishes",
        "share_1" (of the largest dish), "share_2", ...
    reasons : tuple of str
        Why the chains have not converged; empty if they have.
    seconds_to_target : float64 array, shape (n_chains,)
        When each chain first reached the comparison's target; infinite if it never did.
    """

    name: str
    chains: tuple[ChainRecord, ...] = attrs.field(repr=False)
    kept: dict[str, Floats] = attrs.field(repr=False)
    n_draws: int
    kept_seconds: float
    diagnoses: dict[str, NumberDiagnosis] = attrs.field(repr=False)
    reasons: tuple[str, ...]
    seconds_to_target: Floats

    @property
    def converged(self) -> bool:
        """Whether the rule of the comparison holds."""
        return not self.reasons

    @property
    def ess_per_second(self) -> dict[str, float]:
        """Effective draws per second of the moves, by key; NaN unless the schedule has converged."""
        trusted = self.converged and self.kept_seconds > 0.0
        return {
            key: one.ess / self.kept_seconds if trusted else math.nan for key, one in self.diagnoses.items()
        }

    def means_by_chain(self, key: str) -> Floats:
        """Mean of a number in each chain after burn-in: shape (n_chains,); NaN if no state is left.

        Parameters
        ----------
        key : str
            As in ``diagnoses``.
        """
        if not isinstance(key, str) or key not in self.kept:
            raise RegistryError("key", key, f"one of {list(self.kept)}", "See `diagnoses`.")
        values = self.kept[key]
        return values.mean(axis=1) if values.shape[1] else np.full(len(values), math.nan)

    @property
    def processor_share(self) -> float:
        """Processor time divided by wall-clock time while chains ran; with threads it may be above 1."""
        wall = sum(chain.wall_seconds for chain in self.chains)
        return sum(chain.processor_seconds for chain in self.chains) / wall if wall > 0.0 else math.nan

    @property
    def moves(self) -> dict[str, MoveTotals]:
        """Turns, updates tried and accepted, and seconds of each move, over all chains."""
        total: dict[str, MoveTotals] = {}
        for chain in self.chains:
            for name, own in chain.moves.items():
                total[name] = total.get(name, MoveTotals()) + own
        return total


@attrs.frozen(eq=False, kw_only=True)
class Comparison(Mapping[str, ScheduleResult]):
    """A comparison of schedules: ``comparison[name]`` is the `ScheduleResult` of a schedule.

    Attributes
    ----------
    results : dict of ScheduleResult
        By name, in the order in which the schedules were given.
    seconds : float
        Time of the moves of each chain.
    burn_in : float
        Share of each chain's time that is left out.
    rule : ConvergenceRule
    best : float
        The highest mean log joint of a chain after burn-in; NaN if no chain has a state there.
    best_chain : (str, int) or None
        The schedule and the number of that chain.
    within : float
    target : float
        ``best - within * abs(best)``.
    seed : int
        Chain c has the seed ``seed + c``.
    interrupted : bool
        Whether Ctrl-C ended it early.
    failures : dict
        Errors of schedules that failed, by name. Such a schedule has no further chains, and has a result only
        if one of its chains was completed before.
    clock : str
        "wall" or "processor".
    """

    results: dict[str, ScheduleResult]
    seconds: float
    burn_in: float
    rule: ConvergenceRule
    best: float
    best_chain: tuple[str, int] | None
    within: float
    target: float
    seed: int
    interrupted: bool
    failures: dict[str, Exception]
    clock: str

    def __getitem__(self, name: str) -> ScheduleResult:
        if not isinstance(name, str) or name not in self.results:
            raise RegistryError("name", name, f"one of {list(self.results)}", "Give the name of a schedule.")
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __repr__(self) -> str:
        n = sum(result.converged for result in self.values())
        return f"<Comparison of {len(self)} schedules, {n} of them converged>"

    def __str__(self) -> str:
        return report(self)

    def table(self) -> str:
        """A Markdown table with one row per schedule, as text."""
        return schedules_table(self)

    def moves_table(self) -> str:
        """A Markdown table of time and acceptance, with one row per schedule and move."""
        return moves_table(self)

    def to_csv(self, path: str | os.PathLike[str], rows: str = "schedules") -> None:
        """Write a CSV file.

        Parameters
        ----------
        path : path
        rows : "schedules", "moves" or "states"
            One row per schedule; per move of each chain; or per recorded state of each chain, with its time,
            K, log joint and largest shares. Effective draws are empty if a schedule has not converged.

        Raises
        ------
        StorageError
            If the file can't be written.
        """
        choice("rows", rows, CSV_ROWS, remedy="Leave it out for one row per schedule.")
        save(_path(path), csv_text(self, rows).encode("utf-8"))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a picture: log joint and K by time, and effective draws per second.

        Parameters
        ----------
        path : path
            The extension gives the format: .png, .svg, .pdf or .html.

        Raises
        ------
        MissingExtraError
            Without Altair and vl-convert-python: ``pip install 'hdpkit[plots]'``.
        StorageError
            If the file can't be written.
        """
        draw_picture(self, _path(path))


def _path(value: Any) -> Any:
    return path("path", value, remedy='For instance "schedules.csv".')
