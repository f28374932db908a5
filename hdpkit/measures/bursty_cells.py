"""Topics that differ by document, over counts by cell: tables of the customers of a cell with one dish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int32s, Int64s, IntsOrList
from hdpkit.errors import DataError, StateError
from hdpkit.measures.bank import StatisticsBank
from hdpkit.numerics import rising_sum
from hdpkit.random import ChoiceSource
from hdpkit.stores._stirling import logs_of

_ONE = np.ones(1)
_NONE = np.empty(0, dtype=np.int32)
_FEW = 200  # tables up to which Stirling numbers are computed exactly
_DENSE = 1 << 22  # pairs of document and slot that are counted without a sort


@attrs.frozen
class Runs:
    """The customers of each cell with one dish, in the order of the store."""

    document: Int64s
    term: Int32s
    slot: Int32s
    customers: Int32s


class BurstyCells(StatisticsBank):
    """Numbers of tables for each run of customers of a cell with one dish; the inner bank counts tables."""

    # Without a discount the tables of runs are independent given the topics, and a sweep draws them again
    # after the customers; with one they depend on each other, and customers are not counted by cell.

    needs_dishes = False
    TABLES_BY_CELL = True  # see `hdpkit.steps.documents`

    def __init__(self, measure: Any) -> None:
        self.measure = measure
        self.inner: Any = measure.measure.bank_of_cells()
        self.tables = np.empty(0, dtype=np.int32)
        self._thawed = False  # whether `tables` are those of the runs that are counted next
        self._store: Any = None
        self._earlier = _NONE, _NONE, _NONE  # terms, dishes and counts
        # Of these tables: logs of Stirling numbers, and numbers of documents in dishes.
        self._scored: tuple[Any, Runs, Floats] | None = None
        self._summed: tuple[Any, tuple[Int64s, Int64s, Int64s]] | None = None

    @property
    def fix(self) -> Any:
        """Set the topics of dishes, as the inner bank does."""
        return self.inner.fix

    def read_cells(self, store: Any) -> None:
        """Use the cells of this store from now on."""
        self._store = store

    def _runs(self) -> Runs:
        cells, (n, slot, customers) = self._store.cells, self._store.cell_runs()
        return Runs(np.repeat(cells.documents(), n), np.repeat(cells.term, n), slot, customers)

    def prepare(self, source: ChoiceSource) -> None:
        """Nothing: sweeps draw tables from their own streams."""

    # ------------------------------------------------------------------ dishes and customers

    def born(self, slot: int) -> None:
        self.inner.born(slot)

    def died(self, slot: int) -> None:
        self.inner.died(slot)

    def add(self, slot: int, customers: IntsOrList) -> NoReturn:
        """Raise an error: customers are not known one by one."""
        raise StateError(
            "bank", "BurstyCells", "one of customers, for a move that seats them one by one",
            "Call franchise.expand_cells() first.",
        )  # fmt: skip

    remove = log_predictive = log_block = add  # type: ignore[assignment]

    # ------------------------------------------------------------------ all customers

    def rebuild_counts(self, terms: Any, dishes: Any, counts: Any, slots: IntsOrList) -> None:
        """Recount the tables of `thaw`, or one for each run; earlier observations come after the runs."""
        n = len(self._store.cell_runs()[1])
        if not self._thawed and len(self.tables) != n:
            self.tables = np.ones(n, dtype=np.int32)
        tables = self.tables
        if len(tables) != n or np.any((tables < 1) | (tables > counts[:n])):
            raise DataError(
                "run_tables", tables, "from 1 to the customers of each run", "Pass what freeze() returned."
            )
        self._thawed, self._scored, self._summed = False, None, None
        self._earlier = terms[n:], dishes[n:], counts[n:]
        self.inner.rebuild_counts(terms, dishes, np.append(tables, counts[n:]), slots)

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> NoReturn:
        """Raise an error: the customers' dishes are not known one by one."""
        self.add(0, [])

    def counts(self, slots: IntsOrList) -> Int64s:
        """Customers, not tables, and earlier observations of these slots by term: int64, shape (n, V)."""
        runs, place = self._runs(), _places(slots)
        found = np.zeros((len(slots), int(self.measure.n_terms or 0)), dtype=np.int64)
        terms, dishes, counts = self._earlier
        np.add.at(found, (place[runs.slot], runs.term), runs.customers)
        np.add.at(found, (place[dishes], terms), counts)
        return found

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        found = np.array(self.inner.log_marginals(slots, dishes))
        if not len(slots):
            return found
        if self._scored is None or self._scored[0] is not self.tables:
            runs = self._runs()
            logs = log_seatings(runs.customers.astype(np.int64), self.tables.astype(np.int64))
            self._scored = self.tables, runs, logs
        _, runs, logs = self._scored
        place, b = _places(slots), np.array([float(self.measure.concentration)])
        found += np.bincount(place[runs.slot], weights=logs, minlength=len(slots))
        slot, customers, tables = self._sums(runs)
        for i, one in enumerate(np.asarray(slots).tolist()):
            mine = slot == one
            numbers, of = np.unique(customers[mine], return_counts=True)
            opened = int(tables[mine].sum())
            found[i] += opened * float(np.log(b[0])) - rising_sum(b, _ONE, numbers, of)
        return found

    def _sums(self, runs: Runs) -> tuple[Int64s, Int64s, Int64s]:
        """Slot, customers and tables of each document in each dish."""
        if self._summed is not None and self._summed[0] is self.tables:
            return self._summed[1]
        base = int(runs.slot.max(initial=0)) + 1
        key = runs.document.astype(np.int64) * base + runs.slot
        kept: Any = slice(None)
        if key.max(initial=0) < _DENSE:
            kept = np.flatnonzero(np.bincount(key))
            which, key = key, kept
        else:
            key, which = np.unique(key, return_inverse=True)
        customers, tables = (
            np.bincount(which, weights=one)[kept].astype(np.int64) for one in (runs.customers, self.tables)
        )
        self._summed = self.tables, (key % base, customers, tables)
        return self._summed[1]

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every document in a dish, in any order: int64, shape (n,) each."""
        _, customers, tables = self._sums(self._runs())
        return customers, tables

    def cells(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every run, in any order: int64, shape (n,) each."""
        return self._runs().customers.astype(np.int64), self.tables.astype(np.int64)

    def statistics(self, slots: IntsOrList, dishes: Int32s) -> list[Any]:
        """Tables of these slots; the terms of documents are left out."""
        return [
            attrs.evolve(self.measure.make(), tables=tables)
            for tables in self.inner.statistics(slots, dishes)
        ]

    def adopt(self, measure: Any) -> bool:
        kept: bool = self.inner.adopt(measure.measure)
        self.measure = measure
        return kept

    def freeze(self) -> dict[str, Any]:
        """The numbers of tables, by run."""
        return {"run_tables": self.tables.copy()}

    def thaw(self, frozen: Mapping[str, Any] | None) -> None:
        """Restore frozen numbers of tables; None: one table for each run."""
        self._thawed = frozen is not None
        self.tables = np.empty(0, dtype=np.int32)
        if frozen is not None:
            self.tables = np.array(frozen["run_tables"], dtype=np.int32)

    def relabelled(self, mapping: Int32s) -> None:
        self._scored = self._summed = None
        self.inner.relabelled(mapping)

    def memory_bytes(self) -> int:
        return int(self.inner.memory_bytes() + self.tables.nbytes)


