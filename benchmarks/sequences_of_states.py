"""Time of sweeps over a hidden Markov model, of one and of two threads, and the memory of its state.

    python benchmarks/sequences_of_states.py [--observations 100000] [--states 20] [--sequences 50]

Terms of a vocabulary of 50 and numbers are drawn from a model with that many states, and the chain begins
with the true ones. Wall time is that of the fastest of the rounds, in which moves alternate, and processor
time the median: a machine that is shared with other work has quiet moments.
"""

import argparse
import statistics
import time

import numpy as np
from machine import block

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import RandomStream

TERMS = 50
MOVES = {
    "TableGibbs": moves.TableGibbs(),
    "BeamSampler": moves.BeamSampler(),
    "BeamSampler, two threads": moves.BeamSampler(threads=2),
    "SplitMergeStates(length=1)": moves.SplitMergeStates(length=1),
}


def draw_states(generator, transitions, n):
    ends, draws = np.cumsum(transitions, axis=1), generator.random(n)
    states = [0]
    for u in draws[1:].tolist():
        states.append(min(int(np.searchsorted(ends[states[-1]], u)), len(ends) - 1))
    return np.array(states)


def franchise_of(generator, kind, states, n_states):
    if kind == "terms":
        topics = generator.dirichlet(np.full(TERMS, 0.1), size=n_states)
        arrays = [np.array([generator.choice(TERMS, p=topics[k]) for k in one]) for one in states]
        measure, data = hk.DirichletMultinomial(0.1), hk.Sequences.from_arrays(arrays, n_terms=TERMS)
    else:
        arrays = [generator.normal(5.0 * one, 1.0) for one in states]
        measure, data = hk.NormalGamma(50.0, 0.001, 2.0, 1.0), hk.Sequences.from_arrays(arrays)
    rows = hk.Restaurant(hk.Restaurant(measure), each=hk.PreviousDish())
    return hk.Franchise(rows, data, store="counts", root="weights")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    generator = np.random.default_rng(0)
    transitions = generator.dirichlet(np.full(options.states, 0.2), size=options.states)
    length = options.observations // options.sequences
    states = [draw_states(generator, transitions, length) for _ in range(options.sequences)]
    print(block())
    print("\n| data | move | wall s, least | processor s, median | states | bytes an observation |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in ("terms", "numbers"):
        franchise = franchise_of(generator, kind, states, options.states)
        schedule = hk.Scheduler([moves.BeamSampler()])
        schedule.run(franchise, sweeps=2, rng=0, init=np.concatenate(states))
        source = RandomStream((1, 1))
        wall, processor = {name: [] for name in MOVES}, {name: [] for name in MOVES}
        for _ in range(options.rounds):
            for name, move in MOVES.items():
                began, used = time.perf_counter(), time.process_time()
                move.apply(franchise, source)
                wall[name].append(time.perf_counter() - began)
                processor[name].append(time.process_time() - used)
        size = franchise.memory_bytes() / (length * options.sequences)
        for name in MOVES:
            print(
                f"| {kind} | {name} | {min(wall[name]):.3f} | {statistics.median(processor[name]):.3f} "
                f"| {franchise.n_dishes} | {size:.0f} |"
            )


if __name__ == "__main__":
    main()
