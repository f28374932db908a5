"""The fused sweep over words that repeat within documents: faults, states of many dishes, and production.

`tests/exact/test_bursty.py` enumerates the sweep on tiny models. Here every branch of single steps is taken
in states of many dishes: in doubles they agree with the generic kernel to 1e-12, and with the numbers of
production, which are floats, within a bound; draws of production have this law.
"""

import numpy as np
import pytest
from bugs.fused import BURST_FAULTS
from bugs.planting import planted_fault
from fused_cases import checks_of, corpus, p_of, total_variation
from marginals import dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit._compiled.fused_sweeps import fused_topics
from hdpkit._compiled.generic_sweeps import sweeps as generic
from hdpkit.errors import HdpkitError
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream, ScriptedSource
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import check_exact
from hdpkit.testing.exact_bursts import ExactBurstyModel
from hdpkit.testing.pvalues import SampledTests

VARIATION = 1e-6  # seen: below 3e-7
KINDS = [("histogram", "restaurant"), ("explicit", "restaurant"), ("counts", hk.FixedWeights(90))]
REPEATED = TinyShape({"document": [0, 0, 0, 1]}, 4)


def check_steps():
    """Words of one term and of two; each step against the posterior."""
    for terms in ([0, 0, 0, 1], [0, 0, 0, 0]):
        for store in ("histogram", "explicit"):
            measure = hk.Bursty(hk.DirichletMultinomial(0.5, n_terms=3), 2.0, 0.3)
            corner = Corner(0.9, 0.7, 0.3, 0.6)
            franchise = tiny_franchise(
                REPEATED, measure, store=store, kernel="fused", corner=corner, values=terms
            )
            model = ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))
            check_exact(model, moves.TableGibbs())


def check_counts():
    """After every branch of two steps all counts are those of a recount."""

    def audited(franchise, source):
        fused_topics.reseat(franchise.walk(), franchise.bank, 0, 2, source)
        franchise.audit()

    measure = hk.Bursty(hk.DirichletMultinomial(0.5, n_terms=3), 2.0, 0.3)
    franchise = tiny_franchise(REPEATED, measure, store="histogram", kernel="fused", values=[0, 0, 0, 1])
    state = ExactBurstyModel(franchise).enter(3).freeze()
    law = law_of(franchise, state, audited)
    assert abs(sum(law.values()) - 1.0) <= 1e-12


CHECKS = checks_of(globals())


@pytest.mark.parametrize("name", CHECKS)
def test_check_passes_without_a_fault(name):
    CHECKS[name]()


@pytest.mark.parametrize("fault", BURST_FAULTS, ids=lambda fault: fault.name)
def test_planted_fault_is_caught(fault):
    with planted_fault(fault), pytest.raises((AssertionError, HdpkitError, FloatingPointError)):
        CHECKS[fault.caught_by]()


# ------------------------------------------------------------------ many dishes


def state_of(store, root, discount=0.2):
    """Some dozens of dishes, with terms that repeat."""
    measure = hk.Bursty(hk.DirichletMultinomial(np.linspace(0.02, 0.4, 25)), 3.0, discount)
    d0, d = (0.2, 0.3) if root == "restaurant" else (0.0, 0.0)
    top = hk.Restaurant(measure, concentration=40.0, discount=d0)
    below = hk.Restaurant(top, concentration=6.0, discount=d, each="document")
    franchise = hk.Franchise(below, corpus(10, 40, 25), store=store, root=root)
    start(franchise, "sequential", RandomStream((1, 1)))
    for sweep in range(3):
        moves.TableGibbs().apply(franchise, RandomStream((sweep, 5)))
    franchise.settle()
    franchise.audit()
    return franchise


def outcome_of(franchise):
    frozen = franchise.freeze()
    arrays = [*frozen["seating"].values(), frozen["bank"]["opens"]]
    return b"".join(array.tobytes() for array in arrays)


def law_of(franchise, state, step):
    """Probability of each state after a step, from every branch of it."""
    law, source = {}, ScriptedSource()
    while True:
        franchise.thaw(state)
        with franchise.lock():
            franchise.bank.prepare(source)
            step(franchise, source)
        after = outcome_of(franchise)
        law[after] = law.get(after, 0.0) + source.probability
        if not source.advance():
            return law


def fused_step(i, floats=False):
    return lambda f, source: fused_topics.reseat(f.walk(), f.bank, i, i + 1, source, floats=floats)


def generic_step(i):
    return lambda f, source: generic.reseat(f.walk("generic"), f.bank, i, i + 1, source)


@pytest.mark.parametrize(("store", "root"), KINDS[:2])
@pytest.mark.parametrize("discount", [0.0, 0.2])
def test_every_branch_of_a_step(store, root, discount):
    franchise = state_of(store, root, discount)
    assert franchise.kernel("reseat") == "fused"
    assert franchise.n_dishes >= 20
    state = franchise.freeze()
    for i in range(3, franchise.topology.n_customers, 97):
        exact = law_of(franchise, state, generic_step(i))
        doubles = law_of(franchise, state, fused_step(i))
        assert len(exact) > 20
        assert max(abs(doubles.get(k, 0.0) - exact.get(k, 0.0)) for k in {*exact, *doubles}) <= 1e-12
        floats = law_of(franchise, state, fused_step(i, floats=True))
        assert total_variation(doubles, floats) <= VARIATION


FAMILY = SampledTests()
SITES = {
    f"bursts, {store}, customer {i}": (store, i) for store in ("histogram", "explicit") for i in (40, 137)
}
for name_ in SITES:
    FAMILY.register(name_)


@pytest.mark.parametrize("name", SITES)
def test_production_draws_from_the_law(name):
    store, i = SITES[name]
    franchise = state_of(store, "restaurant")
    state = franchise.freeze()
    law = law_of(franchise, state, fused_step(i))

    def drawn(more, seed):
        found = {}
        for draw in range(1500 * more):
            franchise.thaw(state)
            franchise.reseat(i, i + 1, RandomStream((seed, draw)))
            after = outcome_of(franchise)
            found[after] = found.get(after, 0) + 1
        return [p_of(found, law)]

    FAMILY.check(name, drawn)


@pytest.mark.parametrize(("store", "root"), KINDS)
def test_whole_sweeps_keep_all_numbers(store, root):
    """Audits compare all counts, cells and the bank's arrays with those that are counted anew."""
    franchise = state_of(store, root, 0.2)
    for sweep in range(6):
        franchise.reseat(0, franchise.topology.n_customers, RandomStream((11, sweep)))
        franchise.audit()
        slots = franchise.slots.occupied_slots()
        anew = franchise.copy()
        assert np.array_equal(anew.bank.counts(slots), franchise.bank.counts(slots))
        assert np.array_equal(anew.bank.opens(), franchise.bank.opens())


def test_long_documents_and_others_use_the_generic_code():
    data = corpus(10, 40, 25)
    measure = hk.Bursty(hk.DirichletMultinomial(0.1), 3.0, 0.2, each="all")
    top = hk.Restaurant(measure, concentration=4.0, name="all")
    franchise = hk.Franchise(hk.Restaurant(top, concentration=2.0, each="document"), data)
    start(franchise, "sequential", RandomStream((1, 1)))
    franchise.reseat(0, 60, RandomStream((2, 2)))
    franchise.audit()
