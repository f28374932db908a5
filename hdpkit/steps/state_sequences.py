"""Whole sequences of states of a hidden Markov model at once.

Van Gael et al. 2008: parameters of the dishes, unless they are part of the state, and rows of transition
probabilities are drawn given the state, then a slice for every transition, uniform below its probability. The
remainder of the root's weights is broken into further states until no row has more left than the smallest
slice. Given all this a sequence has finitely many paths, and is drawn by filtering forward and sampling
backward.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit.steps.fused._state_sequences as compiled
from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.measures.non_conjugate import NonConjugate
from hdpkit.measures.protocol import log_likelihoods
from hdpkit.numerics import exp_each
from hdpkit.random import ChoiceSource
from hdpkit.steps import sweeps
from hdpkit.steps.step import CHAINS, TWO, of_package, step
from hdpkit.steps.walk import ReferenceWalk
from hdpkit.stores import Detail

KEYS = 2**62  # a stream is identified by two numbers below this
BATCH = 1 << 12  # observations whose likelihoods are computed at once, but those of a sequence that is not
LONG = 1 << 14  # longer than this
LEAST_SHAPE = 1e-290  # of beta and Dirichlet draws; a share with a smaller shape is 0
MOST_STATES = 1 << 15


@attrs.frozen
class SequencePlan:
    """What a sweep over sequences needs beyond the walk."""

    measure: Any
    data: Any
    weights: Any
    dishes: Int32s
    slices: bool
    threads: int


class Rows:
    """Transition probabilities between states, which grow by breaking the remainders of all rows."""

    def __init__(
        self, psi: Floats, alpha: Floats, kappa: float, counts: Int64s, source: ChoiceSource
    ) -> None:
        self.psi, self.alpha, self.kappa = psi, alpha, kappa
        n = len(psi) - 1
        self.pi = np.zeros((n + 1, n + 1))
        for j in range(n + 1):
            self.pi[j] = self._drawn(j, counts[j], source)

    def _drawn(self, j: int, counts: Int64s | None, source: ChoiceSource) -> Floats:
        """A row from its Dirichlet distribution; the start row, the last one, is not sticky."""
        start = j == len(self.psi) - 1
        shapes = self.alpha[int(start)] * self.psi
        if counts is not None:
            shapes[:-1] += counts
        if not start:
            shapes[j] += self.kappa
        row = np.zeros(len(shapes))
        there = shapes >= LEAST_SHAPE
        row[there] = source.dirichlet(shapes[there]) if there.sum() > 1 else 1.0
        return row

    def grow(self, weight: float, left: float, source: ChoiceSource) -> None:
        """Add a state of this weight, which was broken off the root's remainder; the rest is left."""
        n = len(self.psi) - 1
        psi = np.concatenate([self.psi[:-1], [weight, left]])
        pi = np.zeros((n + 2, n + 2))
        pi[:n, :n], pi[n + 1, :n] = self.pi[:n, :n], self.pi[n, :n]
        for old, new in [*((j, j) for j in range(n)), (n, n + 1)]:
            alpha = self.alpha[int(old == n)]
            share, rest = shares(float(alpha * weight), float(alpha * left), source)
            pi[new, n], pi[new, n + 1] = self.pi[old, n] * share, self.pi[old, n] * rest
        self.psi, self.pi = psi, pi
        self.pi[n] = self._drawn(n, None, source)


def shares(a: float, b: float, source: ChoiceSource) -> tuple[float, float]:
    """A draw of Beta(a, b), and the rest."""
    if a < LEAST_SHAPE or b < LEAST_SHAPE:
        return (1.0, 0.0) if a >= b else (0.0, 1.0)
    log_share, log_rest = source.log_beta(a, b)
    return float(np.exp(log_share)), float(np.exp(log_rest))


