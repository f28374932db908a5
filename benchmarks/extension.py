"""Speed of base measures: compiled outside the package, built in, and written in Python.

    python benchmarks/extension.py CORPUS.ldac[.gz] [--dishes 100] [--sweeps 10]

The example package `examples/compiled_measure` is built in a temporary folder against the installed header.
Sweeps of TableGibbs on the generic kernel alternate between the two; the result is the ratio of the medians.
Then the same for points in groups under a normal distribution of known variance in Python, on the generic and
the reference kernel.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
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


class Normal(hk.BaseMeasure):
    """Normal(m, 1) with m ~ Normal(0, 100): the statistics are the number of values and their sum."""

    def make(self):
        return [0, 0.0]

    def add(self, statistics, value):
        statistics[0] += 1
        statistics[1] += value

    def remove(self, statistics, value):
        statistics[0] -= 1
        statistics[1] -= value

    def log_predictive(self, value, many):
        n, total = np.array(many).T
        variance = 1.0 / (n + 0.01)
        return -0.5 * (np.log(variance + 1.0) + (value - total * variance) ** 2 / (variance + 1.0))


def in_python(sweeps):
    generator = np.random.default_rng(0)
    centres = generator.choice([-20.0, -5.0, 5.0, 20.0], (50, 20))
    data = hk.Groups.from_arrays(list(centres + generator.normal(size=centres.shape)))
    root = hk.Restaurant(base=Normal(), concentration=1.0)
    group = hk.Restaurant(base=root, concentration=1.0, each="group")
    made = {kernel: hk.Franchise(group, data, kernel=kernel) for kernel in ("generic", "reference")}
    seconds = measured(made, hk.init.Random(4), sweeps)
    print(f"in Python, 1,000 points: reference / generic {seconds['reference'] / seconds['generic']:.1f} x")


def measured(franchises, init, sweeps):
    """Median seconds of a sweep of TableGibbs over each franchise, in turn."""
    schedule = hk.Scheduler([moves.TableGibbs()])
    for franchise in franchises.values():
        schedule.run(franchise, sweeps=1, rng=0, init=init)
    seconds = {name: [] for name in franchises}
    for _ in range(sweeps):
        for name, franchise in franchises.items():
            trace = schedule.run(franchise, sweeps=1, rng=1, init=None)
            seconds[name].append(float(trace.moves["seconds"].sum()))
    return {name: statistics.median(these) for name, these in seconds.items()}


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
    in_python(options.sweeps)
    with tempfile.TemporaryDirectory() as folder:
        build(folder)
        from polya_urn import PolyaUrn

        measures = {
            "built in": hk.DirichletMultinomial(0.1, n_terms=corpus.n_terms),
            "outside": PolyaUrn(corpus.n_terms, 0.1),
        }
        for store in ("explicit", "histogram"):
            franchises = {name: franchise_over(one, corpus, store) for name, one in measures.items()}
            median = measured(franchises, hk.init.Random(options.dishes), options.sweeps)
            rates = ", ".join(f"{name} {len(corpus) / these:,.0f} tokens/s" for name, these in median.items())
            print(f"{store}: {rates}; outside / built in {median['outside'] / median['built in']:.2f} x")


if __name__ == "__main__":
    main()
