"""Sweeps over cells: splitting a cell equals in law drawing its customers one by one; planted bugs."""

import itertools
from collections import Counter

import numpy as np
import pytest
from bugs import CELL_FAULTS
from bugs.planting import planted_fault
from slice_model import law_of_tables

import hdpkit as hk
from hdpkit.moves.document_sweeps import DocumentPlan, DocumentSweeps
from hdpkit.random import ScriptedSource, Streams

# Labels: two that no slice cuts off, two below the threshold.
WEIGHTS = np.array([0.45, 0.35, 0.15, 0.05])
THRESHOLD = 0.3
TOPICS = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.5, 0.25, 0.25]])
XI = np.minimum(WEIGHTS, THRESHOLD)
K = len(WEIGHTS)


def franchise(counts, burst=None):
    measure = hk.DirichletMultinomial(0.5, n_terms=3)
    if burst is not None:
        measure = hk.Bursty(measure, burst)
    base = hk.Restaurant(base=measure, concentration=1.5)
    document = hk.Restaurant(base=base, concentration=0.7, each="document")
    return hk.Franchise(document, hk.Corpus.from_counts(counts), store="counts", root="weights")


def one_customer(theta, topics):
    """Law of a customer's next label, a row per label: slice u ~ U(0, xi), then theta phi / xi if xi > u."""
    P = np.zeros((K, K))
    ends = np.concatenate([[0.0], np.unique(XI)])
    for z in range(K):
        for low, high in itertools.pairwise(ends):
            if high > XI[z]:
                continue
            open_ = high <= XI
            weights = np.where(open_, theta * topics / XI, 0.0)
            P[z] += (high - low) / XI[z] * weights / weights.sum()
    return P


def of_cell(P, customers):
    """Law of a cell's counts by label, given the labels of its customers: those are independent."""
    law = {(0,) * K: 1.0}
    for z in customers:
        more = Counter()
        for counts, p in law.items():
            for k in range(K):
                more[(*counts[:k], counts[k] + 1, *counts[k + 1 :])] += p * P[z, k]
        law = dict(more)
    return law


class Splits(ScriptedSource):
    """A script of the splits alone: each document keeps one table of a dish, which has no part in them."""

    def bernoulli(self, p):
        return False


class Model:
    """A document, or two, of few customers; states are counts of labels by cell."""

    def __init__(self, counts, theta=None):
        self.counts = np.array(counts)
        self.franchise = franchise(self.counts)
        self.cells = self.franchise.topology.cells
        generator = np.random.default_rng(3)
        drawn = generator.dirichlet(np.ones(K), size=len(self.counts))
        self.theta = drawn if theta is None else np.array(theta, dtype=float)

    def states(self):
        each = [
            sorted({tuple(np.bincount(z, minlength=K)) for z in itertools.product(range(K), repeat=int(n))})
            for n in self.cells.count
        ]
        return list(itertools.product(*each))

    def enter(self, state):
        """Seat everybody; label k has slot k if it has customers, for a set of used labels from 0."""
        fr, source = self.franchise, Streams(1).source(1)
        fr.clear()
        used = [k for k in range(K) if sum(cell[k] for cell in state)]
        slot = {k: fr.open_dish(source) for k in used}
        runs = np.array([sum(n > 0 for n in cell) for cell in state], dtype=np.int32)
        pairs = [(slot[k], n) for cell in state for k, n in enumerate(cell) if n]
        dish, count = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
        fr.population.enter(runs, dish, count, source)
        free = iter(sorted(set(range(K)) - set(slot.values())))
        return {k: slot[k] if k in slot else next(free) for k in range(K)}

    script = Splits

    def given(self, slot):
        """Further entries of a plan."""
        return {}

    def topics(self, document):
        """Topics of a document, a row by label."""
        return TOPICS

    def law_from(self, state, few, audited=True):
        law, source = Counter(), self.script()
        while True:
            with self.franchise.lock():  # taken once, as a scheduler does, and not by each step
                slot = self.enter(state)
            order = np.argsort([slot[k] for k in range(K)])
            proportions = np.zeros((1 + len(self.theta), 16))
            for k, at in slot.items():
                proportions[1:, at] = self.theta[:, k]
            plan = DocumentPlan(
                np.arange(K, dtype=np.int32), WEIGHTS[order], 0.0, THRESHOLD,
                self.franchise.measure, None, integrated=False, few=few,
                topics=np.ascontiguousarray(TOPICS[order]), proportions=proportions, **self.given(slot),
            )  # fmt: skip
            DocumentSweeps.of(self.franchise).run(plan, source)
            label = {at: k for k, at in slot.items()}
            law[self.read(label)] += source.probability
            if not source.advance():
                break
        if audited:
            self.franchise.audit()
        return law

    def read(self, label):
        runs, dish, count = self.franchise.store.cell_runs()
        found, place = [], 0
        for n in runs.tolist():
            cell = [0] * K
            for r in range(place, place + n):
                cell[label[int(dish[r])]] += int(count[r])
            place += n
            found.append(tuple(cell))
        return tuple(found)

    def expected(self, state):
        """Cell by cell, one customer after the other."""
        law = {(): 1.0}
        documents = self.cells.documents()
        for cell, counts in enumerate(state):
            topics = self.topics(documents[cell])[:, self.cells.term[cell]]
            P = one_customer(self.theta[documents[cell]], topics)
            own = of_cell(P, [k for k, n in enumerate(counts) for _ in range(n)])
            law = {(*before, after): p * q for before, p in law.items() for after, q in own.items()}
        return law

    def distance(self, state, few, audited=True):
        found, expected = self.law_from(state, few, audited), self.expected(state)
        assert abs(sum(found.values()) - 1.0) < 1e-12
        return max(abs(found[key] - expected.get(key, 0.0)) for key in {*found, *expected})


