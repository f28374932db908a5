"""Memory of a topic model: bytes per token by purpose, and the memory of the process.

    python benchmarks/memory.py CORPUS [--dishes 100] [--sweeps 12] [--stores histogram explicit]

CORPUS is any corpus that `hdpkit fit` reads; for each store it is read into memory and also mapped from a
folder of arrays in the temporary directory. Each row is measured in its own process: TableGibbs from the
given number of random dishes, alpha = gamma = 1 and eta = 0.1 fixed. `reported` is Franchise.memory_bytes(),
`but counts` the same without the V x K topic-term counts at four bytes each. For the process (Linux only)
`own` is the growth of its private memory since the corpus was loaded, `start` and `sweeps` the largest growth
(including mapped files in memory) until the end of the first sweep, and during all later ones.
"""

import argparse
import json
import math
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import convert_corpus, read_corpus

PARTS = ("customers", "entries", "tables", "restaurants", "tree", "hyperparameters", "statistics")


def status(name):
    """A number of /proc/self/status in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return math.nan
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name + ":"))


def forget_the_peak():
    Path("/proc/self/clear_refs").write_text("5")


def measure(path, store, kernel, dishes, sweeps):
    """One row, in this process."""
    corpus = read_corpus(path)
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.1), concentration=1.0)
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    forget_the_peak()
    own, there, peaks = status("RssAnon"), status("VmRSS"), []

    def after(draw):
        peaks.append(status("VmHWM") - there)
        forget_the_peak()

    franchise = hk.Franchise(document, corpus, store=store, kernel=kernel)
    began = time.perf_counter()
    hk.Scheduler([moves.TableGibbs()]).run(
        franchise, sweeps=sweeps, rng=0, init=hk.init.Random(dishes), callbacks=[after]
    )
    n = len(corpus)
    counts = 4 * corpus.n_terms * franchise.n_dishes
    return {
        "n": n,
        "dishes": franchise.n_dishes,
        "parts": {name: size / n for name, size in franchise.memory_parts().items()},
        "reported": franchise.memory_bytes() / n,
        "but counts": (franchise.memory_bytes() - counts) / n,
        "own": (status("RssAnon") - own) / n,
        "start": peaks[0] / n,
        "sweeps": max(peaks[1:], default=math.nan) / n,
        "seconds": time.perf_counter() - began,
    }


def in_a_process_of_its_own(*arguments):
    command = [sys.executable, __file__, "--row", json.dumps([str(one) for one in arguments])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", nargs="?", help="what hdpkit fit reads")
    parser.add_argument("--dishes", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=12)
    parser.add_argument("--stores", nargs="+", default=["histogram", "explicit"])
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        path, store, kernel, dishes, sweeps = json.loads(options.row)
        print(json.dumps(measure(path, store, kernel, int(dishes), int(sweeps))))
        return
    if not options.corpus:
        parser.error("CORPUS is missing")

    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}\n")
    with tempfile.TemporaryDirectory() as folder:
        converted = Path(folder) / "converted"
        print(f"{convert_corpus(options.corpus, converted)!r}\n")
        names = ("corpus", "store", "K", *PARTS, "reported", "but counts", "own", "start", "sweeps")
        print("| " + " | ".join(names) + " |")
        print("|" + " --- |" * len(names))
        for store in options.stores:
            for how, path in (("read", options.corpus), ("mapped", converted)):
                row = in_a_process_of_its_own(path, store, options.kernel, options.dishes, options.sweeps)
                numbers = [row["parts"].get(name, 0.0) for name in PARTS]
                numbers += [row[name] for name in ("reported", "but counts", "own", "start", "sweeps")]
                cells = " | ".join(f"{number:.2f}" for number in numbers)
                print(f"| {how} | {store} | {row['dishes']} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
