"""What each specialised sweep gains over the compiled sweep that serves any measure.

    OPENBLAS_NUM_THREADS=1 python benchmarks/specialised_sweeps.py CORPUS.ldac.gz
        [--counts COUNTS.ldac.gz] [--sentences TEXT] [--cases WORD ...] [--settle 20] [--rounds 5]

For each case a chain runs --settle sweeps. Two franchises then make a sweep from that state, in turn; seconds
are of processor time, medians. "generic" is the compiled sweep of any measure and store; SliceGibbs and
CountGibbs, which have no generic code, are compared with TableGibbs, fused or generic, over the same data.
The last column is the median of the paired ratios. COUNTS is a corpus of few terms with large counts.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves


def topics(measure, store, root="restaurant", data="corpus"):
    """A topic model over a corpus."""

    def make(options, kernel):
        top = hk.Restaurant(measure, concentration=2.0)
        below = hk.Restaurant(top, each="document", concentration=2.0)
        corpus = hk.Corpus.from_ldac(getattr(options, data))
        return hk.Franchise(below, corpus, store=store, root=root, kernel=kernel)

    return make


def ngrams(options, kernel):
    """A trigram model of the sentences."""
    with open(options.sentences, encoding="utf-8") as file:
        data = hk.NGrams.from_sentences([line.split() for line in file], order=3)
    model = hk.Restaurant(hk.Uniform(), concentration=0.5, discount=0.5)
    for level in (1, 2):
        model = hk.Restaurant(model, concentration=0.5, discount=0.5, each=f"context {level}")
    return hk.Franchise(model, data, kernel=kernel)


def against_generic(*names):
    """The same move by the fastest code and by the generic one."""
    return [((name, "auto"), (name, "generic")) for name in names]


def against_tables(name):
    """A move against TableGibbs, fused and generic."""
    return [((name, "auto"), ("TableGibbs", "auto")), ((name, "auto"), ("TableGibbs", "generic"))]


PLAIN, SPARSE = hk.DirichletMultinomial(0.1), hk.SparseDirichletMultinomial(0.1, selection=hk.Beta(1.0, 1.0))
BURSTY = hk.Bursty(PLAIN, 100.0)
# name: (the franchise, its data, pairs of a move and a kernel)
CASES = {}
for words, measure in (("words", PLAIN), ("bursts", BURSTY)):
    for store, root in (
        ("histogram", "restaurant"), ("explicit", "restaurant"), ("histogram", "weights"),
        ("explicit", "weights"), ("counts", "weights"),
    ):  # fmt: skip
        pairs = against_generic("TableGibbs", "DishGibbs")
        if store == "counts":
            pairs += against_tables("SliceGibbs")
        CASES[f"{words}, {store}, {root}"] = (topics(measure, store, root), "corpus", pairs)
for store in ("histogram", "explicit"):
    CASES[f"selected words, {store}, restaurant"] = (
        topics(SPARSE, store), "corpus", against_generic("TableGibbs")
    )  # fmt: skip
CASES["cells of counts"] = (
    topics(PLAIN, "counts", "weights", "counts"),
    "counts",
    against_tables("CountGibbs"),
)
CASES["n-grams"] = (ngrams, "sentences", against_generic("TableGibbs"))


def compare(name, options):
    """Rows of the table for one case, one for each pair."""
    make, data, pairs = CASES[name]
    kernels = sorted({kernel for pair in pairs for _, kernel in pair})
    franchises = {kernel: make(options, kernel) for kernel in kernels}
    settled = franchises["auto"]
    schedule = [getattr(moves, name)() for name in dict.fromkeys(pair[0][0] for pair in pairs)]
    if settled.root.kind == "weights":
        schedule.append(moves.RootWeights())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hk.errors.ManyTopicsWarning)
        init = "auto" if data == "sentences" else hk.init.Random(50)
        hk.Scheduler(schedule).run(settled, sweeps=options.settle, rng=1, init=init)
    frozen = settled.freeze()
    for pair in pairs:
        found = ([], [])
        for turn in range(options.rounds + 1):
            for i in (0, 1) if turn % 2 == 0 else (1, 0):
                move, kernel = pair[i]
                franchises[kernel].thaw(frozen)
                began = time.process_time()
                hk.Scheduler([getattr(moves, move)()]).run(franchises[kernel], 1, rng=turn, init=None)
                if turn:
                    found[i].append(time.process_time() - began)
        fast, slow = (statistics.median(each) for each in found)
        ratio = np.median([b / a for a, b in zip(*found, strict=True)])
        (move, _), (other, kernel) = pair
        against = kernel.replace("auto", "fused") + ("" if move == other else f" {other}")
        yield f"| {name}: {move} | {fast:.3g} | {against} | {slow:.3g} | {ratio:.2f} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--counts")
    parser.add_argument("--sentences")
    parser.add_argument("--cases", nargs="*", default=[""], help="those whose names contain one of these")
    parser.add_argument("--settle", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(block())
    print("| case | seconds a sweep | against | seconds | ratio |")
    print("| --- | --- | --- | --- | --- |")
    for name, (_, data, _) in CASES.items():
        if any(word in name for word in options.cases) and getattr(options, data):
            for row in compare(name, options):
                print(row, flush=True)


if __name__ == "__main__":
    main()
