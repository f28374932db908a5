"""Sweeps over documents given topics and root weights, in Python. Twin: `steps.fused._fused_documents`.

The distribution is the same. Choices are made one by one: first the interval that contains a customer's
slice, then the dish.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import hdpkit.steps._table_counts as compiled
import hdpkit.steps.fused._fused_documents as fused_documents
from hdpkit.arrays import Floats
from hdpkit.measures._bursty import BurstyBank
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank, TemperedBank
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import TWO, TWO_OR_MORE, AllBut, Declaring, Step, of_package, step
from hdpkit.steps.table_counts import draw_tables, draw_tables_by_dish, draw_tables_given
from hdpkit.steps.walk import ReferenceWalk
from hdpkit.stores._counts import CountsStore


@step(draws_tables=True, banks=AllBut(BurstyBank), depths=TWO)
def reseat_documents(walk: ReferenceWalk, bank: Any, workspace: Any, plan: Any, source: ChoiceSource) -> None:
    """Draw the dishes of all customers given the topics and weights of a plan, and then their tables."""
    # Customers of labels below `plan.least` keep them, and others don't take these. With slices u < xi_z,
    # xi_k = min(psi_k, threshold), the weight of label k is, where u < xi_k, phi_kx (n_jk + alpha psi_k) /
    # xi_k, or phi_kx theta_jk / xi_k with proportions drawn (Walker 2007).
    slots: list[int] = plan.slots.tolist()
    psi = dict(zip(slots, plan.weights.tolist(), strict=True))
    kind = _Dependent if hasattr(type(bank), "give") else _Independent
    likelihoods = kind(walk, bank, slots, plan, source)
    nodes = walk.topology.home[: len(plan.values)]
    for node in sorted(set(nodes.tolist())):
        if plan.holds(node):
            continue
        members = np.flatnonzero(nodes == node).tolist()
        theta = None if plan.integrated or node == 0 else _proportions(walk, node, members, plan, source)
        for i in members:
            own = walk.dish(i)
            if psi[own] >= plan.least:
                _reseat(walk, likelihoods, node, i, own, psi, theta, plan, source)
    likelihoods.end()
    for slot in slots:
        if walk.slots.is_occupied(slot) and walk.store.customers(0, slot) == 0:
            walk.slots.close(slot)
    # Also of held restaurants. New dishes get their weights only after the sweep.
    draw_tables_given(walk, set(nodes.tolist()), psi, source)


def _reseat(
    walk: ReferenceWalk,
    likelihoods: Any,
    node: int,
    i: int,
    own: int,
    psi: dict[int, float],
    theta: dict[int, float] | None,
    plan: Any,
    source: ChoiceSource,
) -> None:
    """Draw the dish of one customer."""
    xi = {k: min(weight, plan.threshold) for k, weight in psi.items()}
    ends = sorted({weight for weight in psi.values() if weight < xi[own]} | {xi[own]})
    widths = np.diff([0.0, *ends])
    place = source.choose(widths) if len(widths) > 1 else 0
    above = max(ends[place], plan.least)  # labels in the slice have at least this weight
    alpha = walk.concentration[node] if node > 0 else 1.0
    likelihood = likelihoods.without(i, own)  # logarithmic, one number per label
    weights = np.zeros(len(psi))
    # Densities may be out of the range of floats: they are relative to the largest in the slice.
    largest = likelihood[np.array(list(psi.values())) >= above].max()
    for at, (k, weight) in enumerate(psi.items()):
        if weight < above:
            continue
        here = 0 if node == 0 else walk.store.customers(node, k) - (k == own)
        share = here + alpha * weight if theta is None else theta[k]
        weights[at] = np.exp(likelihood[at] - largest) * share / xi[k]
    chosen = list(psi)[source.choose(weights)]
    if chosen != own:
        walk.unseat(i, node, own, source)  # a dish without customers is closed at the end of the sweep
        if not walk.slots.is_occupied(chosen):
            walk.slots.open_in(chosen)
    likelihoods.add(i, own, chosen)
    if chosen != own:
        walk.seat(i, node, chosen, source)


class _Independent:
    """Likelihoods of values that are independent given the parameters of the dishes."""

    def __init__(
        self, walk: ReferenceWalk, bank: Any, slots: list[int], plan: Any, source: ChoiceSource
    ) -> None:
        self._bank = bank
        if plan.topics is not None:
            with np.errstate(divide="ignore"):
                self._logs = np.log(np.asarray(plan.topics)[:, np.asarray(plan.values)])
            return
        measure, rows = plan.measure, []
        dishes = walk.store.dishes()
        for slot in slots:
            known = measure.make()
            for i in np.flatnonzero(dishes[: len(plan.values)] == slot).tolist():
                measure.add(known, plan.values[i])
            parameters = plan.known.drawn(plan.measure, slot, known, source)
            rows.append([measure.log_likelihood(value, parameters) for value in plan.values])
        self._logs = np.array(rows)

    def without(self, i: int, own: int) -> Floats:
        """Log likelihood of a customer's value under each label, given the others."""
        return self._logs[:, i]

    def add(self, i: int, own: int, chosen: int) -> None:
        """Count a customer at its new dish."""
        if chosen != own:
            self._bank.remove(own, [i])
            self._bank.add(chosen, [i])

    def end(self) -> None:
        """End the sweep."""


