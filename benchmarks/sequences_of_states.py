"""Time of sweeps over a hidden Markov model, of one and of two threads, and the memory of its state.

    python benchmarks/sequences_of_states.py [--observations 100000] [--states 20] [--sequences 50]

Terms of a vocabulary of 50 and numbers are drawn from a model with that many states, and the chain begins
with the true ones. Wall time is that of the fastest of the rounds, in which moves alternate, and processor
time the median: a machine that is shared with other work has quiet moments.

    python benchmarks/sequences_of_states.py --rounds 0 --starts 200

Chains of 200 sweeps of the default schedule over the letters ABCDEFEDCB thirty times, which have ten states
(Beal et al. 2002), from one state, from thirty random ones and from the default start: number of states, log
likelihood given the states, and R-hat over the chains, all of the second half of the sweeps; and what
`hk.check_mixing` says of the last state and the same starts.
"""

import argparse
import statistics
import time

import arviz
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

LETTERS = np.array(["ABCDEF".index(letter) for letter in "ABCDEFEDCB" * 30])
STARTS = {"one state": "one", "thirty": hk.init.Random(30), "default": "auto"}
READ = ("n_dishes", "log_likelihood", "log_joint")


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


def compare_starts(sweeps):
    """Chains over the letters, side by side."""
    chains = []
    print("\n| start | K | sweeps with K = 10 | log likelihood | log joint | processor s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for seed, (name, init) in enumerate(STARTS.items()):
        model = hk.HiddenMarkovModel(
            emission=hk.DirichletMultinomial(0.3),
            sticky=0.0,
            sweeps=sweeps,
            chains=1,
            init=init,
            random_state=seed,
        )
        began = time.process_time()
        model.fit(LETTERS[:, None])
        spent = time.process_time() - began
        chains.append([np.asarray(model.trace_[key], dtype=float)[sweeps // 2 :] for key in READ])
        k, likelihood, joint = (values.mean() for values in chains[-1])
        share = np.mean(chains[-1][0] == 10)
        print(f"| {name} | {k:.1f} | {share:.0%} | {likelihood:.1f} | {joint:.1f} | {spent:.1f} |")
    rhats = [float(arviz.rhat(np.array(values), method="rank")) for values in zip(*chains, strict=True)]
    print(f"| R-hat | {rhats[0]:.3f} | | {rhats[1]:.3f} | {rhats[2]:.3f} | |\n")
    print(hk.check_mixing(model.franchise_, sweeps=sweeps, inits=[*STARTS.values()]))


def measure_times(options):
    generator = np.random.default_rng(0)
    transitions = generator.dirichlet(np.full(options.states, 0.2), size=options.states)
    length = options.observations // options.sequences
    states = [draw_states(generator, transitions, length) for _ in range(options.sequences)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--observations", type=int, default=100_000)
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--sequences", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=20, help="0: no times")
    parser.add_argument("--starts", type=int, default=0, help="compare starts, by chains of this many sweeps")
    options = parser.parse_args()
    print(block())
    if options.starts:
        compare_starts(options.starts)
    if options.rounds:
        measure_times(options)


if __name__ == "__main__":
    main()
