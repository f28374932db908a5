"""Held-out scores of the consensus of several chains, compared with the chains themselves.

    OPENBLAS_NUM_THREADS=1 python benchmarks/consensus.py CORPUS --observed OBSERVED --held HELD [--chains 4]
        [--sweeps 400] [--samples 40] [--eta 0.05] [--alpha "gamma(1, 1)"] [--gamma "gamma(1, 1)"]
        [--threshold 0.5] [--occurrence 0.5] [--share 0.5] [--seed 0]

Each chain runs in its own process. The last states are scored by `hk.evaluate` (document completion, EM), and
the consensus by the same EM with its own topics, weights and mean concentration
(`hk.summaries.Components.perplexity`), as are the topics of each single chain over its samples. As a check, a
chain given twice must align with itself perfectly.
"""

import argparse
import time

import attrs
import machine
import numpy as np

import hdpkit as hk
from hdpkit.kinds.values import NumberOrPrior
from hdpkit.summaries import components


def franchise_of(corpus, options):
    root = hk.Restaurant(base=hk.DirichletMultinomial(options.eta), concentration=options.gamma)
    document = hk.Restaurant(base=root, concentration=options.alpha, each="document")
    return hk.Franchise(document, corpus)


def same_topics(one, other):
    """Share of the dishes that are the same topic in two samples of the same dishes."""
    return float(np.mean(one == other))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--observed", required=True)
    parser.add_argument("--held", required=True)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--sweeps", type=int, default=400)
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--eta", type=float, default=0.05)
    parser.add_argument("--alpha", default="gamma(1, 1)")
    parser.add_argument("--gamma", default="gamma(1, 1)")
    parser.add_argument("--threshold", type=float, default=None)
    parser.add_argument("--occurrence", type=float, default=0.5)
    parser.add_argument("--share", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in ("alpha", "gamma"):
        setattr(options, name, NumberOrPrior().parse(name, getattr(options, name)))
    corpus = hk.Corpus.from_ldac(options.corpus)
    halves = [hk.Corpus.from_ldac(path, n_terms=corpus.n_terms) for path in (options.observed, options.held)]
    schedule = [hk.moves.TableGibbs(), hk.moves.DishGibbs(), hk.moves.Concentration()]
    began = time.perf_counter()
    trace = hk.Scheduler(schedule).run(
        franchise_of(corpus, options), options.sweeps, rng=options.seed, chains=options.chains,
        samples=options.samples,
    )  # fmt: skip
    print(f"{machine.block()}\n{options.chains} chains, {time.perf_counter() - began:.0f} s")
    scores = [
        hk.evaluate(one, halves[0], held_out=halves[1], fit="em").perplexity for one in trace.franchises
    ]
    for number, score in zip(trace.numbers, scores, strict=True):
        print(f"chain {number}: K = {trace.franchises[number].n_dishes}, perplexity {score:.2f}")

    def of(samples):
        aligned = components(samples, threshold=options.threshold)
        return aligned, aligned.selected(aligned.agreed(options.occurrence, options.share))

    for chain in trace.chains:
        aligned, kept = of(chain.samples)
        score = kept.perplexity(*halves)
        print(f"samples of chain {chain.samples[0].chain}: {len(kept)} of {len(aligned)} topics, {score:.2f}")
    began = time.process_time()
    aligned, kept = of(trace.samples)
    seconds, agreed = time.process_time() - began, kept.perplexity(*halves)
    median = float(np.median(scores))
    print(
        f"aligned: {len(aligned)} topics of {len(trace.samples)} samples in {seconds:.1f} s of processor time"
    )
    print(
        f"consensus: {len(kept)} topics, {kept.rest:.1%} of the tokens in the rest, perplexity {agreed:.2f}"
    )
    print(f"median chain {median:.2f}; the consensus is {'no worse' if agreed <= median else 'worse'}")
    first = trace.chains[0].samples
    twice, _ = of([*first, *(attrs.evolve(sample, chain=options.chains) for sample in first)])
    labels = [twice.which(sample) for sample in twice.samples]
    same = [same_topics(a, b) for a, b in zip(labels[: len(first)], labels[len(first) :], strict=True)]
    print(f"a chain beside its duplicate: {np.mean(same):.1%} of the dishes are the same topic")


if __name__ == "__main__":
    main()
