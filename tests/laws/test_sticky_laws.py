"""alpha and kappa of a sticky model, one step from exact draws of their law given tables, by quadrature."""

import numpy as np
from scipy import special, stats

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.moves.tree_parameters import set_kappa
from hdpkit.random import STARTS, RandomStream, Streams

ARRAYS = [[0, 0, 0, 0, 1, 1, 1, 0], [0, 0, 1]]
ALPHA, KAPPA = hk.Gamma(2.0, 1.0), hk.Gamma(1.5, 0.5)


def franchise_of(alpha=ALPHA, kappa=KAPPA, begin=None):
    data = hk.Sequences.from_arrays(ARRAYS, n_terms=2)
    above = hk.Restaurant(hk.DirichletMultinomial(0.4), concentration=1.5)
    rows = hk.Restaurant(
        above, concentration=alpha, each=hk.PreviousDish(kappa, start_concentration=begin), name="rows"
    )
    franchise = hk.Franchise(rows, data, store="counts", root="weights")
    start(franchise, data.values.tolist(), Streams(0).source(STARTS))
    hk.Scheduler([moves.TableCounts()]).run(franchise, sweeps=2, rng=3, init=None)
    return franchise


def law(franchise):
    """p(alpha, kappa | tables, overrides) on a grid of their logarithms, written as in the literature."""
    _, n, m = franchise.totals_of(1)
    n, m = n[n > 0], m[n > 0]  # the start row is the first
    w = int(franchise.parts["sticky"].freeze()["overrides"].sum())
    assert 0 < w < m.sum()
    line = np.linspace(-6.0, 5.0, 600)
    a, k = np.exp(line)[:, None], np.exp(line)[None]
    log = (m.sum() - w) * np.log(a) + w * np.log(k) - special.gammaln(a + n[0]) + special.gammaln(a)
    for rows in n[1:].tolist():
        log = log - special.gammaln(a + k + rows) + special.gammaln(a + k)
    log = log + stats.gamma(2.0).logpdf(a) + stats.gamma(1.5, scale=2.0).logpdf(k) + np.log(a) + np.log(k)
    density = np.exp(log - log.max())
    return line, density / density.sum()


def p_of(values, line, density):
    """Kolmogorov-Smirnov's p-value of draws of a number whose logarithm has this density on a grid."""
    steps = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return stats.kstest(np.interp(np.log(values), line, steps / steps[-1]), "uniform").pvalue


def test_both_numbers_from_exact_draws():
    franchise = franchise_of()
    line, density = law(franchise)
    generator, move, ends = np.random.default_rng(5), moves.Sticky(), []
    width = line[1] - line[0]
    for number in range(2500):
        i = generator.choice(density.size, p=density.ravel())
        jitter = (generator.random(2) - 0.5) * width
        alpha, kappa = np.exp(line[list(divmod(int(i), len(line)))] + jitter)
        franchise.set_concentration("rows", float(alpha))
        set_kappa(franchise, float(kappa))
        move.apply(franchise, RandomStream((7, number)))
        ends.append((franchise.concentration("rows"), franchise.topology.kappa))
    alphas, kappas = np.array(ends).T
    assert p_of(alphas, line, density.sum(axis=1)) > 1e-3
    assert p_of(kappas, line, density.sum(axis=0)) > 1e-3
    shares = kappas / (alphas + kappas)
    grid = 1.0 / (1.0 + np.exp(line[:, None] - line[None]))
    order = np.argsort(grid.ravel())
    cdf = np.cumsum(density.ravel()[order])
    assert stats.kstest(np.interp(shares, grid.ravel()[order], cdf), "uniform").pvalue > 1e-3
