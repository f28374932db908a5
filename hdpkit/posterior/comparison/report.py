"""A comparison as text: tables, reasons, CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hdpkit.data.files.tables import table_of_rows
from hdpkit.errors import printable, short_repr

_DISTURBED = 0.8  # ratio of the lowest processor share to the highest, below which the report warns
_CLOCKS = {"wall": "by the wall clock", "processor": "processor time"}

CSV_ROWS = ("schedules", "moves", "states")

_HEAD = (
    "schedule", "sweeps", "log joint by chain", "K by chain", "R-hat log joint", "R-hat K", "R-hat shares",
    "ESS/s log joint", "ESS/s K", "ESS/s shares", "s to target by chain", "converged",
)  # fmt: skip


def schedules_table(comparison: Any) -> str:
    """The table of schedules, as text: `Comparison.table`."""
    return markdown(_HEAD, [_row(result, comparison) for result in comparison.values()])


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


def moves_table(comparison: Any) -> str:
    """The table of moves, as text: `Comparison.moves_table`."""
    head = ("schedule", "move", "turns", "ms a turn", "share of time", "tried", "accepted")
    rows = []
    for result in comparison.values():
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


def report(comparison: Any) -> str:
    """The complete report: what was run, both tables, and which schedules have not converged."""
    n = max((len(result.chains) for result in comparison.values()), default=0)
    starts = dict.fromkeys(shown(chain.init) for result in comparison.values() for chain in result.chains)
    lines = [
        f"{comparison.seconds:g} s of sampling ({_CLOCKS[comparison.clock]}) for each of {n} "
        f"chain{'' if n == 1 else 's'} "
        f"(from {', '.join(starts)}), of which {100 * comparison.burn_in:g} % are burn-in; "
        f"seeds from {comparison.seed}",
        "",
        schedules_table(comparison),
        "",
    ]
    if comparison.best_chain is not None:
        name, number = comparison.best_chain
        lines.append(
            f"Target: {comparison.target:,.0f}, the mean log joint of the best chain ({printable(name)}, "
            f"chain {number}: {comparison.best:,.0f}) less {100 * comparison.within:g} %."
        )
    if n == 1:
        lines.append("One chain each: R-hat compares its halves, and can't show whether other starts agree.")
    for result in comparison.values():
        if not result.converged:
            lines.append(f"{printable(result.name)} has not converged: {'; '.join(result.reasons)}.")
    for name, error in comparison.failures.items():
        lines.append(f"{printable(name)} failed: {type(error).__name__}: {printable(str(error))}")
    shares = {name: result.processor_share for name, result in comparison.items()}
    least, most = (pick(shares, key=lambda name: shares[name]) for pick in (min, max))
    told = (
        f"Processor time over wall-clock time: {shares[least]:.2f} ({printable(least)}) to "
        f"{shares[most]:.2f} ({printable(most)})."
    )
    if comparison.clock == "wall" and shares[least] < _DISTURBED * shares[most]:
        told += ' Other programs have slowed some schedules more than others: see clock="processor".'
    lines.append(told)
    if comparison.interrupted:
        lines.append("Ctrl-C ended the comparison early: schedules and chains may be missing or shorter.")
    return "\n".join([*lines, "", moves_table(comparison)])


def shown(init: Any) -> str:
    """Short text for a start."""
    return printable(init) if isinstance(init, str) else short_repr(init)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns have the width of their longest cells."""
    cells = [list(head), *(list(row) for row in rows)]
    width = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width[i]) for i, cell in enumerate(row)) + " |" for row in cells]
    lines.insert(1, "| " + " | ".join("-" * w for w in width) + " |")
    return "\n".join(lines)


def csv_text(comparison: Any, rows: str) -> str:
    """The text of a CSV file with a header row: see `Comparison.to_csv`."""
    make = {"schedules": _schedule_rows, "moves": _move_rows, "states": _state_rows}[rows]
    return table_of_rows([_plain(value) for value in row] for row in make(comparison))


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