class BurstyModel(Model):
    """The same where topics differ by document, with given topics of the documents; tables are not read."""

    def __init__(self, counts, theta=None, burst=0.8):
        super().__init__(counts, theta)
        self.franchise, self.burst = franchise(self.counts, burst), burst
        self.own = np.random.default_rng(5).dirichlet(np.ones(3), size=(len(self.counts), K))

    def given(self, slot):
        own = np.zeros((len(self.counts), 16, 3))
        for k, at in slot.items():
            own[:, at] = self.own[:, k]
        return {"own": own}

    def topics(self, document):
        return self.own[document]


class TablesModel(BurstyModel):
    """With the numbers of tables of each label in each cell."""

    script = ScriptedSource

    def read(self, label):
        cells, tables = super().read(label), iter(self.franchise.bank.freeze()["run_tables"].tolist())
        _, dish, _ = self.franchise.store.cell_runs()
        runs, place, found = self.franchise.store.cell_runs()[0].tolist(), 0, []
        for n in runs:
            one = [0] * K
            for r in range(place, place + n):
                one[label[int(dish[r])]] = next(tables)
            place += n
            found.append(tuple(one))
        return cells, tuple(found)

    def expected(self, state):
        law = Counter()
        for cells, p in super().expected(state).items():
            laws = []
            for cell, counts in enumerate(cells):
                for k, n in enumerate(counts):
                    mass = self.burst * TOPICS[k, self.cells.term[cell]]
                    laws.append(enumerate(law_of_tables(n, mass)) if n else [(0, 1.0)])
            for each in itertools.product(*map(list, laws)):
                tables = [t for t, _ in each]
                found = tuple(tuple(tables[i : i + K]) for i in range(0, len(tables), K))
                law[cells, found] += p * np.prod([q for _, q in each])
        return law


CASES = {
    "a cell of three": ([[3, 0, 0]], None),
    "two cells": ([[2, 0, 1]], None),
    "two documents": ([[1, 0, 0], [1, 0, 1]], None),
    "a label without a proportion": ([[2, 1, 0]], [[0.5, 0.2, 0.0, 0.3]]),
    "no proportion below the threshold": ([[3, 0, 0]], [[0.6, 0.4, 0.0, 0.0]]),
}


@pytest.mark.parametrize("few", [0, 1, 9], ids=["binomial", "both", "one by one"])
@pytest.mark.parametrize("case", CASES)
def test_a_cell_is_split_as_its_customers_are_drawn_one_by_one(case, few):
    model = Model(*CASES[case])
    states = model.states()
    for state in states[1 :: max(1, len(states) // 2)]:
        assert model.distance(state, few) < 1e-12


@pytest.mark.parametrize("few", [0, 9], ids=["binomial", "one by one"])
@pytest.mark.parametrize("case", CASES)
def test_the_same_where_topics_differ_by_document(case, few):
    model = BurstyModel(*CASES[case])
    states = model.states()
    for state in states[1 :: max(1, len(states) // 2)]:
        assert model.distance(state, few) < 1e-12


@pytest.mark.parametrize("counts", [[[3, 0, 0]], [[2, 0, 1]], [[1, 0, 0], [0, 2, 0]]])
def test_tables_have_their_law_given_the_customers_and_the_topics(counts):
    model = TablesModel(counts, None if len(counts) == 1 else [[0.5, 0.5, 0.0, 0.0]] * 2)
    states = model.states()
    for state in states[1 :: max(1, len(states) // 2)]:
        assert model.distance(state, 9) < 1e-12


@pytest.mark.parametrize("fault", CELL_FAULTS, ids=lambda fault: fault.name)
def test_planted_bugs_are_caught(fault):
    model = Model(*CASES["two documents"])
    with planted_fault(fault):
        assert max(model.distance(state, 0, audited=False) for state in model.states()[1::29]) > 1e-3
