"""The fused sweep over words that repeat within documents: faults, states of many dishes, and production.

`tests/exact/test_bursty.py` enumerates the sweep on tiny models. Here every branch of single steps is taken
in states of many dishes: in doubles they agree with the generic kernel to 1e-12, and with the numbers of
production, which are floats, within a bound; draws of production have this law.
"""

import contextlib
import functools

import numpy as np
import pytest
from choice_sources import AskedSource
from exact_bursts import ExactBurstyModel
from fused_cases import corpus, drawn, p_of, total_variation
from marginals import dirichlet_multinomial_log_marginal
from sites import at_random

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import Placed
from hdpkit.franchise.starts import start
from hdpkit.measures import bursty
from hdpkit.random import RandomStream
from hdpkit.steps import _sweeps as generic
from hdpkit.steps.fused import _fused_topics as fused_topics
from hdpkit.stirling import one_alone
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import check_exact, checked_matrix
from hdpkit.testing.exact import law_of as exact_law
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


def check_lists():
    """Words of one term and of two, in documents with lists of cells; each step against the posterior."""
    real = bursty.BurstyBank
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bursty, "BurstyBank", functools.partial(real, unlisted=0))
        try:
            check_steps()
        except KeyError as error:
            raise AssertionError("a state that isn't one of the model") from error


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


def tiny_words(terms, shape=REPEATED):
    """Blocks of three words, with a discount of bursts."""
    measure = hk.Bursty(hk.DirichletMultinomial(0.5, n_terms=3), 0.4, 0.3)
    franchise = tiny_franchise(
        shape, measure, store="explicit", kernel="fused", corner=Corner(0.9, 0.7, 0.3, 0.6), values=terms
    )
    assert franchise.kernel("resample_dish") == "fused"
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


def check_blocks():
    """Each step of dish Gibbs against the posterior."""
    for terms in ([0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 1]):
        check_exact(tiny_words(terms), moves.DishGibbs())


def check_blocks_in_three_dishes():
    """Three words of a term, and others in two documents: the block's own dish, another one, and a
    new one.
    """
    model = tiny_words([0, 0, 0, 0, 1], TinyShape({"document": [0, 0, 0, 1, 2]}, 5))
    for number in (0, 1):
        check_exact(model, moves.DishGibbs(), matrices=[checked_matrix(model, step_of(number))])


def step_of(number):
    return lambda franchise, source: moves.DishGibbs().apply(franchise, source, (number, number + 1))