class _Dependent:
    """Likelihoods of values that depend on others, also given the parameters of the dishes."""

    def __init__(
        self, walk: ReferenceWalk, bank: Any, slots: list[int], plan: Any, source: ChoiceSource
    ) -> None:
        self._bank, self._slots = bank, slots
        dishes = np.asarray(walk.store.dishes())[: len(plan.values)]
        if plan.topics is not None:
            bank.give(dict(zip(slots, plan.topics, strict=True)))
            return
        old = np.array([slot for slot in slots if walk.slots.is_occupied(slot)], dtype=np.int32)
        topics = plan.known.put_topics(list(plan.measure.draw_many(bank, old, dishes, source)))
        drawn = dict(zip(old.tolist(), topics, strict=True))
        for slot in slots:
            if slot not in drawn:
                drawn[slot] = plan.measure.draw_parameters(plan.measure.make(), source)
        bank.give(drawn)

    def without(self, i: int, own: int) -> Floats:
        """Log likelihood of a customer's value under each label, given the others."""
        self._bank.remove(own, [i])
        return self._bank.log_likelihoods(i, self._slots)

    def add(self, i: int, own: int, chosen: int) -> None:
        """Count a customer at its new dish."""
        self._bank.add(chosen, [i])

    def end(self) -> None:
        """End the sweep."""
        self._bank.give(None)


def _proportions(
    walk: ReferenceWalk, node: int, members: list[int], plan: Any, source: ChoiceSource
) -> dict[int, float]:
    """Proportions of a document: drawn given its dishes, or given by the plan."""
    slots = plan.slots.tolist()
    if plan.proportions is not None:
        return {k: float(plan.proportions[node, k]) for k in slots}
    eaten = [walk.store.dish_of(i) for i in members]
    shapes = [eaten.count(k) + walk.concentration[node] * w for k, w in zip(slots, plan.weights, strict=True)]
    return dict(zip(slots, source.dirichlet(np.array(shapes)).tolist(), strict=True))


reseat_cells = Step("reseat_cells", draws_tables=True, by_cell=True)
"""`reseat_documents` by cell."""
draw_shard_topics = Step("draw_shard_topics", draws_tables=True)
sweep_shards = Step("sweep_shards", draws_tables=True)
settle_shards = Step("settle_shards", takes=(), draws_tables=True)

_COUNTS, _WEIGHTS = frozenset({CountsStore}), frozenset({"weights", "fixed"})
_SHARDS = (draw_shard_topics, sweep_shards, settle_shards)
for _step in (reseat_documents, reseat_cells, *_SHARDS):
    _serves: dict[str, Any] = {"stores": _COUNTS, "depths": TWO_OR_MORE, "roots": _WEIGHTS}
    _run = getattr(fused_documents, _step.name)
    for _name in ("fused", "generic"):
        _step.kernel(_name, _run, banks=frozenset({DirichletMultinomialBank, TemperedBank}), **_serves)
    if _step is not reseat_cells:
        _step.kernel(
            "fused", _run, banks=frozenset({BurstyBank}), **_serves,
            within=lambda bank, numbers: type(bank.inner) is DirichletMultinomialBank,
        )  # fmt: skip
for _step, _run in (
    # Over customers, who are known one by one before it runs.
    (reseat_documents, fused_documents.reseat_documents),
    (reseat_cells, fused_documents.reseat_cells),
    (draw_tables, compiled.draw_tables),
    (draw_tables_by_dish, compiled.draw_tables_by_dish),
):
    _step.kernel("fused", _run, banks=Declaring("TABLES_BY_CELL"), **_serves)
of_package(reseat_documents, reseat_cells, *_SHARDS)