def refused(measure: Any, parts: Any) -> str | None:
    """Why sequences can't be drawn as a whole under a measure with these parts; None: they can."""
    if parts or not (measure.conjugate or isinstance(measure, NonConjugate)):
        return f"Integrate out what dishes of {type(measure).__name__} keep, or use TableGibbs."
    if measure.conjugate and not (measure.supports("draw_parameters") and measure.supports("log_likelihood")):
        return f"{type(measure).__name__} has no draw_parameters() and log_likelihood(): use TableGibbs."
    return None


@step(trees=CHAINS)
def sequence_sweep(walk: ReferenceWalk, bank: Any, plan: SequencePlan, source: ChoiceSource) -> int:
    """Draw the states of all sequences, then the tables; returns the number of states tried."""
    t: Any = walk.topology
    measure, above = plan.measure, plan.weights
    live, states = labels_of(walk)
    offsets, missing = np.ascontiguousarray(plan.data.offsets), plan.data.missing
    begins = offsets[:-1][np.diff(offsets) > 0]
    alpha = concentrations(walk)
    known = above.table.many(live)
    counts = compiled.transition_counts(states, begins, len(live))
    rows = Rows(np.asarray(known, dtype=np.float64), alpha, t.kappa, counts, source)
    kept = isinstance(measure, NonConjugate)  # parameters of dishes are part of the state
    parameters = [bank.parameter(slot) for slot in live.tolist()] if kept else []
    parameters = parameters or list(measure.draw_many(bank, live, plan.dishes, source))
    keys = source.index(KEYS), source.index(KEYS)
    paths = compiled.StateSequences(states, offsets, keys, plan.slices, plan.threads)
    if plan.slices:
        paths.set_rows(rows.pi[:, :-1])
        least = paths.draw_slices()
        while float(rows.pi[:, -1].max()) >= least and float(rows.psi[-1]) > 0.0:
            _grow(rows, parameters, plan, source, all_of=False)
    elif float(rows.psi[-1]) > 0.0:
        _grow(rows, parameters, plan, source, all_of=True)
    paths.set_rows(rows.pi[:, :-1])
    _draw(paths, plan, parameters, offsets, missing)
    _settle(walk, bank, plan, states, rows, parameters if kept else None, begins, source)
    return len(parameters)


def labels_of(walk: Any, dishes: Any = None) -> tuple[Int32s, Int32s]:
    """Occupied slots, and the place among them of each customer's dish, by default the present one."""
    live = walk.slots.occupied_slots()
    place = np.full(int(live[-1]) + 1, -1, dtype=np.int32)
    place[live] = np.arange(len(live), dtype=np.int32)
    return live, place[np.asarray(walk.store.dishes() if dishes is None else dishes)]


def _grow(rows: Rows, parameters: list[Any], plan: SequencePlan, source: ChoiceSource, all_of: bool) -> None:
    """Add a state, or all states that there are in a finite model, with parameters from the prior."""
    measure, finite = plan.measure, not hasattr(plan.weights, "draw")
    if len(parameters) >= MOST_STATES:
        raise FloatingPointError(f"more than {MOST_STATES} states have weights above the smallest slice")
    rest = float(rows.psi[-1])
    if finite:
        weight = 1.0 / plan.weights.n_dishes
        left = rest - weight
        if left < 0.5 * weight:  # this is the last one
            weight, left = rest, 0.0
    else:
        share, others = shares(1.0, float(plan.weights.state.hyperparameters.theta[0]), source)
        weight, left = rest * share, rest * others
    rows.grow(weight, left, source)
    kept = isinstance(measure, NonConjugate)
    parameters.append(measure.draw(source) if kept else measure.draw_parameters(measure.make(), source))
    if all_of and float(rows.psi[-1]) > 0.0:
        _grow(rows, parameters, plan, source, all_of)


