"""A chain over shards on MPI and approximate or truncated parallel topic models, with two processes each.

    python benchmarks/in_parallel.py NAME.train.ldac [--seconds 30] [--topics 200] [--workers 2]
        [--observed FILE --held FILE]

hdpkit: `hdpkit.shards` over ranks of MPI (SliceGibbs, RootWeights, Concentration), which is exact and equals
the chain of one process. tomotopy: HDPModel with the same number of workers, whose threads sample from
outdated counts. gensim: LdaMulticore, online variational inference with a fixed number of topics
(``--topics``); a sweep is one pass. eta = 0.1 for all. Systems run one after another, each in its own
processes. Packages that aren't installed are left out.

Printed: wall-clock seconds including the start (without scoring and reading), sweeps, topics, tokens/s of the
sweeps since the previous score, and held-out perplexity by document completion (benchmarks/heldout.py; the
halves of the test documents are found as there).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from contest.contestants import ETA, Tomotopy
from heldout import perplexity, read
from machine import block, version

import hdpkit as hk
from hdpkit import moves, shards

SYSTEMS = {"hdpkit": "mpi4py", "tomotopy": "tomotopy", "gensim": "gensim"}
SCHEDULE = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()]


class Shards:
    """One rank of a chain over shards; every rank makes the same calls."""

    def __init__(self, corpus, options):
        self.n_tokens, self.seconds, self.sweeps = len(corpus), 0.0, 0
        self.backend = shards.MPI()
        self.leads = self.backend.leads
        root = hk.Restaurant(hk.DirichletMultinomial(ETA), concentration=hk.Gamma(1.0, 1.0))
        document = hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))
        self.franchise = shards.ShardedFranchise(document, shards.cut(corpus, options.workers))
        self.folder = Path(options.folder) / "run"

    def sweep(self, n):
        began = time.perf_counter()
        given = {"backend": self.backend, "checkpoint": hk.Checkpoint(sweeps=10**6)}
        if self.sweeps:  # the reading of the checkpoint counts too
            hk.open_run(self.folder).resume(n, franchise=self.franchise, **given)
        else:
            hk.Scheduler(SCHEDULE).run(self.franchise, n, rng=0, folder=self.folder, **given)
        self.seconds += time.perf_counter() - began
        self.sweeps += n

    def topics(self):
        counts, state = self.franchise.dish_counts(), self.franchise.freeze()
        if not self.leads:
            return None
        phi = np.vstack([counts + ETA, np.full(counts.shape[1], ETA)])
        phi /= phi.sum(axis=1, keepdims=True)
        weights = np.asarray(next(iter(state["components"].values()))["weights"], dtype=float)
        kept = np.append(weights[state["slots"]], 0.0)
        kept[-1] = 1.0 - kept.sum()
        return phi, float(state["concentration"][-1]) * kept


class ParallelTomotopy(Tomotopy):
    """tomotopy with workers, starting with the given number of topics."""

    leads = True

    def __init__(self, corpus, options):
        super().__init__(corpus, options.topics, fixed=False)
        self.workers, self.sweeps = options.workers, 0

    def sweep(self, n):
        began = time.perf_counter()
        self.model.train(n, workers=self.workers)
        self.seconds += time.perf_counter() - began
        self.sweeps += n


class LdaMulticore:
    """gensim's online variational inference, with workers in addition to the process that sums up."""

    leads = True

    def __init__(self, corpus, options):
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaMulticore as Model

        counts = corpus.to_counts()
        self.rows = Sparse2Corpus(counts, documents_columns=False)
        self.n_tokens, self.seconds, self.sweeps = len(corpus), 0.0, 0
        self.model = Model(
            num_topics=options.topics, id2word={term: str(term) for term in range(corpus.n_terms)}, eta=ETA,
            workers=options.workers, random_state=0, passes=1, eval_every=None,
        )  # fmt: skip

    def sweep(self, n):
        began = time.perf_counter()
        self.model.passes = n
        self.model.update(self.rows)
        self.seconds += time.perf_counter() - began
        self.sweeps += n

    def topics(self):
        return self.model.get_topics().astype(float), self.model.alpha.astype(float)


KINDS = {"hdpkit": Shards, "tomotopy": ParallelTomotopy, "gensim": LdaMulticore}


def contend(options):
    """Run one system in this process; print a line of JSON for each score."""
    corpus, observed, held = read(options.corpus, options.observed, options.held)
    one = KINDS[options.system](corpus, options)
    n = 1
    while True:
        before = one.seconds
        one.sweep(n)
        found = one.topics()
        if one.leads:
            row = {
                "seconds": one.seconds, "sweeps": one.sweeps, "topics": len(found[1]),
                "rate": n * one.n_tokens / (one.seconds - before),
                "perplexity": perplexity(*found, observed, held),
            }  # fmt: skip
            print("score " + json.dumps(row), flush=True)
        if one.sweeps >= options.sweeps:
            return
        n = min(one.sweeps, options.sweeps - one.sweeps)


def scores_of(system, options, folder):
    """Run a system for its time; scores are computed after 1, 2, 4, ... sweeps, the same for all ranks."""
    command = [sys.executable, *sys.argv, "--system", system, "--folder", folder]
    if system == "hdpkit":
        launcher = shutil.which(
            "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        command = [launcher, "-n", str(options.workers), *command]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    scores = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            if line.startswith("score "):
                scores.append(json.loads(line.removeprefix("score ")))
                if scores[-1]["seconds"] >= options.seconds:
                    process.terminate()
                    break
    return scores


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("corpus")
    parser.add_argument("--observed")
    parser.add_argument("--held")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--sweeps", type=int, default=10**6, help="at most so many")
    parser.add_argument("--topics", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--system", choices=list(SYSTEMS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.system:
        contend(options)
        return
    print(block())
    print("\n| system | seconds | sweeps | topics | tokens/s | held-out perplexity |")
    print("| --- | --- | --- | --- | --- | --- |")
    for system, package in SYSTEMS.items():
        if version(package) is None:
            print(f"| {system} | {package} is not installed | | | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            for row in scores_of(system, options, folder):
                print(
                    f"| {system} | {row['seconds']:.2f} | {row['sweeps']:,} | {row['topics']:,} "
                    f"| {row['rate']:,.0f} | {row['perplexity']:,.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
