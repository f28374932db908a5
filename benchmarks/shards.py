"""Chains over shards: seconds per sweep, bytes sent and memory, for two ranks or two threads.

    hdpkit convert CORPUS FOLDER --shards 4
    python benchmarks/shards.py FOLDER [--topics 100] [--sweeps 10] [--rounds 3]
        [--ways "scheduler 1 2" "local 1 2" "mpi 2 1"]

A way is a program (scheduler, local, mpi, dask), a number of workers and a number of threads per worker. Ways
take turns, each time in new processes, from the same start (term clusters, dishes drawn document by document)
with the same seed; alpha and gamma have Gamma(1, 1) priors, eta is 0.1. Printed: for each way and round the
median seconds of the second half of the sweeps, the largest memory of a process, and the bytes that a worker
sent in a late sweep with the number of changed counts; then medians of all rounds and their ratios to the
first way. Chains must be equal: their last log likelihoods are compared.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.franchise.whole_corpus import Changes
from hdpkit.run.shards.worker import CountBlock, Worker

SCHEDULE = [moves.SliceGibbs(), moves.RootWeights(), moves.Concentration()]


def restaurant():
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    return hk.Restaurant(root, each="document", concentration=hk.Gamma(1.0, 1.0))


def arguments(folder, topics):
    return restaurant(), hk.ShardedCorpus.open(folder), hk.init.TermClusters(topics)


def over_shards(folder, topics, sweeps, backend, threads):
    """Run over shards; returns the numbers of this process, or None unless it is the leading one."""
    declared, corpus, init = arguments(folder, topics)
    changed, call = {}, Worker.call

    def counted(worker, step, *given):
        answer = call(worker, step, *given)
        if isinstance(answer, Changes):
            changed[worker] = sum(map(count, answer.counts))
        elif isinstance(answer, CountBlock):
            changed[worker] += count(answer.counts)
        return answer

    Worker.call = counted
    clock = []
    trace = hk.Scheduler(SCHEDULE, threads=threads).run(
        shards.ShardedFranchise(declared, corpus), sweeps, rng=1, init=init, backend=backend,
        callbacks=[lambda draw: clock.append(time.perf_counter())],
    )  # fmt: skip
    return {
        "seconds": np.diff(clock).tolist(),  # but for the first
        "sent": int(backend.sent),
        "changed": max(changed.values(), default=0),
        "dishes": int(trace["n_dishes"][-1]),
        "log_likelihood": float(trace["log_likelihood"][-1]) if backend.leads else None,
        "leads": backend.leads,
    }


def count(sparse):
    from hdpkit._count_changes import read_sparse

    return len(read_sparse(sparse)[0])


def over_all(folder, topics, sweeps, threads):
    """The same chain by a scheduler over the entire corpus."""
    declared, corpus, init = arguments(folder, topics)
    sharded = shards.ShardedFranchise(declared, corpus)
    hk.Scheduler(SCHEDULE).run(sharded, sweeps=1, rng=1, init=init)
    franchise = hk.Franchise(declared, corpus.corpus(), store="counts", root="weights")
    franchise.expand_cells()
    franchise.thaw(sharded.freeze())
    trace = hk.Scheduler(SCHEDULE, threads=threads).run(franchise, sweeps=sweeps - 1, rng=1, init=None)
    seconds = trace.moves["seconds"].reshape(sweeps - 1, -1).sum(axis=1)
    return {
        "seconds": seconds.tolist(),
        "sent": 0,
        "changed": 0,
        "dishes": int(trace["n_dishes"][-1]),
        "log_likelihood": float(trace["log_likelihood"][-1]),
        "leads": True,
    }


def on_dask(workers, stack):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
    return shards.Dask(stack.enter_context(Client(stack.enter_context(cluster))))


BACKENDS = {
    "local": lambda workers, stack: shards.Local(workers),
    "mpi": lambda workers, stack: shards.MPI(),
    "dask": on_dask,
}


def child(options):
    program, workers, threads = options.way.split()
    if program == "scheduler":
        found = over_all(options.folder, options.topics, options.sweeps, int(threads))
    else:
        with contextlib.ExitStack() as stack:
            backend = BACKENDS[program](int(workers), stack)
            found = over_shards(options.folder, options.topics, options.sweeps, backend, int(threads))
    found["megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("result " + json.dumps(found), flush=True)


def measured(options, way):
    """Run a way in new processes; returns the result of rank 0, with the largest memory of all."""
    command = [sys.executable, __file__, options.folder, "--way", way]
    command += ["--topics", str(options.topics), "--sweeps", str(options.sweeps)]
    program, workers, _ = way.split()
    if program == "mpi":
        launcher = shutil.which(
            "mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        )
        command = [launcher, "-n", workers, *command]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    # Lines of several ranks may arrive without a line end between them.
    found = [json.JSONDecoder().raw_decode(one)[0] for one in out.split("result ")[1:]]
    leading = next(one for one in found if one["leads"])
    leading["megabytes"] = max(one["megabytes"] for one in found)
    return leading


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=["scheduler 1 2", "local 1 2", "mpi 2 1"])
    parser.add_argument("--way", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way:
        child(options)
        return

    corpus = hk.ShardedCorpus.open(options.folder)
    print(f"{corpus.n_tokens} tokens, {corpus.n_documents} documents, {corpus.n_terms} terms", flush=True)
    rounds = {way: [] for way in options.ways}
    ends = set()
    for _ in range(options.rounds):
        for way in options.ways:
            found = measured(options, way)
            seconds = statistics.median(found["seconds"][(options.sweeps - 1) // 2 :])
            rounds[way].append(seconds)
            ends.add(found["log_likelihood"])
            what = f"{seconds:.3f} s a sweep, {found['dishes']} dishes, {found['megabytes']:.0f} MB"
            if found["sent"]:
                what += f", {found['sent']} bytes sent"
            if found["changed"]:  # not known for workers in workers of Dask
                what += f", {found['changed']} counts changed"
            print(f"{way}: {what}", flush=True)
    first = rounds[options.ways[0]]
    for way, found in rounds.items():
        ratio = np.median(np.array(first) / np.array(found))
        print(f"{way}: median {statistics.median(found):.3f} s, {ratio:.2f} x as fast as {options.ways[0]}")
    print("one chain" if len(ends) == 1 else f"DIFFERENT CHAINS: {sorted(ends)}")
    print(block())


if __name__ == "__main__":
    main()