def check_block_counts():
    """After every branch of a sweep of dish Gibbs all counts are those of a recount."""

    def audited(franchise, source):
        moves.DishGibbs().apply(franchise, source)
        franchise.audit()
        slots = franchise.slots.occupied_slots()
        anew = franchise.copy()
        assert np.array_equal(anew.bank.counts(slots), franchise.bank.counts(slots))

    model = tiny_words([0, 0, 0, 1])
    for state in (3, len(model.states) // 2):
        law = law_of(model.franchise, model.enter(state).freeze(), audited, locked=False)
        assert abs(sum(law.values()) - 1.0) <= 1e-12


def state_of(store, root, discount=0.2, length=40):
    """Some dozens of dishes, with terms that repeat."""
    measure = hk.Bursty(hk.DirichletMultinomial(np.linspace(0.02, 0.4, 25)), 3.0, discount)
    d0, d = (0.2, 0.3) if root == "restaurant" else (0.0, 0.0)
    top = hk.Restaurant(measure, concentration=40.0, discount=d0)
    below = hk.Restaurant(top, concentration=6.0, discount=d, each="document")
    franchise = hk.Franchise(below, corpus(10, length, 25), store=store, root=root)
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


def law_of(franchise, state, step, locked=True):
    """Probability of each state after a step, from every branch of it."""

    def run(source):
        franchise.thaw(state)
        with franchise.lock() if locked else contextlib.nullcontext():
            if locked:
                franchise.bank.prepare(source)
            step(franchise, source)
        return outcome_of(franchise)

    return exact_law(run)


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


def of_production(franchise, state, step, law):
    """P-values of draws of a step from one state."""

    def again(source):
        franchise.thaw(state)
        step(franchise, source)

    return lambda more, seed: [p_of(drawn(again, lambda: outcome_of(franchise), 1500 * more, seed), law)]


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

    def step(f, source):
        f.reseat(i, i + 1, source)

    FAMILY.check(name, of_production(franchise, state, step, law))


def words_in_order(block, terms):
    """One word of each term first, then the others term by term."""
    of = {}
    for i in block:
        of.setdefault(terms[i], []).append(i)
    return [words[0] for words in of.values()] + [i for words in of.values() for i in words[1:]]


class Words:
    """Statistics of a dish that words join one after the other, and the product of their predictives."""

    def __init__(self, measure, statistics, restaurant, share):
        self.measure, self.of, self.restaurant, self.share = measure, statistics, restaurant, share
        self.log_p = 0.0

    def count(self, term, customers, tables):
        self.of.count(self.restaurant, term, customers, tables)
        self.of.tables.terms[term] += tables
        self.of.tables.total += tables

    def weights(self, term):
        """Weights of the tables with a term and of a new one, over their sum with other terms."""
        topic = np.exp(self.measure.measure.log_predictive(term, [self.of.tables])[0])
        shared, opening, _ = self.measure._weights(self.of, Placed(term, self.restaurant), topic)
        below = self.of.totals.get(self.restaurant, (0, 0))[0] + self.measure.concentration
        return shared / below, opening / below

    def edge(self, term):
        shared, opening = self.weights(term)
        return opening / (shared + opening)

    def sit(self, term, opens):
        self.log_p += np.log(sum(self.weights(term)))
        self.count(term, 1, int(opens))


def block_in_python(franchise, unit, choose):
    """What `bursty_blocks.h` asks a script for one table, from statistics of the readable code."""
    units, measure, bank = franchise.units(1), franchise.measure, franchise.bank
    terms, home = franchise.data.values.tolist(), franchise.topology.home
    order = words_in_order(units.customers(unit).tolist(), terms)
    live, own = franchise.slots.occupied_slots(), int(franchise.unit_dishes(units)[unit])
    tables = [franchise.store.customers(0, int(k)) for k in live]
    d0 = franchise.root.discount
    dishes = {
        int(k): Words(measure, of, int(home[order[0]]), m - (k == own) - d0)
        for k, of, m in zip(live, bank.statistics(live, None), tables, strict=True)
    }
    mine, kept = dishes[own], {}
    for i in reversed(order):
        n, t = mine.of.cells[mine.restaurant, terms[i]]
        p = one_alone(n, t, float(measure.discount))
        kept[i] = p == 1.0 or (t > 1 and choose([1.0 - p, p]) == 1)
        mine.count(terms[i], -1, -int(kept[i]))
    n_dishes = len(live)
    if mine.share + d0 == 0:  # it was alone: its dish is a new one
        n_dishes -= 1
        dishes[-1] = dishes.pop(own)
    else:
        fresh = measure.make()
        fresh.tables.terms = np.zeros(measure.n_terms, dtype=np.int64)
        dishes[-1] = Words(measure, fresh, mine.restaurant, 0.0)
    dishes[-1].share = franchise.root.concentration + d0 * n_dishes
    for place, i in enumerate(order):
        v, last = terms[i], place + 1 == len(order)
        edges = {k: dish.edge(v) for k, dish in dishes.items()}
        mine_at = edges[next(k for k in dishes if dishes[k] is mine)]
        low, high = (0.0, mine_at) if kept[i] else (mine_at, 1.0)
        cuts = [low]
        for edge in sorted(edges.values()) if not last else []:
            if cuts[-1] + 1e-14 < edge < high - 1e-14:
                cuts.append(edge)
        ends = [*cuts[1:], high]
        chosen = choose(np.subtract(ends, cuts)) if len(cuts) > 1 else 0
        u = 0.5 * (cuts[chosen] + ends[chosen])
        for k, dish in dishes.items():
            dish.sit(v, kept[i] if dish is mine else u < edges[k])
    logs = np.array([np.log(dishes[k].share) + dishes[k].log_p for k in [*sorted(dishes)[1:], -1]])
    choose(np.exp(logs - logs.max()))


@pytest.mark.parametrize(
    ("length", "discount"),
    [(40, 0.0), (40, 0.2), (400, 0.2), pytest.param(400, 0.0, marks=pytest.mark.long)],
)
def test_blocks_have_the_weights_of_the_readable_code(length, discount):
    generator = np.random.default_rng(length)
    franchise = state_of("explicit", "restaurant", discount, length)
    assert franchise.kernel("resample_dish") == "fused"
    compared = sizes = 0
    units = franchise.units(1)
    longest = np.argsort([-len(units.customers(u)) for u in range(len(units))], kind="stable")
    n_longest, n_others = (10, 50) if length == 40 else (3, 12)
    for unit in [*longest[:n_longest].tolist(), *generator.permutation(len(units))[:n_others].tolist()]:
        asked, again = [], []

        def ask(weights, asked=asked):
            asked.append((weights / weights.sum(), at_random(generator)(weights)))
            return asked[-1][1]

        def replay(weights, again=again, asked=asked):
            again.append(np.asarray(weights) / np.sum(weights))
            return asked[len(again) - 1][1]

        changed = franchise.copy()
        changed.resample_dish(changed.units(1), unit, unit + 1, AskedSource(ask))
        changed.audit()
        block_in_python(franchise, unit, replay)
        # A last question is asked where the last word shares a table in the dish that was drawn.
        assert len(asked) - len(again) in (0, 1)
        for (law, _), twin in zip(asked, again, strict=False):
            assert np.abs(law - twin).max() <= 1e-10
        compared += len(again)
        sizes = max(sizes, len(franchise.units(1).customers(unit)))
        franchise = changed
    assert compared > 100
    assert sizes > length / 4  # a hundred words, whose products need exponents


BLOCKS = {"bursts, a block of repeated words": 0.0, "bursts, a block, with a discount": 0.2}
for name_ in BLOCKS:
    FAMILY.register(name_)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if discount else pytest.mark.long) for name, discount in BLOCKS.items()],
)
def test_production_draws_blocks_from_the_law(name):
    franchise = state_of("explicit", "restaurant", BLOCKS[name])
    units, terms = franchise.units(1), franchise.data.values
    blocks = [terms[units.customers(u)].tolist() for u in range(len(units))]
    repeated = [
        u for u, block in enumerate(blocks) if len(block) - len(set(block)) == 2 and len(set(block)) > 1
    ]
    unit = min(repeated, key=lambda u: len(blocks[u]))  # all its branches are enumerated

    def step(f, source):
        f.resample_dish(f.units(1), unit, unit + 1, source)

    state = franchise.freeze()
    law = law_of(franchise, state, step, locked=False)

    assert len(law) > 10
    FAMILY.check(name, of_production(franchise, state, step, law))


@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=lambda move: move.name)
@pytest.mark.parametrize(("store", "root"), KINDS)
def test_whole_sweeps_keep_all_numbers(store, root, move):
    """Audits compare all counts, cells and the bank's arrays with those that are counted anew."""
    franchise = state_of(store, root, 0.2)
    for sweep in range(6):
        move.apply(franchise, RandomStream((11, sweep)))
        franchise.audit()
        slots = franchise.slots.occupied_slots()
        anew = franchise.copy()
        assert np.array_equal(anew.bank.counts(slots), franchise.bank.counts(slots))
        assert np.array_equal(anew.bank.opens(), franchise.bank.opens())
