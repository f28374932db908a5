"""Schedules by name, for two-level topic models: the store of the state, and the moves.

To add a scheme or an addition, add an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs

from hdpkit.comparison.candidates import Candidate
from hdpkit.data import GroupedData
from hdpkit.errors import ParameterError
from hdpkit.franchise import Franchise, Restaurant
from hdpkit.moves import DishGibbs, Move, ReseatGroups, RootWeights, SliceGibbs, SplitMerge, TableGibbs
from hdpkit.schedule import Scheduler

__all__ = ["ADDITIONS", "SCHEMES", "Scheme", "all_names", "parts_of", "ready_made"]


@attrs.frozen
class Scheme:
    """A sampler."""

    about: str  # a short description
    moves: Callable[[], list[Move]]  # those of a sweep, without those of hyperparameters
    store: str = "histogram"
    root: Any = "restaurant"


SCHEMES: dict[str, Scheme] = {
    "crf-explicit": Scheme(
        "Chinese restaurant franchise with the table of every customer (Teh et al. 2006, 5.1)",
        lambda: [TableGibbs(), DishGibbs()],
        store="explicit",
    ),
    "crf-histogram": Scheme(
        "the same with the sizes of tables only (Blunsom et al. 2009)", lambda: [TableGibbs(), DishGibbs()]
    ),
    "table-gibbs": Scheme("the same without DishGibbs", lambda: [TableGibbs()]),
    "direct": Scheme(
        "direct assignment: numbers of tables, weights of the root drawn (Teh et al. 2006, 5.3)",
        lambda: [TableGibbs(), RootWeights()],
        store="counts",
        root="weights",
    ),
    "indicators": Scheme(
        "table indicators: numbers of tables, the root a restaurant (Chen, Du & Buntine 2011)",
        lambda: [TableGibbs()],
        store="counts",
    ),
    "slices": Scheme(
        "topics drawn, slices: documents are independent, and sampled in parallel (Walker 2007)",
        lambda: [SliceGibbs(), RootWeights()],
        store="counts",
        root="weights",
    ),
}
ADDITIONS: dict[str, Callable[[], list[Move]]] = {
    "dish-gibbs": lambda: [DishGibbs()],
    # This takes about half of the time; in every sweep it would take four fifths.
    "dish-gibbs-10": lambda: [DishGibbs().every(10)],
    "split-merge": lambda: [SplitMerge()],
    # One proposal for each document takes about as long as twenty sweeps.
    "reseat-groups": lambda: [ReseatGroups().every(20)],
}


def parts_of(name: str) -> tuple[Scheme, list[Move]]:
    """The scheme of a name, and all moves: those of the scheme and of the additions."""
    first, *more = name.split("+")
    _check_name(first, SCHEMES, "scheme")
    for one in more:
        _check_name(one, ADDITIONS, "addition")
    return SCHEMES[first], [*SCHEMES[first].moves(), *(move for one in more for move in ADDITIONS[one]())]


def _check_name(name: str, known: Iterable[str], kind: str) -> None:
    if name not in known:
        raise ParameterError(
            "schedules", name, f"the name of a {kind}: one of {list(known)}",
            "Schedules are written SCHEME or SCHEME+ADDITION, for instance direct+split-merge.",
        )  # fmt: skip


def all_names() -> list[str]:
    """Every scheme, alone and with each addition that it doesn't already include."""
    names = []
    for name, scheme in SCHEMES.items():
        own = {move.name for move in scheme.moves()}
        new = [one for one, moves in ADDITIONS.items() if not own.issuperset(move.name for move in moves())]
        names += [name, *(f"{name}+{one}" for one in new)]
    return names


def ready_made(
    names: Iterable[str],
    restaurant: Restaurant,
    data: GroupedData,
    updates: Callable[[], list[Move]],
    threads: int = 1,
) -> dict[str, Candidate]:
    """Candidates for `compare_schedules`, by name."""
    found = {}
    for name in names:
        scheme, moves = parts_of(name)
        franchise = Franchise(restaurant, data, store=scheme.store, root=scheme.root)
        found[name] = Candidate(franchise, Scheduler([*moves, *updates()], threads=threads))
    return found
