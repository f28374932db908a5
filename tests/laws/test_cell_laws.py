"""Sweeps over cells: production's binomial draws and tables, and the posterior of tiny corpora."""

import functools

import numpy as np
import pytest
from hdpkit.steps._table_counts import tables_drawn
from hdpkit.steps.fused._fused_documents import binomial, multinomial
from montecarlo import swept
from scipy import stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams
from hdpkit.stores import CellsStore
from hdpkit.testing.pvalues import SampledTests, one_sample_p, two_sample_p

FAMILY = SampledTests()

BINOMIALS = [
    (1, 0.3), (5, 0.5), (40, 0.02), (40, 0.9), (10**6, 3e-6), (30, 0.35), (100, 0.1), (100, 0.5), (100, 0.93),
    (1000, 0.4), (700_000, 0.01), (700_000, 0.6),
]  # fmt: skip
for n, p in BINOMIALS:
    FAMILY.register(f"binomial, {n}, {p}")
# Labels, coarse: less than a block, more than four, and words of which rounding leaves many out.
SPREADS = [(1, False), (7, False), (50, False), (130, False), (1, True), (7, True), (40, True), (130, True)]
for n, coarse in SPREADS:
    FAMILY.register(f"customers over {n} labels, {coarse}")
TABLES = [(3, 0.5), (40, 0.01), (40, 0.7), (40, 1.0), (40, 3.5), (2000, 0.02), (2000, 1.7), (50_000, 0.3)]
for n, a in TABLES:
    FAMILY.register(f"tables, {n}, {a}")
WHAT = ("topics", "shared", "tables")
for one in WHAT:
    FAMILY.register(f"cells against customers: {one}")
# Shapes of gamma draws below 1, and above 1 with more customers.
FEW_TERMS, MORE_TERMS = ([[3, 1, 0], [0, 1, 2]], 1.2), ([[9, 2, 0], [0, 1, 8]], 12.0)
REPEATED = {
    "CountGibbs": (moves.CountGibbs(), FEW_TERMS),
    "CountGibbs, more": (moves.CountGibbs(), MORE_TERMS),
    "SliceGibbs": (moves.SliceGibbs(), FEW_TERMS),
    "SliceGibbs, more": (moves.SliceGibbs(), MORE_TERMS),
}
for kind in REPEATED:
    for one in (*WHAT, "repeated"):
        FAMILY.register(f"terms that repeat, {kind} against table Gibbs: {one}")


@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial_draws_have_their_law(n, p):
    def run(more, seed):
        drawn = binomial(Streams(seed).source(1), n, p, 40_000 * more)
        assert drawn.min() >= 0
        assert drawn.max() <= n
        edges = np.unique(stats.binom(n, p).ppf(np.linspace(0.05, 0.95, 19)))
        cells = np.searchsorted(edges, drawn)
        law = np.diff(np.concatenate([[0.0], stats.binom(n, p).cdf(edges), [1.0]]))
        return one_sample_p(np.bincount(cells, minlength=len(law)), law)

    FAMILY.check(f"binomial, {n}, {p}", run)


@pytest.mark.parametrize(("n", "coarse"), SPREADS)
def test_customers_are_spread_in_proportion_to_weights(n, coarse):
    """Of numbers of customers that use a block of words up, and that don't."""
    weights = np.random.default_rng(n).gamma(0.5, 3.0, size=n)
    weights[1::9] = 0.0

    def run(more, seed):
        found = np.zeros(n, dtype=np.int64)
        for customers in (1, 5, 150):
            drawn = multinomial(Streams(seed + customers).source(1), customers, weights, 200 * more, coarse)
            assert np.all(drawn >= 0)
            assert np.all(drawn.sum(axis=1) == customers)
            found += drawn.sum(axis=0)
        assert not found[weights == 0.0].any()
        return one_sample_p(found[weights > 0.0], weights[weights > 0.0] / weights.sum())

    FAMILY.check(f"customers over {n} labels, {coarse}", run)


