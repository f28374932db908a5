"""Sweeps of two checkouts, in turn: does a change make them slower?

    OPENBLAS_NUM_THREADS=1 python benchmarks/paired_sweeps.py BEFORE AFTER CORPUS.ldac.gz
        [--counts COUNTS.ldac.gz] [--sentences TEXT] [--cases WORD ...] [--rounds 21] [--sweeps 2]

BEFORE and AFTER are folders with hdpkit and its compiled modules (`python setup.py build_ext --inplace`).
For each case two processes, one of each folder, begin with the same seed and take turns; who goes first
alternates. In each turn a process runs --sweeps sweeps. Seconds of whole sweeps are of processor time, those
of moves are the trace's (by the clock).
`same chain` compares the dishes of all customers after the last sweep.

CORPUS is a corpus of documents, COUNTS one of few terms with large counts (CountGibbs), and TEXT a file of
sentences, one per line (an n-gram model of order 3). Cases whose data aren't given are left out.
"""

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path


def topics(store, root, eta=0.05):
    """A topic model with priors of both concentrations, over CORPUS."""

    def make(hk, paths):
        top = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=hk.Gamma(1.0, 1.0))
        model = hk.Restaurant(top, each="document", concentration=hk.Gamma(1.0, 1.0))
        return hk.Franchise(model, hk.Corpus.from_ldac(paths["corpus"]), store=store, root=root)

    return make


def cells(hk, paths):
    """Counts by cell, over COUNTS."""
    top = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    model = hk.Restaurant(top, each="document", concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(model, hk.Corpus.from_ldac(paths["counts"]), store="counts", root="weights")


def ngrams(hk, paths):
    """A trigram model of TEXT."""
    with open(paths["sentences"], encoding="utf-8") as file:
        data = hk.NGrams.from_sentences([line.split() for line in file], order=3)
    model = hk.Restaurant(hk.Uniform(), concentration=0.5, discount=0.5)
    for level in (1, 2):
        model = hk.Restaurant(model, concentration=0.5, discount=0.5, each=f"context {level}")
    return hk.Franchise(model, data)


def tiny(hk, paths):
    """Five tokens: what a sweep costs besides its customers."""
    top = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    corpus = hk.Corpus.from_documents([[0, 0, 1], [0, 2]], n_terms=3)
    return hk.Franchise(hk.Restaurant(top, each="document", concentration=1.0), corpus)


# name: (the franchise, its data, names of moves, sweeps in a turn as a multiple of --sweeps)
CASES = {
    "histogram": (topics("histogram", "restaurant"), "corpus", ("TableGibbs", "DishGibbs"), 1),
    "explicit": (topics("explicit", "restaurant"), "corpus", ("TableGibbs", "DishGibbs"), 1),
    "counts": (topics("counts", "weights"), "corpus", ("TableGibbs", "DishGibbs", "RootWeights"), 1),
    "slices": (topics("counts", "weights"), "corpus", ("SliceGibbs", "RootWeights"), 1),
    "cells": (cells, "counts", ("CountGibbs", "RootWeights"), 1),
    "ngrams": (ngrams, "sentences", ("TableGibbs",), 1),
    "five tokens": (tiny, None, ("TableGibbs", "DishGibbs"), 1000),
}


def take_turns(case, settle, paths):
    """The process of one folder: a line of input, a number of sweeps; a line of output, seconds by move."""
    import hdpkit as hk

    make, _, names, times = CASES[case]
    franchise = make(hk, paths)
    scheduler = hk.Scheduler([getattr(hk.moves, name)() for name in names])
    init = hk.init.Random(50) if case in ("slices", "cells") else "auto"
    scheduler.run(franchise, sweeps=settle, rng=1, init=init)
    print(json.dumps({"from": os.path.dirname(hk.__file__)}), flush=True)
    for line in sys.stdin:
        sweeps = int(line) * times
        if sweeps == 0:
            break
        began = time.process_time()
        trace = scheduler.run(franchise, sweeps=sweeps, rng=None, init=None)
        whole = (time.process_time() - began) / sweeps
        rows = trace.moves
        seconds = {"whole sweep": whole}
        if len(names) > 1:
            for name in names:
                own = rows["seconds"][rows["move"] == name]
                seconds[name] = statistics.median(own.tolist())
        print(json.dumps(seconds), flush=True)
    print(json.dumps({"dishes": hashlib.sha256(franchise.dishes.tobytes()).hexdigest()}), flush=True)


class Side:
    """The process of one folder."""

    def __init__(self, folder, case, options):
        command = [sys.executable, __file__, folder, folder, options.corpus, "--turns-of", case]
        for name in ("counts", "sentences"):
            if getattr(options, name):
                command += [f"--{name}", getattr(options, name)]
        command += ["--settle", str(options.settle)]
        environment = {**os.environ, "PYTHONPATH": folder}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.where = self.answer()["from"]
        assert self.where.startswith(str(Path(folder).resolve())), f"{self.where} is not in {folder}"

    def ask(self, sweeps):
        self.process.stdin.write(f"{sweeps}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the process ended with {self.process.wait()}")
        return json.loads(line)


def pair(case, options):
    """Rows of a table for one case: seconds of both, medians, and the median of the paired ratios."""
    sides = [Side(folder, case, options) for folder in (options.before, options.after)]
    found = ([], [])
    for turn in range(options.rounds):
        for i in (0, 1) if turn % 2 == 0 else (1, 0):
            found[i].append(sides[i].ask(options.sweeps))
    ends = [side.ask(0)["dishes"] for side in sides]
    for key in found[0][0]:
        before, after = ([row[key] for row in rows] for rows in found)
        ratios = sorted(b / a for a, b in zip(before, after, strict=True))
        quarter = len(ratios) // 4
        low, high = ratios[quarter], ratios[-1 - quarter]
        yield (
            f"| {case}: {key} | {statistics.median(before):.3g} | {statistics.median(after):.3g} "
            f"| {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f}) "
            f"| {'yes' if ends[0] == ends[1] else 'no'} |"
        )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("corpus")
    parser.add_argument("--counts")
    parser.add_argument("--sentences")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--sweeps", type=int, default=2)
    parser.add_argument("--settle", type=int, default=5)
    parser.add_argument("--turns-of", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    paths = {name: getattr(options, name) for name in ("corpus", "counts", "sentences")}
    if options.turns_of:
        take_turns(options.turns_of, options.settle, paths)
        return
    from machine import block

    print(block())
    print("| case | seconds a sweep before | after | after / before (quartiles) | same chain |")
    print("| --- | --- | --- | --- | --- |")
    for case in options.cases:
        data = CASES[case][1]
        if data is None or paths[data]:
            for row in pair(case, options):
                print(row, flush=True)


if __name__ == "__main__":
    main()
