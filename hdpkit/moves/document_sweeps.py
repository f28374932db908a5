"""Sweeps over documents in parallel: topics are drawn, and new dishes are labels with weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit._count_changes import write_sparse
from hdpkit.arrays import Floats, Int32s, Int64s, sums_by_key
from hdpkit.errors import StateError
from hdpkit.franchise.arguments import check_source
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import KnownDishes
from hdpkit.franchise.scores import totals
from hdpkit.franchise.state import State
from hdpkit.franchise.steps import run_unchecked
from hdpkit.franchise.whole_corpus import Changes, CountedBursts
from hdpkit.parts import Attached
from hdpkit.random import ChoiceSource, RandomStream
from hdpkit.steps._table_counts import tables_drawn
from hdpkit.steps.documents import draw_shard_topics, settle_shards, sweep_shards
from hdpkit.steps.fused._document_workspace import DocumentWorkspace
from hdpkit.steps.fused._fused_documents import FEW

MOVE, TABLES = 0, 1  # last words of the streams of a document


@attrs.frozen(eq=False)
class Assignment:
    """The documents of a franchise, and what they have in common, while a move assigns dishes."""

    topics: Floats  # shape (K, V): drawn topics of the dishes that may be assigned
    weights: Floats  # shape (K,): their weights in the root
    key: tuple[int, int]  # key of the streams of documents
    numbers: Int64s  # shape (n,): number in the corpus of each document with customers of these dishes
    concentrations: Floats  # shape (n,): concentration of each of them
    ends: Int64s  # shape (n + 1,): their customers, those of document i at ends[i] .. ends[i + 1] - 1.
    # customers and terms and rows: for each of these customers its number, its term, and the row of its
    # dish in ``topics``
    customers: Int64s
    terms: Int32s
    rows: Int64s

    def stream(self) -> RandomStream:
        """A stream for all documents, one after the other: see `at`."""
        return RandomStream(self.key)

    def at(self, stream: RandomStream, i: int) -> None:
        """Move a stream to the start of that of document i."""
        stream.rekey(*self.key, int(self.numbers[i]) + 1, MOVE, 0)


class Assigned:
    """A sweep of a move that assigns dishes to labels of a plan with at least the weight ``plan.least``."""

    def __init__(self, plan: Any, key: tuple[int, int]) -> None:
        self.plan = plan
        self.given = plan.weights >= plan.least
        self.slots: Int32s = plan.slots[self.given]
        self.weights: Floats = plan.weights[self.given]
        self.key = key
        self._places = self._changes = np.zeros(0, dtype=np.int64)

    def assignment(self, state: State, topics_of: Callable[[Int32s], Floats]) -> Assignment:
        """The documents, given a function that returns the drawn topics of some slots."""
        plan, slots = self.plan, self.slots
        row = np.full(int(plan.slots.max()) + 1, -1, dtype=np.int64)
        row[slots] = np.arange(len(slots))
        drawn = ~plan.known.is_frozen(slots)
        topics = np.empty((len(slots), plan.measure.n_terms))
        if plan.topics is None:
            topics[drawn] = topics_of(slots[drawn])
        else:  # powers of topics, whose sums matter
            topics[drawn] = plan.topics[self.given][drawn]
        plan.known.fill(topics, slots)
        values, home = np.asarray(plan.values), np.asarray(state.topology.home)[: len(plan.values)]
        rows = row[self._dishes(state)]
        free = (rows >= 0) & (home > 0) & ~plan.holds(home)
        customers = np.flatnonzero(free)
        if np.any(np.diff(home[customers]) < 0):
            customers = customers[np.argsort(home[customers], kind="stable")]
        nodes, begins = np.unique(home[customers], return_index=True)
        return Assignment(
            topics,
            self.weights,
            self.key,
            nodes.astype(np.int64) + (plan.before - 1),
            np.asarray(state.hyperparameters.theta)[nodes],
            np.append(begins, len(customers)),
            customers,
            values[customers],
            rows[customers],
        )

    def assign(self, state: State, found: Assignment, rows: Int64s) -> tuple[Int64s, Int64s]:
        """Give customers the dishes of these rows, draw all tables; returns changes by slot."""
        state.n_changes += 1
        slots, n_slots = self.slots, int(self.plan.slots.max()) + 1
        moved = np.flatnonzero(rows != found.rows)
        before, after = slots[found.rows[moved]].astype(np.int64), slots[rows[moved]].astype(np.int64)
        self._count(found.terms[moved].astype(np.int64) * n_slots, before, after)
        frozen = state.store.freeze()
        dish = frozen["dish"].copy()
        dish[found.customers[moved]] = after
        node, slot, customers = _entries(state, dish, n_slots)
        tables = self._tables(state, node, slot, customers, n_slots)
        at_root = frozen["count_node"] == 0
        below = {"count_node": node, "count_dish": slot, "count_customers": customers, "count_tables": tables}
        change = np.zeros(n_slots, dtype=np.int64)
        np.add.at(change, slot, tables)
        np.subtract.at(change, frozen["count_dish"][~at_root], frozen["count_tables"][~at_root])
        columns = {name: np.append(frozen[name][at_root], own) for name, own in below.items()}
        state.store.thaw({"dish": dish} | {name: own.astype(np.int32) for name, own in columns.items()})
        return np.bincount(after, minlength=n_slots) - np.bincount(before, minlength=n_slots), change

    def block(self, number: int, n_blocks: int) -> bytes:
        """Changes of the counts of a block of terms, as of `DocumentWorkspace.take_changes`."""
        n_terms, n_slots = self.plan.measure.n_terms, int(self.plan.slots.max()) + 1
        bounds = [n_terms * i // n_blocks * n_slots for i in (number, number + 1)]
        first, last = np.searchsorted(self._places, bounds)
        found: bytes = write_sparse(self._places[first:last], self._changes[first:last])
        return found

    def _dishes(self, state: State) -> Int32s:
        """Slots of the data customers' dishes; raises a StateError if one is unseated."""
        dishes: Int32s = state.store.dishes()[: len(self.plan.values)]
        if np.any(dishes < 0):
            raise StateError(
                "customer", int(np.argmin(dishes)), "seated",
                "Start the franchise, or seat the customer first.",
            )  # fmt: skip
        return dishes

    def _count(self, of_terms: Int64s, before: Int64s, after: Int64s) -> None:
        """Changes of counts by term and slot."""
        cells, signs = np.append(of_terms + before, of_terms + after), np.repeat([-1, 1], len(before))
        places, changes = sums_by_key(cells, signs)
        self._places, self._changes = places[changes != 0], changes[changes != 0]

    def _tables(self, state: State, node: Int64s, slot: Int64s, customers: Int64s, n_slots: int) -> Int64s:
        """Draw the tables of each document and dish given its customers, from the document's stream."""
        plan, stream = self.plan, RandomStream(self.key)
        weight = np.zeros(n_slots)
        weight[plan.slots] = plan.weights
        mass = np.asarray(state.hyperparameters.theta)[node] * weight[slot]
        tables = np.ones(len(node), dtype=np.int64)
        several = np.flatnonzero(customers > 1)
        last = -1
        for i, document, a, n in zip(
            several.tolist(), node[several].tolist(), mass[several].tolist(), customers[several].tolist(),
            strict=True,
        ):  # fmt: skip
            if document != last:
                stream.rekey(*self.key, plan.before + document, TABLES, 0)
                last = document
            tables[i] = tables_drawn(a, n, stream, False)
        return tables


