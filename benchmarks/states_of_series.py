"""How many states hidden Markov models find in twenty simulated series, beside hmmlearn with BIC.

    python benchmarks/states_of_series.py [--sweeps 300] [--chains 2] [--series 1 2 3] [--seeds 1]

Series of 300 to 3,000 steps with two to six states: normal emissions in one to four dimensions, apart and
overlapping, with equal means and different variances; states with the same emission and different
transitions; short and long stays; counts; noise with heavy tails. ``hk.HiddenMarkovModel`` with its defaults
and so many sweeps. hmmlearn fits 1 to 8 states from three starts each, with diagonal covariances or rates,
and BIC chooses. Accuracy is the share of the steps in their own state after the best one-to-one matching of
states, ARI the adjusted Rand index. The held-out score is log p of a step of a second series of the same law
(of at most 1,000 steps), in nats. Seconds are processor time of fit and prediction.
"""

import argparse
import logging
import time
import warnings

import attrs
import numpy as np
from machine import block
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

import hdpkit as hk

MOST_STATES, STARTS, HELD_OUT = 8, 3, 1000


@attrs.frozen(kw_only=True)
class Law:
    """What a series is simulated from: one mean and scale, or rate, for each state."""

    name: str
    means: list
    scales: list = attrs.field(factory=lambda: [1.0])
    stay: list
    n: int
    to: list | None = None  # transitions to other states; None: drawn
    noise: str = "normal"

    def draw(self, seed, n=None):
        """Observations (n, D) and states (n,)."""
        rng = np.random.default_rng((seed, 50))
        means = np.array(self.means, dtype=float).reshape(len(self.means), -1)
        k = len(means)
        away = np.array(self.to, dtype=float) if self.to else rng.dirichlet(np.full(k, 2.0), size=k)
        away = away * (1.0 - np.eye(k))
        stay = np.broadcast_to(self.stay, k)
        rows = np.diag(stay) + (1.0 - stay)[:, None] * away / away.sum(axis=1, keepdims=True)
        if n is not None:  # held out: the same law, other numbers
            rng = np.random.default_rng((seed, 51))
        n = self.n if n is None else n
        states = [int(rng.integers(k))]
        for u in rng.random(n - 1):
            states.append(min(int(np.searchsorted(np.cumsum(rows[states[-1]]), u)), k - 1))
        states = np.array(states)
        if self.noise == "counts":
            return rng.poisson(means[states]), states
        noise = rng.normal(size=(n, means.shape[1]))
        if self.noise != "normal":
            noise = rng.standard_t(float(self.noise), size=noise.shape)
        scales = np.broadcast_to(
            np.array(self.scales, dtype=float).reshape(len(self.scales), -1), means.shape
        )
        return means[states] + scales[states] * noise, states


SQUARE = [[0, 0], [0, 6], [6, 0], [6, 6]]
HEXAGON = [[6 * np.cos(t), 6 * np.sin(t)] for t in np.arange(6) * np.pi / 3]
CROSS = [[0, 0, 0, 0], [6, 0, 0, 0], [0, 6, 0, 0], [0, 0, 6, 0], [0, 0, 0, 6]]
CYCLE = np.roll(np.eye(4), 1, axis=1).tolist()

