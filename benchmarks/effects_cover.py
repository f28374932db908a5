"""How often 90 % intervals of effects of a covariate contain the true slope, and 0 where there is none.

    OPENBLAS_NUM_THREADS=1 python benchmarks/effects_cover.py [--sets 40] [--documents 60] [--tokens 100]
        [--sweeps 100] [--samples 10]

Documents of two topics over 20 terms, of which one has the mean share 0.3 + 0.4 x in a document with the
covariate x, uniform from 0 to 1. The covariate without an effect is another one.
"""

import argparse

import numpy as np
from machine import block

import hdpkit as hk

SLOPE = 0.4


def data(rng, documents, tokens):
    rows = np.repeat(np.eye(2), 10, axis=1) * 0.096 + 0.002
    rows /= rows.sum(axis=1, keepdims=True)
    x = rng.uniform(size=documents)
    mean = 0.3 + SLOPE * x
    words = []
    for share in rng.beta(8.0 * mean, 8.0 * (1.0 - mean)):
        counts = rng.binomial(tokens, share)
        words.append([*rng.choice(20, tokens - counts, p=rows[0]), *rng.choice(20, counts, p=rows[1])])
    return hk.Corpus.from_documents(words, n_terms=20), x, rows[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=40)
    parser.add_argument("--documents", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--samples", type=int, default=10, help="of each of two chains")
    options = parser.parse_args()
    print(block())
    ends, none = [], []
    for seed in range(options.sets):
        rng = np.random.default_rng(seed)
        corpus, x, row = data(rng, options.documents, options.tokens)
        root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
        documents = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
        scheduler = hk.Scheduler([hk.moves.TableGibbs(), hk.moves.DishGibbs(), hk.moves.Concentration()])
        trace = scheduler.run(
            hk.Franchise(documents, corpus), options.sweeps, rng=seed, chains=2, samples=options.samples,
            processes=1,
        )  # fmt: skip
        found = hk.summaries.components(trace)
        made = found.effects("x + other", {"x": x, "other": rng.uniform(size=len(x))})
        topic = int((found.rows @ row).argmax())
        ends.append([array[topic, 1] for array in (made.lower, made.estimates, made.upper)])
        none.append([array[topic, 2] for array in (made.lower, made.upper)])
    lower, estimate, upper = np.array(ends).T
    print("| intervals that contain | number | mean width |")
    print("| --- | ---: | ---: |")
    held = int(((lower <= SLOPE) & (upper >= SLOPE)).sum())
    print(f"| the slope, {SLOPE} | {held} of {options.sets} | {(upper - lower).mean():.3f} |")
    below, above = np.array(none).T
    held = int(((below <= 0.0) & (above >= 0.0)).sum())
    print(f"| 0, without an effect | {held} of {options.sets} | {(above - below).mean():.3f} |")
    print(f"mean estimate of the slope: {estimate.mean():.3f}")


if __name__ == "__main__":
    main()