@pytest.mark.parametrize(("n", "a"), TABLES)
def test_tables_by_jumps_have_their_law(n, a):
    law = np.zeros(200)
    law[1] = 1.0
    for i in range(1, n):
        opens = a / (a + i)
        law[1:] = law[1:] * (1.0 - opens) + law[:-1] * opens

    def run(more, seed):
        source = Streams(seed).source(1)
        drawn = np.array([tables_drawn(a, n, source, True) for _ in range(5_000 * more)])
        return one_sample_p(np.bincount(drawn, minlength=200)[1:200], law[1:] / law.sum())

    FAMILY.check(f"tables, {n}, {a}", run)


def franchise(counts, root="weights", concentration=1.5, eta=0.5, burst=None):
    measure = hk.DirichletMultinomial(eta)
    if burst is not None:
        measure = hk.Bursty(measure, burst)
    base = hk.Restaurant(base=measure, concentration=1.0)
    document = hk.Restaurant(base=base, concentration=concentration, each="document")
    return hk.Franchise(document, hk.Corpus.from_counts(counts), store="counts", root=root)


def every_15th(chain, read):
    """What is read of every fifteenth state of a chain: what comes between makes them nearly independent."""
    found = {name: [] for name in read}
    for number, state in enumerate(chain):
        for name, reading in read.items() if number % 15 == 0 else ():
            found[name].append(reading(state))
    return {name: np.array(numbers) for name, numbers in found.items()}


def test_chains_over_cells_and_over_customers_have_one_law():
    """Infinite model: numbers of topics and tables, and how many topics three customers of a cell have."""
    counts = [[3, 1, 0], [0, 1, 3]]
    read = {"topics": lambda f: f.n_dishes, "tables": lambda f: f.n_tables}
    read["shared"] = lambda f: len(set(f.dishes[:3].tolist())) * 4 + len(set(f.dishes[2:5].tolist()))

    def chain(move, seed, sweeps):
        fr = franchise(counts)
        schedule = [move, moves.TableCounts(), moves.RootWeights()]
        found = every_15th(swept(schedule, fr, sweeps, seed % 2**31, init="one"), read)
        assert isinstance(fr.store, CellsStore) == move.by_cell
        return found

    @functools.cache  # the same chains for all that is read of them
    def pair(more, seed):
        return [
            chain(move, seed + i, 2000 * more)
            for i, move in enumerate((moves.CountGibbs(), moves.TableGibbs()))
        ]

    for name in WHAT:

        def run(more, seed, name=name):
            return two_sample_p(*(one[name] for one in pair(more, 7)))

        FAMILY.check(f"cells against customers: {name}", run)


@pytest.mark.parametrize("kind", REPEATED)
def test_chains_over_terms_that_repeat_have_one_law(kind):
    """Numbers of topics, of tables in documents and of terms, and how many topics customers share."""
    own, (counts, burst) = REPEATED[kind]
    read = {"topics": lambda f: f.n_dishes, "tables": lambda f: f.n_tables}
    read["shared"] = lambda f: len(set(f.dishes[:3].tolist())) * 4 + len(set(f.dishes[2:5].tolist()))
    read["repeated"] = lambda f: int(f.totals_in_dishes()[1].sum())

    def chain(move, seed, sweeps):
        fr = franchise(counts, burst=burst)
        schedule = [move, moves.TableCounts(), moves.RootWeights()]
        found = every_15th(swept(schedule, fr, sweeps, seed % 2**31, init="one"), read)
        assert isinstance(fr.store, CellsStore) == move.by_cell
        return found

    @functools.cache  # the same chains for all that is read of them
    def pair(more, seed):
        return [chain(one, seed + i, 3000 * more) for i, one in enumerate((own, moves.TableGibbs()))]

    for name in read:

        def run(more, seed, name=name):
            return two_sample_p(*(one[name] for one in pair(more, 7)))

        FAMILY.check(f"terms that repeat, {kind} against table Gibbs: {name}", run)
