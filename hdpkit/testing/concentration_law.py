"""The exact law of a concentration given seatings, by quadrature: what the draws of a move are held against.

With n_j customers at T_j tables in the restaurants that share theta, those with n_j = 0 left out,

    p(theta | n, T) ~ Gamma(theta; a, b) prod_j [theta+d]_d^(T_j-1) / [theta+1]_1^(n_j-1).

A step from an exact draw must end in an exact draw: no burn-in, independent draws, and a bound that holds for
every sample size (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from scipy.integrate import cumulative_simpson
from scipy.interpolate import PchipInterpolator
from scipy.special import gammaln

from hdpkit.errors import ParameterError
from hdpkit.priors import Gamma

__all__ = ["ConcentrationLaw", "dkw_bound", "one_step_distance"]

Floats = npt.NDArray[np.float64]

N_NODES = 20_001
NEGLIGIBLE = 60.0  # nats below the mode


class ConcentrationLaw:
    """Conditional law of theta > 0 given the seating of the restaurants that share it.

    Parameters
    ----------
    prior : Gamma
    discount : float
    customers, tables : sequence of int
        n_j and T_j; a restaurant without customers says nothing.
    """

    def __init__(
        self, prior: Gamma, discount: float, customers: Sequence[int], tables: Sequence[int]
    ) -> None:
        if len(customers) != len(tables):
            raise ParameterError("tables", tables, f"{len(customers)} numbers", "Give one a restaurant.")
        self.prior = prior
        self.discount = discount
        self.seatings = [(int(n), int(t)) for n, t in zip(customers, tables, strict=True) if n > 0]
        wide = np.linspace(-60.0, 20.0, N_NODES)  # of log theta
        heights = self._log_density_of_log(wide)
        inside = wide[heights > heights.max() - NEGLIGIBLE]
        nodes = np.linspace(inside[0], inside[-1], N_NODES)
        heights = self._log_density_of_log(nodes)
        cumulative = cumulative_simpson(np.exp(heights - heights.max()), x=nodes, initial=0.0)
        cumulative = np.maximum.accumulate(cumulative / cumulative[-1])
        self._cdf = PchipInterpolator(nodes, cumulative)
        rising = np.concatenate([[True], np.diff(cumulative) > 0])
        self._quantile = PchipInterpolator(cumulative[rising], nodes[rising])
        self._range = (float(nodes[0]), float(nodes[-1]))

    def _log_density_of_log(self, log_theta: Floats) -> Floats:
        """Log density of log theta up to a constant, the Jacobian included."""
        theta, d = np.exp(log_theta), self.discount
        total = self.prior.shape * log_theta - self.prior.rate * theta
        for n, t in self.seatings:
            for i in range(1, t):
                total += np.log(theta + d * i)
            total -= gammaln(theta + n) - gammaln(theta + 1.0)
        return np.asarray(total)

    def cdf(self, theta: npt.ArrayLike) -> Floats:
        """Probability of a concentration up to theta."""
        return np.asarray(self._cdf(np.clip(np.log(np.asarray(theta, dtype=float)), *self._range)))

    def quantile(self, probability: npt.ArrayLike) -> Floats:
        """Inverse of `cdf`."""
        return np.exp(np.asarray(self._quantile(np.asarray(probability, dtype=float))))

    def distance(self, draws: Floats) -> float:
        """Kolmogorov's distance between this law and the empirical one of draws."""
        at, n = np.sort(self.cdf(draws)), len(draws)
        above = np.arange(1, n + 1) / n
        return float(max(np.max(above - at), np.max(at - above + 1.0 / n)))


def one_step_distance(
    law: ConcentrationLaw, step: Callable[[float], float], n_draws: int, generator: np.random.Generator
) -> float:
    """Kolmogorov's distance between a law and that of one step from independent exact draws of it.

    Parameters
    ----------
    law : ConcentrationLaw
    step : callable
        The kernel: from a concentration to the next.
    n_draws : int
    generator : numpy.random.Generator
        Of the exact draws; the step has its own.
    """
    starts = law.quantile(generator.random(n_draws))
    return law.distance(np.array([step(float(theta)) for theta in starts]))


def dkw_bound(n_draws: int, error_rate: float) -> float:
    """What the distance of n independent draws from their own law exceeds with at most this probability."""
    return math.sqrt(math.log(2.0 / error_rate) / (2.0 * n_draws))
