"""Topic models of many kinds, and moves of entire tables with two kernels in parallel."""

import itertools
from functools import partial

import numpy as np
from choice_sources import AskedSource
from fused_cases import corpus, franchise_over
from sites import at_random

import hdpkit as hk
from hdpkit import moves
from hdpkit.data import Groups
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps import _sweeps as generic
from hdpkit.steps.fused import _fused_blocks as fused_blocks
from hdpkit.steps.units import index_units
from hdpkit.testing.machines import same

STORES = ["explicit", "histogram"]
ETAS = [0.01, 0.3, 4.0, None, 1e-5]  # None: one for each term
ROOTS = [(1.0, 0.0), (30.0, 0.0), (3.0, 0.4), (-0.1, 0.3), (0.0, 0.7)]
BELOW = [(0.5, 0.0), (6.0, 0.0), (1.0, 0.5), (-0.2, 0.6)]


def state_of(data, n_terms, eta, root, below, store, init="sequential", seed=0, above="restaurant"):
    """A state after two sweeps of production."""
    restaurant = hk.Restaurant(
        hk.DirichletMultinomial(eta, n_terms=n_terms), concentration=root[0], discount=root[1]
    )
    document = hk.Restaurant(restaurant, each="document", concentration=below[0], discount=below[1])
    franchise = hk.Franchise(document, data, store=store, root=above)
    start(franchise, init, Streams(seed).source(STARTS))
    for sweep in range(2):
        franchise.reseat(0, franchise.topology.n_customers, RandomStream((seed, sweep)))
    franchise.settle()
    return franchise


def state_number(seed, store, above="restaurant"):
    """A state of some kind: every fourth has few long documents, every third customers at the root."""
    generator = np.random.default_rng(seed)
    n_terms, is_long = int(generator.integers(3, 60)), seed % 4 == 3
    drawn = corpus(
        3 if is_long else 8, 150 if is_long else int(generator.integers(4, 30)), n_terms, seed=seed
    )
    home = np.repeat(np.arange(len(drawn.document_lengths)), drawn.document_lengths).tolist()
    labels = [None if seed % 3 == 1 and generator.random() < 0.15 else j for j in home]
    eta = ETAS[seed % len(ETAS)] or generator.uniform(0.01, 2.0, size=n_terms)
    init = "one" if seed % 3 == 2 else "sequential"
    root, below = ROOTS[seed % len(ROOTS)], BELOW[seed % len(BELOW)]
    data = Groups.from_labels(np.asarray(drawn.values), {"document": labels})
    below = (below[0], 0.0) if store == "counts" else below
    below = (1.0, 0.0) if below[0] <= 0.0 and store == "counts" else below
    return state_of(data, n_terms, eta, root, below, store, init, seed, above)


def twin_of(franchise, kernel="generic"):
    """The same state under another kernel."""
    twin = hk.Franchise(
        franchise.declarations[-1],
        franchise.data,
        store=franchise.store_type,
        kernel=kernel,
        root=franchise.root.declared,
        measure=franchise.measure,
    )
    twin.thaw(franchise.freeze())
    return twin


class Means(AskedSource):
    """One whose draws of the weights of new dishes are their means."""

    def beta(self, a, b):
        return a / (a + b)


class Watched(moves.SplitMerge):
    """Keeps what was proposed: sides, log q, log ratio of the data."""

    def _allocate(self, *arguments):
        self.found = super()._allocate(*arguments)
        return self.found


def side_by_side(move, franchise, twin, generator):
    """Apply a move to two franchises in one state, the same branches in both."""
    take, asked, errors = at_random(generator), [], []

    def ask(weights):
        asked.append((weights / weights.sum(), take(weights)))
        return asked[-1][1]

    def replay(weights):
        law, place = left.pop(0)
        errors.append(np.abs(law - weights / weights.sum()).max())
        return place

    move.apply(franchise, Means(ask))
    left = asked.copy()
    found = getattr(move, "found", None)
    move.apply(twin, Means(replay))
    assert not left
    assert same(franchise.freeze(), twin.freeze())
    if found is not None:
        sides, log_q, log_data = move.found
        assert np.array_equal(sides, found[0])
        assert abs(log_q - found[1]) <= 1e-9 * max(1.0, abs(log_q))
        assert abs(log_data - found[2]) <= 1e-9 * max(1.0, abs(log_data))
    return max(errors, default=0.0)


def many_topics(store, above="restaurant", measure=None):
    """Some two hundred dishes, each with few terms and others near: most tables can have only few of them."""
    generator = np.random.default_rng(11)
    documents = [
        6 * generator.choice(250, size=4)[generator.integers(0, 4, size=60)]
        + generator.integers(0, 9, size=60)
        for _ in range(150)
    ]
    data = hk.Corpus.from_documents(documents, n_terms=1503)
    settings = {"root": (40.0, 0.0), "below": (2.0, 0.0), "init": hk.init.TermClusters(250)}
    return franchise_over(data, store, eta=0.05, above=above, measure=measure, **settings)


