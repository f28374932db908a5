"""The store of counts, and tables drawn given the customers: laws, errors, both versions."""

import functools
import math
from collections import defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from marginals import law_of_tables, stirling

import hdpkit as hk
from hdpkit import errors
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, ScriptedSource, Streams
from hdpkit.steps import _table_counts as compiled
from hdpkit.steps import table_counts as readable
from hdpkit.stirling import log_stirling, one_alone, one_opens, one_shares
from hdpkit.stores import CountsStore, Detail, FrozenSeating
from hdpkit.stores import _stirling as sums
from hdpkit.testing import tiny_franchise
from hdpkit.testing.enumeration import Shape, log_prior, seatings
from hdpkit.testing.exact import law_of
from hdpkit.testing.states import frozen_key, labelled_arrays, to_counts

TOLERANCE = 1e-12
MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
TWINS = {"compiled": ("generic", compiled), "readable": ("reference", readable)}


def compare(law, expected):
    assert law.keys() <= expected.keys()
    for key, p in expected.items():
        assert abs(law.get(key, 0.0) - p) <= TOLERANCE, (key, law.get(key, 0.0), p)


def counted(name, twin, seed):
    """A walk over counts, of a state that table Gibbs has reached; restaurants and dishes that they serve."""
    kernel, module = TWINS[twin]
    franchise = tiny_franchise(name, MEASURE, store="explicit")
    t = franchise.topology
    for sweep in range(seed):
        franchise.reseat(0, t.n_customers, RandomStream((seed, sweep)))
    seats = FrozenSeating.of(franchise.store.freeze())
    frozen = seats.to(Detail.COUNTS).arrays()
    store = CountsStore(t.n_customers, t.n_nodes)
    store.thaw(frozen)
    walk = franchise._walk_over(store, franchise.slots, kernel)
    return franchise, store, walk, module, frozen


def tables_of(store, n_nodes):
    return tuple((r, k, store.tables(r, k)) for r in range(1, n_nodes) for k in store.node_dishes(r).tolist())


def laws_of_cells(franchise, store, walk):
    """Law of the tables of each restaurant and dish, and the cells."""
    above = dict(zip(franchise.slots.occupied_slots().tolist(), walk.prior_row(0).tolist(), strict=False))
    cells = [(r, k) for r in range(1, franchise.topology.n_nodes) for k in store.node_dishes(r).tolist()]
    theta = franchise.hyperparameters.theta
    return cells, [law_of_tables(store.customers(r, k), theta[r] * above[k]) for r, k in cells]


def expected_tables(franchise, store, walk):
    cells, laws = laws_of_cells(franchise, store, walk)
    law = {}
    for drawn in product(*(enumerate(one) for one in laws)):
        key = tuple((r, k, t) for (r, k), (t, _) in zip(cells, drawn, strict=True))
        law[key] = math.prod(p for _, p in drawn)
    return law


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("method", ["draw_tables", "draw_tables_by_dish"])
@pytest.mark.parametrize(("name", "seed"), [("3+2", 0), ("3+3", 2), ("4+3", 0), ("2+2+2", 3), ("3+3+2", 1),
                                            ("2+1 with one at the root", 1)])  # fmt: skip
def test_tables_drawn_given_customers_have_their_law(name, seed, method, twin):
    franchise, store, walk, module, frozen = counted(name, twin, seed)
    n_nodes, home = franchise.topology.n_nodes, franchise.topology.home
    expected = expected_tables(franchise, store, walk)

    def run(source):
        store.thaw(frozen)
        if method == "draw_tables":
            module.draw_tables(walk, 0, n_nodes, source)
        else:
            module.draw_tables_by_dish(walk, source)
        at_root = np.bincount(store.dishes()[home == 0], minlength=10)
        for k in store.node_dishes(0).tolist():
            below = sum(store.tables(r, k) for r in range(1, n_nodes))
            assert store.customers(0, k) == below + at_root[k]
            assert store.tables(0, k) == 1
        assert store.node_customers(0) == sum(store.customers(0, k) for k in store.node_dishes(0))
        assert store.node_tables(1) == store.tables(1, 0) + sum(
            store.tables(1, k) for k in store.node_dishes(1).tolist() if k
        )
        return tables_of(store, n_nodes)

    compare(law_of(run), expected)