def _draw(paths: Any, plan: SequencePlan, parameters: list[Any], offsets: Int64s, missing: Any) -> None:
    """Draw the paths, with likelihoods of distinct values, or of batches of observations."""
    measure, values = plan.measure, plan.data.values
    n_sequences = len(offsets) - 1

    def logs_of(some: Any) -> Floats:
        logs = log_likelihoods(measure, some, parameters)
        return np.ascontiguousarray(logs, dtype=np.float64)

    if values.ndim == 1 and values.dtype.kind in "iub":
        n_terms: Any = getattr(plan.data, "n_terms", None)
        every = n_terms is not None and 4 * n_terms <= len(values)  # this saves a pass over the values
        distinct, index = (np.arange(n_terms), values) if every else distinct_numbers(values)
        logs, index = logs_of(distinct.astype(values.dtype)), np.where(missing, -1, index)
        paths.draw(0, n_sequences, logs, scaled_rows(logs)[1], index.astype(np.int32), plan.threads)
        return

    batches, s = [], 0
    while s < n_sequences:
        end = s + 1
        while end < n_sequences and offsets[end + 1] - offsets[s] <= BATCH:
            end += 1
        if offsets[end] > offsets[s]:
            batches.append((s, end))
        s = end
    one_at_a_time = threading.Lock()  # code of users need not allow more

    def piece(first: int, last: int) -> tuple[Floats, Int32s]:
        index = np.where(missing[first:last], -1, np.arange(last - first)).astype(np.int32)
        with one_at_a_time:
            return logs_of(values[first:last]), index

    def draw_batch(s: int, end: int) -> None:
        first, last = int(offsets[s]), int(offsets[end])
        if last - first > LONG:
            paths.draw_long(s, piece)
        else:
            logs, index = piece(first, last)
            paths.draw(s, end, logs, None, index, 1)

    if plan.threads == 1 or len(batches) < 2:
        for s, end in batches:
            draw_batch(s, end)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(plan.threads, len(batches))) as pool:
        # In the context of the caller: NumPy's handling of floating-point errors is part of it.
        contexts = [contextvars.copy_context() for _ in batches]
        for _ in pool.map(lambda one, batch: one.run(draw_batch, *batch), contexts, batches):
            pass


def scaled_rows(logs: Floats) -> tuple[Floats, Floats]:
    """The largest of each row of log likelihoods, and likelihoods divided by it."""
    top = np.max(logs, axis=1, keepdims=True)
    below = logs - np.maximum(top, np.finfo(np.float64).min)
    scaled = exp_each(np.maximum(below, -700.0))
    scaled[~(below > -700.0)] = 0.0
    return np.ascontiguousarray(top[:, 0]), np.ascontiguousarray(scaled)