def check_bounds_of_units(franchise):
    """No weight is above its bound, at any table that others of its dish outlive. Nothing changes."""
    units = franchise.units(1)
    live = franchise.slots.occupied_slots()
    for unit, dish in enumerate(franchise.unit_dishes(units)):
        if franchise.store.customers(0, dish) == 1:
            continue
        own, asked = int(np.searchsorted(live, dish)), []
        bound = fused_blocks.bounds(franchise.walk(), franchise.bank, units, unit)

        def ask(weights, own=own, asked=asked):
            asked.append(weights)
            return own

        franchise.resample_dish(units, unit, unit + 1, AskedSource(ask))
        weights = asked[0][:-1]
        others = weights > 0.0
        others[own] = False
        assert np.all(np.log2(weights[others] / weights[own]) <= bound[live][others]), unit


def long_blocks():
    """Tables with more terms, and with more repetitions of one, than sums of 16 bits have room for."""
    documents = [[*np.repeat([j % 2, 2, 3], [200, 24, 600]), *range(4, 1204)] for j in range(6)]
    data = hk.Corpus.from_documents(documents, n_terms=1204)
    return state_of(data, 1204, 0.01, (1.0, 0.0), (0.01, 0.0), "explicit")


def check_block_bounds():
    """Bounds of dish Gibbs hold whatever happens between its draws, births and deaths of dishes among it."""
    check_bounds_of_units(long_blocks())
    for seed in (0, 2, 3, 6):
        franchise, source = state_number(seed, "explicit"), RandomStream((seed, 8))
        eta = franchise.measure.eta_vector
        for between in (
            lambda: None,
            lambda source=source, franchise=franchise: moves.SplitMerge().apply(franchise, source),
            lambda eta=eta, franchise=franchise: franchise.bank.adopt(
                hk.DirichletMultinomial(eta / 20.0, len(eta))
            ),
            franchise.settle,
        ):
            between()
            check_bounds_of_units(franchise)
            moves.DishGibbs().apply(franchise, source)
            check_bounds_of_units(franchise)


def check_bounded_chain():
    """Every dish that is drawn with bounds is the one drawn without."""
    passes = 12
    bursty = hk.Bursty(hk.DirichletMultinomial(0.05), 50.0, discount=0.1)
    for above, measure in itertools.product(("restaurant", "weights"), (None, bursty)):
        bounded = many_topics("explicit", above, measure)
        complete = bounded.copy()
        sides = [(bounded, True, RandomStream((3, 9))), (complete, False, RandomStream((3, 9)))]
        for _ in range(passes):
            for franchise, with_bounds, source in sides:
                assert franchise.kernel("resample_dish") == "fused"
                key = next(key for key in franchise._kernels if key[0].name == "resample_dish")
                franchise._kernels[key] = ("fused", partial(fused_blocks.resample_dish, bounded=with_bounds))
                units = franchise.units(1)
                franchise.resample_dish(units, 0, len(units), source)
            assert same(bounded.seating.freeze(), complete.seating.freeze())
            assert same(bounded.bank.freeze(), complete.bank.freeze())
        assert fused_blocks.computed_units(complete.units(1)) == 0
        units = bounded.units(1)
        most = passes * len(units) / (2 if measure is None else 1)
        assert 0 < fused_blocks.computed_units(units) < most


def check_units():
    """Units are what the readable code finds, whatever has happened since they were found."""
    for seed in range(6):
        check_units_of(state_number(3 * seed + 1, "explicit"), RandomStream((seed, 2)))  # some at the root


def check_units_of(franchise, source):
    n, frozen, t = franchise.topology.n_customers, franchise.freeze(), franchise.topology
    changes = {
        "reseat": lambda: franchise.reseat(n // 3, n // 2, source),
        "one": lambda: franchise.reseat(n // 2, n // 2 + 1, source),
        "generic": lambda: generic.reseat(franchise.walk("generic"), franchise.bank, 0, n // 4, source),
        "leave": lambda: franchise.leave(n // 2, n, source),
        "enter": lambda: franchise.enter(n // 2, n, source),
        "resample_dish": lambda: moves.DishGibbs().apply(franchise, source),
        "split": lambda: moves.SplitMerge().apply(franchise, source),
        "settle": franchise.settle,
        "compact": lambda: franchise.store.compact(0.0),
        "thaw": lambda: franchise.thaw(frozen),
    }
    assert set(changes) == set(ORDER)
    for name in ORDER:
        changes[name]()
        for with_customers in (False, True, False):
            found = franchise.units(1, with_customers)
            anew = index_units(franchise.seating, t.home, t.parent, t.level, 1, with_customers)
            assert found.codes.tolist() == anew.codes, name
            for unit in range(len(anew)):
                assert np.array_equal(found.customers(unit), anew.customers(unit)), name
                assert np.array_equal(found.tables(unit), anew.tables(unit)), name


ORDER = (
    "reseat", "resample_dish", "split", "one", "resample_dish", "generic", "settle", "leave", "split",
    "enter", "resample_dish", "reseat", "compact", "resample_dish", "thaw", "one", "split", "reseat",
)  # fmt: skip
