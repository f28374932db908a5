"""The test of counts of draws against an exact discrete law."""

import math
from itertools import combinations

import numpy as np
from scipy import special, stats

from hdpkit.testing.pvalues import _groups

_EXACT_NUMBERS = 500_000  # enumerate all tables of counts if they contain at most this many numbers


def one_sample_p(counts, probabilities):
    """P-value of independent draws against an exact discrete law.

    Exact (the probability of all tables no likelier than this one) if all tables of counts can be listed.
    Otherwise cells are pooled in order of probability until each expects 20 draws, and the likelihood-ratio
    statistic with Williams' (1976) correction is referred to chi-square; two groups have the binomial test.
    """
    observed, law = np.asarray(counts), np.asarray(probabilities, dtype=np.float64)
    assert law.shape == observed.shape
    assert abs(float(law.sum()) - 1) <= 1e-9
    if np.any(observed[law == 0] > 0):
        return 0.0
    observed, law = observed[law > 0], law[law > 0]
    total = int(observed.sum())
    if law.size == 1 or total == 0:
        return 1.0
    if math.comb(total + law.size - 1, total) * law.size <= _EXACT_NUMBERS:
        return _exact_multinomial_p(observed, law)
    order = np.argsort(law, kind="stable")
    starts = _groups(law[order] * total)
    observed, law = np.add.reduceat(observed[order], starts), np.add.reduceat(law[order], starts)
    if law.size == 2:
        return float(stats.binomtest(int(observed[0]), total, min(1.0, float(law[0]))).pvalue)
    statistic = 2 * float(np.sum(special.xlogy(observed, observed / (total * law))))
    correction = 1 + (float(np.sum(1 / law)) - 1) / (6 * total * (law.size - 1))
    return float(stats.chi2.sf(statistic / correction, law.size - 1))


def _exact_multinomial_p(observed, law):
    """Probability of all tables of counts that are no likelier than the observed one."""
    total, n_cells = int(observed.sum()), law.size
    # A table is a choice of n_cells - 1 bars among total + n_cells - 1 places; the gaps are the counts.
    bars = np.array(list(combinations(range(total + n_cells - 1), n_cells - 1)), dtype=np.int64)
    tables = np.diff(bars, axis=1, prepend=-1, append=total + n_cells - 1) - 1

    def log_probability(counts):
        terms = special.xlogy(counts, law) - special.gammaln(counts + 1)
        return np.asarray(special.gammaln(total + 1) + terms.sum(axis=-1))

    logs = log_probability(tables)
    unlikely = logs <= float(log_probability(observed)) + 1e-9  # ties count, in spite of rounding
    return min(1.0, math.fsum(np.exp(logs[unlikely])))
