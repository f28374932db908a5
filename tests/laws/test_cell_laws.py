"""Sweeps over cells: production's binomial and multinomial draws, and tables by jumps."""

import numpy as np
import pytest
from hdpkit.steps._table_counts import tables_drawn
from hdpkit.steps.fused._fused_documents import binomial, multinomial
from one_sample import one_sample_p
from scipy import stats

from hdpkit.random import Streams
from hdpkit.testing.pvalues import SampledTests

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