LAWS = [
    Law(name="two, apart", means=[0, 6], stay=[0.95], n=600),
    Law(name="three, apart", means=[0, 5, 10], stay=[0.95], n=300),
    Law(name="four in 2 dimensions", means=SQUARE, stay=[0.9], n=1000),
    Law(name="six in 2 dimensions", means=HEXAGON, stay=[0.9], n=2000),
    Law(name="five in 4 dimensions", means=CROSS, stay=[0.9], n=1500),
    Law(name="three, overlapping", means=[0, 2, 4], stay=[0.95], n=1000),
    Law(name="four in 2 dimensions, overlapping", means=np.array(SQUARE) / 2.5, stay=[0.95], n=1500),
    Law(name="five in 4 dimensions, overlapping", means=np.array(CROSS) / 2.5, stay=[0.95], n=3000),
    Law(name="two variances", means=[0, 0], scales=[1, 3], stay=[0.97], n=1000),
    Law(name="three variances", means=[0, 0, 0], scales=[1, 4, 16], stay=[0.96], n=2000),
    Law(name="three variances in 3 dimensions", means=[[0] * 3] * 3, scales=[1, 2, 4], stay=[0.95], n=1500),
    Law(name="two alike in a cycle", means=[0, 5, 10, 5], stay=[0.3], n=1500, to=CYCLE),
    Law(name="two alike, other stays", means=[0, 5, 5], stay=[0.7, 0.97, 0.2], n=3000),
    Law(name="three, short stays", means=[0, 5, 10], stay=[0.5], n=800),
    Law(name="four, no favour for staying", means=SQUARE, stay=[0.25], n=1000),
    Law(name="four, long stays", means=[0, 3, 6, 9], stay=[0.99], n=2500),
    Law(name="three rates", means=[2, 8, 20], stay=[0.95], n=700, noise="counts"),
    Law(name="five rates", means=[1, 6, 16, 35, 70], stay=[0.9], n=1500, noise="counts"),
    Law(name="three, heavy tails", means=[0, 8, 16], stay=[0.95], n=1000, noise="4"),
    Law(name="two in 2 dimensions, heavy tails", means=[[0, 0], [8, 8]], stay=[0.95], n=1500, noise="3"),
]


def of_hdpkit(law, values, seed, options):
    """Number of states, states of the steps, score of a step of held-out values."""
    emission = "poisson" if law.noise == "counts" else "normal"
    model = hk.HiddenMarkovModel(
        emission=emission, sweeps=options.sweeps, chains=options.chains, random_state=seed, n_jobs=1
    ).fit(values)
    return model.n_components_, model.predict(values), model.score


def of_hmmlearn(law, values, seed, options):
    """The same by EM, and BIC for the number of states."""
    from hmmlearn.hmm import GaussianHMM, PoissonHMM

    best, least = None, np.inf
    for k in range(1, MOST_STATES + 1):
        for start in range(STARTS):
            state = np.random.RandomState(1000 * seed + 10 * k + start)
            if law.noise == "counts":
                model = PoissonHMM(k, n_iter=100, random_state=state)
            else:
                model = GaussianHMM(k, "diag", n_iter=100, random_state=state)
            try:
                bic = model.fit(values).bic(values)
            except ValueError:  # a state without steps
                continue
            if bic < least:
                best, least = model, bic
    return best.n_components, best.predict(values), best.score


def accuracy(found, states):
    """Share of the steps in their own state after the best matching."""
    table = np.zeros((int(found.max()) + 1, int(states.max()) + 1))
    np.add.at(table, (found, states), 1.0)
    return table[linear_sum_assignment(-table)].sum() / len(states)


PACKAGES = {"hdpkit": of_hdpkit, "hmmlearn": of_hmmlearn}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, nargs="+", default=[*range(1, len(LAWS) + 1)])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sweeps", type=int, default=300)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=[*PACKAGES])
    options = parser.parse_args()
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    print(block())
    print("\n| series | states | package | found | accuracy | ARI | held out | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = {name: [] for name in options.packages}
    for number in options.series:
        law = LAWS[number - 1]
        for seed in range(options.seeds):
            values, states = law.draw(1000 * seed + number)
            held, _ = law.draw(1000 * seed + number, min(law.n, HELD_OUT))
            for name in options.packages:
                began = time.process_time()
                n, found, score = PACKAGES[name](law, values, seed, options)
                spent = time.process_time() - began
                row = (
                    n == len(law.means), accuracy(found, states), adjusted_rand_score(states, found),
                    score(held) / len(held), spent,
                )  # fmt: skip
                rows[name].append(row)
                figures = f"{row[1]:.3f} | {row[2]:.3f} | {row[3]:.3f} | {row[4]:.1f}"
                print(f"| {number}. {law.name} | {len(law.means)} | {name} | {n} | {figures} |", flush=True)
    print("\n| package | number right | accuracy | ARI | held out | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, own in rows.items():
        right, *means = np.mean(own, axis=0)
        figures = " | ".join(f"{mean:.3f}" for mean in means[:3])
        print(f"| {name} | {right * len(own):.0f} of {len(own)} | {figures} | {means[3]:.1f} |")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