def _entries(state: State, dish: Int32s, n_slots: int) -> tuple[Int64s, Int64s, Int64s]:
    """Document, dish and customers of each document and dish, ascending."""
    home = np.asarray(state.topology.home)[: len(dish)]
    cells, customers = np.unique((home.astype(np.int64) * n_slots + dish)[home > 0], return_counts=True)
    return cells // n_slots, cells % n_slots, customers


RESOLUTION = 2.0**-33  # the smallest slice, relative to its upper bound
BELOW = (
    2.0**-2
)  # of the threshold: the bound of the weights of labels in a sweep without slices is below this
LEAST = 2.0**-8  # moves assign labels with at least this share of the threshold
KEYS = 2**62  # a stream is identified by two numbers below this


@attrs.frozen
class DocumentPlan:
    """Labels of a sweep over documents: dishes, and the possible new dishes."""

    slots: Int32s  # shape (n,): slot of each label, ascending; slots of labels that aren't dishes are free
    weights: Floats  # shape (n,): psi of each label
    remainder: float  # weight of all other labels, which is below every possible slice
    threshold: float  # labels of at least this weight are in every slice: xi_k = min(psi_k, threshold)
    measure: Any
    values: Any  # values of the customers
    integrated: bool = True  # whether proportions of documents are integrated out, or drawn
    threads: int = 1
    # over cells: labels with more expected customers of a cell than this are drawn by binomials,
    # customers of other labels one by one. For more than 64 labels the bound is multiplied by 64 /
    # their number.
    few: int = FEW
    # shape (n, V): what terms weigh under each label, instead of drawn topics: powers of
    # topics, or given ones for tests
    topics: Floats | None = None
    proportions: Floats | None = None  # shape (n_nodes, slots): given proportions (for tests)
    # customers of labels with a smaller weight keep them, and no other customer takes these labels: a
    # sweep of the customers of the others, among the others
    least: float = 0.0
    # shape (n_nodes, slots): the same of weights of restaurants that are neither the root nor
    # without any below them
    above: Floats | None = None
    # shape (n_documents, slots, V): given topics of the documents, where topics differ by
    # document (for tests)
    own: Floats | None = None
    known: KnownDishes = attrs.field(factory=KnownDishes)  # components whose labels are the first slots
    # shape (n_nodes,): for each restaurant, whether its customers are held; None: none are
    held: npt.NDArray[np.int8] | None = None
    before: int = 0  # number of earlier documents of the corpus, for a franchise over some shards of it

    def holds(self, nodes: Any) -> npt.NDArray[np.bool_]:
        """Whether the customers of these restaurants are held."""
        return np.zeros(np.shape(nodes), dtype=bool) if self.held is None else self.held[nodes] != 0


