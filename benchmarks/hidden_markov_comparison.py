"""Hidden Markov models: held-out log likelihood by time, beside EM with a fixed number of states.

    python benchmarks/hidden_markov_comparison.py [--seconds 2 6] [--states 5 10 20 40] [--seeds 3]

Two data sets: letters of NumPy's documentation, in sequences of 200, and a membrane potential from
Matplotlib's sample data, standardised, in sequences of 1,000. Every fourth sequence is held out. hdpkit runs
the default schedule of `hk.HiddenMarkovModel` from the default start; scores are averages over 20 samples of
the second half of the sweeps so far. hmmlearn runs EM until its own rule says that it has converged, and then
again from another start; the fit with the highest likelihood of the training data so far is scored.
bayesian-hmm, for letters only, runs with its defaults from 20 states; scores are averages over its draws of
the second half, and it ends where it raises an error. Packages that aren't installed are left out. Seconds
are processor time, one thread each, without scores.
"""

import argparse
import contextlib
import functools
import io
import logging
import multiprocessing
import os
import random
import re
import statistics
import warnings

import matplotlib.cbook
import numpy as np
from machine import block

import hdpkit as hk
from hdpkit.kinds.hidden_markov import HiddenMarkov

KEPT = 20
TOLERANCE = 1e-2  # hmmlearn's default


