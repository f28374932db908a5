"""What is compared: schedules, each with a franchise, all with the same model and data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.checks import instance, text
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import INTEGRATED_OUT
from hdpkit.franchise.starts import check_start
from hdpkit.run.scheduler import Scheduler

STARTS = ("auto", "one", "sequential")
"""Default starts of chains: many dishes, one dish, customers seated one after another."""


def _scheduler(schedule: Any) -> Scheduler:
    return schedule if isinstance(schedule, Scheduler) else Scheduler(schedule)


def _franchise(instance_: Any, attribute: Any, value: Any) -> None:
    instance(attribute.name, value, Franchise, "a Franchise", remedy="hk.Franchise(restaurant, data).")


@attrs.frozen(eq=False)
class Candidate:
    """A schedule with its own franchise, which may have another store, root or kernel.

    Parameters
    ----------
    franchise : Franchise
        Not changed: chains run on copies.
    schedule : Scheduler or sequence of Move
    """

    franchise: Franchise = attrs.field(validator=_franchise)
    schedule: Scheduler = attrs.field(converter=_scheduler)


def candidates_of(schedules: Any, franchise: Any) -> dict[str, Candidate]:
    """Check the schedules of `compare_schedules`; return candidates by name, all with one model and data."""
    remedy = "For instance {'tables': [hk.moves.TableGibbs()]}."
    if not isinstance(schedules, Mapping) or not schedules:
        raise ParameterError("schedules", schedules, "a dict of schedules by name", remedy)
    if franchise is not None:
        instance("franchise", franchise, Franchise, "a Franchise, or None", remedy="hk.Franchise(...).")
    found = {}
    for name, given in schedules.items():
        text("schedules", name, remedy="Names are strings.")
        if isinstance(given, Candidate):
            found[name] = given
            continue
        scheduler = _scheduler(given)
        if franchise is None:
            raise ParameterError(
                "franchise", None, f"a Franchise, for the schedule {name!r} has none of its own",
                "Pass one, or write hk.Candidate(franchise, moves).",
            )  # fmt: skip
        found[name] = Candidate(franchise, scheduler)
    first = next(iter(found))
    for name, candidate in found.items():
        _check_model(first, found[first].franchise, name, candidate.franchise)
        for move in candidate.schedule.moves:
            with candidate.franchise.lock():
                move.check(candidate.franchise)
    return found


def starts_of(inits: Any, candidates: Mapping[str, Candidate]) -> tuple[Any, ...]:
    """Starts of the chains in turn; every candidate must support each.

    By default those of `STARTS` that all candidates support.
    """
    if inits is None:
        return tuple(init for init in STARTS if _taken(init, candidates))
    if (
        isinstance(inits, (str, bytes, Mapping, np.ndarray))
        or not isinstance(inits, (list, tuple))
        or not inits
    ):
        raise ParameterError(
            "inits", inits, "a list of starts, or None", 'For instance ["auto", "one", hk.init.Random(50)].'
        )
    for init in inits:
        if init is None:
            raise ParameterError("inits", init, "starts, not None", "Every chain begins at a start.")
        for candidate in candidates.values():
            with candidate.franchise.lock():
                check_start(init, candidate.franchise)
    return tuple(inits)


def _taken(init: str, candidates: Mapping[str, Candidate]) -> bool:
    try:
        for candidate in candidates.values():
            with candidate.franchise.lock():
                check_start(init, candidate.franchise)
    except ParameterError:
        return False
    return True


def _check_model(first: str, one: Franchise, name: str, other: Franchise) -> None:
    """Raise a ParameterError unless two franchises have the same posterior; their stores may differ."""
    if one is other:
        return
    differ = None
    if not _same_data(one, other):
        differ = "data"
    elif not _same(one.declarations, other.declarations) or not _same(one.measure, other.measure):
        differ = "restaurants or base measures"
    elif not _same(_root_of(one), _root_of(other)):
        differ = "roots"
    elif not _same(one.known, other.known) or not np.array_equal(one.held.nodes, other.held.nodes):
        differ = "known components or held groups"
    elif set(one.parts) - INTEGRATED_OUT != set(other.parts) - INTEGRATED_OUT:
        differ = "parts of the state"
    if differ is not None:
        raise ParameterError(
            "schedules", name, f"of the same model and data as {first!r}: they have different {differ}",
            "Build all franchises from the same restaurants and data: they must have one posterior. "
            "Store, kernel and root='weights' may differ.",
        )  # fmt: skip


def _root_of(franchise: Franchise) -> Any:
    """The root's part of the model; drawn weights ("weights") count as integrated ones ("restaurant")."""
    declared: Any = franchise.root.declared
    return "restaurant" if isinstance(declared, str) and declared == "weights" else declared


def _same_data(one: Franchise, other: Franchise) -> bool:
    if one.data is not other.data:
        a, b = np.asarray(one.data.values), np.asarray(other.data.values)
        if a.shape != b.shape or not np.array_equal(a, b):
            return False
    same: bool = np.array_equal(one.topology.home, other.topology.home)
    return same and np.array_equal(one.topology.parent, other.topology.parent)


def _same(one: Any, other: Any) -> bool:
    """Whether two declarations are equal."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    if attrs.has(type(one)):
        return all(_same(getattr(one, f.name), getattr(other, f.name)) for f in attrs.fields(type(one)))
    return bool(one == other)
