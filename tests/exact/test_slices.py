"""Documents given topics and root weights: the kernel by enumeration, draws for analysis, planted bugs."""

import numpy as np
import pytest
from bugs import BURSTY_DOCUMENT_FAULTS, DOCUMENT_FAULTS
from bugs.planting import planted_fault
from slice_model import BurstyModel, Model, franchise

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams

CASES = {"one document": [[0, 2]], "two documents": [[0], [2]]}

BOUND = 0.1  # one label has a smaller weight

BURSTY = {"two terms": [[0, 0]], "three terms": [[0, 0, 2]], "two documents": [[2, 2], [2]]}


@pytest.mark.parametrize("least", [0.0, BOUND], ids=["all labels", "labels above a bound"])
@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
@pytest.mark.parametrize("case", CASES)
def test_a_sweep_leaves_the_law_given_topics_and_weights_invariant(case, integrated, kernel, least):
    model = Model(CASES[case], kernel, integrated, least)
    P = model.matrix()
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


LAWS = [(0.1, 0.0), (100.0, 0.3), (0.4, 0.3)]


@pytest.mark.parametrize(
    ("kernel", "integrated"), [("fused", True), ("reference", True), ("reference", False)]
)
@pytest.mark.parametrize(
    ("case", "bursts"),
    [(case, law) for case in BURSTY for law in LAWS[: 1 if len(BURSTY[case]) == 2 else 3]],
)
def test_a_sweep_over_terms_that_repeat_leaves_the_law_invariant(case, bursts, integrated, kernel):
    for least in (0.0, BOUND)[: 2 if len(BURSTY[case]) == 1 and len(BURSTY[case][0]) == 2 else 1]:
        model = BurstyModel(BURSTY[case], kernel, integrated, bursts, least)
        _check_invariance(model)


def _check_invariance(model):
    P = model.matrix()
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


@pytest.mark.parametrize("fault", DOCUMENT_FAULTS, ids=lambda fault: fault.name)
def test_planted_bugs_are_caught(fault):
    name = "two documents" if "document before" in fault.name else "one document"
    model = Model(CASES[name], "fused", True, BOUND if "bound" in fault.name else 0.0)
    with planted_fault(fault):
        P = model.matrix(audited=False)
    assert np.abs(model.pi @ P - model.pi).max() > 1e-6


@pytest.mark.parametrize("fault", BURSTY_DOCUMENT_FAULTS, ids=lambda fault: fault.name)
def test_planted_bugs_over_terms_that_repeat_are_caught(fault):
    discount = 0.0 if fault.name == "one customer less" else 0.3
    model = BurstyModel(BURSTY["two terms"], "fused", True, (0.8, discount))
    with planted_fault(fault):
        P = model.matrix(audited=False)
    assert np.abs(model.pi @ P - model.pi).max() > 1e-6


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
