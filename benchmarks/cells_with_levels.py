"""Sweeps over counts with levels above the documents: processor time by cell and by customer.

    OPENBLAS_NUM_THREADS=1 python benchmarks/cells_with_levels.py [--samples 200] [--most 50000] [--dishes 20]
        [--settle 100] [--sweeps 100] [--token-sweeps 5]

A simulated cohort of ``examples/signature_cohorts.py``: samples of five types, 96 channels, at most --most
mutations each. All models have priors of their concentrations and begin with --dishes random dishes. --settle
sweeps precede the timed ones, except for TableGibbs, which has one.
"""

import argparse
import runpy
import time
from pathlib import Path

from machine import block

import hdpkit as hk
from hdpkit import moves

COHORTS = runpy.run_path(str(Path(__file__).resolve().parent.parent / "examples" / "signature_cohorts.py"))
BY_CELL = {"store": "counts", "root": "weights"}
FITS = {
    "CountGibbs, two levels": (
        False,
        BY_CELL,
        [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights()],
    ),
    "CountGibbs, three levels": (True, BY_CELL, [moves.CountGibbs(), moves.RootWeights()]),
    "SliceGibbs, three levels": (True, BY_CELL, [moves.SliceGibbs(), moves.RootWeights()]),
    "TableGibbs, three levels": (True, {}, [moves.TableGibbs()]),
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--most", type=int, default=50_000)
    parser.add_argument("--dishes", type=int, default=20)
    parser.add_argument("--settle", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--token-sweeps", type=int, default=5)
    options = parser.parse_args()
    corpus = COHORTS["make_cohort"](0, options.samples, most=options.most).corpus
    print(block())
    n_cells = len(corpus.cells.count)
    print(f"{corpus.n_documents} samples, {corpus.n_tokens:,} mutations in {n_cells:,} cells")
    print("| sweep | seconds of processor time | dishes at the end |")
    print("| --- | --- | --- |")
    for name, (levels, store, schedule) in FITS.items():
        franchise = hk.Franchise(COHORTS["model"](levels), corpus, **store)
        by_token = name.startswith("TableGibbs")
        settle, sweeps = (1, options.token_sweeps) if by_token else (options.settle, options.sweeps)
        scheduler = hk.Scheduler([*schedule, moves.Concentration()])
        scheduler.run(franchise, sweeps=settle, rng=0, init=hk.init.Random(options.dishes))
        began = time.process_time()
        scheduler.run(franchise, sweeps=sweeps, rng=None, init=None)
        print(f"| {name} | {(time.process_time() - began) / sweeps:.4f} | {franchise.n_dishes} |")


if __name__ == "__main__":
    main()
