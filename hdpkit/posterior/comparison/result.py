"""The result of a comparison of schedules: tables, CSV and a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
)
from hdpkit.checks import choice, path
from hdpkit.data.files.tables import table_of_rows
from hdpkit.errors import RegistryError, printable
from hdpkit.files import save
from hdpkit.posterior.comparison.chains import ChainRecord, MoveTotals, shown
from hdpkit.posterior.comparison.convergence import ConvergenceRule, NumberDiagnosis

_DISTURBED = 0.8  # ratio of the lowest processor share to the highest, below which the report warns
_CLOCKS = {"wall": "by the wall clock", "processor": "processor time"}

CSV_ROWS = ("schedules", "moves", "states")

_HEAD = (
    "schedule", "sweeps", "log joint by chain", "K by chain", "R-hat log joint", "R-hat K", "R-hat shares",
    "ESS/s log joint", "ESS/s K", "ESS/s shares", "s to target by chain", "converged",
)  # fmt: skip


def _row(result: Any, comparison: Any) -> list[str]:
    rhats = {key: one.rhat for key, one in result.diagnoses.items()}
    rate = result.ess_per_second
    joints, dishes = (result.means_by_chain(key).tolist() for key in ("log_joint", "n_dishes"))
    places = 0 if abs(comparison.best) >= 1e4 else 1
    late = f"> {comparison.seconds:.3g}"
    return [
        printable(result.name),
        f"{sum(int(chain.sweeps[-1]) for chain in result.chains):,}",
        _by_chain(joints, lambda mean: f"{mean:,.{places}f}"),
        _by_chain(dishes, lambda mean: f"{mean:.4g}"),
        _number(rhats["log_joint"]),
        _number(rhats["n_dishes"]),
        _number(_of_shares(rhats, max)),
        _number(rate["log_joint"]),
        _number(rate["n_dishes"]),
        _number(_of_shares(rate, min)),
        _by_chain(
            result.seconds_to_target.tolist(),
            lambda time: f"{time:.3g}" if math.isfinite(time) else late,
        ),
        "yes" if result.converged else "no",
    ]


def _by_chain(values: Sequence[float], write: Callable[[float], str]) -> str:
    """A number for each chain; for more than four chains the smallest and the largest."""
    if len(values) <= 4:
        return "; ".join("-" if math.isnan(value) else write(value) for value in values)
    return f"{write(min(values))} to {write(max(values))}"


def _of_shares(numbers: Mapping[str, float], pick: Callable[[list[float]], float]) -> float:
    """The smallest or the largest number among those of the shares; NaN if none of the shares changes."""
    found = [number for key, number in numbers.items() if key.startswith("share_") and not math.isnan(number)]
    return pick(found) if found else math.nan


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns have the width of their longest cells."""
    cells = [list(head), *(list(row) for row in rows)]
    width = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width[i]) for i, cell in enumerate(row)) + " |" for row in cells]
    lines.insert(1, "| " + " | ".join("-" * w for w in width) + " |")
    return "\n".join(lines)


def _plain(value: Any) -> Any:
    """A number at full precision, NaN as an empty string."""
    value = value.item() if hasattr(value, "item") else value
    return "" if isinstance(value, float) and math.isnan(value) else value


def _schedule_rows(comparison: Any) -> Iterable[Sequence[Any]]:
    results = list(comparison.values())
    keys = list(results[0].diagnoses) if results else []
    measures = ("mean", "sd", "rhat", "ess", "ess_per_second")
    n = max((len(result.chains) for result in results), default=0)
    yield [
        "schedule", "converged", "reasons", "chains", "states_per_chain", "kept_seconds", "processor_share",
        *(f"{key}_{what}" for key in keys for what in measures),
        *(f"seconds_to_target_{c}" for c in range(n)),
    ]  # fmt: skip
    for result in results:
        rate = result.ess_per_second
        times = result.seconds_to_target.tolist()
        numbers: list[Any] = []
        for key in keys:
            one = result.diagnoses[key]
            numbers += [one.mean, one.sd, one.rhat, one.ess if result.converged else math.nan, rate[key]]
        yield [
            result.name, "yes" if result.converged else "no", "; ".join(result.reasons), len(result.chains),
            result.n_draws, result.kept_seconds, result.processor_share, *numbers, *times,
            *[math.nan] * (n - len(times)),
        ]  # fmt: skip


def _move_rows(comparison: Any) -> Iterable[Sequence[Any]]:
    yield ["schedule", "chain", "move", "turns", "tried", "accepted", "seconds"]
    for result in comparison.values():
        for c, chain in enumerate(result.chains):
            for name, move in chain.moves.items():
                yield [result.name, c, name, move.turns, move.tried, move.accepted, move.seconds]


