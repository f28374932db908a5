"""A program as users write it: mypy --strict must accept it, and each `assert_type` must hold."""

from collections.abc import Sequence
from typing import Any, assert_type

import attrs
import numpy as np
import numpy.typing as npt

import hdpkit as hk
from hdpkit import moves


class ReseatOne(moves.Move):
    """Table Gibbs for one customer."""

    def apply(
        self, state: hk.Franchise, rng: hk.random.ChoiceSource, steps: tuple[int, int] | None = None
    ) -> moves.MoveInfo:
        customer = rng.index(state.topology.n_customers)
        state.reseat(customer, customer + 1, rng)
        return moves.MoveInfo(1, 1)


@attrs.frozen
class Rates(hk.BaseMeasure):
    """Counts from a Poisson whose rate is Gamma(shape, 1)."""

    shape: float = 2.0

    def make(self) -> npt.NDArray[np.float64]:
        return np.array([self.shape, 1.0])

    def add(self, statistics: npt.NDArray[np.float64], value: float) -> None:
        statistics += value, 1

    def remove(self, statistics: npt.NDArray[np.float64], value: float) -> None:
        statistics -= value, 1

    def log_predictive(self, value: float, many: Sequence[Any]) -> npt.NDArray[np.float64]:
        shape, rate = np.array(many).T
        return np.asarray(shape * np.log(rate / (rate + 1)) - value * np.log(rate + 1))


corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
document = hk.Restaurant(base=root, concentration=0.7, each="document")
franchise = hk.Franchise(document, corpus, store="histogram")
scheduler = hk.Scheduler(
    [moves.TableGibbs(), moves.SplitMerge().until(50), ReseatOne(), moves.Concentration()]
)

trace = scheduler.run(franchise, sweeps=10, rng=0)
assert_type(trace, hk.Trace)
assert_type(trace["n_dishes"], npt.NDArray[Any])
chains = scheduler.run(franchise, sweeps=10, rng=0, chains=2, samples=2)
assert_type(chains, hk.ChainTrace)
n_chains: int | None = None
assert_type(scheduler.run(franchise, 10, chains=n_chains), hk.Trace | hk.ChainTrace)
assert_type(franchise.n_dishes, int)
proportions = franchise.fold_in(corpus, rng=0).proportions
print(trace["n_dishes"].mean(), chains.summary(after=5), proportions.shape, chains.chains[0].seed)
flat = hk.Franchise(hk.Restaurant(Rates()), hk.Groups.from_labels([1, 0, 7], {}))
for draw in hk.Scheduler([moves.TableGibbs()]).sample(flat, 3, rng=0):
    print(draw.sweep, draw.franchise.log_joint())
