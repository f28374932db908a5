"""A regression in each state of a hidden Markov model, with one noise for all states.

A state of the chain is a line: an observation is (x, y), and y is normal around intercept + slope x. Lines
are integrated out (Bayesian linear regression given x). The precision of the noise is common to all states:
it is a value of the state that the measure reads, with a prior and a move of its own. Nobody says how many
states there are.
"""

import argparse

import attrs
import numpy as np

import hdpkit as hk
from hdpkit import moves
from hdpkit.moves.slice import slice_sample


@attrs.frozen(eq=False)
class Lines(hk.BaseMeasure):
    """y = (1, x) beta + noise; beta is normal(0, spread^2 I), the precision of the noise Gamma(2, 1)."""

    spread: float = 3.0
    precision: float = 2.0  # the present value

    def parts(self, state):
        return {"precision": hk.SharedValue(2.0, hk.Gamma(2.0, 1.0))}

    def given(self, parts):
        return attrs.evolve(self, precision=parts["precision"].value)

    def make(self):  # precision of beta, and that times its mean
        return np.column_stack([np.eye(2) / self.spread**2, np.zeros(2)])

    def add(self, statistics, value):
        row = np.array([1.0, value[0]])
        statistics += self.precision * np.outer(row, [1.0, value[0], value[1]])

    def remove(self, statistics, value):
        row = np.array([1.0, value[0]])
        statistics -= self.precision * np.outer(row, [1.0, value[0], value[1]])

    def log_predictive(self, value, many):
        mean, variance = self._predicted(value[0], np.array(many))
        return -0.5 * (np.log(2.0 * np.pi * variance) + (value[1] - mean) ** 2 / variance)

    def _predicted(self, x, many):
        row = np.array([1.0, x])
        variance = np.linalg.solve(many[:, :, :2], np.broadcast_to(row[:, None], (len(many), 2, 1)))[..., 0]
        return np.sum(variance * many[:, :, 2], axis=1), variance @ row + 1.0 / self.precision

    def redraw(self, value, statistics, generator):  # a y for this x
        mean, variance = self._predicted(value[0], statistics[None])
        return np.array([value[0], generator.normal(mean[0], np.sqrt(variance[0]))])

    def draw_parameters(self, statistics, source):
        noise = np.array([source.normal(), source.normal()])
        factor = np.linalg.cholesky(statistics[:, :2])
        return self.posterior_mean(statistics) + np.linalg.solve(factor.T, noise)

    def log_likelihoods(self, values, parameters):
        values, beta = np.asarray(values), np.array(parameters)
        away = values[:, 1:] - beta[:, 0] - values[:, :1] * beta[:, 1]
        return 0.5 * np.log(self.precision / (2.0 * np.pi)) - 0.5 * self.precision * away**2

    def log_likelihood(self, value, parameters):
        return float(self.log_likelihoods([value], [parameters])[0, 0])

    def posterior_mean(self, statistics):
        return np.linalg.solve(statistics[:, :2], statistics[:, 2])

    def support(self, value):
        return "real numbers", value[1], lambda y: np.array([value[0], y])


class DrawPrecision(moves.Move):
    """The precision given the states, with lines integrated out: slice sampling of its logarithm."""

    continuous = True
    updates = ("precision",)

    def apply(self, state, rng, steps=None):
        part = state.measure_parts["precision"]

        def log_density(y):
            state.set_shared_value(part, np.exp(y))
            return state.log_likelihood() + part.log_density(state) + y

        state.set_shared_value(part, np.exp(slice_sample(log_density, np.log(part.value), 0.5, rng)))
        return moves.MoveInfo(1, 1)


LINES, SD = np.array([[-2.0, 1.0], [0.0, -1.5], [3.0, 0.5]]), 0.5


def simulate(n=300, seed=0):
    """Observations (x, y) of a chain that stays in its state with probability 0.95, and its states."""
    rng = np.random.default_rng(seed)
    states = np.cumsum(rng.random(n) < 0.05) * 2 % 3
    x = rng.uniform(-2.0, 2.0, n)
    return np.column_stack([x, rng.normal(LINES[states, 0] + LINES[states, 1] * x, SD)]), states


def fit(observations, sweeps=200, seed=0):
    """Run a chain, and return its trace and last state."""
    root = hk.Restaurant(Lines(), concentration=hk.Gamma(1.0, 1.0))
    rows = hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each=hk.PreviousDish(sticky=10.0))
    data = hk.Sequences.from_arrays([observations])
    franchise = hk.Franchise(rows, data, store="counts", root="weights")
    schedule = [moves.BeamSampler(), moves.SplitMergeStates(), moves.RootWeights(), moves.Concentration()]
    trace = hk.Scheduler([*schedule, DrawPrecision()]).run(
        franchise, sweeps, rng=seed, init=hk.init.Random(6)
    )
    return trace, franchise


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--sweeps", type=int, default=200)
    sweeps = parser.parse_args().sweeps
    trace, franchise = fit(simulate()[0], sweeps)
    sd = trace["precision/value"][sweeps // 4 :] ** -0.5
    print(f"{franchise.n_dishes} states; noise {sd.mean():.2f} +- {sd.std():.2f}, in truth {SD}")
    print("lines (intercept, slope) of the states with most observations:")
    print(franchise.dish_parameters()[np.argsort(-np.bincount(franchise.dishes))[:3]].round(2))
