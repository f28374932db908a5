"""The conditional of every customer of a sweep, by the fused sweep of topic models and by other kernels."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
from choice_sources import AskedSource

from hdpkit.arrays import Floats
from hdpkit.franchise.franchise import Franchise
from hdpkit.steps import _sweeps as generic
from hdpkit.steps import sweeps
from hdpkit.steps.fused import _fused_topics as fused_topics
from hdpkit.stores import Detail, detail_of
from hdpkit.testing.exact import ExactFailure

Take = Callable[[Floats], int]
NEW = -1  # the outcome of a new dish


@attrs.frozen
class Site:
    """The random choices of a sweep for one customer, and their outcomes."""

    customer: int
    law: dict[int, float]
    outcome: int
    place: int
    before: list[int] = attrs.field(factory=list)
    after: list[int] = attrs.field(factory=list)

    @property
    def answers(self) -> list[int]:
        """All outcomes, in order."""
        return [*self.before, self.place, *self.after]


class _Means:
    """Deterministic values for the draws of parts at births, the same in every kernel."""

    def beta(self, a: float, b: float) -> float:
        return a / (a + b)


def at_random(generator: np.random.Generator) -> Take:
    """Branches by their weights."""

    def take(weights: Floats) -> int:
        place = int(np.searchsorted(np.cumsum(weights), generator.random() * weights.sum(), side="right"))
        return min(place, int(np.flatnonzero(weights)[-1]))

    return take


def replayed(sites: Sequence[Site]) -> Take:
    """The branches that were taken at these sites."""
    answers: Iterator[int] = iter([answer for site in sites for answer in site.answers])
    return lambda weights: next(answers)


def record_sites(
    franchise: Franchise, first: int, last: int, take: Take, *, floats: bool = False
) -> list[Site]:
    """Reseat customers first .. last - 1 by the fused kernel with a script, and return the sites."""
    bank: Any = franchise.bank
    sites: list[Site] = []
    pending: list[int] = []
    seen: list[int] = []

    def ask(weights: Floats) -> int:
        customer, outcomes = fused_topics.asked_for(bank)
        if customer == last:  # after the sweep: tables over a store of counts, on which no step depends
            return 0
        place = take(weights)
        if len(outcomes):
            codes = np.where(outcomes >= 0, 2 * outcomes, 2 * (-2 - outcomes) + 1)
            codes[-1] = NEW
            law: dict[int, float] = {}
            for which in np.flatnonzero(weights):
                code = int(codes[which])
                law[code] = law.get(code, 0.0) + float(weights[which] / weights.sum())
            sites.append(Site(int(customer), law, int(codes[place]), place, pending.copy()))
            pending.clear()
            seen.append(int(customer))
        elif seen and seen[-1] == customer:
            sites[-1].after.append(place)
        else:
            pending.append(place)
        return place

    name, reseat = franchise._kernel_of(sweeps.reseat)
    assert name == "fused", name
    source = AskedSource(ask)
    franchise.slots.source = _Means()
    with franchise.lock():
        reseat(franchise.walk(), bank, first, last, source, floats=floats)
    return sites


def generic_law(franchise: Franchise, site: Site) -> tuple[dict[int, float], float | None]:
    """Take the same step as at a site by the generic kernel; return the law of its dish."""
    slots = franchise.slots
    dish = NEW if site.outcome == NEW else site.outcome // 2
    law: dict[int, float] = {}
    opens: list[float] = []
    counts = detail_of(franchise.store) is Detail.COUNTS
    opens_or_not = not counts and dish != NEW and 2 * dish in site.law
    own = [None, None] if opens_or_not else [None]  # the dish; whether a table opens
    answers: list[int | None] = [*site.before, *own, *site.after]

    def ask(weights: Floats) -> int:
        if counts and not answers:
            return 0
        answer = answers.pop(0)
        if answer is not None:
            return answer
        if not law:
            live = slots.occupied_slots().tolist()
            law.update(zip([*live, NEW], (weights / weights.sum()).tolist(), strict=True))
            return len(live) if dish == NEW else live.index(dish)
        opens.append(float(weights[1]))
        return site.outcome % 2

    source = AskedSource(ask)
    franchise.slots.source = _Means()
    generic.reseat(franchise.walk("generic"), franchise.bank, site.customer, site.customer + 1, source)
    if answers:
        raise ExactFailure(f"customer {site.customer}: the generic kernel asked less: {answers} are left")
    return law, opens[0] if opens else None