def letters(most):
    """Sequences of letters, and how many letters there are."""
    docs = (getattr(np, name).__doc__ or "" for name in sorted(np.__all__) if callable(getattr(np, name)))
    text = re.sub(r"[^a-z]+", "_", " ".join(docs).lower())[:most]
    names, values = np.unique(list(text), return_inverse=True)
    return np.array_split(values, max(len(values) // 200, 4)), len(names)


def potential(most):
    """Sequences of a membrane potential."""
    with matplotlib.cbook.get_sample_data("membrane.dat") as file:
        values = np.frombuffer(file.read(), dtype=np.float32).astype(float)[:most]
    values = (values - values.mean()) / values.std()
    return np.array_split(values, max(len(values) // 1000, 4)), None


def used():
    """Processor seconds of this process, and of those that it started and that have ended."""
    multiprocessing.active_children()
    return sum(os.times()[:4])


def until(budget, times):
    """How many steps had ended by then: at least one."""
    return max(sum(seconds <= budget for seconds in times), 1)


def stacked(arrays):
    """Sequences as hmmlearn has them."""
    return np.concatenate(arrays)[:, None], [len(one) for one in arrays]


def by_hdpkit(train, held, n_terms, seed, budgets):
    data, new = (hk.Sequences.from_arrays(arrays, n_terms=n_terms) for arrays in (train, held))
    kind = HiddenMarkov(emission="normal" if n_terms is None else "words", sticky=0.0)
    franchise = kind.franchise(data)
    began, times, kept = used(), [], []
    draws = hk.Scheduler(kind.moves(franchise.declarations[-1])).sample(franchise, 10**9, rng=seed)
    while not times or times[-1] < budgets[-1]:
        next(draws)
        times.append(used() - began)
        kept.append(franchise.sample())
    draws.close()
    for budget in budgets:
        done = until(budget, times)
        samples = [kept[i] for i in np.unique(np.linspace(done // 2, done - 1, KEPT).astype(int))]
        found = hk.evaluate(franchise, new, samples=samples, particles=5, rng=1)
        yield found.log_probability, statistics.mean(one.n_dishes for one in samples), f"{done} sweeps"


def by_hmmlearn(train, held, n_terms, seed, budgets, n_states):
    from hmmlearn.hmm import CategoricalHMM, GaussianHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    if n_terms is None:
        new, names = GaussianHMM, ("startprob_", "transmat_", "means_", "_covars_")
    else:
        new = functools.partial(CategoricalHMM, n_features=n_terms)
        names = ("startprob_", "transmat_", "emissionprob_")
    spent, starts, steps, model, best, top = 0.0, 0, 0, None, None, -np.inf
    for budget in budgets:
        while spent < budget:
            began = used()
            if model is None:
                starts, before = starts + 1, -np.inf
                state = np.random.RandomState(1000 * seed + starts)
                model = new(n_states, random_state=state, n_iter=1, tol=-np.inf)
            model.fit(*stacked(train))
            model.init_params = ""  # the next step goes on from here
            now, steps = model.monitor_.history[-1], steps + 1
            if now > top:
                top, best = now, {name: np.copy(getattr(model, name)) for name in names}
            if now - before < TOLERANCE:
                model = None
            before = now
            spent += used() - began
        final = new(n_states, n_iter=1)
        final.n_features = n_terms or 1
        for name, value in best.items():
            setattr(final, name, value)
        yield final.score(*stacked(held)), n_states, f"{steps} steps, {starts} starts"


def by_bayesian_hmm(train, held, n_terms, seed, budgets):
    import bayesian_hmm
    from hmmlearn.hmm import CategoricalHMM

    np.random.seed(seed)  # noqa: NPY002 - the package draws from it
    random.seed(seed)
    model = bayesian_hmm.HDPHMM([[str(v) for v in one] for one in train], sticky=False)
    model.initialise(k=20)
    spent, times, kept, ended = 0.0, [], [], ""
    while spent < budgets[-1] and not ended:
        began = used()
        try:
            with contextlib.redirect_stderr(io.StringIO()):
                draw = model.mcmc(n=1, burn_in=0, save_every=1, verbose=False)["parameters"][0]
        except ValueError:  # of SciPy: a drawn probability is zero
            ended = ", error"
            continue
        spent += used() - began
        times.append(spent)
        states = [k for k in draw["p_initial"] if k is not None]
        terms = [str(v) for v in range(n_terms)]
        of = CategoricalHMM(len(states), n_features=n_terms)
        of.startprob_ = normalised([draw["p_initial"][k] for k in states])
        of.transmat_ = normalised([[draw["p_transition"][j][k] for k in states] for j in states])
        of.emissionprob_ = normalised([[draw["p_emission"][k].get(v, 0.0) for v in terms] for k in states])
        kept.append((of.score(*stacked(held)), len(states)))
    for budget in budgets:
        done = until(budget, times)
        some = kept[done // 2 : done]
        if some:
            log = np.logaddexp.reduce([one for one, _ in some]) - np.log(len(some))
            yield log, statistics.mean(k for _, k in some), f"{done} sweeps{ended * (done == len(times))}"
        else:
            yield np.nan, np.nan, f"0 sweeps{ended}"


def normalised(rows):
    array = np.array(rows)
    return array / array.sum(axis=-1, keepdims=True)


DATA = {"letters": letters, "potential": potential}
PACKAGES = {"hdpkit": by_hdpkit, "bayesian-hmm": by_bayesian_hmm, "hmmlearn": by_hmmlearn}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, nargs="+", default=[2.0, 6.0])
    parser.add_argument("--states", type=int, nargs="+", default=[5, 10, 20, 40])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--most", type=int, default=20_000, help="observations of a data set")
    parser.add_argument("--data", nargs="+", choices=DATA, default=[*DATA])
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=[*PACKAGES])
    options = parser.parse_args()
    budgets = sorted(options.seconds)
    print(block())
    print("\n| data | package | seconds | states | log p of an observation: mean (least, most) | steps |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in options.data:
        arrays, n_terms = DATA[kind](options.most)
        held, train = arrays[2::4], [one for i, one in enumerate(arrays) if i % 4 != 2]
        size = sum(map(len, held))
        ways = {name: PACKAGES[name] for name in options.packages}
        if "hmmlearn" in ways:
            em = ways.pop("hmmlearn")
            ways |= {f"hmmlearn, K = {k}": functools.partial(em, n_states=k) for k in options.states}
        if n_terms is None:
            ways.pop("bayesian-hmm", None)
        for name, way in ways.items():
            try:
                runs = [[*way(train, held, n_terms, seed, budgets)] for seed in range(options.seeds)]
            except ImportError:
                continue
            for budget, found in zip(budgets, zip(*runs, strict=True), strict=True):
                scores = [log / size for log, _, _ in found]
                print(
                    f"| {kind} | {name} | {budget:g} | {statistics.mean(k for _, k, _ in found):.1f} "
                    f"| {statistics.mean(scores):.3f} ({min(scores):.3f}, {max(scores):.3f}) "
                    f"| {'; '.join(steps for _, _, steps in found)} |",
                    flush=True,
                )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