def distinct_numbers(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Distinct whole numbers, and the place of each value among them."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values):
        distinct, index = np.unique(values, return_inverse=True)
        return distinct, index
    shifted = np.subtract(values, low, dtype=np.int64)
    there = np.bincount(shifted, minlength=high - low + 1) > 0
    place = np.cumsum(there, dtype=np.int32) - np.int32(1)
    return (np.flatnonzero(there) + low).astype(values.dtype), place[shifted]


def _settle(
    walk: ReferenceWalk,
    bank: Any,
    plan: SequencePlan,
    states: Int32s,
    rows: Rows,
    kept: Sequence[Any] | None,
    begins: Int64s,
    source: ChoiceSource,
) -> None:
    """Write the drawn states: births and deaths of dishes, seating, statistics, weights of the root."""
    slots = walk.slots
    live, n = slots.occupied_slots(), len(rows.psi) - 1
    counts = compiled.transition_counts(states, begins, n)
    used = counts.any(axis=0)
    slot_of = np.full(n, -1, dtype=np.int32)
    slot_of[: len(live)] = live
    for label in np.flatnonzero(~used[: len(live)]).tolist():
        slots.close(int(live[label]))
    for label in (np.flatnonzero(used[len(live) :]) + len(live)).tolist():
        if kept is not None:
            bank.give_next(kept[label])
        slot_of[label] = slots.open(np.flatnonzero(states == label).astype(np.int32))
    dishes = write_states(walk, states, slot_of, rows.psi, rows.alpha, counts, source)
    occupied = slots.occupied_slots()
    bank.rebuild(np.where(plan.data.missing, np.int32(-1), dishes), occupied)
    served = np.flatnonzero(used)
    label_of = np.full(int(slot_of.max()) + 1, -1, dtype=np.int64)
    label_of[slot_of[served]] = served
    rest = float(rows.psi[-1] + rows.psi[:-1][~used].sum())
    plan.weights.take(occupied, np.append(rows.psi[label_of[occupied]], rest))


def write_states(
    walk: Any,
    states: Int32s,
    slot_of: Int32s,
    psi: Floats,
    alpha: Floats,
    transitions: Int64s,
    source: ChoiceSource,
) -> Int32s:
    """Seat all customers with these states, and draw tables and overrides given them and the weights."""
    # `psi`: weights of states; `alpha`: concentrations of rows and of the start row; `transitions`: counts.
    t, n, counts = walk.topology, len(slot_of), transitions
    used = counts.any(axis=0)
    # Tables given the transitions and the weights, and those of them that kappa made.
    j, k = np.nonzero(counts)
    customers, start, kappa = counts[j, k], j == n, t.kappa
    masses = alpha[start.astype(int)] * psi[k]
    own = ~start & (j == k)
    masses[own] += kappa
    tables = compiled.draw_tables(customers, masses, source)
    if kappa > 0.0:
        for label in np.flatnonzero(used).tolist():
            t.take(int(slot_of[label]), 0)
        drawn = source.binomial(tables[own], kappa / masses[own]) if own.any() else []
        for label, w in zip(j[own].tolist(), np.asarray(drawn).tolist(), strict=True):
            t.take(int(slot_of[label]), int(w))
    first = t.first[-1]
    row_of = np.zeros(n + 1, dtype=np.int64)
    row_of[np.flatnonzero(used)] = first + t.n_fixed + t.rows.of_slots(slot_of[used])
    row_of[n] = first
    of_root = np.bincount(k, weights=tables, minlength=n).astype(np.int64)
    served = np.flatnonzero(used)
    columns = {
        "count_node": np.concatenate([np.zeros(len(served), dtype=np.int64), row_of[j]]),
        "count_dish": np.concatenate([slot_of[served], slot_of[k]]),
        "count_customers": np.concatenate([of_root[served], customers]),
        "count_tables": np.concatenate([np.ones(len(served), dtype=np.int64), tables]),
    }
    order = np.lexsort((columns["count_dish"], columns["count_node"]))
    arrays = {name: column[order].astype(np.int32) for name, column in columns.items()}
    dishes = slot_of[states]
    walk.store.thaw({"dish": dishes, **arrays})
    return dishes


def enter_given(walk: Any, bank: Any, dishes: Int32s, first: int, last: int, source: ChoiceSource) -> None:
    """Seat customers given their dishes: all at once if they are all, otherwise one by one."""
    t = walk.topology
    n = t.n_customers
    whole = first == 0 and last == n and walk.store.node_customers(0) == 0
    if not whole or len(walk.root.restaurants([0])) > 0:
        sweeps.enter_given(walk, bank, dishes, first, last, source)
        return
    live, states = labels_of(walk, dishes[:n])
    above = np.asarray(walk.root.row(live))
    counts = compiled.transition_counts(states, t.begins, len(live))
    write_states(walk, states, live, above, concentrations(walk), counts, source)
    for slot in live.tolist():
        bank.add(slot, np.flatnonzero(dishes[:n] == slot))


def concentrations(walk: Any) -> Floats:
    """Concentrations of the rows and of the start row."""
    first = walk.topology.first[-1]
    return np.array([walk.concentration[first + walk.topology.n_fixed], walk.concentration[first]])


sweeps.enter_given.kernel(
    "reference", enter_given,
    depths=TWO, roots=frozenset({"weights", "fixed"}), detail=Detail.COUNTS, trees=CHAINS,
)  # fmt: skip
of_package(sequence_sweep)
