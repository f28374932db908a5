"""What begins every page, and sections of every run: convergence, and how to reproduce it."""

from __future__ import annotations

import platform
import shlex
from typing import Any

import numpy as np
import scipy

from hdpkit.errors import HdpkitError, printable
from hdpkit.pages.plots.traces import by_sweep, move_times, moves_of
from hdpkit.pages.report_data import ReportData, diagnosis_of
from hdpkit.pages.section import Content
from hdpkit.run.run_folder import versions

_POINTS = 400


def opening(report: ReportData, sizes: list[tuple[str, int]], rest: float, **values: Any) -> Content:
    """What begins a page: these sizes, sweeps and chains, and whether the run has converged."""
    n_chains = len(report.traces)
    tiles = [*sizes, ("sweeps", report.franchise.sweep), *([("chains", n_chains)] if n_chains > 1 else [])]
    shown = [(printable(what), f"{n:,}") for what, n in tiles]
    return Content(values={"tiles": shown, "verdict": diagnosis_of(report), "rest": rest, **values})


def read_convergence(report: ReportData) -> Content | None:
    """Traces of all chains; None if nothing was recorded."""
    if not report.traces:
        return None
    charts: dict[str, Any] = {}
    panels: list[dict[str, Any]] = []
    nouns = report.nouns
    first = (
        ("log_joint", "log probability (nats)", "Log probability of the model and the data together."),
        ("n_dishes", nouns.dishes, f"Number of {nouns.dishes} that have {nouns.tokens}."),
    )
    for key, title, meaning in [*first, *_hyperparameters(report)]:
        drawn = by_sweep(report.traces, key, title, most=_POINTS, legend=not panels)
        if drawn is None:
            continue
        name = f"trace-{len(charts)}"
        charts[name] = drawn
        panels.append({"chart": name, "title": title, "meaning": meaning, "ends": _ends(report, key)})
    records = np.concatenate([chain.moves for _, chain in report.traces])
    moves = moves_of(records) if len(records) else []
    if moves:
        charts["move-times"] = move_times(report.trace)
    return Content(values={"panels": panels, "moves": moves, "verdict": diagnosis_of(report)}, charts=charts)


def _hyperparameters(report: ReportData) -> list[tuple[str, str, str]]:
    """Keys of the trace with one number per sweep that is not constant."""
    _, chain = report.traces[0]
    found = []
    for key in chain:
        what, _, name = key.partition("/")
        if what in ("concentration", "discount", "base") and name:
            values = chain[key]
            if values.dtype != object and values.ndim == 1 and len(np.unique(values)) > 1:
                title = name if what == "base" else f"{what} of {report.nouns.level(name)}"
                found.append((key, title, "Resampled in every sweep."))
    return found[:6]


def _ends(report: ReportData, key: str) -> list[dict[str, Any]]:
    """First and last values of each chain for the table."""
    ends = []
    for number, chain in report.traces:
        if key in chain:
            column = np.asarray(chain[key], dtype=np.float64)
            half = column[len(column) // 2 :]
            facts = {"first": column[0], "last": column[-1], "mean": half.mean(), "sd": half.std()}
            ends.append({"chain": number, **facts})
    return ends


def read_reproduce(report: ReportData) -> Content:
    """Model, schedule, seed, versions, digest of the data."""
    franchise, run = report.franchise, report.run
    known, trace = franchise.known, report.trace
    settings = [
        ("Seed", None if trace is None else trace.seed),
        ("Sweeps", franchise.sweep),
        ("Chains", None if report.chain is None else len(report.traces)),
        ("Store", franchise.store_type.__name__),
        ("Root", str(franchise.root.declared)),
        ("Known components", None if known is None else ", ".join(known.labels)),
        ("All moves exact", None if trace is None else "yes" if trace.exact else "no"),
    ]
    for declaration in reversed(franchise.declarations):
        name = report.nouns.level(declaration.name)
        settings.append((f"Concentration of {name}", _hyperparameter(declaration.concentration)))
        settings.append((f"Discount of {name}", _hyperparameter(declaration.discount)))
    if franchise.topology.start is not None:
        start = getattr(franchise.declarations[-1].each, "start_concentration", None)
        settings.append(("Concentration of the start row", _hyperparameter(start)))
    for name, value in franchise.measure.parameters.items():
        settings.append((f"Base measure, {name}", _hyperparameter(value)))
    data = [
        ("Kind", type(report.corpus).__name__),
        (report.nouns.tokens.capitalize(), f"{report.n_customers:,}"),
    ]
    versions = _versions()
    began: dict[str, str] = {}
    schedule: list[str] = []
    commands: list[str] = []
    if run is not None:
        data.append(("SHA-256 of the data file", run.data_digest))
        began = dict(run.versions)
        schedule = [printable(repr(move)) for move in _schedule(run)]
        folder = shlex.quote(printable(run.folder.name))
        commands = [f"hdpkit verify {folder}", f"hdpkit resume {folder} --sweeps 100"]
    return Content(
        values={
            "settings": [(name, printable(str(value))) for name, value in settings if value is not None],
            "data": data,
            "command": None if report.command is None else printable(report.command, keep="\n"),
            "commands": commands,
            "schedule": schedule,
            "model": printable(repr(franchise.declarations[-1])),
            "versions": [(name, began.get(name, ""), now) for name, now in versions.items()],
            "has_began": bool(began),
        }
    )


def _schedule(run: Any) -> list[Any]:
    try:
        return list(run.moves)
    except HdpkitError:  # user-defined moves that aren't allowed to be imported
        return []


def _hyperparameter(value: Any) -> str:
    array = np.asarray(value) if isinstance(value, list | np.ndarray) else None
    if array is not None and array.size > 4:
        return f"{array.size} values, mean {array.mean():.4g}"
    return str(getattr(value, "prior", value)) if not isinstance(value, float) else f"{value:.6g}"


def _versions() -> dict[str, str]:
    return {**versions(), "scipy": scipy.__version__, "platform": platform.platform(terse=True)}
