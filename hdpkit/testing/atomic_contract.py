"""The contract of a base measure with atoms: a distribution H, and tables of the root that draw from it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Int64s
from hdpkit.data import Groups
from hdpkit.errors import HdpkitError
from hdpkit.franchise.franchise import Franchise
from hdpkit.measures.atomic import AtomicMeasure
from hdpkit.testing.enumeration import LogMarginal
from hdpkit.testing.measure_checks import MeasureFailure, check_frequencies, close, statistics_of

MOST = 200  # largest number of atoms that are all tested


def check_atomic_contract(franchise: Franchise) -> list[str]:
    """Check H, the statistics of a table of the root, and the results for franchises, or raise."""
    measure: Any = franchise.measure
    report = [_check_distribution(measure)]
    atoms = _atoms(measure, franchise.data.values)
    report += [
        _check_data(measure),
        _check_draw(measure, atoms),
        _check_changes(measure, atoms),
        _check_blocks(measure, atoms),
        _check_bank(franchise),
        _check_rows(franchise),
        _check_simulate(measure, atoms),
    ]
    return report


def _check_distribution(measure: AtomicMeasure) -> str:
    n, logs = measure.n_terms, np.asarray(measure.log_probabilities(), dtype=float)
    if logs.shape != (n,) or np.any(np.isnan(logs)):
        raise MeasureFailure(f"log_probabilities: shape ({n},) and numbers, not {logs}")
    if not 0.0 <= measure.remainder <= 1.0:
        raise MeasureFailure(f"remainder: a probability, not {measure.remainder}")
    total = float(np.exp(logs).sum()) + measure.remainder
    close("sum of H over the atoms, and the remainder", total, 1.0)
    close("H when asked again", np.asarray(measure.log_probabilities(), dtype=float), logs)
    return "log_probabilities and remainder add up to one"


def _atoms(measure: AtomicMeasure, values: Any) -> Int64s:
    """The atoms of the data, and a few others."""
    possible = np.flatnonzero(np.isfinite(measure.log_probabilities()))
    return np.union1d(np.asarray(values, dtype=np.int64), possible[:MOST])


def _check_data(measure: AtomicMeasure) -> str:
    """Values that aren't atoms must raise an error, since compiled code looks up H by value."""
    impossible = np.flatnonzero(np.isneginf(measure.log_probabilities()))[:1].tolist()
    bad: list[Any] = [[-1], [measure.n_terms], [0.5], ["a"], *([value] for value in impossible)]
    for values in bad:
        try:
            measure.for_data(Groups.from_labels(values, {}))
        except HdpkitError:
            continue
        except Exception as error:
            raise MeasureFailure(f"for_data: {values} is refused by no typed error") from error
        raise MeasureFailure(f"for_data: {values} is taken, which is no atom of positive probability")
    return "for_data refuses what is no atom"


def _check_draw(measure: AtomicMeasure, atoms: Int64s) -> str:
    """A new table has probability H(value); a table with customers has its value with probability one."""
    logs = np.asarray(measure.log_probabilities(), dtype=float)
    first, last = int(atoms[0]), int(atoms[-1])
    many = [statistics_of(measure, values) for values in ([], [first], [first] * 3, [last])]
    for value in atoms.tolist():
        expected = [logs[value], *(0.0 if own == value else -np.inf for own in (first, first, last))]
        close(f"log_predictive of {value}", measure.log_predictive(value, many), expected)
        for one, alone in zip(many, expected, strict=True):
            close(f"log_predictive of {value}, alone", measure.log_predictive(value, [one]), [alone])
    return "log_predictive: H for a new table, certainty for one with customers"


def _check_changes(measure: AtomicMeasure, atoms: Int64s) -> str:
    first, last = int(atoms[0]), int(atoms[-1])
    statistics = statistics_of(measure, [first] * 3)
    copy = measure.copy(statistics)
    for left in (2, 1, 0):
        measure.remove(statistics, first)
        fresh = statistics_of(measure, [first] * left)
        for value in (first, last):
            a, b = np.asarray(measure.log_predictive(value, [statistics, fresh]))
            close("log_predictive after a removal", a, b)
    measure.add(statistics, last)
    whole = statistics_of(measure, [first] * 3)
    for value in (first, last):
        a, b = np.asarray(measure.log_predictive(value, [copy, whole]))
        close("a copy after the original changed", a, b)
    return "remove undoes add, also of the last customer; copies are independent"


