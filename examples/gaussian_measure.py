"""A user-defined base measure in plain Python: numbers around an unknown mean.

Dish k is a normal distribution with known standard deviation `noise`; its mean has a normal prior. hdpkit
doesn't assume words: every move, store and depth works with these four methods.
"""

import math

import attrs
import numpy as np

import hdpkit as hk
from hdpkit import moves


@attrs.frozen
class NormalMean(hk.BaseMeasure):
    """Normal observations with known noise; the mean of a dish is Normal(mean, spread**2)."""

    support = "real numbers"  # over which the predictive is tested to integrate to one
    takes_terms = False  # the values aren't words

    mean: float = 0.0
    spread: float = 1.0
    noise: float = 1.0

    def make(self):
        return np.zeros(2)  # number and sum of the observations

    def add(self, statistics, value):
        statistics += 1.0, value

    def remove(self, statistics, value):
        statistics -= 1.0, value

    def _posterior(self, many):
        n, total = np.array(many).T
        precision = 1 / self.spread**2 + n / self.noise**2
        return (self.mean / self.spread**2 + total / self.noise**2) / precision, 1 / precision

    def log_predictive(self, value, many):
        mean, variance = self._posterior(many)
        variance = variance + self.noise**2
        return -0.5 * (np.log(2 * math.pi * variance) + (value - mean) ** 2 / variance)

    # Optional: Geweke's test and `dish_parameters` use these.
    def simulate(self, statistics, generator):
        mean, variance = self._posterior([statistics])
        return float(generator.normal(mean[0], math.sqrt(variance[0] + self.noise**2)))

    def posterior_mean(self, statistics):
        return self._posterior([statistics])[0][0]

    def example_values(self):
        return [0.3, 0.1, -1.2, 2.0, 0.4]


hk.base_measures.register("normal-mean (example)", NormalMean, lambda: [NormalMean(0.2, 1.5, 0.8)])


def main():
    generator = np.random.default_rng(1)
    groups = [generator.normal(generator.choice([-4.0, 0.0, 5.0], size=40), 1.0) for _ in range(6)]
    data = hk.Groups.from_arrays(groups, label="school")
    root = hk.Restaurant(base=NormalMean(spread=5.0), concentration=hk.Gamma(1.0, 1.0))
    school = hk.Restaurant(base=root, concentration=hk.Gamma(1.0, 1.0), each="school")
    franchise = hk.Franchise(school, data)
    schedule = hk.Scheduler(
        [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]
    )
    trace = schedule.run(franchise, sweeps=60, rng=1)
    weights, _ = franchise.root_weights()
    print(f"{trace['n_dishes'][-1]} components; the three largest:")
    for dish in np.argsort(-weights)[:3]:
        print(f"  mean {franchise.dish_parameters()[dish]:6.2f}, weight {weights[dish]:.2f}")


if __name__ == "__main__":
    main()
