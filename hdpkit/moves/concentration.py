"""Concentration parameters with priors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.priors import Gamma
from hdpkit.random import ChoiceSource

__all__ = ["Concentration"]

Ints = npt.NDArray[np.int64]


class Concentration(Move):
    """Draw every concentration that has a Gamma(a, b) prior, b a rate, by auxiliary variables.

    One restaurant with n customers and T tables (Escobar & West 1995): e ~ Beta(theta + 1, n), then theta
    from a mixture of Gamma(a + T, b - log e) and Gamma(a + T - 1, b - log e), odds (a+T-1) : n (b - log e).
    Several that share theta (Teh et al. 2006, appendix): w_j ~ Beta(theta + 1, n_j),
    s_j ~ Bernoulli(n_j / (n_j + theta)), theta ~ Gamma(a + sum T_j - sum s_j, b - sum log w_j), empty
    restaurants left out. In the root, customers are the tables below it (and data seated there).

    With a discount (Teh 2006): x_j ~ Beta(theta + 1, n_j - 1), y_ji ~ Bernoulli(theta / (theta + d i)) for
    1 <= i < T_j, theta ~ Gamma(a + sum y, b - sum log x). The two augmentations are never mixed.
    """

    continuous = True
    updates = ("concentration",)

    def check(self, state: Franchise) -> None:
        """Refuse a franchise whose concentrations are all fixed, and priors other than Gamma."""
        priors = [declaration.hyperparameters[0].prior for declaration in state.declarations]
        if not any(prior is not None for prior in priors):
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "Every concentration is fixed: give one a prior (hk.Gamma) or leave Concentration out.",
            )  # fmt: skip
        for prior in priors:
            if prior is not None and not isinstance(prior, Gamma):
                raise ScheduleError(
                    "concentration",
                    prior,
                    "a Gamma prior",
                    "Auxiliary variables need one: hk.Gamma(shape, rate).",
                )

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw the concentrations, from the root's declaration to the deepest."""
        if steps == (0, 0):
            return MoveInfo()
        customers, tables = state.totals()
        drawn = 0
        for number, declaration in enumerate(state.declarations):
            declared, discount = declaration.hyperparameters
            if declared.prior is None:
                continue
            assert isinstance(declared.prior, Gamma)  # check() saw to it
            nodes = state.topology.nodes(number)
            n, t = customers[nodes], tables[nodes]
            theta = state.concentration(declaration.name)
            if declared.each:
                fresh = [
                    draw_concentration(
                        declared.prior, own, discount.start, n[j : j + 1], t[j : j + 1], rng.generator
                    )
                    for j, own in enumerate(theta)
                ]
                state.set_concentration(declaration.name, fresh)
            else:
                state.set_concentration(
                    declaration.name,
                    draw_concentration(declared.prior, theta, discount.start, n, t, rng.generator),
                )
            drawn += len(n) if declared.each else 1
        return MoveInfo(drawn, drawn)


def draw_concentration(
    prior: Gamma, theta: float, d: float, customers: Ints, tables: Ints, generator: np.random.Generator
) -> float:
    """Draw theta given customers and tables of the restaurants that share it.

    Parameters
    ----------
    prior : Gamma
    theta, d : float
        Present concentration, and the discount.
    customers, tables : int arrays, shape (n_restaurants,)
    """
    n, t = customers[customers > 0], tables[customers > 0]
    if len(n) == 0:
        return float(prior.draw(generator))
    if d > 0.0:
        return _with_discount(prior, theta, d, n, t, generator)
    log_w = _log_beta(theta + 1.0, n, generator)
    rate = prior.rate - log_w.sum()
    if len(n) == 1:
        # Both components of the mixture, weighed: s is integrated out.
        shape = prior.shape + t[0]
        odds = (shape - 1.0) / (n[0] * rate)
        shape -= generator.random() * (1.0 + odds) >= odds
    else:
        shape = prior.shape + t.sum() - np.count_nonzero(generator.random(len(n)) * (n + theta) < n)
    return float(Gamma(shape, rate).draw(generator))


def _with_discount(
    prior: Gamma, theta: float, d: float, n: Ints, t: Ints, generator: np.random.Generator
) -> float:
    log_x = _log_beta(theta + 1.0, n[n > 1] - 1, generator)
    index = np.concatenate([np.arange(1, tables) for tables in t])
    y = np.count_nonzero(generator.random(len(index)) * (theta + d * index) < theta)
    return float(Gamma(prior.shape + y, prior.rate - log_x.sum()).draw(generator))


def _log_beta(a: float, b: Ints, generator: np.random.Generator) -> npt.NDArray[np.float64]:
    """Logarithms of Beta(a, b) draws, which themselves may underflow."""
    x, y = np.log(generator.standard_gamma(a, size=len(b))), np.log(generator.standard_gamma(b))
    return x - np.logaddexp(x, y)


moves.register("concentration", Concentration, lambda: [Concentration()])
