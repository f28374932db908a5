"""Documents given topics and root weights: the kernel by enumeration, draws for readers, planted bugs."""

import itertools

import numpy as np
import pytest
from hdpkit._compiled.fused_sweeps.fused_slices import FAULTS

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.slices import SlicePlan
from hdpkit.random import ScriptedSource, Streams

# Labels: two that no slice cuts off, two below the threshold; what is left is nothing.
WEIGHTS = np.array([0.45, 0.35, 0.15, 0.05])
THRESHOLD = 0.3
TOPICS = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2], [0.5, 0.25, 0.25]])
ALPHA = 0.7


def franchise(documents, kernel="auto", store="counts"):
    base = hk.Restaurant(base=hk.DirichletMultinomial(0.5, n_terms=3), concentration=1.5)
    document = hk.Restaurant(base=base, concentration=ALPHA, each="document")
    corpus = hk.Corpus.from_documents([[str(x) for x in d] for d in documents], vocabulary=["0", "1", "2"])
    return hk.Franchise(document, corpus, store=store, root="weights", kernel=kernel)


class Model:
    """Every assignment of labels to customers, and its law given topics and weights."""

    def __init__(self, documents, kernel, integrated):
        self.franchise = franchise(documents, kernel)
        self.integrated = integrated
        self.terms = [x for d in documents for x in d]
        self.home = [j for j, d in enumerate(documents) for _ in d]
        self.states = list(itertools.product(range(len(WEIGHTS)), repeat=len(self.terms)))
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
        free = iter(sorted(set(range(len(WEIGHTS))) - set(slot.values())))
        return {k: slot[k] if k in slot else next(free) for k in range(len(WEIGHTS))}

    def plan(self, slot, fault=0):
        order = np.argsort([slot[k] for k in range(len(WEIGHTS))])
        fr = self.franchise
        proportions = np.zeros((1 + len(self.theta), 64))
        for k, at in slot.items():
            proportions[1:, at] = self.theta[:, k]
        return SlicePlan(
            np.arange(len(WEIGHTS), dtype=np.int32),
            WEIGHTS[order],
            0.0,
            np.zeros(len(WEIGHTS), dtype=np.int8),
            THRESHOLD,
            fr.measure,
            fr.data.values,
            integrated=self.integrated,
            topics=np.ascontiguousarray(TOPICS[order]),
            proportions=None if self.integrated else np.ascontiguousarray(proportions[:, : self.stride]),
            fault=fault,
        )

    stride = 16

    def matrix(self, fault=0):
        place = {z: i for i, z in enumerate(self.states)}
        P = np.zeros((len(self.states), len(self.states)))
        for start, z in enumerate(self.states):
            source = ScriptedSource()
            while True:
                with self.franchise.turn():  # taken once, as a scheduler does, and not by each verb
                    slot = self.enter(z)
                    self.franchise._slices.sweep(self.plan(slot, fault), source)
                label = {at: k for k, at in slot.items()}
                after = tuple(label[at] for at in self.franchise.seating.dishes().tolist())
                P[start, place[after]] += source.probability
                if not source.advance():
                    break
            if not fault:
                self.franchise.audit()
        return P


CASES = {"one document": [[0, 2]], "two documents": [[0], [2]]}


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
@pytest.mark.parametrize("case", CASES)
def test_a_sweep_leaves_the_law_given_topics_and_weights_invariant(case, integrated, kernel):
    model = Model(CASES[case], kernel, integrated)
    P = model.matrix()
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


@pytest.mark.parametrize("fault", range(1, len(FAULTS)), ids=FAULTS[1:])
def test_planted_bugs_are_caught(fault):
    name = "two documents" if "document before" in FAULTS[fault] else "one document"
    model = Model(CASES[name], "fused", True)
    assert np.abs(model.pi @ model.matrix(fault) - model.pi).max() > 1e-6


def test_topics_and_proportions_are_drawn_given_the_state_and_hold_until_it_changes():
    fr = franchise([[0, 0, 1], [1, 2], [2, 2]])
    with pytest.raises(hk.errors.StateError, match="not drawn"):
        fr.drawn_topics()
    schedule = [
        moves.SliceGibbs(),
        moves.TableCounts(),
        moves.RootWeights(),
        moves.DrawTopics(),
        moves.DrawProportions(),
    ]
    kept = {"topics": lambda f: f.drawn_topics(), "shares": lambda f: f.drawn_proportions()}
    trace = hk.Scheduler(schedule).run(
        fr, sweeps=30, rng=1, record={k: (lambda f, g=g: float(np.sum(g(f)))) for k, g in kept.items()}
    )
    assert trace["topics"] == pytest.approx(trace["n_dishes"])
    assert trace["shares"] == pytest.approx(np.full(30, 3.0))
    assert np.array_equal(fr.drawn_topics(), fr.drawn_topics())
    moves.TableGibbs().apply(fr, Streams(1).source(1))
    with pytest.raises(hk.errors.StateError, match="drawn before"):
        fr.drawn_proportions()
    # The chain does not depend on what is drawn for readers.
    plain = franchise([[0, 0, 1], [1, 2], [2, 2]])
    hk.Scheduler(schedule[:3]).run(plain, sweeps=30, rng=1)
    again = franchise([[0, 0, 1], [1, 2], [2, 2]])
    hk.Scheduler(schedule).run(again, sweeps=30, rng=1)
    assert plain.dishes.tolist() == again.dishes.tolist()


@pytest.mark.parametrize("store", ["histogram", "counts"])
def test_draws_have_their_means(store):
    fr = franchise([[0, 0, 1], [1, 2], [2, 2]], store=store)
    hk.Scheduler([moves.TableGibbs()]).run(fr, sweeps=3, rng=0, init="one")
    streams, topics, shares = Streams(4), [], []
    for i in range(4000):
        fr.draw_topics(streams.source(1, i))
        fr.draw_proportions(streams.source(2, i))
        topics.append(fr.drawn_topics())
        shares.append(fr.drawn_proportions())
    assert np.mean(topics, axis=0) == pytest.approx(fr.dish_parameters(), abs=0.03)
    weights, rest = fr.root_weights()
    first = [np.sum(fr.dishes[:3] == k) + ALPHA * w for k, w in enumerate(weights)]
    assert np.mean(shares, axis=0)[0] == pytest.approx(np.append(first, ALPHA * rest) / (3 + ALPHA), abs=0.03)


def test_what_a_sweep_keeps_counts_as_memory():
    fr = franchise([[0, 0, 1], [1, 2], [2, 2]])
    hk.Scheduler([moves.TableGibbs()]).run(fr, sweeps=1, rng=0)
    assert "drawn topics" not in fr._reading.memory_parts()
    before = fr.memory_bytes()
    moves.SliceGibbs().apply(fr, Streams(1).source(1))
    kept = fr._reading.memory_parts()["drawn topics"]
    assert kept >= 4 * 3 * 16
    assert fr.memory_bytes() >= before + kept
