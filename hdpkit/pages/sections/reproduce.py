"""Settings, versions, and how to reproduce this run."""

from __future__ import annotations

import platform
import shlex
from typing import Any

import numpy as np
import scipy

from hdpkit.errors import HdpkitError, printable
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.run.run_folder import versions


def read_reproduce(report: ReportData) -> Content:
    """Model, schedule, seed, versions, digest of the data."""
    franchise, run = report.franchise, report.run
    settings: list[tuple[str, str]] = []
    if report.trace is not None and report.trace.seed is not None:
        settings.append(("Seed", str(report.trace.seed)))
    settings.append(("Sweeps", str(franchise.sweep)))
    if report.chain is not None:
        settings.append(("Chains", str(len(report.traces))))
    settings.append(("Store", franchise.store_type.__name__))
    settings.append(("Root", str(franchise.root.declared)))
    if franchise.known is not None:
        settings.append(("Known components", ", ".join(franchise.known.labels)))
    if report.trace is not None:
        settings.append(("All moves exact", "yes" if report.trace.exact else "no"))
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
        schedule = [printable(repr(move)) for move in _moves(run)]
        folder = shlex.quote(printable(run.folder.name))
        commands = [f"hdpkit verify {folder}", f"hdpkit resume {folder} --sweeps 100"]
    return Content(
        values={
            "settings": [(name, printable(value)) for name, value in settings],
            "data": data,
            "command": None if report.command is None else printable(report.command, keep="\n"),
            "commands": commands,
            "schedule": schedule,
            "model": printable(repr(franchise.declarations[-1])),
            "versions": [(name, began.get(name, ""), now) for name, now in versions.items()],
            "has_began": bool(began),
        }
    )


def _moves(run: Any) -> list[Any]:
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