def _check_blocks(measure: AtomicMeasure, atoms: Int64s) -> str:
    """All customers below a table of the root have its value, which counts once."""
    witness = atomic_log_marginal(np.exp(np.asarray(measure.log_probabilities(), dtype=float)).tolist())
    first, last = int(atoms[0]), int(atoms[-1])
    empty, full = measure.make(), statistics_of(measure, [first] * 2)
    for block in ([first], [first] * 3, [last] * 2, [first, last], [last, first, first]):
        whole = witness(block)
        given = 0.0 if set(block) == {first} else -np.inf
        close(f"log_block of {block}", measure.log_block(block, [empty, full]), [whole, given])
    if measure.supports("log_marginal"):
        close("log_marginal", measure.log_marginal(full), witness([first] * 2))
    return "log_block and log_marginal: H once for a table, none for one that mixes values"


def _check_bank(franchise: Franchise) -> str:
    measure: Any = franchise.measure
    bank: Any = measure.bank(franchise.data)
    logs, values = np.asarray(measure.log_probabilities()), np.asarray(franchise.data.values)
    close("the bank's log H", bank.log_base, logs)
    close("the bank's H, what is left last", bank.base, [*np.exp(logs), measure.remainder])
    close("the bank's values", bank.values, values)
    slots = franchise.slots.occupied_slots()
    close("slots, one per atom", slots, np.arange(measure.n_terms))
    near = np.array(sorted({*values.tolist(), 0}), dtype=np.int32)
    for i, j in itertools.product(range(len(values)), repeat=2):
        certain = np.array([*(near == values[i]), False])
        row = np.asarray(bank.log_predictive(i, near))
        close("the bank's predictives", np.exp(row - row.max()), certain)
        row = np.exp(bank.log_block([i, j], near))
        close("the bank's block probabilities", row > 0.0, certain & (values[i] == values[j]))
    return "the bank has the values and H, and a dish is certain given its customer"


def _check_rows(franchise: Franchise) -> str:
    """Empty restaurants pass H on."""
    measure: Any = franchise.measure
    empty = franchise.copy()
    empty.clear()
    expected = [*np.exp(measure.log_probabilities()), measure.remainder]
    for node, kernel in itertools.product(range(empty.topology.n_nodes), ("auto", "reference")):
        close("the row of an empty restaurant", empty.walk(kernel).prior_row(node), expected)
    return "empty restaurants pass H on"


def _check_simulate(measure: AtomicMeasure, atoms: Int64s) -> str:
    generator = np.random.default_rng(5)
    logs = np.asarray(measure.log_probabilities(), dtype=float)
    draws = [int(measure.simulate(measure.make(), generator)) for _ in range(4000)]
    if not set(draws) <= set(np.flatnonzero(np.isfinite(logs)).tolist()):
        raise MeasureFailure("simulate: draws what is no atom of positive probability")
    check_frequencies(draws, logs[draws] - np.log(np.exp(logs).sum()))
    own = int(atoms[-1])
    if {int(measure.simulate(statistics_of(measure, [own]), generator)) for _ in range(50)} != {own}:
        raise MeasureFailure("simulate: a table with customers has their value")
    return "simulate draws from H, and repeats the value of a table with customers"


def atomic_log_marginal(probabilities: Sequence[float]) -> LogMarginal:
    """Base measure with atoms (observed dishes): all customers beneath a root table must have its value w.

    A table of the root contributes H(w) once, for any number of customers; several tables of the root may
    have the same value. Seatings that mix values beneath a table have probability zero.
    """

    def log_marginal(values: Sequence[Any]) -> float:
        dish = values[0]
        if any(value != dish for value in values) or probabilities[dish] == 0:
            return -math.inf
        return math.log(probabilities[dish])

    return log_marginal
