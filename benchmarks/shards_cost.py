"""Seconds per sweep over shards by tokens, terms, topics and documents: fitted and extrapolated.

    hdpkit convert CORPUS FOLDER --shards 4
    python benchmarks/shards_cost.py FOLDER... [--topics 100 400 1000] [--threads 1 2] [--sweeps 12]

Each combination of corpus, topics and threads runs in a process, as one worker (eta 0.1; alpha and gamma
have Gamma(1, 1) priors). The medians of the second half of the sweeps, without those in which arrays grew,
are fitted by least squares of relative errors with nonnegative coefficients:

    draw = b V L / T                      topics: V terms, L labels whose topics are drawn, T threads
    sweep = (a N + e N S + f V S) / T     N tokens, S slots
    finish = c V S + d J                  J documents: statistics, and the concentration of documents

Printed: measurements and fit; the coefficients; then, for R ranks on machines with M ranks each,

    (a N + e N S) / (R T) + b V L / (M T) + f V S / T + c V S + d J
    + (4 log2(R) + R) latency + 2 bytes / bandwidth,

where `bytes` is 2.1 per changed count, at most one per term and topic; and the memory of a process. Last come
seconds a sweep (and millions of tokens a second and core) for 10^5 to 10^9 tokens on 1 to 64 cores. L and S
are those of the measured run with the most topics, scaled in proportion to topics.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time

import numpy as np
from machine import block
from scipy.optimize import nnls

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.run.shards.worker import Worker

PHASES = ("draw", "sweep", "finish")
METHODS = {"start": "draw", "sweep": "sweep", "go_on": "finish"}  # of a worker, with one move over documents
CASES = (  # tokens, terms, topics, ranks, threads of each, ranks on a machine
    (768e6, 90_000, 1_000, 1, 2, 1),
    (768e6, 90_000, 1_000, 1, 16, 1),
    (768e6, 90_000, 1_000, 16, 1, 16),
    (1e11, 90_000, 1_000, 63, 16, 1),
    (1e11, 90_000, 1_000, 1_008, 1, 16),
)
SIZES = (
    (1e5, 5_000, 100),
    (1e6, 15_000, 300),
    (1e7, 20_000, 1_000),
    (1e8, 50_000, 1_000),
    (1e9, 90_000, 1_000),
)
CORES = (1, 2, 16, 20, 64)  # the threads of one process on each machine of at most CORES_OF_A_MACHINE
CORES_OF_A_MACHINE = 20
LENGTH = 140  # tokens of a document
LATENCY, BANDWIDTH = 2e-5, 1.25e9  # seconds, bytes/s: ten-gigabit Ethernet
BYTES = 2.1  # of a changed count


def child(folder, topics, threads, sweeps):
    """Run a chain in this process; prints its sizes and the seconds of each phase."""
    seconds, shapes, call = {phase: [] for phase in PHASES}, [], Worker.call

    def timed(worker, step, *given):
        began = time.perf_counter()
        answer = call(worker, step, *given)
        if step in METHODS:
            seconds[METHODS[step]].append(time.perf_counter() - began)
        if step == "start":
            plan = DocumentSweeps.of(worker.franchise).begun[0]
            slots = (int(plan.slots.max()) // 16 + 1) * 16
            shapes.append((len(plan.slots), slots, worker.franchise.n_dishes))
        return answer

    Worker.call = timed
    corpus = hk.ShardedCorpus.open(folder)
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    declared = hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))
    schedule = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()]
    init = hk.init.TermClusters(topics)
    franchise = shards.ShardedFranchise(declared, corpus)
    hk.Scheduler(schedule, threads=threads).run(franchise, sweeps, rng=1, init=init)
    most = np.maximum.accumulate([slots for _, slots, _ in shapes])
    kept = [i for i in range(1, sweeps) if i >= sweeps // 2 and most[i] == most[i - 1]] or [sweeps - 1]
    labels, slots, dishes = np.median(np.array(shapes)[kept], axis=0).tolist()
    found = {
        "tokens": corpus.n_tokens, "terms": corpus.n_terms, "documents": corpus.n_documents,
        "threads": threads, "labels": labels, "slots": max(slots, float(most[-1])), "topics": dishes,
        **{phase: statistics.median(seconds[phase][i] for i in kept) for phase in PHASES},
    }  # fmt: skip
    print("result " + json.dumps(found), flush=True)


def measured(folder, topics, threads, sweeps):
    """The same in a new process."""
    command = [sys.executable, __file__, folder, "--child", str(topics), str(threads), str(sweeps)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(out.split("result ")[1])


def least_squares(columns, seconds):
    """Nonnegative coefficients by least squares of relative errors."""
    seconds = np.asarray(seconds, dtype=float)
    return nnls(np.stack(columns, axis=1) / seconds[:, None], np.ones(len(seconds)))[0]


def fitted(rows):
    """Coefficients by their letters, in seconds."""
    n, v, j, t, labels, slots = (
        np.array([row[name] for row in rows], dtype=float)
        for name in ("tokens", "terms", "documents", "threads", "labels", "slots")
    )
    (b,) = least_squares([v * labels / t], [row["draw"] for row in rows])
    a, e, f = least_squares([n / t, n * slots / t, v * slots / t], [row["sweep"] for row in rows])
    c, d = least_squares([v * slots, j], [row["finish"] for row in rows])
    return dict(zip("abcdef", map(float, (a, b, c, d, e, f)), strict=True))


def phases(coefficients, row):
    """Seconds of each phase by the model, in one worker."""
    of = coefficients
    return {
        "draw": of["b"] * row["terms"] * row["labels"] / row["threads"],
        "sweep": (
            of["a"] * row["tokens"]
            + of["e"] * row["tokens"] * row["slots"]
            + of["f"] * row["terms"] * row["slots"]
        )
        / row["threads"],
        "finish": of["c"] * row["terms"] * row["slots"] + of["d"] * row["documents"],
    }


def extrapolated(coefficients, case, like):
    """Seconds of each term of the model, and gigabytes of a process; `like` has labels and slots."""
    tokens, terms, topics, ranks, threads, together = case
    of, documents = coefficients, tokens / LENGTH
    labels, slots = (topics * like[name] / like["topics"] for name in ("labels", "slots"))
    sent = BYTES * terms * topics if ranks > 1 else 0.0
    seconds = {
        "documents": (of["a"] + of["e"] * slots) * tokens / (ranks * threads),
        "topics": of["b"] * terms * labels / (together * threads),
        "statistics": (of["c"] + of["f"] / threads) * terms * slots,
        "concentration": of["d"] * documents,
        "messages": (4 * math.log2(ranks) + ranks) * LATENCY + 2 * sent / BANDWIDTH if ranks > 1 else 0.0,
    }
    gigabytes = {
        "counts": 8e-9 * terms * slots,
        "topics": 4e-9 * terms * slots / together,
        "tokens": 12e-9 * tokens / ranks,
        "lengths": 8e-9 * documents,
    }
    return seconds, gigabytes


def show(rows):
    """Print measured sweeps and the fit, the coefficients, and the cases."""
    coefficients = fitted(rows)
    heads = ["tokens", "terms", "documents", "topics", "threads", *(f"{one}, s (fit)" for one in PHASES)]
    print("\n| " + " | ".join(heads) + " |")
    print("|" + " --- |" * len(heads))
    for row in rows:
        by_fit = phases(coefficients, row)
        sizes = [f"{row[name]:,.0f}" for name in ("tokens", "terms", "documents", "topics", "threads")]
        both = [f"{row[phase]:.3f} ({by_fit[phase]:.3f})" for phase in PHASES]
        print("| " + " | ".join([*sizes, *both]) + " |")
    print("\n" + ", ".join(f"{name} = {1e9 * value:.4g} ns" for name, value in coefficients.items()))
    like = max(rows, key=lambda row: row["topics"])
    print("\n| tokens | ranks x threads | s a sweep | of it | GB a process | largest beside documents |")
    print("|" + " --- |" * 6)
    for case in CASES:
        seconds, gigabytes = extrapolated(coefficients, case, like)
        parts = ", ".join(f"{name} {value:.2f}" for name, value in seconds.items())
        where = f"{case[3]:,} x {case[4]}, {case[5]} on a machine"
        largest = max((name for name in seconds if name != "documents"), key=seconds.__getitem__)
        memory = max(gigabytes, key=gigabytes.__getitem__)
        print(
            f"| {case[0]:.3g} | {where} | {sum(seconds.values()):.1f} | {parts} | "
            f"{sum(gigabytes.values()):.1f} | {largest}; of memory {memory} |"
        )
    show_sizes(coefficients, like)


def show_sizes(coefficients, like):
    """Print seconds a sweep, and tokens a second of each core, by tokens and cores."""
    print("\n| tokens | terms | topics | " + " | ".join(f"{n} cores" for n in CORES) + " |")
    print("|" + " --- |" * (3 + len(CORES)))
    for tokens, terms, topics in SIZES:
        cells = []
        for cores in CORES:
            machines = math.ceil(cores / CORES_OF_A_MACHINE)
            case = (tokens, terms, topics, machines, cores // machines, 1)
            seconds = sum(extrapolated(coefficients, case, like)[0].values())
            cells.append(f"{seconds:.3g} ({1e-6 * tokens / seconds / cores:.2g})")
        print(f"| {tokens:.0e} | {terms:,} | {topics:,} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 400, 1000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sweeps", type=int, default=12)
    parser.add_argument("--child", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.folders[0], *options.child)
        return
    rows = []
    for folder in options.folders:
        for topics in options.topics:
            for threads in options.threads:
                rows.append(measured(folder, topics, threads, options.sweeps))
                print(f"{folder}, {topics} topics, {threads} threads: {rows[-1]}", flush=True)
    show(rows)
    print(block())


if __name__ == "__main__":
    main()
