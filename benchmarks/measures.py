"""Tokens (values) per second of TableGibbs for each compiled measure and its readable reference.

    python benchmarks/measures.py [corpus.ldac] [--dishes 10] [--sweeps 5] [--values 20000]

Values are drawn from the given number of well separated dishes, in 20 groups; theta = 1 everywhere; the start
is random with the true number of dishes, followed by a few sweeps of burn-in; reported is the median of the
timed sweeps. The references run only on the first values, since they are slow. With a corpus (LDA-C) the
Dirichlet-multinomial is included, on its first words.
"""

import argparse
import statistics
import time

import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import (
    BetaBernoulliReference,
    DirichletMultinomialReference,
    GammaPoissonReference,
    NormalGammaReference,
    NormalInverseWishartReference,
)

N_GROUPS = 20


def cases(n, dishes, generator):
    """(name, measure, reference, values): every conjugate measure with suitable data."""
    which = generator.integers(dishes, size=n)
    for D in (0, 2, 10):
        centres = generator.normal(size=(dishes, max(D, 1))) * 8.0
        x = centres[which] + generator.normal(size=(n, max(D, 1)))
        values = x if D else x[:, 0]
        name = f"D={D}" if D else "numbers"
        prior = (0.0, 0.05, 2.0, 2.0)
        yield f"NormalGamma, {name}", hk.NormalGamma(*prior), NormalGammaReference(*prior), values
        if D:
            own = (np.zeros(D), 0.05, D + 2.0, np.eye(D))
            wishart = hk.NormalInverseWishart(*own), NormalInverseWishartReference(*own)
            yield f"NormalInverseWishart, {name}", *wishart, values
    for D in (0, 10):
        rates = generator.gamma(1.0, 10.0, size=(dishes, max(D, 1)))
        x = generator.poisson(rates[which])
        name = f"D={D}" if D else "numbers"
        both = hk.GammaPoisson(1.0, 0.1), GammaPoissonReference(1.0, 0.1)
        yield f"GammaPoisson, {name}", *both, (x if D else x[:, 0])
    for D in (10, 100):
        p = generator.beta(0.3, 0.3, size=(dishes, D))
        x = (generator.random((n, D)) < p[which]).astype(np.uint8)
        yield f"BetaBernoulli, D={D}", hk.BetaBernoulli(0.3, 0.3), BetaBernoulliReference(0.3, 0.3), x


def rate(measure, values, dishes, settle, sweeps):
    groups = np.arange(len(values)) * N_GROUPS // len(values)
    root = hk.Restaurant(base=measure, concentration=1.0)
    group = hk.Restaurant(base=root, concentration=1.0, each="group")
    franchise = hk.Franchise(group, hk.Groups.from_labels(values, {"group": groups}))
    trace = hk.Scheduler([moves.TableGibbs()]).run(
        franchise, sweeps=settle + sweeps, rng=0, init=hk.init.Random(dishes)
    )
    seconds = trace.moves["seconds"][settle:]
    return statistics.median(len(values) / seconds), int(np.median(trace["n_dishes"][settle:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", help="LDA-C file, plain or gzipped")
    parser.add_argument("--dishes", type=int, default=10)
    parser.add_argument("--settle", type=int, default=3)
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("--values", type=int, default=20_000)
    parser.add_argument("--few", type=int, default=200, help="values for the references")
    options = parser.parse_args()

    found = list(cases(options.values, options.dishes, np.random.default_rng(0)))
    if options.corpus:
        corpus = hk.Corpus.from_ldac(options.corpus)
        words = np.asarray(corpus.values)[: options.values]
        n_terms = corpus.n_terms
        both = (
            kind(0.1, n_terms=n_terms) for kind in (hk.DirichletMultinomial, DirichletMultinomialReference)
        )
        found.append(("DirichletMultinomial", *both, words))
    print(block())
    print(f"{'measure':<30}{'K':>5}{'tokens/s':>12}{'reference':>12}{'ratio':>8}")
    began = time.perf_counter()
    for name, measure, reference, values in found:
        fast, k = rate(measure, values, options.dishes, options.settle, options.sweeps)
        slow, _ = rate(reference, values[: options.few], options.dishes, 1, 2)
        print(f"{name:<30}{k:>5}{fast:>12,.0f}{slow:>12,.0f}{fast / slow:>8,.0f}")
    print(f"{time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
