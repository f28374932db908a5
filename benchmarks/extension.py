"""Tokens per second of a base measure compiled outside the package, and of the built-in one.

    python benchmarks/extension.py CORPUS.ldac[.gz] [--dishes 100] [--sweeps 10]

The example package `examples/compiled_measure` is built in a temporary folder against the installed header.
Sweeps of TableGibbs on the generic kernel alternate between the two; the result is the ratio of the medians.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from machine import block

import hdpkit as hk
from hdpkit import moves

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "compiled_measure"


def build(folder):
    package = Path(folder) / "package"
    shutil.copytree(EXAMPLE, package, ignore=shutil.ignore_patterns("build", "*.so"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "setup.py", "build_ext", "--inplace"]
    subprocess.run(command, cwd=package, env=environment, check=True, capture_output=True)
    sys.path.insert(0, str(package))


def franchise_over(measure, corpus, store):
    root = hk.Restaurant(base=measure, concentration=5.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    return hk.Franchise(document, corpus, store=store, kernel="generic")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", help="LDA-C file")
    parser.add_argument("--dishes", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    options = parser.parse_args()
    corpus = hk.Corpus.from_ldac(options.corpus)
    print(block())
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        from polya_urn import PolyaUrn

        measures = {
            "built in": hk.DirichletMultinomial(0.1, n_terms=corpus.n_terms),
            "outside": PolyaUrn(corpus.n_terms, 0.1),
        }
        for store in ("explicit", "histogram"):
            franchises = {name: franchise_over(one, corpus, store) for name, one in measures.items()}
            schedule = hk.Scheduler([moves.TableGibbs()])
            for franchise in franchises.values():
                schedule.run(franchise, sweeps=1, rng=0, init=hk.init.Random(options.dishes))
            seconds = {name: [] for name in franchises}
            for _ in range(options.sweeps):
                for name, franchise in franchises.items():
                    trace = schedule.run(franchise, sweeps=1, rng=1, init=None)
                    seconds[name].append(float(trace.moves["seconds"].sum()))
            median = {name: statistics.median(these) for name, these in seconds.items()}
            rates = ", ".join(f"{name} {len(corpus) / these:,.0f} tokens/s" for name, these in median.items())
            print(f"{store}: {rates}; outside / built in {median['outside'] / median['built in']:.2f} x")


if __name__ == "__main__":
    main()
