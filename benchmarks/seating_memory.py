"""Memory of the two seating stores as a corpus grows: a measurement of the claim of Blunsom et al. (2009).

    python benchmarks/seating_memory.py TEXT [--orders 1 2 3] [--sizes 10000 100000] [--sweeps 3]
                                             [--figure FILE.png]

TEXT is a file of sentences, one per line, plain or compressed. For each order of a Pitman-Yor n-gram model
and each number of tokens (the first sentences of the text; by default powers of ten and the complete text),
each store is built in its own process: the sequential start, a few sweeps of TableGibbs, then bytes per
customer and the median of the seconds per sweep. `store` is the memory of the seating (`memory_bytes`), `all`
includes hyperparameters and the tree of contexts, `process` is the growth of the process (Linux only;
otherwise nan). Customers are those of the data: every token, and the end of each sentence.
"""

import argparse
import json
import statistics
import subprocess
import sys

from machine import block, resident

import hdpkit as hk
from hdpkit import moves
from hdpkit.io import read_sentences

STORES = ("explicit", "histogram")
COUNTS = ("customers", "restaurants", "tables")
SIZES = ("store_bytes", "all_bytes", "process_bytes")
DISCOUNTS = (0.5, 0.75, 0.85, 0.9)


def first_sentences(text, n_tokens):
    seen = 0
    for sentence in read_sentences(text):
        if n_tokens and seen >= n_tokens:
            return
        seen += len(sentence) + 1
        yield sentence


def measure(text, order, store, n_tokens, sweeps):
    """One row, in this process."""
    data = hk.NGrams.from_sentences(first_sentences(text, n_tokens), order=order)
    restaurant = hk.Restaurant(hk.Uniform(), concentration=1.0, discount=DISCOUNTS[0])
    for level in range(1, order):
        restaurant = hk.Restaurant(
            restaurant,
            each=f"context {level}",
            concentration=1.0,
            discount=DISCOUNTS[min(level, len(DISCOUNTS) - 1)],
        )
    before = resident()
    franchise = hk.Franchise(restaurant, data, store=store)
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=sweeps, rng=0)
    after = resident()
    n = len(data)
    return {
        "order": order, "store": store, "customers": n, "restaurants": franchise.topology.n_nodes,
        "tables": int(franchise.totals()[1].sum()),
        "store_bytes": franchise.store.memory_bytes() / n, "all_bytes": franchise.memory_bytes() / n,
        "process_bytes": (after - before) / n,
        "seconds": statistics.median(trace.moves["seconds"].tolist()),
    }  # fmt: skip


def in_a_process_of_its_own(*arguments):
    command = [sys.executable, __file__, "--row", json.dumps(arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def sizes_of(text, wanted):
    total = sum(len(sentence) + 1 for sentence in read_sentences(text))
    if wanted:
        return wanted
    return [10**k for k in range(4, 12) if 10**k < total] + [0]


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for order in sorted({row["order"] for row in rows}):
        for store, style in zip(STORES, ("o--", "s-"), strict=True):
            own = [row for row in rows if row["order"] == order and row["store"] == store]
            n = [row["customers"] for row in own]
            label = f"order {order}, {store}"
            colour = f"C{order - 1}"
            axes[0].plot(n, [row["store_bytes"] for row in own], style, color=colour, label=label)
            axes[1].plot(n, [row["seconds"] for row in own], style, color=colour, label=label)
    axes[0].set(xscale="log", xlabel="customers", ylabel="bytes a customer, seating")
    axes[1].set(xscale="log", yscale="log", xlabel="customers", ylabel="seconds a sweep")
    axes[0].set_ylim(bottom=0)
    axes[1].legend(fontsize=7, loc="upper left")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", nargs="?", help="sentences, one a line, plain or packed")
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--sizes", type=int, nargs="+", help="tokens; 0 is the whole text")
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--figure", help="file of a picture to draw")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(*json.loads(options.row))))
        return
    if not options.text:
        parser.error("TEXT is missing")

    print(block())
    names = ("order", "customers", "restaurants", "tables", "store", "seating", "all", "process", "s/sweep")
    print("| " + " | ".join(names) + " |")
    print("|" + " --- |" * len(names))
    rows = []
    for order in options.orders:
        for size in sizes_of(options.text, options.sizes):
            for store in STORES:
                row = in_a_process_of_its_own(options.text, order, store, size, options.sweeps)
                rows.append(row)
                counts = " | ".join(f"{row[name]:,}" for name in COUNTS)
                sizes = " | ".join(f"{row[name]:.1f}" for name in SIZES)
                print(f"| {order} | {counts} | {store} | {sizes} | {row['seconds']:.3f} |", flush=True)
    if options.figure:
        draw(rows, options.figure)


if __name__ == "__main__":
    main()