class DocumentSweeps(Attached):
    """Sweeps over the documents of a franchise whose root has weights, and memory kept between sweeps."""

    # Over shards: `begin` or `begin_assigned`, `sweep` or `assign`, then `end` with the sum of all changes.

    def __init__(self, state: Franchise) -> None:
        super().__init__(state)
        self.workspace = DocumentWorkspace()
        self.begun: tuple[DocumentPlan, ChoiceSource] | None = None
        self.assigned: Assigned | None = None

    @classmethod
    def of(cls, state: Franchise) -> Self:
        """Those of a franchise."""
        if cls not in state.workspaces:
            state.workspaces[cls] = cls(state)
        found: Self = state.workspaces[cls]
        return found

    def memory_bytes(self) -> int:
        """Bytes kept between sweeps: topics, and arrays of threads."""
        return int(self.workspace.memory_bytes())

    def reseat(self, source: ChoiceSource, proportions: str, threads: int) -> None:
        """Draw the dish of every customer given drawn topics and the root's weights, then the tables."""
        integrated, state = proportions == "integrated", self.state
        with state.lock():
            if integrated:  # customers are drawn one by one
                state.expand_cells()
            self.run(self.plan(source, integrated, threads), source)

    def run(self, plan: DocumentPlan, source: ChoiceSource) -> None:
        """Sweep over the documents, and set the weights of the resulting dishes."""
        state = self.state
        with state.root.weights.births_given():
            run_unchecked(state, state.population.sweep, self.workspace, plan, source=source)
        self._weigh(plan)

    def plan(self, source: ChoiceSource, integrated: bool, threads: int, slices: bool = True) -> DocumentPlan:
        """Break the remainder into labels, until the rest is below every slice that a customer may have."""
        check_source(source)
        state = self.state
        above = state.root.weights
        if above is None or state.root.kind == "restaurant":
            raise StateError(
                "root", state.root.kind, "weights that are part of the state",
                "Build hk.Franchise(..., store='counts', root='weights').",
            )  # fmt: skip
        corpus = state.whole_corpus
        slots = state.slots.occupied_slots()
        known = above.table.many(slots)
        # It doesn't depend on the state, and is below the weight of nearly every dish, so slices rarely
        # exclude a dish; in a finite model they never do.
        n = state.topology.n_customers if corpus is None else corpus.n_customers
        threshold = 1.0 / max(n, state.root.most_dishes or 1)
        least = threshold * LEAST
        if slices and integrated:
            threshold = least = threshold * BELOW * (1.0 - source.uniform()) ** 0.25
        elif slices:
            least = min(threshold, float(known[:-1].min())) * RESOLUTION
        broken, remainder = above.broken(least, source)
        if slices and integrated:  # no customer may take the others
            remainder += float(broken[broken < least].sum())
            broken = broken[broken >= least]
        weights = np.append(known[:-1], broken)
        fresh = _free_slots(state.slots, slots, len(broken))
        labels = np.append(slots, fresh)
        order = np.argsort(labels)
        labels = labels[order].astype(np.int32)
        topics = state.measure.draw_term_weights(state.bank, labels, order < len(slots), source)
        return DocumentPlan(
            labels,
            np.ascontiguousarray(weights[order]),
            remainder,
            threshold,
            state.measure,
            state.population.values(),
            integrated,
            threads,
            topics=topics,
            least=least if integrated else 0.0,
            known=state.known_dishes,
            held=state.held.mask,
            before=0 if corpus is None else corpus.before,
        )

    def _weigh(self, plan: DocumentPlan) -> None:
        """Set the weights of the dishes after a sweep."""
        slots = self.state.slots.occupied_slots()
        kept = np.isin(plan.slots, slots)
        remainder = plan.remainder + float(plan.weights[~kept].sum())
        self.state.root.weights.take(slots, np.append(plan.weights[kept], remainder))

    # ------------------------------------------------------------------ over shards

    def share(self, memory: Any, worker: int, n_workers: int) -> None:
        """Share topics with other workers, each of which draws some; see `DocumentWorkspace.share_topics`."""
        self.workspace.share_topics(memory, worker, n_workers)

    def begin(self, source: ChoiceSource, proportions: str = "integrated", threads: int = 1) -> None:
        """Begin a sweep over all shards: draw labels and topics, with the same source in every worker."""
        # Workers that share the memory of topics draw some each: `sweep` comes when all have finished.
        self.state.expand_cells()
        self._begin(self.plan(source, proportions == "integrated", threads), source)

    def begin_assigned(self, source: ChoiceSource) -> None:
        """Begin a sweep in which a move assigns dishes: draw labels and topics, as `begin` does."""
        self.state.expand_cells()
        plan = self.plan(source, True, 1, slices=False)
        self._begin(plan, source)
        self.assigned = Assigned(plan, (source.index(KEYS), source.index(KEYS)))

    def _begin(self, plan: DocumentPlan, source: ChoiceSource) -> None:
        """Draw topics by the common plan of all workers."""
        run_unchecked(self.state, draw_shard_topics, self.workspace, plan, source=source)
        self.begun, self.assigned = (plan, source), None

    def sweep(self, n_blocks: int) -> Changes:
        """Sweep over the documents; changes of the common state, with those of counts in blocks of terms."""
        plan, source = self._under_way()
        changed = run_unchecked(self.state, sweep_shards, self.workspace, plan, source=source)
        return self._changes(n_blocks, *changed)

    def _changes(self, n_blocks: int, observations: Int64s, tables: Int64s) -> Changes:
        counts = tuple(self.block(block, n_blocks) for block in range(n_blocks))
        return Changes(observations, tables, opened_here(self.state), counts, bursts_here(self.state))

    def assignment(self) -> Assignment:
        """The documents of this worker to whose customers dishes are to be assigned; all topics are drawn."""
        return self._assigning().assignment(self.state, self.workspace.topics_of)

    def assign(self, found: Assignment, rows: npt.NDArray[np.int64], n_blocks: int) -> Changes:
        """Assign dishes to customers of this worker; returns changes as `sweep` does."""
        changed = self.state.access.change(self._assigning().assign, self.state, found, rows)
        return self._changes(n_blocks, *changed)

    def block(self, block: int, n_blocks: int) -> bytes:
        """Changes of the counts of the terms i V // n to (i + 1) V // n - 1, after a sweep."""
        plan, _ = self._under_way()
        if self.assigned is not None:
            return self.assigned.block(block, n_blocks)
        found: bytes = self.workspace.take_changes(int(plan.slots.max()) + 1, block, n_blocks)
        return found

    def end(self, total: Changes) -> None:
        """Update dishes, the root and its weights, given the sum of the changes of all workers."""
        plan, _ = self._under_way()
        self.begun = self.assigned = None
        state = self.state
        # Arrays from another process may begin at any byte.
        observations, tables = (
            np.require(one, requirements=["C", "A"]) for one in (total.observations, total.tables)
        )
        with state.root.weights.births_given():
            run_unchecked(state, settle_shards, plan, observations, tables, total.counts)
        if state.whole_corpus is not None:
            state.whole_corpus.opened = total.opened
            take_bursts(state.bank, total.bursts)
        self._weigh(plan)

    def _under_way(self) -> tuple[DocumentPlan, ChoiceSource]:
        if self.begun is None:
            raise StateError("sweep", None, "begun", "Call begin first.")
        return self.begun

    def _assigning(self) -> Assigned:
        if self.assigned is None:
            raise StateError("sweep", None, "begun", "Call begin_assigned first.")
        return self.assigned


def opened_here(state: Any) -> npt.NDArray[np.int64]:
    """Number of documents of the franchise with t tables, for t = 0, 1, ...."""
    found: npt.NDArray[np.int64] = np.bincount(totals(state.seating, state.topology.n_nodes)[1][1:])
    return found


def bursts_here(state: Any) -> CountedBursts | None:
    """Numbers of the customers of the franchise's documents where topics differ by document."""
    return CountedBursts(*state.bank.counted()) if state.measure.seats_values else None


def take_bursts(bank: Any, bursts: CountedBursts | None) -> None:
    """Let a bank over some documents of a corpus have these numbers, those of all documents."""
    if bursts is not None:  # arrays from another process may begin at any byte
        arrays = bursts.customers, bursts.totals, bursts.cells
        bank.take_whole(*(np.require(one, np.int64, ["C", "A"]) for one in arrays))


def _free_slots(slots: Any, occupied: Int32s, n: int) -> npt.NDArray[np.int64]:
    """The n smallest free slots."""
    taken = [*occupied.tolist(), *slots.held_slots(), *slots.reserved_slots()]
    return np.setdiff1d(np.arange(n + len(taken)), taken)[:n]
