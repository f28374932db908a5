"""Runs chains in which everything is resampled, and prints the results: ``python recorded_chains.py``."""

import hashlib
import json

import numpy as np
from fused_cases import corpus

import hdpkit as hk
from hdpkit import moves


def digest_of(trace):
    """A number for the columns of a trace to the last bit."""
    found = hashlib.sha256()
    for name in sorted(trace):
        if not name.startswith("seconds") and name != "largest_shares":
            column = np.ascontiguousarray(trace[name])
            found.update(name.encode() + column.astype(column.dtype.newbyteorder("<")).tobytes())
    return found.hexdigest()[:16]


def topics(store, concentration, discount, measure, extra, sweeps=150):
    """Topics of a small corpus, with hyperparameters of restaurants by group."""
    measure = measure if isinstance(measure, hk.BaseMeasure) else hk.DirichletMultinomial(measure)
    root = hk.Restaurant(measure, concentration=hk.Gamma(2.0, 0.2), discount=discount)
    own = hk.Restaurant(root, concentration=concentration, discount=discount, each="document")
    franchise = hk.Franchise(own, corpus(15, 30, 40), store=store)
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), *extra]
    return hk.Scheduler(schedule).run(franchise, sweeps=sweeps, rng=3, init="sequential")


def direct_assignment():
    """Topics by customers and tables alone, with weights of the root."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(2.0, 0.2))
    own = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(own, corpus(15, 30, 40), store="counts", root="weights")
    schedule = [moves.TableGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
    return hk.Scheduler(schedule).run(franchise, sweeps=60, rng=3, init="sequential")


def repeated_words(store, root, discount):
    """Topics that differ by document."""
    base = hk.Bursty(hk.DirichletMultinomial(0.1), hk.Gamma(2.0, 0.2), discount)
    above = hk.Restaurant(base, concentration=hk.Gamma(2.0, 0.2))
    own = hk.Restaurant(above, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(own, corpus(15, 30, 40), store=store, root=root)
    schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]
    if root == "weights":
        schedule += [moves.TableCounts(), moves.RootWeights()]
    return hk.Scheduler(schedule).run(franchise, sweeps=60, rng=3, init="sequential")


def documents_in_parallel():
    """Topics and weights drawn, then customers, document by document."""
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(2.0, 0.2))
    own = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(own, corpus(15, 30, 40), store="counts", root="weights")
    schedule = [moves.SliceGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
    return hk.Scheduler(schedule, threads=2).run(franchise, sweeps=60, rng=3, init="sequential")


def levels(move):
    """The same with a level above the documents, by cell or customer by customer."""
    counts = np.random.default_rng(1).poisson(np.random.default_rng(2).gamma(0.2, 20.0, size=(15, 40)))
    data = hk.Corpus.from_counts(counts, groups={"type": [f"t{i // 4}" for i in range(15)]})
    above = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(2.0, 0.2))
    for label in ("type", "document"):
        above = hk.Restaurant(above, concentration=hk.Gamma(1.0, 1.0), each=label)
    franchise = hk.Franchise(above, data, store="counts", root="weights")
    schedule = [move, moves.RootWeights(), moves.Concentration()]
    return hk.Scheduler(schedule, threads=2).run(franchise, sweeps=60, rng=3, init=hk.init.Random(8))


def cells(dishes):
    """Large counts by cell, in many dishes."""
    counts = np.random.default_rng(1).poisson(np.random.default_rng(2).gamma(0.2, 200.0, size=(20, 40)))
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    own = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document")
    franchise = hk.Franchise(own, hk.Corpus.from_counts(counts), store="counts", root="weights")
    schedule = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights()]
    return hk.Scheduler(schedule).run(franchise, sweeps=4, rng=3, init=hk.init.Random(dishes))


def language():
    """Discounts and concentrations by length of context."""
    text = [[f"w{i * i * k % 23}" for i in range(9)] for k in range(40)]
    return hk.NGramModel(order=3).fit(text, sweeps=15, burn_in=5, samples=5, rng=1).trace


def numbers():
    """A mixture of normals with a prior on its location, started from a draw of the hyperparameters."""
    values = [[0.1 * ((i * j) % 17) - 3.0 * (j % 3) for i in range(12)] for j in range(9)]
    base = hk.NormalGamma(hk.Normal(0.0, 1.0), hk.Gamma(0.5, 1.0), 2.0, 1.0)
    root = hk.Restaurant(base, concentration=hk.Gamma(0.1, 0.1), discount=hk.Beta(0.5, 0.5))
    own = hk.Restaurant(root, concentration=hk.Each(hk.Gamma(1.0, 1.0)), each="group")
    drawn = hk.Franchise(own, hk.Groups.from_arrays(values)).simulate(rng=5)
    extra = [moves.Concentration(), moves.Discount(), moves.BaseMeasureParameters()]
    schedule = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), *extra])
    return schedule.run(drawn, sweeps=60, rng=4, init="sequential")


def digests():
    """Every chain by its name."""
    fixed = [moves.Concentration()]
    auxiliary = [moves.Concentration(), moves.Discount(), moves.BaseMeasureParameters()]
    by_slice = [
        moves.Concentration("slice"),
        moves.Discount("slice"),
        moves.BaseMeasureParameters("metropolis"),
    ]
    gamma, beta = hk.Gamma(1.0, 1.0), hk.Beta(1.0, 3.0)
    found = {
        "one concentration": topics("histogram", gamma, 0.0, 0.05, fixed),
        "a concentration each": topics("explicit", hk.Each(gamma), 0.0, 0.05, fixed),
        "auxiliary variables": topics("histogram", hk.Each(gamma), beta, hk.Gamma(1.0, 10.0), auxiliary),
        "slice": topics("histogram", hk.Shifted(gamma), beta, hk.Gamma(1.0, 10.0), by_slice),
        "direct assignment": direct_assignment(),
        "table indicators": topics("counts", gamma, beta, hk.Gamma(1.0, 10.0), auxiliary, sweeps=60),
        "repeated words": repeated_words("histogram", "restaurant", 0.3),
        "repeated words by counts": repeated_words("counts", "weights", 0.0),
        "documents in parallel": documents_in_parallel(),
        "many dishes": cells(90),
        "sparse topics": topics(
            "explicit", gamma, beta, hk.SparseDirichletMultinomial(0.05), fixed, sweeps=40
        ),
        "levels by cell": levels(moves.CountGibbs()),
        "levels by customer": levels(moves.SliceGibbs()),
        "language model": language(),
        "numbers": numbers(),
    }
    return {name: digest_of(trace) for name, trace in found.items()}


if __name__ == "__main__":
    from hdpkit.steps.fused import instruction_set

    used = instruction_set.instruction_set(), instruction_set.chosen.__file__
    print(json.dumps([digests(), *used]))