def log_seatings(customers: Int64s, tables: Int64s) -> Floats:
    """Logarithms of Stirling numbers of the first kind: exact up to 200 tables, otherwise nearly so."""
    # With hundreds of tables exact rows take longer than a sweep: the saddle point approximation of the
    # coefficient of u^t in u (u + 1) ... (u + n - 1), with its first correction (Daniels 1954), has a
    # relative error of the order of 1 / v**2, v the variance of the number of tables of a process of mean t.
    found = np.zeros(len(tables))
    few, many = tables <= _FEW, (tables > _FEW) & (tables < customers)
    found[few] = logs_of(customers[few], tables[few])
    if many.any():
        n, t = customers[many].astype(np.float64), tables[many].astype(np.float64)
        pairs, which = np.unique(np.stack([n, t]), axis=1, return_inverse=True)
        found[many] = _saddle_point(*pairs)[which.ravel()]
    return found


def _saddle_point(n: Floats, t: Floats) -> Floats:
    """Approximate log s(n, t) for 1 < t < n."""
    special = scipy.special
    u = t.copy()
    for _ in range(20):
        u = t / np.log1p(n / u)
    low = np.log(u)
    for _ in range(50):  # Newton's method for the mean t, on a logarithmic scale
        u = np.exp(low)
        mean = u * (special.digamma(n + u) - special.digamma(u))
        variance = mean + u**2 * (special.polygamma(1, n + u) - special.polygamma(1, u))
        step = np.clip((t - mean) / variance, -1.0, 1.0)
        low += step
        if np.abs(step).max() < 1e-12:
            break
    u = np.exp(low)
    first, second, third, fourth = (
        u ** (k + 1) * (special.polygamma(k, n + u) - special.polygamma(k, u)) for k in range(4)
    )
    variance, skew = first + second, first + 3.0 * second + third
    kurtosis = first + 7.0 * second + 6.0 * third + fourth
    correction = kurtosis / (8.0 * variance**2) - 5.0 * skew**2 / (24.0 * variance**3)
    plain = special.gammaln(n + u) - special.gammaln(u) - t * low - 0.5 * np.log(2.0 * np.pi * variance)
    return np.asarray(plain + np.log1p(np.maximum(correction, -0.5)))


def _places(slots: IntsOrList) -> Int64s:
    """Place of each slot among these, by slot."""
    found = np.zeros(int(np.max(slots, initial=0)) + 1, dtype=np.int64)
    found[np.asarray(slots, dtype=np.int64)] = np.arange(len(slots))
    return found


def opens_of_customers(
    cells: Any, runs: Int32s, slot: Int32s, tables: Int32s, dishes: Int32s
) -> npt.NDArray[np.int8]:
    """Which customers represent tables, given their dishes: the first ones of each run (``tables`` of it)."""
    base = int(slot.max(initial=0)) + 1
    key = np.repeat(np.arange(len(runs), dtype=np.int64), runs) * base + slot
    seated = np.flatnonzero(dishes >= 0)
    own = np.repeat(np.arange(len(runs), dtype=np.int64), cells.count)[seated] * base + dishes[seated]
    order = np.argsort(own, kind="stable")
    _, first, n = np.unique(own[order], return_index=True, return_counts=True)
    rank = np.arange(len(own)) - np.repeat(first, n)
    opens = np.zeros(len(dishes), dtype=np.int8)
    opens[seated[order]] = rank < np.repeat(tables[np.argsort(key)], n)
    return opens
