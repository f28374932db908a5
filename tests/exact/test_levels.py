"""Sweeps over cells, and with levels above the documents: laws by enumeration, and planted bugs."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from bugs import CELL_FAULTS, LEVEL_FAULTS
from bugs.planting import planted_fault
from marginals import law_of_tables, stirling
from scipy.special import betaln, roots_jacobi
from slice_model import THRESHOLD as SLICES_BELOW
from slice_model import TOPICS as OF_LABELS
from slice_model import WEIGHTS as LABELS
from slice_model import Model as SliceModel

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.moves.document_sweeps import DocumentPlan, DocumentSweeps
from hdpkit.random import STARTS, Streams
from hdpkit.testing.exact import law_of

ALPHA, ABOVE = 0.7, 1.3  # concentrations of documents, and of what is above them


def franchise(counts, labels, root="weights", burst=None, **options):
    """Documents below restaurants of these labels, the outermost first."""
    measure = hk.DirichletMultinomial(0.5, n_terms=len(counts[0]))
    above = hk.Restaurant(measure if burst is None else hk.Bursty(measure, burst), concentration=1.5)
    for name in labels:
        above = hk.Restaurant(base=above, concentration=ABOVE, each=name)
    document = hk.Restaurant(base=above, concentration=ALPHA, each="document")
    corpus = hk.Corpus.from_counts(np.array(counts), groups=labels or None)
    return hk.Franchise(document, corpus, store="counts", root=root, **options)


class Levels:
    """A franchise, whose states are counts of labels by cell and tables of all restaurants by label."""

    def __init__(self, counts, labels, K, **options):
        self.franchise = franchise(counts, labels, **options)
        self.tree, self.K = self.franchise.topology, K
        self.cells = self.tree.cells
        self.n, self.first = self.tree.n_nodes, self.tree.first[-1]
        self.alpha = self.franchise.hyperparameters.theta

    def read(self, label):
        """The state: cells, and tables by restaurant below the root."""
        frozen, found, place = self.franchise.store.freeze(), [], 0
        for runs in frozen["cell_runs"].tolist():
            cell = [0] * self.K
            for r in range(place, place + runs):
                cell[label[int(frozen["run_dish"][r])]] += int(frozen["run_count"][r])
            place += runs
            found.append(tuple(cell))
        tables = np.zeros((self.n, self.K), dtype=int)
        columns = (frozen[name].tolist() for name in ("count_node", "count_dish", "count_tables"))
        for node, dish, t in zip(*columns, strict=True):
            tables[node, label[dish]] = t
        return tuple(found), tuple(tables[1:].ravel().tolist())

    def law_of(self, plan, label, enter=lambda: None):
        """Law of the state after a sweep."""

        def run(source):
            with self.franchise.lock():
                enter()
                DocumentSweeps.of(self.franchise).run(plan, source)
            return self.read(label)

        return law_of(run)

    def with_tables(self, cells, weights):
        """Law of the tables of all restaurants, given dishes and the weights that each draws from."""
        eaten = np.zeros((self.n, self.K), dtype=int)
        for cell, document in zip(cells, self.cells.documents().tolist(), strict=True):
            eaten[self.first + document] += cell
        law = {((), tuple(map(tuple, eaten.tolist()))): 1.0}
        for node in range(self.n - 1, 0, -1):
            after = Counter()
            for (tables, customers), p in law.items():
                each = [
                    law_of_tables(customers[node][k], self.alpha[node] * weights[node, k])
                    for k in range(self.K)
                ]
                for own in itertools.product(*(range(len(one)) for one in each)):
                    q = math.prod(one[t] for one, t in zip(each, own, strict=True))
                    if q == 0.0:
                        continue
                    there = [list(row) for row in customers]
                    for k, t in enumerate(own):
                        there[self.tree.parent[node]][k] += t
                    after[(*own, *tables), tuple(map(tuple, there))] += p * q
            law = after
        return {tables: p for (tables, _), p in law.items()}


# Labels: one that no slice cuts off, two below the threshold.
WEIGHTS, THRESHOLD = np.array([0.6, 0.25, 0.15]), 0.3
TOPICS = np.array([[0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
XI = np.minimum(WEIGHTS, THRESHOLD)
SHAPES = {
    "two types": ([[2, 0], [0, 1]], {"type": ["a", "b"]}),
    "two documents of a type": ([[1, 0], [1, 1]], {"type": ["a", "a"]}),
    "a document without a type": ([[2, 0], [0, 1]], {"type": ["a", None]}),
    "four levels": ([[2, 0], [0, 1]], {"organ": ["x", "x"], "type": ["a", "b"]}),
}
TWO_LEVELS = {
    "two levels": ([[2, 0], [0, 1]], {}),
    "a cell of three": ([[3, 0]], {}),
    "two cells": ([[2, 1]], {}),
    "a label without a proportion": ([[2, 1]], {}),
    "no proportion below the threshold": ([[3, 0]], {}),
}
PROPORTIONS = {
    "a label without a proportion": [0.7, 0.0, 0.3],
    "no proportion below the threshold": [1, 0, 0],
}


class Given(Levels):
    """Weights and proportions that are numbers."""

    burst = None

    def __init__(self, shape):
        super().__init__(*(SHAPES | TWO_LEVELS)[shape], len(WEIGHTS), burst=self.burst)
        drawn = np.random.default_rng(3)
        self.theta = drawn.dirichlet(np.ones(self.K), size=self.n)
        self.theta[self.first :] = PROPORTIONS.get(shape, self.theta[self.first :])
        own = drawn.dirichlet(np.ones(self.K), size=self.n)
        own[0] = WEIGHTS
        self.own, self.above = own, own[np.maximum(self.tree.parent, 0)]

    def states(self):
        each = [
            sorted(
                {
                    tuple(np.bincount(z, minlength=self.K))
                    for z in itertools.product(range(self.K), repeat=int(n))
                }
            )
            for n in self.cells.count
        ]
        return list(itertools.product(*each))

    def enter(self, state):
        fr, source = self.franchise, Streams(1).source(1)
        fr.clear()
        slot = {k: fr.open_dish(source) for k in range(self.K) if any(cell[k] for cell in state)}
        runs = np.array([sum(n > 0 for n in cell) for cell in state], dtype=np.int32)
        pairs = [(slot[k], n) for cell in state for k, n in enumerate(cell) if n]
        dish, count = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
        fr.population.enter(runs, dish, count, source)
        free = iter(sorted(set(range(self.K)) - set(slot.values())))
        return [slot[k] if k in slot else next(free) for k in range(self.K)]

    def law_from(self, state, few):
        slots = self.enter(state)
        by_slot = np.zeros((2, self.n, 16))
        by_slot[0][:, slots], by_slot[1][:, slots] = self.theta, self.own
        order = np.argsort(slots)
        plan = DocumentPlan(
            np.arange(self.K, dtype=np.int32), WEIGHTS[order], 0.0,
            THRESHOLD, self.franchise.measure, None, integrated=False, few=few,
            topics=np.ascontiguousarray(TOPICS[order]), proportions=by_slot[0], above=by_slot[1],
            **self.further(slots),
        )  # fmt: skip
        return self.law_of(plan, {slot: k for k, slot in enumerate(slots)}, lambda: self.enter(state))

    def further(self, slots):
        """Further entries of a plan."""
        return {}

    def topics(self, document):
        """Topics of a document, a row by label."""
        return TOPICS

    def one_customer(self, theta, of_term):
        """Law of the next label, a row per label: slice u ~ U(0, xi), then theta phi / xi if xi > u."""
        P, ends = np.zeros((self.K, self.K)), np.concatenate([[0.0], np.unique(XI)])
        for z in range(self.K):
            for low, high in itertools.pairwise(ends[ends <= XI[z]]):
                weights = np.where(high <= XI, theta * of_term / XI, 0.0)
                P[z] += (high - low) / XI[z] * weights / weights.sum()
        return P

    def law_of_cell(self, cell, document, term):
        """Law of a cell: its customers are drawn one by one."""
        P = self.one_customer(self.theta[self.first + document], self.topics(document)[:, term])
        own = {(0,) * self.K: 1.0}
        for z in [k for k, n in enumerate(cell) for _ in range(n)]:
            more = Counter()
            for counts, p in own.items():
                for k in range(self.K):
                    more[(*counts[:k], counts[k] + 1, *counts[k + 1 :])] += p * P[z, k]
            own = more
        return own

    def expected(self, state):
        law = {(): 1.0}
        for cell, document, term in zip(state, self.cells.documents(), self.cells.term, strict=True):
            own = self.law_of_cell(cell, document, term)
            law = {(*before, after): p * q for before, p in law.items() for after, q in own.items()}
        return {
            (cells, tables): p * q
            for cells, p in law.items()
            for tables, q in self.with_tables(cells, self.above).items()
        }

    def distance(self, state, few):
        found, expected = self.law_from(state, few), self.expected(state)
        assert abs(sum(found.values()) - 1.0) < 1e-12
        return max(abs(found[key] - expected.get(key, 0.0)) for key in {*found, *expected})


class BurstyGiven(Given):
    """The same where topics differ by document, which are given, and with the tables of the cells."""

    burst = 0.8

    def __init__(self, shape):
        super().__init__(shape)
        n, V = len(self.franchise.topology.cells.documents()), len(TOPICS[0])
        self.own_topics = np.random.default_rng(5).dirichlet(np.ones(V), size=(n, self.K))

    def further(self, slots):
        own = np.zeros((self.n - self.first, 16, len(TOPICS[0])))
        own[:, slots] = self.own_topics[: len(own)]
        return {"own": own}

    def topics(self, document):
        return self.own_topics[document]

    def read(self, label):
        tables = iter(self.franchise.bank.freeze()["run_tables"].tolist())
        runs, dish, _ = self.franchise.store.cell_runs()
        labels, found = iter([label[int(slot)] for slot in dish]), []
        for n in runs.tolist():
            own = {next(labels): next(tables) for _ in range(n)}
            found.append(tuple(own.get(k, 0) for k in range(self.K)))
        return *super().read(label), tuple(found)

    def expected(self, state):
        law = {}
        for (cells, tables), p in super().expected(state).items():
            each = [
                law_of_tables(n, self.burst * TOPICS[k, term])
                for cell, term in zip(cells, self.cells.term, strict=True)
                for k, n in enumerate(cell)
            ]
            for own in itertools.product(*(range(len(one)) for one in each)):
                of_cells = tuple(tuple(own[i : i + self.K]) for i in range(0, len(own), self.K))
                q = p * math.prod(one[t] for one, t in zip(each, own, strict=True))
                law[cells, tables, of_cells] = q
        return law


@pytest.mark.parametrize("few", [0, 1, 9], ids=["binomial", "both", "one by one"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [*((Given, one) for one in SHAPES | TWO_LEVELS), *((BurstyGiven, one) for one in TWO_LEVELS)],
)
def test_a_sweep_has_the_law_of_its_formulas(kind, shape, few):
    """A cell is split as its customers are drawn one by one."""
    model = kind(shape)
    states = model.states()
    for state in states[:: max(1, len(states) // 3)]:
        assert model.distance(state, few) < 1e-12
        model.franchise.audit()


@pytest.mark.parametrize("fault", CELL_FAULTS, ids=lambda fault: fault.name)
def test_planted_bugs_of_cells_change_the_law(fault):
    model = Given("two levels")
    with planted_fault(fault):
        assert max(model.distance(state, 0) for state in model.states()[1::5]) > 1e-3


@pytest.mark.parametrize("fault", LEVEL_FAULTS, ids=lambda fault: fault.name)
def test_planted_bugs_change_the_law(fault):
    model = Given("four levels" if fault.name == "tables of the root" else "two types")
    with planted_fault(fault):
        assert max(model.distance(state, 9) for state in model.states()[::7]) > 1e-3


KNOWN = hk.Known([[0.6, 0.4], [0.45, 0.55]], counts=60, frozen=[True, False])
PRIOR = 0.5 + 60 * np.array([0.45, 0.55])  # of the second topic
# Counts, labels, and how many points the proportions of a document need.
WHOLE = {
    "two levels": ([[2, 0], [0, 1]], {}, 8),
    "three levels": ([[2, 0], [0, 1]], {"type": ["a", "a"]}, 5),
    "one document has no type": ([[1, 1], [0, 1]], {"type": ["a", None]}, 5),
    "four levels": ([[1, 1]], {"organ": ["x"], "type": ["a"]}, 6),
}


def gauss(a, b, n):
    """Points and weights of Beta(a, b)."""
    x, w = roots_jacobi(n, b - 1.0, a - 1.0)
    return zip(((x + 1.0) / 2.0).tolist(), (w / w.sum()).tolist(), strict=True)


def tilted(x, a, b, n, m):
    """Density of Beta(a + n, b + m) in terms of that of Beta(a, b)."""
    return x**n * (1.0 - x) ** m * np.exp(betaln(a, b) - betaln(a + n, b + m))


class Whole(Levels):
    """A frozen component and one with pseudo-counts, the only dishes; every state and its posterior."""

    def __init__(self, shape, points=None):
        counts, labels, enough = WHOLE[shape]
        self.points, self.above_points = points or enough, 2 * (points or enough + 1)
        super().__init__(counts, labels, 2, root=hk.FixedWeights(2), known=KNOWN)
        start(self.franchise, "auto", Streams(0).source(STARTS))
        self.states = {}
        for cells in itertools.product(
            *([(i, n - i) for i in range(n + 1)] for n in self.cells.count.tolist())
        ):
            for tables in self.with_tables(cells, np.full((self.n, 2), 0.5)):
                self.states[cells, tables] = self.weight(cells, tables)
        total = sum(self.states.values())
        self.pi = np.array(list(self.states.values())) / total
        self.number = {state: i for i, state in enumerate(self.states)}
        keys = list(self.states)
        self.customers = np.array([self.customers_of(*key) for key in keys])
        self.of_second = np.array([self.terms_of_second(key[0]) for key in keys])

    def terms_of_second(self, cells):
        found = [0, 0]
        for cell, term in zip(cells, self.cells.term.tolist(), strict=True):
            found[term] += cell[1]
        return found

    def customers_of(self, cells, tables):
        customers = np.zeros((self.n, 2), dtype=int)
        for cell, document in zip(cells, self.cells.documents().tolist(), strict=True):
            customers[self.first + document] += cell
        for node, own in enumerate(np.array(tables).reshape(-1, 2), start=1):
            customers[self.tree.parent[node]] += own
        return customers

    def weight(self, cells, tables):
        """p(state, data) up to a factor: numbers of seatings, topics and weights integrated out."""
        log = 0.0
        for cell, term in zip(cells, self.cells.term.tolist(), strict=True):
            log += math.log(math.comb(sum(cell), cell[0])) + cell[0] * math.log(KNOWN.matrix[0, term])
        n = np.array(self.terms_of_second(cells))
        log += betaln(*(PRIOR + n)) - betaln(*PRIOR)
        customers = self.customers_of(cells, tables)
        for node, own in enumerate(np.array(tables).reshape(-1, 2), start=1):
            alpha, total = self.alpha[node], int(customers[node].sum())
            log += math.lgamma(alpha) - math.lgamma(alpha + total) + own.sum() * math.log(alpha)
            log += sum(math.log(stirling(int(m), int(t))) for m, t in zip(customers[node], own, strict=True))
        return math.exp(log - customers[0].sum() * math.log(2.0))

    def plan(self, topic, above, theta):
        by_slot = np.zeros((2, self.n, 16))
        by_slot[0][:, 0], by_slot[0][:, 1] = theta, 1.0 - theta
        by_slot[1][:, 0], by_slot[1][:, 1] = above, 1.0 - above
        return DocumentPlan(
            np.arange(2, dtype=np.int32), np.full(2, 0.5), 0.0, 0.5,
            self.franchise.measure, None, integrated=False,
            topics=np.array([KNOWN.matrix[0], [topic, 1.0 - topic]]), proportions=by_slot[0],
            above=by_slot[1],
        )  # fmt: skip

    def after(self, stale=False):
        """The law of the state after a move, if it had the posterior before; and the sum of all weights."""
        total, reached = np.zeros(len(self.pi)), np.zeros(len(self.pi))
        theta, above = np.full(self.n, 0.5), np.full(self.n, 0.5)

        def descend(node, weights, topic):
            if node == self.n:
                law = np.zeros(len(self.pi))
                for state, p in self.law_of(self.plan(topic, above, theta), {0: 0, 1: 1}).items():
                    if state in self.number:  # a bug may leave one that is none
                        law[self.number[state]] += p
                total[:] += weights
                reached[:] += law * float(self.pi @ weights)
                return
            between = node < self.first
            of = above[self.tree.parent[node]]
            a, b = self.alpha[node] * of, self.alpha[node] * (1.0 - of)
            n, m = self.customers[:, node].T * (0 if stale and between else 1)
            for x, w in gauss(a, b, self.above_points if between else self.points):
                (above if between else theta)[node] = x
                descend(node + 1, weights * w * tilted(x, a, b, n, m), topic)

        for topic, w in gauss(*PRIOR, 5):
            descend(1, w * tilted(topic, *PRIOR, *self.of_second.T), topic)
        return reached, total


@pytest.mark.parametrize("shape", WHOLE)
def test_a_move_leaves_the_posterior_invariant(shape):
    model = Whole(shape)
    reached, total = model.after()
    assert np.abs(total - 1.0).max() < 1e-12
    assert np.abs(reached - model.pi).max() < 1e-12
    model.franchise.audit()


def test_weights_of_before_move_the_posterior():
    model = Whole("one document has no type", points=4)
    reached, _ = model.after(stale=True)
    assert np.abs(reached - model.pi).max() > 1e-4


class Customers(SliceModel):
    """Customers of documents below types, labels drawn one by one; every assignment and its law."""

    def __init__(self, documents, types, integrated):
        above = hk.Restaurant(base=hk.DirichletMultinomial(0.5, n_terms=3), concentration=1.5)
        above = hk.Restaurant(base=above, concentration=ABOVE, each="type")
        document = hk.Restaurant(base=above, concentration=ALPHA, each="document")
        corpus = hk.Corpus.from_documents(documents, n_terms=3, groups={"type": types})
        self.franchise = hk.Franchise(document, corpus, store="counts", root="weights")
        self.integrated = integrated
        tree = self.franchise.topology
        self.terms, self.home = corpus.values.tolist(), tree.home.tolist()
        self.states = list(itertools.product(range(len(LABELS)), repeat=len(self.terms)))
        drawn = np.random.default_rng(3)
        self.theta, self.own = drawn.dirichlet(np.ones(len(LABELS)), size=(2, tree.n_nodes))
        self.own[0] = LABELS
        self.above = self.own[np.maximum(tree.parent, 0)]
        law = np.array([self.density(z) for z in self.states])
        self.pi = law / law.sum()

    def density(self, z):
        p, seen = 1.0, Counter()
        for k, v, node in zip(z, self.terms, self.home, strict=True):
            share = seen[node, k] + ALPHA * self.above[node, k] if self.integrated else self.theta[node, k]
            p *= OF_LABELS[k, v] * share
            seen[node, k] += 1
        return p

    def plan(self, slot):
        labels = sorted(slot, key=slot.get)
        by_slot = np.zeros((2, len(self.own), self.stride))
        for k, at in slot.items():
            by_slot[0][:, at], by_slot[1][:, at] = self.theta[:, k], self.own[:, k]
        return DocumentPlan(
            np.arange(len(LABELS), dtype=np.int32), LABELS[labels], 0.0,
            SLICES_BELOW, self.franchise.measure, self.franchise.data.values, integrated=self.integrated,
            topics=np.ascontiguousarray(OF_LABELS[labels]), proportions=by_slot[0],
            above=by_slot[1],
        )  # fmt: skip


@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
@pytest.mark.parametrize(
    ("documents", "types"), [([[0], [2]], ["a", "b"]), ([[0, 2]], ["a"]), ([[0], [2]], ["a", None])]
)
def test_a_sweep_over_customers_leaves_the_law_invariant(documents, types, integrated):
    model = Customers(documents, types, integrated)
    P = model.matrix()
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12
