"""Speed of fold-in and of held-out scores, on one thread.

    python benchmarks/fold_in.py TRAIN.ldac [--observed FILE] [--held FILE] [--dishes 330] [--sweeps 10]

The test documents consist of both halves (see heldout.py, which finds them). A two-level HDP is trained for
some sweeps of TableGibbs from random dishes; with --discount the documents have that discount. Tokens/s of
fold-in: tokens of the test documents times all sweeps (the first, which seats them, the burn-in of 20 and the
50 that are averaged), divided by the seconds of the entire call, including densities; the median of five
calls, in wall-clock time and in processor time, which depends less on other programs. Left-to-right: scored
tokens times particles, divided by the seconds of the call.
"""

import argparse
import statistics
import time

import heldout
import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves

CALLS, BURN_IN, SWEEPS, PARTICLES = 5, 20, 50, 5


def timed(call):
    """The result of a call, and its seconds."""
    began = time.perf_counter()
    return call(), time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("train", help="LDA-C file, plain or gzipped")
    parser.add_argument("--observed", help="LDA-C file of observed halves")
    parser.add_argument("--held", help="LDA-C file of held-out halves")
    parser.add_argument("--dishes", type=int, default=330)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--discount", type=float, default=0.0)
    options = parser.parse_args()

    corpus, observed, held = heldout.read(options.train, options.observed, options.held)
    if observed is None:
        observed = held = corpus.to_counts()
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.1), concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, discount=options.discount, each="document")
    franchise = hk.Franchise(document, corpus)
    hk.Scheduler([moves.TableGibbs()]).run(
        franchise, sweeps=options.sweeps, rng=0, init=hk.init.Random(options.dishes)
    )
    new = hk.Corpus.from_counts(observed + held)
    print(block())
    print(f"{franchise!r}")
    print(f"new: {new!r}")
    seconds, busy = [], []
    for call in range(CALLS):
        began = time.process_time()
        folded, took = timed(lambda seed=call: franchise.fold_in(new, SWEEPS, burn_in=BURN_IN, rng=seed))
        seconds.append(took)
        busy.append(time.process_time() - began)
    steps = len(new) * (1 + BURN_IN + SWEEPS)
    rates = sorted(steps / took for took in seconds)
    processor = statistics.median(steps / took for took in busy)
    print(f"{folded!r}: rows sum to one within {np.abs(folded.proportions.sum(axis=1) - 1).max():.1g}")
    wall = f"{statistics.median(rates):,.0f} tokens/s ({rates[0]:,.0f} to {rates[-1]:,.0f})"
    print(f"fold-in: {wall}, {processor:,.0f} by processor time")
    halves = [hk.Corpus.from_counts(half) for half in (observed, held)]
    found, took = timed(lambda: hk.evaluate(franchise, halves[0], held_out=halves[1]))
    print(f"{found} ({took:.2f} s)")
    found, took = timed(lambda: hk.evaluate(franchise, new, method="left-to-right", particles=PARTICLES))
    print(f"{found} ({took:.2f} s, {len(new) * PARTICLES / took:,.0f} tokens/s)")


if __name__ == "__main__":
    main()