def _state_rows(comparison: Any) -> Iterable[Sequence[Any]]:
    n_shares = next((r.chains[0].shares.shape[1] for r in comparison.values()), 0)
    shares = [f"share_{rank + 1}" for rank in range(n_shares)]
    yield ["schedule", "chain", "sweep", "seconds", "n_dishes", "log_joint", *shares]
    for result in comparison.values():
        for c, chain in enumerate(result.chains):
            for i in range(len(chain.sweeps)):
                yield [
                    result.name, c, chain.sweeps[i], chain.seconds[i], chain.n_dishes[i], chain.log_joint[i],
                    *chain.shares[i],
                ]  # fmt: skip


_MOST_POINTS = 1_000


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
        Mean, sd, R-hat, effective sample size and drift of "log_joint", "n_dishes", and "share_1" (of the
        largest dish), "share_2", ...
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
    seconds, burn_in, rule, within, clock
        As for `compare_schedules`.
    best : float
        The highest mean log joint of a chain after burn-in; NaN if no chain has a state there.
    best_chain : (str, int) or None
        The schedule and the number of that chain.
    target : float
        ``best - within * abs(best)``.
    seed : int
        Chain c has the seed ``seed + c``.
    interrupted : bool
        Whether Ctrl-C ended it early.
    failures : dict
        Errors of schedules that failed, by name. Such a schedule has no further chains, and has a result only
        if one of its chains was completed before.
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
        n = max((len(result.chains) for result in self.values()), default=0)
        starts = dict.fromkeys(shown(chain.init) for result in self.values() for chain in result.chains)
        lines = [
            f"{self.seconds:g} s of sampling ({_CLOCKS[self.clock]}) for each of {n} "
            f"chain{'' if n == 1 else 's'} "
            f"(from {', '.join(starts)}), of which {100 * self.burn_in:g} % are burn-in; "
            f"seeds from {self.seed}",
            "",
            self.table(),
            "",
        ]
        if self.best_chain is not None:
            name, number = self.best_chain
            lines.append(
                f"Target: {self.target:,.0f}, the mean log joint of the best chain ({printable(name)}, "
                f"chain {number}: {self.best:,.0f}) less {100 * self.within:g} %."
            )
        if n == 1:
            lines.append(
                "One chain each: R-hat compares its halves, and can't show whether other starts agree."
            )
        for result in self.values():
            if not result.converged:
                lines.append(f"{printable(result.name)} has not converged: {'; '.join(result.reasons)}.")
        for name, error in self.failures.items():
            lines.append(f"{printable(name)} failed: {type(error).__name__}: {printable(str(error))}")
        shares = {name: result.processor_share for name, result in self.items()}
        least, most = (pick(shares, key=lambda name: shares[name]) for pick in (min, max))
        told = (
            f"Processor time over wall-clock time: {shares[least]:.2f} ({printable(least)}) to "
            f"{shares[most]:.2f} ({printable(most)})."
        )
        if self.clock == "wall" and shares[least] < _DISTURBED * shares[most]:
            told += ' Other programs have slowed some schedules more than others: see clock="processor".'
        lines.append(told)
        if self.interrupted:
            lines.append("Ctrl-C ended the comparison early: schedules and chains may be missing or shorter.")
        return "\n".join([*lines, "", self.moves_table()])

    def table(self) -> str:
        """A Markdown table with one row per schedule, as text."""
        return markdown(_HEAD, [_row(result, self) for result in self.values()])

    def moves_table(self) -> str:
        """A Markdown table of time and acceptance, with one row per schedule and move."""
        head = ("schedule", "move", "turns", "ms a turn", "share of time", "tried", "accepted")
        rows = []
        for result in self.values():
            moves = result.moves
            total = sum(move.seconds for move in moves.values())
            for name, move in moves.items():
                rows.append(
                    [
                        printable(result.name),
                        printable(name),
                        f"{move.turns:,}",
                        f"{1e3 * move.seconds / move.turns:.3g}" if move.turns else "-",
                        f"{100 * move.seconds / total:.1f} %" if total > 0 else "-",
                        f"{move.tried:,}",
                        "-" if move.tried == 0 else f"{100 * move.acceptance:.3g} %",
                    ]
                )
        return markdown(head, rows)

    def to_csv(self, path: str | os.PathLike[str], rows: str = "schedules") -> None:
        """Write a CSV file.

        Parameters
        ----------
        path : path
        rows : "schedules", "moves" or "states"
            One row per schedule; per move of each chain; or per recorded state of each chain, with its time,
            K, log joint and largest shares. Effective draws are empty if a schedule has not converged.
        """
        choice("rows", rows, CSV_ROWS, remedy="Leave it out for one row per schedule.")
        make = {"schedules": _schedule_rows, "moves": _move_rows, "states": _state_rows}[rows]
        written = table_of_rows([_plain(value) for value in row] for row in make(self))
        save(_path(path), written.encode("utf-8"))

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Write a picture: log joint and K by time, and effective draws per second.

        Parameters
        ----------
        path : path
            The extension gives the format: .png, .svg, .pdf or .html. Needs ``pip install 'hdpkit[plots]'``.
        """
        file = _path(path)
        check_picture(file)
        save_picture(picture_of(self), file)


def _path(value: Any) -> Any:
    return path("path", value, remedy='For instance "schedules.csv".')