@pytest.mark.parametrize("discounts", [(0.0, 0.0), (0.3, 0.0), (0.2, 0.6)])
@pytest.mark.parametrize("name", ["flat 5", "3+2", "2+1 with one at the root", "three levels"])
def test_log_seating_is_the_sum_over_labelled_seatings(name, discounts):
    tree = tiny_franchise(name, MEASURE).topology
    shape = Shape(tuple(tree.parent.tolist()), tuple(tree.home.tolist()))
    theta, sums, some = [1.3] + [0.6] * (shape.n_nodes - 1), defaultdict(float), {}
    d = [discounts[0], *[discounts[1]] * (shape.n_nodes - 1)]
    for key in seatings(shape):
        state = to_counts(key, shape)
        sums[state] += math.exp(log_prior(key, shape, theta, d))
        some[state] = key
    for state, key in some.items():
        one = CountsStore(shape.n_customers, shape.n_nodes)
        one.thaw(FrozenSeating.of(labelled_arrays(key, shape)).to(Detail.COUNTS).arrays())
        assert frozen_key(one.freeze(), shape) == state
        score = one.log_seating(np.array(theta), np.array(d))
        assert score == pytest.approx(math.log(sums[state]), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("d", [0.0, 0.25, 0.5, 0.96875])
def test_generalised_stirling_numbers_and_their_ratios(d):
    of = functools.partial(stirling, d=Fraction(d))
    for n, t in [(i, j) for i in (1, 2, 3, 7, 40, 91) for j in range(1, i + 1)]:
        own = Fraction(of(n, t))
        exact = math.log(own.numerator) - math.log(own.denominator)
        single = sums.sum_of_logs(np.array([n]), np.array([t]), d)
        assert single == pytest.approx(exact, rel=1e-12, abs=1e-12)
        assert log_stirling(n, t, d) == pytest.approx(exact, rel=1e-12, abs=1e-12)
        ratios = [of(n + 1, t) / own, of(n + 1, t + 1) / own, of(n - 1, t - 1) / own]
        assert sums.ratios_at(n, t, d) == pytest.approx([float(r) for r in ratios], rel=1e-12)
        if n < 10:
            readable = [one_shares(n, t, d), one_opens(n, t, d), one_alone(n, t, d)]
            assert readable == pytest.approx([float(r) for r in ratios], rel=1e-12)
    assert one_opens(0, 0, d) == 1.0


@pytest.mark.parametrize("d", [0.0, 0.5, 0.96875])
def test_generalised_stirling_numbers_of_few_and_of_many_tables(d):
    """Up to 200 tables rows are kept as plain numbers, above as logs."""
    n = 230
    for t in (2, 150, 199, 200, 201, 229):
        own = Fraction(stirling(n, t, Fraction(d)))
        exact = math.log(own.numerator) - math.log(own.denominator)
        assert sums.sum_of_logs(np.array([n]), np.array([t]), d) == pytest.approx(exact, rel=1e-12)
        beside = sums.sum_of_logs(np.array([n, 229, 3]), np.array([t, 228, 2]), d)
        rest = sums.sum_of_logs(np.array([229, 3]), np.array([228, 2]), d)
        assert beside == pytest.approx(exact + rest, rel=1e-12)


@pytest.mark.parametrize("d", [0.0, 0.25, 0.96875])
def test_generalised_stirling_numbers_of_many_customers(d):
    """Beside the same recurrence in integers of 60 digits after the point, of S_d(n, t) / S_d(n, 1)."""
    n, tables, unit = 20_000, 6, 10**60
    numerator, denominator = Fraction(d).as_integer_ratio()
    row = [0, unit] + [0] * (tables - 1)
    for i in range(1, n):
        over = i * denominator - numerator
        row[2:] = [
            row[t] + (denominator * row[t - 1] - (t - 1) * numerator * row[t]) // over
            for t in range(2, tables + 1)
        ]
    one = math.lgamma(n - d) - math.lgamma(1.0 - d)
    for t in (2, 3, 6):
        exact = one + math.log(row[t]) - math.log(unit)
        assert sums.sum_of_logs(np.array([n]), np.array([t]), d) == pytest.approx(exact, rel=1e-13)


def test_ratios_of_large_counts():
    # Without a discount the last of n customers at two tables is alone with probability 1/((n-1) H_(n-1)).
    n = 5000
    harmonic = math.fsum(1 / i for i in range(1, n))
    assert sums.ratios_at(n, 2, 0.0)[2] == pytest.approx(1 / ((n - 1) * harmonic), rel=1e-11)
    with pytest.raises(errors.ParameterError, match="histogram"):
        sums.ratios_at(2**31 - 1, 2**20, 0.5)


@pytest.mark.parametrize("twin", TWINS)
def test_tables_of_the_restaurants_of_a_step_are_drawn_at_its_end(twin):
    # With one dish only nothing is drawn of dishes: tables have their law given 4 and 3 customers.
    kernel, _ = TWINS[twin]
    franchise = tiny_franchise("4+3", hk.DirichletMultinomial(1e6, n_terms=1), store="counts", kernel=kernel,
                               values=[0] * 7, concentration=(1e-300, 0.7), root="weights")  # fmt: skip
    frozen = franchise.freeze()
    frozen["components"] = {name: {"weights": np.array([1.0, 0.0])} for name in frozen["components"]}
    expected = law_of_tables(4, 0.7)

    def run(source):
        franchise.thaw(frozen)
        before = franchise.store.tables(2, 0)
        franchise.reseat(0, 2, source)
        assert franchise.store.tables(2, 0) == before, "a restaurant that no customer is of is left alone"
        return franchise.store.tables(1, 0)

    # The numbers are for dishes that are born with next to no probability.
    law = law_of(run, ScriptedSource(continuous=[0.5] * 2))
    assert max(abs(law.get(t, 0.0) - p) for t, p in enumerate(expected)) <= TOLERANCE


def many_dishes(kernel="auto"):
    rng = np.random.default_rng(0)
    docs = [rng.integers(0, 30, size=60).tolist() for _ in range(20)]
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    restaurant = hk.Restaurant(base=root, concentration=50.0, each="document")
    corpus = hk.Corpus.from_documents(docs, n_terms=30)
    return hk.Franchise(restaurant, corpus, store="counts", root="weights", kernel=kernel)


@pytest.mark.parametrize("kernel", ["auto", "generic", "reference"])
@pytest.mark.parametrize(
    "init", ["one", "sequential", hk.init.Random(400), 19 - np.repeat(np.arange(20), 60)]
)
def test_a_start_over_counts_is_whole(init, kernel):
    # Dishes are opened before the first customer comes: until then the root doesn't serve them.
    franchise = many_dishes(kernel)
    for seed in range(2 if kernel == "reference" else 5):
        start(franchise, init, Streams(seed).source(STARTS))
        franchise.audit()
