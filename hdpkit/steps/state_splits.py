"""Split-merge of states of a hidden Markov model: the proposal and its ratio.

Two observations are drawn. If they have the same state, all observations of this state are proposed to be
divided between two states, one for each of the two observations (Jain & Neal 2004; for sequences Hughes,
Fox & Sudderth 2012); otherwise the two states are merged. Consecutive states are divided or merged
together: of two states that follow each other often neither can be divided alone without a loss, since the
other one doesn't tell which of two states comes next. The sides of the observations are drawn together, by
filtering forward and sampling backward through the sequences, with predictives and transition probabilities
given the sides of the scan before. All of these are counts, so the probability of a proposal is a number,
and the reverse of a merge is the same scans with the last one evaluated at the present states. Tables are
integrated out: p(states | weights) is a product of Dirichlet-multinomial terms, with kappa. The weight of a
state is divided by a beta draw.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit.steps.fused._state_sequences as compiled
from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.measures._measure import CompiledBank
from hdpkit.numerics import add_up, exp, exp_each, gamma_ratio, lgamma, log, log_each
from hdpkit.random import ChoiceSource
from hdpkit.steps.state_sequences import (
    SequencePlan,
    concentrations,
    distinct_numbers,
    labels_of,
    write_states,
)
from hdpkit.steps.step import CHAINS, of_package, step
from hdpkit.steps.walk import ReferenceWalk

Sides = npt.NDArray[np.int8]
LEAST = 1e-200  # transition probability in a proposal
LOWEST = -600.0  # log weight of a side of an observation, relative to the other side


@attrs.frozen
class Chain:
    """States of all observations, by label, and what their probability depends on."""

    states: Int32s
    begins: Int64s
    alpha: Floats
    kappa: float

    def masses(self, psi: Floats) -> tuple[Floats, Floats]:
        """Mass of each transition, and of each row, before any is seen; the start row is the last."""
        n = len(psi)
        alpha = np.append(np.full(n, self.alpha[0]), self.alpha[1])
        masses = alpha[:, None] * psi
        masses[np.arange(n), np.arange(n)] += self.kappa
        rows = alpha + self.kappa
        rows[n] = alpha[n]
        return masses, rows

    def log_p(self, psi: Floats, labels: Int32s) -> float:
        """log p(states | weights), as far as it depends on which observations have one of these states."""
        masses, rows = self.masses(psi)
        counts = compiled.transition_counts(self.states, self.begins, len(psi))
        changing = counts > 0
        others = np.ones(len(psi) + 1, dtype=bool)
        others[labels] = False
        changing[np.ix_(others, others[:-1])] = False
        seen = [
            gamma_ratio(a, n)
            for a, n in zip(masses[changing].tolist(), counts[changing].tolist(), strict=True)
        ]
        totals = [gamma_ratio(float(rows[j]), int(counts[j].sum())) for j in labels.tolist()]
        return float(add_up(seen)) - float(add_up(totals))


class Scans:
    """The sides of the observations of divided states: scans, each given the sides of the scan before."""

    def __init__(
        self,
        chain: Chain,
        labels: Int32s,
        members: Int64s,
        which: Sides,
        fixed: Int64s,
        psi: Floats,
        bank: Any,
        plan: SequencePlan,
    ) -> None:
        self.chain, self.labels, self.members, self.which = chain, labels, members, which
        self.psi, self.bank = psi, bank
        states, n = chain.states, len(chain.states)
        starts, here = np.zeros(n + 1, dtype=bool), np.zeros(n + 1, dtype=bool)
        starts[chain.begins], starts[n] = True, True
        here[members] = True
        self.linked = (~starts[members] & here[members - 1]).astype(np.int8)
        self.entered = np.flatnonzero(self.linked == 0)
        self.before = np.where(starts[members], len(psi), states[members - 1])[self.entered]
        self.left = np.flatnonzero(~starts[members + 1] & ~here[members + 1])
        self.after = states[members[self.left] + 1]
        self.sides: Sides = np.full(len(members), -1, dtype=np.int8)
        self.places = np.searchsorted(members, fixed)
        self.of_values = [
            _distinct_members(np.flatnonzero((which == number) & ~plan.data.missing[members]), members, plan)
            for number in range(len(labels))
        ]

    def on(self, number: int, side: int, sides: Sides) -> Int32s:
        """Observations on one side of a divided state."""
        return self.members[(self.which == number) & (sides == side)].astype(np.int32)

    def counted(self, slots: list[tuple[int, int]], sides: Sides) -> None:
        """Take these sides; the slots then have the statistics of the observations on each of them."""
        old, changed = self.sides, self.sides != sides
        for number, pair in enumerate(slots):
            for side, slot in enumerate(pair):
                self.bank.remove(slot, self.on(number, side, np.where(changed, old, np.int8(-1))))
            for side, slot in enumerate(pair):
                self.bank.add(slot, self.on(number, side, np.where(changed, sides, np.int8(-1))))
        self.sides = sides

    def fix(self, slots: list[tuple[int, int]]) -> None:
        """Begin with the sides of the fixed observations alone."""
        sides = self.sides.copy()
        sides[self.places] = 0, 1
        self.counted(slots, sides)

    def scan(
        self, slots: list[tuple[int, int]], given: Sides | None, source: ChoiceSource
    ) -> tuple[Sides, float]:
        """Draw all sides, or take the given ones; also the log probability of drawing them."""
        states, labels, which = self.chain.states.copy(), self.labels, self.which
        on = self.sides >= 0
        states[self.members[on]] = labels[which[on], self.sides[on]]
        masses, rows = self.chain.masses(self.psi)
        known = compiled.transition_counts(states, self.chain.begins, len(self.psi))
        p = np.maximum((masses + known) / (rows + known.sum(axis=1))[:, None], LEAST)
        log_p = log_each(p)
        logs = np.zeros((len(self.members), 2))
        for pair, (places, who, of_each) in zip(slots, self.of_values, strict=True):
            logs[places] = self._predictives(who, pair)[of_each]
        logs[self.entered] += log_p[self.before[:, None], labels[which[self.entered]]]
        logs[self.left] += log_p[labels[which[self.left]], self.after[:, None]]
        weights = exp_each(np.maximum(logs - logs.max(axis=1, keepdims=True), LOWEST))
        weights[self.places] = np.eye(2)
        sides = np.zeros(len(self.members), dtype=np.int8) if given is None else given.copy()
        within = np.ascontiguousarray(p[labels[:, None, :, None], labels[None, :, None, :]])
        log_q = compiled.draw_sides(weights, self.linked, which, within, sides, given is not None, source)
        return sides, log_q

    def _predictives(self, who: Int64s, pair: tuple[int, int]) -> Floats:
        """Log predictive of observations on both sides, up to a constant: shape (n, 2)."""
        of_all = getattr(self.bank, "of_all", self.bank)  # missing observations are left out already
        two = np.array(pair, dtype=np.int32)
        if isinstance(of_all, CompiledBank):
            return np.asarray(of_all.log_predictives(who.astype(np.int32), two)[:, :2])
        logs = [of_all.log_predictive(i, two)[:2] for i in who.tolist()]
        return np.array(logs, dtype=np.float64).reshape(len(who), 2)

    def log_data(self, slots: list[tuple[int, int]]) -> float:
        """log p of the values in two states each, relative to one."""
        found = 0.0
        for number, (one, _) in enumerate(slots):
            block = self.on(number, 1, self.sides)
            beside, alone = self.bank.log_block(block, np.array([one], dtype=np.int32))
            found += float(alone - beside)
        return found


def _distinct_members(places: Int64s, members: Int64s, plan: SequencePlan) -> tuple[Int64s, Int64s, Int64s]:
    """Places among the members, a customer with each distinct value, and which of these each place has."""
    seen = members[places]
    values = plan.data.values[seen]
    if len(seen) == 0 or values.ndim > 1 or values.dtype.kind not in "iub":
        return places, seen, np.arange(len(seen))
    some, of_each = distinct_numbers(values)
    who = np.full(len(some), -1, dtype=np.int64)
    who[of_each[::-1]] = seen[::-1]
    return places, who, of_each


class Windows:
    """The consecutive observations at which states are divided or merged."""

    def __init__(self, n: int, begins: Int64s, length: int) -> None:
        self.length = length
        ends = np.append(begins[1:], n)
        # Where a window begins that is within its sequence.
        self.inside = np.arange(n) + length <= np.repeat(ends, ends - begins)

    def at(self, states: Int32s, i: int) -> Int32s | None:
        """Labels of the window that begins at this observation, unless it ends too late or has one twice."""
        labels = states[i : i + self.length]
        return labels if self.inside[i] and len(np.unique(labels)) == self.length else None

    def others(self, states: Int32s, i: int, split: bool) -> Int64s:
        """Begins of windows for which the states of this window would be divided (split), or merged."""
        labels = states[i : i + self.length]
        found = self.inside.copy()
        found[i] = False
        for place in range(self.length):
            here = found[: len(states) - place]
            after = states[place:]
            here &= (after == labels[place]) if split else ~np.isin(after, labels)
            for earlier in range(0 if split else place):
                here &= after != states[earlier : len(states) - place + earlier]
        return np.flatnonzero(found)


@step(trees=CHAINS)
def split_states(
    walk: ReferenceWalk, bank: Any, plan: SequencePlan, scans: int, length: int, source: ChoiceSource
) -> tuple[bool, bool]:
    """One proposal: whether it was a split, and whether it was accepted."""
    live, states = labels_of(walk)
    n, n_dishes, most = len(states), len(live), getattr(plan.weights, "n_dishes", None)
    t: Any = walk.topology
    begins, alpha, kappa = t.begins, concentrations(walk), t.kappa
    windows = Windows(n, begins, 1 + int(source.index(length)) if length > 1 else 1)
    split = bool(source.bernoulli(0.5))
    if split:
        i = int(source.index(n))
    else:  # a state, so that states of few observations are merged, too
        inside = np.flatnonzero(states == source.index(n_dishes))
        i = int(inside[source.index(len(inside))])
    labels, more = windows.at(states, i), windows.length
    if labels is None or (split and most is not None and n_dishes + more > most):
        return split, False
    others = windows.others(states, i, split)
    if len(others) == 0:
        return split, False
    j = int(others[source.index(len(others))])
    new = np.arange(n_dishes, n_dishes + more, dtype=np.int32)
    pairs = np.stack([labels, new if split else states[j : j + more]], axis=1)
    which_of = np.full(n_dishes + more, -1, dtype=np.int8)
    which_of[pairs] = np.arange(more, dtype=np.int8)[:, None]
    members = np.flatnonzero(which_of[states] >= 0)
    which = which_of[states[members]]
    # Of two states that are merged that of the first observation remains.
    firsts = np.array([np.flatnonzero(which == number)[0] for number in range(more)])
    kept = states[members[firsts]]
    other = np.where(kept == pairs[:, 0], pairs[:, 1], pairs[:, 0])

    known = np.asarray(plan.weights.table.many(live), dtype=np.float64)
    psi, rest = np.append(known[:-1], np.zeros(more * split)), float(known[-1])
    whole = psi[kept] + psi[other]
    half = 0.5 * whole if most is None else np.full(more, 1.0 / most)
    halves = psi.copy()
    halves[kept], halves[other] = half, half
    without = states.copy()
    without[members] = -1
    fixed = np.arange(more)[:, None] + np.array([i, j])
    chain = Chain(without, begins, alpha, kappa)
    scanned = Scans(chain, pairs, members, which, fixed, halves, bank, plan)
    current = None if split else (states[members] == pairs[which, 1]).astype(np.int8)
    log_q, log_data = _propose(scanned, walk.slots, current, scans, source)

    together, apart = states.copy(), states.copy()
    together[members] = kept[which]
    first = scanned.sides == scanned.sides[firsts][which]
    apart[members] = np.where(first, kept[which], other[which])
    of_one, of_two = psi.copy(), psi.copy()
    of_one[other] = 0.0
    log_prior = 0.0
    if most is None:
        of_one[kept] = whole
        counts = compiled.transition_counts(apart, begins, len(psi))
        for number, (a, b) in enumerate(zip(kept.tolist(), other.tolist(), strict=True)):
            total = float(whole[number])
            shapes = _shapes(counts, (a, b), alpha, kappa, 0.5 * total)
            if split:
                logs = source.log_beta(*shapes)
                of_two[a], of_two[b] = total * exp(logs[0]), total * exp(logs[1])
            else:
                logs = log(psi[a] / total), log(psi[b] / total)
            before = n_dishes + (number if split else number - more)
            log_prior += _log_division(walk, before, total, rest, logs, shapes)
    else:
        of_two[other] = half
        log_prior = sum(log(most - n_dishes - s) for s in range(0 if split else -more, more if split else 0))
    if not min(of_two[kept].min(), of_two[other].min()) > 0.0:
        return split, False  # a weight that is too small for a number
    changing, n_apart = np.concatenate([kept, other]), n_dishes + (more if split else 0)
    log_ratio = (
        log_prior + log_data - log_q
        + Chain(apart, begins, alpha, kappa).log_p(of_two, changing)
        - Chain(together, begins, alpha, kappa).log_p(of_one, changing)
        + log(n * len(windows.others(together, i, True))) - log(n_apart * np.count_nonzero(apart == apart[i]))
        - log(len(windows.others(apart, i, False)))
    )  # fmt: skip
    log_ratio = log_ratio if split else -log_ratio
    if not (log_ratio >= 0.0 or source.bernoulli(exp(log_ratio))):
        return split, False
    _settle(walk, bank, plan, apart if split else together, of_two if split else of_one, rest, source)
    return split, True


def _propose(
    scanned: Scans, slots: Any, current: Sides | None, scans: int, source: ChoiceSource
) -> tuple[float, float]:
    """Set the sides; returns log q, and log p of the values in two states each relative to one."""
    log_q = 0.0
    reserved: list[int] = []
    try:
        for _ in range(2 * len(scanned.labels)):
            reserved.append(slots.reserve())
        two = list(zip(reserved[::2], reserved[1::2], strict=True))
        scanned.fix(two)
        for number in range(scans + 1):
            given = current if number == scans else None
            sides, log_q = scanned.scan(two, given, source)
            scanned.counted(two, sides)
        return log_q, scanned.log_data(two)
    finally:
        for slot in reserved:
            slots.release(slot)


def _shapes(
    counts: Int64s, pair: tuple[int, int], alpha: Floats, kappa: float, half: float
) -> tuple[float, float]:
    """Parameters of the beta distribution of the share: about the tables that each state has at the root."""
    found = []
    for label in pair:
        entered = np.flatnonzero(counts[:, label])
        tables = []
        for j, customers in zip(entered.tolist(), counts[entered, label].tolist(), strict=True):
            above = float(alpha[int(j == counts.shape[1])]) * half
            mass = above + kappa * (j == label)
            tables.append((above + mass * above * log(1.0 + (customers - 1) / (mass + 1.0))) / mass)
        found.append(max(0.5, float(add_up(tables))))
    return found[0], found[1]


def _log_division(
    walk: Any, n: int, whole: float, rest: float, logs: tuple[float, float], shapes: tuple[float, float]
) -> float:
    """log p of the weights of n + 1 dishes relative to those of n, over the density of the share."""
    # p(weights) is prop. to prod_k psi_k^(-1-d) rest^(theta + K d - 1), where tables are integrated out.
    theta, d = float(walk.concentration[0]), float(walk.discount[0])
    a, b = shapes
    log_density = (a - 1.0) * logs[0] + (b - 1.0) * logs[1] - (lgamma(a) + lgamma(b) - lgamma(a + b))
    log_p = log(theta + n * d) - (1.0 + d) * (logs[0] + logs[1])
    if d > 0.0:
        log_p += d * (log(rest) - log(whole)) - lgamma(1.0 - d)
        log_p -= gamma_ratio(theta + n * d, d)
    return log_p - log_density


def _settle(
    walk: Any,
    bank: Any,
    plan: SequencePlan,
    states: Int32s,
    psi: Floats,
    rest: float,
    source: ChoiceSource,
) -> None:
    """Give the observations these states: a dish is born or dies; tables are drawn."""
    slots, slot_of = walk.slots, walk.slots.occupied_slots()
    counts = compiled.transition_counts(states, walk.topology.begins, len(psi))
    used = np.flatnonzero(counts.any(axis=0))
    for slot in np.delete(slot_of, used[used < len(slot_of)]).tolist():
        slots.close(slot)
    for label in range(len(slot_of), len(psi)):
        slot_of = np.append(slot_of, np.int32(slots.open(np.flatnonzero(states == label).astype(np.int32))))
    dishes = write_states(walk, states, slot_of, psi, concentrations(walk), counts, source)
    order = used[np.argsort(slot_of[used])]
    bank.rebuild(np.where(plan.data.missing, np.int32(-1), dishes), slot_of[order])
    plan.weights.take(slot_of[order], np.append(psi[order], rest))


of_package(split_states)
