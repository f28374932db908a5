"""A sweep over documents given topics and weights, with every assignment of labels and its law."""

import itertools
from collections import Counter

import attrs
import numpy as np
from marginals import stirling

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.moves.document_sweeps import DocumentPlan, DocumentSweeps
from hdpkit.random import Streams
from hdpkit.testing.exact import outcomes

# Labels: two that no slice cuts off, two below the threshold; what is left is nothing.
WEIGHTS = np.array([0.45, 0.35, 0.15, 0.05])
THRESHOLD = 0.3
TOPICS = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.5, 0.25, 0.25]])
ALPHA = 0.7


def franchise(documents, kernel="auto", store="counts", bursts=None):
    measure = hk.DirichletMultinomial(0.5, n_terms=3)
    if bursts is not None:
        inner = DirichletMultinomialReference(0.5, n_terms=3) if kernel == "reference" else measure
        measure = hk.Bursty(inner, *bursts)
    base = hk.Restaurant(base=measure, concentration=1.5)
    document = hk.Restaurant(base=base, concentration=ALPHA, each="document")
    corpus = hk.Corpus.from_documents([[str(x) for x in d] for d in documents], vocabulary=["0", "1", "2"])
    return hk.Franchise(document, corpus, store=store, root="weights", kernel=kernel)


class Model:
    """Every assignment of labels to customers, and its law given topics and weights."""

    labels = range(len(WEIGHTS))

    def __init__(self, documents, kernel, integrated, least=0.0):
        self.least = least
        self.franchise = franchise(documents, kernel)
        self.integrated = integrated
        self.terms = [x for d in documents for x in d]
        self.home = [j for j, d in enumerate(documents) for _ in d]
        self.states = list(itertools.product(self.labels, repeat=len(self.terms)))
        generator = np.random.default_rng(3)
        self.theta = generator.dirichlet(np.ones(len(WEIGHTS)), size=len(documents))
        law = np.array([self.density(z) for z in self.states])
        self.pi = law / law.sum()

    def density(self, z):
        p = np.prod([TOPICS[k, v] for k, v in zip(z, self.terms, strict=True)])
        if not self.integrated:
            return p * np.prod([self.theta[j, k] for j, k in zip(self.home, z, strict=True)])
        for i, (j, k) in enumerate(zip(self.home, z, strict=True)):
            before = sum(1 for a in range(i) if self.home[a] == j and z[a] == k)
            p *= before + ALPHA * WEIGHTS[k]
        return p

    def enter(self, z):
        """Seat everybody; returns the slot of each label."""
        fr, source = self.franchise, Streams(1).source(1)
        fr.clear()
        used = sorted(set(z))
        slot = {k: fr.open_dish(source) for k in used}
        fr.enter_given(np.array([slot[k] for k in z], dtype=np.int32), 0, len(z), source)
        free = iter(sorted(set(range(len(self.labels))) - set(slot.values())))
        return {k: slot[k] if k in slot else next(free) for k in self.labels}

    def plan(self, slot):
        order = np.array(self.labels)[np.argsort([slot[k] for k in self.labels])]
        fr = self.franchise
        proportions = np.zeros((1 + len(self.theta), 64))
        for k, at in slot.items():
            proportions[1:, at] = self.theta[:, k]
        return DocumentPlan(
            np.arange(len(self.labels), dtype=np.int32),
            WEIGHTS[order],
            1.0 - float(WEIGHTS[order].sum()),
            THRESHOLD,
            fr.measure,
            fr.data.values,
            integrated=self.integrated,
            least=self.least,
            topics=np.ascontiguousarray(TOPICS[order]),
            proportions=None if self.integrated else np.ascontiguousarray(proportions[:, : self.stride]),
        )

    stride = 16

    def swept(self, z, source):
        """Make a sweep from a state; returns the slot of each label and the customers' slots afterwards."""
        with self.franchise.lock():  # taken once, as a scheduler does, and not by each step
            slot = self.enter(z)
            DocumentSweeps.of(self.franchise).run(self.plan(slot), source)
        return slot, self.franchise.seating.dishes().tolist()

    def matrix(self, audited=True):
        place = {z: i for i, z in enumerate(self.states)}
        P = np.zeros((len(self.states), len(self.states)))
        for start, z in enumerate(self.states):

            def run(source, z=z):
                slot, dishes = self.swept(z, source)
                label = {at: k for k, at in slot.items()}
                return place[self.read(tuple(label[at] for at in dishes))]

            for after, probability in outcomes(run):
                P[start, after] += probability
            if audited:
                self.check()
        return P

    def read(self, z):
        """The state with these labels that the franchise is in."""
        return z

    def check(self):
        """Check the state that a sweep left."""
        self.franchise.audit()


class BurstyModel(Model):
    """The same where topics differ by document: a state is the labels, and the numbers of tables of terms."""

    def __init__(self, documents, kernel, integrated, bursts, least=0.0):
        self.labels = range(4) if sum(map(len, documents)) < 3 else (1, 2)
        super().__init__(documents, kernel, integrated, least)
        self.franchise = franchise(documents, kernel, bursts=bursts)
        self.b, self.a = bursts
        labels = self.states
        self.states = [
            (z, t)
            for z in labels
            for t in itertools.product(*(range(1, c + 1) for c in self.cells(z).values()))
        ]
        law = np.array([Model.density(self, z) * self.seating(z, t) for z, t in self.states])
        self.pi = law / law.sum()

    def density(self, z):
        return 1.0

    def cells(self, z):
        return dict(sorted(Counter(zip(self.home, z, self.terms, strict=True)).items()))

    def seating(self, z, t):
        """p(terms, tables | labels, topics) over the product of the topics of the terms."""
        cells, p = self.cells(z), 1.0
        n, opened = Counter(), Counter()
        for ((j, k, v), c), tables in zip(cells.items(), t, strict=True):
            p *= stirling(c, tables, self.a) * TOPICS[k, v] ** (tables - c)
            n[j, k] += c
            opened[j, k] += tables
        for pair in n:
            p *= np.prod([self.b + self.a * i for i in range(opened[pair])])
            p /= np.prod([self.b + i for i in range(n[pair])])
        return p

    def enter(self, state):
        slot, fr = super().enter(state[0]), self.franchise
        fr.bank.thaw({"opens": self.opens(state)})
        fr.bank.rebuild(fr.seating.dishes(), fr.slots.occupied_slots())
        return slot

    def opens(self, state):
        """Which customers represent the tables of a state."""
        z, t = state
        left = dict(zip(self.cells(z), t, strict=True))
        opens = np.zeros(len(z), dtype=np.int8)
        for i, cell in enumerate(zip(self.home, z, self.terms, strict=True)):
            opens[i] = left[cell] > 0
            left[cell] -= 1
        return opens

    def tables(self):
        """Which customers represent tables after a sweep."""
        return self.franchise.bank.freeze()["opens"]

    def read(self, z):
        opens, tables = self.tables(), Counter()
        for i, cell in enumerate(zip(self.home, z, self.terms, strict=True)):
            tables[cell] += int(opens[i])
        return z, tuple(tables[cell] for cell in self.cells(z))


def holding(model, group):
    """Let a model of sweeps hold a document, whatever it is entered with."""
    franchise, enter, sweep = model.franchise, model.enter, DocumentSweeps.of(model.franchise).run

    def entered(state):
        franchise.release()
        slots = enter(state)
        franchise.hold([group])
        return slots

    model.enter = entered
    DocumentSweeps.of(franchise).run = lambda plan, source: sweep(
        attrs.evolve(plan, held=franchise.held.mask), source
    )
    return model
