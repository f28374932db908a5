"""How many states hidden Markov models find in simulated series, with and without a prior for staying.

    python benchmarks/state_numbers.py [--series 20] [--sweeps 500] [--chains 1] [--processes 2]

Normal, multivariate normal, Poisson and word emissions in turn, with two to six states, 600 to 1,500
observations in one to three sequences, and probabilities of staying between 0.5 and 0.98 (four of sixteen
series: 1 / K, no favour for staying). A state counts as found if it has observations. Accuracy is the share
of the observations in their own state after the best one-to-one matching of states.
"""

import argparse
import itertools
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from machine import block
from scipy.optimize import linear_sum_assignment

import hdpkit as hk

KINDS = ("normal", "normals", "poisson", "words")
PRIORS = {
    "0": 0.0,
    "Gamma(1, 0.1)": hk.Gamma(1.0, 0.1),
    "Gamma(10, 1)": hk.Gamma(10.0, 1.0),
    "Gamma(20, 1)": hk.Gamma(20.0, 1.0),
}


def simulated(seed):
    """A series: kind of emission, observations, lengths, states."""
    rng = np.random.default_rng((seed, 46))
    kind, n_states = KINDS[seed % 4], int(rng.integers(2, 7))
    n, parts = int(rng.integers(600, 1501)), int(rng.integers(1, 4))
    stay = 1.0 / n_states if seed // 4 % 4 == 3 else rng.uniform(0.5, 0.98)
    away = rng.dirichlet(np.ones(n_states), size=n_states) * (1.0 - np.eye(n_states))
    rows = stay * np.eye(n_states) + (1.0 - stay) * away / away.sum(axis=1, keepdims=True)
    lengths = np.full(parts, n // parts)
    states = []
    for length in lengths:
        states.append(int(rng.integers(n_states)))
        for _ in range(length - 1):
            states.append(int(rng.choice(n_states, p=rows[states[-1]])))
    states = np.array(states)
    if kind == "words":
        laws = rng.dirichlet(np.full(30, 0.2), size=n_states)
        values = np.array([rng.choice(30, p=laws[k]) for k in states])[:, None]
    elif kind == "poisson":
        rates = 3.0 * 2.2 ** np.arange(n_states)
        values = rng.poisson(rates[states])[:, None]
    else:
        columns = 1 if kind == "normal" else 3
        spread = 4.0 if kind == "normal" else 2.5
        means = spread * (np.arange(n_states)[:, None] if columns == 1 else rng.normal(size=(n_states, 3)))
        scales = rng.uniform(0.6, 1.2, size=(n_states, columns))
        values = means[states] + scales[states] * rng.normal(size=(len(states), columns))
    return kind, values, lengths, states, n_states, stay


def fitted(job):
    """Number of states, accuracy and seconds of a fit."""
    seed, prior, sweeps, chains = job
    kind, values, lengths, states, n_states, stay = simulated(seed)
    began = time.process_time()
    model = hk.HiddenMarkovModel(
        emission="normal" if kind == "normals" else kind,
        sticky=PRIORS[prior],
        sweeps=sweeps,
        chains=chains,
        random_state=seed,
    ).fit(values, lengths=lengths)
    spent = time.process_time() - began
    found = np.asarray(model.predict(values, lengths=lengths))
    table = np.zeros((found.max() + 1, n_states))
    np.add.at(table, (found, states), 1.0)
    rows, columns = linear_sum_assignment(-table)
    accuracy = table[rows, columns].sum() / len(states)
    return seed, prior, kind, n_states, stay, model.n_components_, accuracy, spent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--sweeps", type=int, default=500)
    parser.add_argument("--chains", type=int, default=1)
    parser.add_argument("--priors", nargs="*", choices=PRIORS, default=list(PRIORS))
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    print(block())
    jobs = [
        (seed, prior, options.sweeps, options.chains)
        for seed, prior in itertools.product(range(options.series), options.priors)
    ]
    with ProcessPoolExecutor(options.processes) as pool:
        results = list(pool.map(fitted, jobs))
    print("\n| series | emission | staying | states | " + " | ".join(options.priors) + " |")
    print("| --- | --- | --- | --- |" + " --- |" * len(options.priors))
    for _, own in itertools.groupby(results, lambda one: one[0]):
        own = list(own)
        seed, _, kind, n_states, stay = own[0][:5]
        cells = " | ".join(f"{one[5]} ({one[6]:.3f})" for one in own)
        print(f"| {seed} | {kind} | {stay:.2f} | {n_states} | {cells} |")
    print("\n| prior | right | mean accuracy | by emission | processor s a fit |")
    print("| --- | --- | --- | --- | --- |")
    for prior in options.priors:
        own = [one for one in results if one[1] == prior]
        by_kind = ", ".join(
            f"{kind} {np.mean([one[6] for one in own if one[2] == kind]):.3f}" for kind in KINDS
        )
        right = sum(one[3] == one[5] for one in own)
        print(
            f"| {prior} | {right} of {len(own)} | {np.mean([one[6] for one in own]):.3f} | {by_kind} "
            f"| {np.mean([one[7] for one in own]):.1f} |"
        )


if __name__ == "__main__":
    main()
