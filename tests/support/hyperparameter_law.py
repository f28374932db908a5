"""The exact conditional distributions of theta and of d given seatings, by quadrature.

A step from an exact draw must end in an exact draw: no burn-in, independent draws, and a bound that holds for
every sample size (Dvoretzky, Kiefer and Wolfowitz 1956, with the constant of Massart 1990).
"""

import abc
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.integrate import cumulative_simpson
from scipy.interpolate import PchipInterpolator
from scipy.special import expit, gammaln, log_expit, logit

from hdpkit.arrays import Floats
from hdpkit.priors import Prior

N_NODES_TO_FIND_IT = 1001  # on the entire line, to find where the distribution has its mass
N_NODES = 20_001
NEGLIGIBLE = 60.0  # nats below the mode


class _Law(abc.ABC):
    """The distribution of one number, from its log density after transformation to the real line."""

    WIDE: tuple[float, float]

    def __init__(self) -> None:
        wide = np.linspace(*self.WIDE, N_NODES_TO_FIND_IT)
        heights = self.log_density_on_the_line(wide)
        inside = np.flatnonzero(heights > heights.max() - NEGLIGIBLE)
        first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(wide) - 1)
        nodes = np.linspace(wide[first], wide[last], N_NODES)
        heights = self.log_density_on_the_line(nodes)
        cumulative = cumulative_simpson(np.exp(heights - heights.max()), x=nodes, initial=0.0)
        cumulative = np.maximum.accumulate(cumulative / cumulative[-1])
        self._cdf = PchipInterpolator(nodes, cumulative)
        rising = np.concatenate([[True], np.diff(cumulative) > 0])
        self._quantile = PchipInterpolator(cumulative[rising], nodes[rising])
        self._range = (float(nodes[0]), float(nodes[-1]))

    @abc.abstractmethod
    def log_density_on_the_line(self, y: Floats) -> Floats:
        """Log density of the place on the line up to a constant, the Jacobian included."""

    @abc.abstractmethod
    def to_line(self, x: Floats) -> Floats:
        """Place of a number on the line."""

    @abc.abstractmethod
    def from_line(self, y: Floats) -> Floats:
        """Number at a place of the line."""

    def cdf(self, x: npt.ArrayLike) -> Floats:
        """Probability of a number up to x."""
        return np.asarray(self._cdf(np.clip(self.to_line(np.asarray(x, dtype=float)), *self._range)))

    def quantile(self, probability: npt.ArrayLike) -> Floats:
        """Inverse of `cdf`."""
        return self.from_line(np.asarray(self._quantile(np.asarray(probability, dtype=float))))

    def distance(self, draws: Floats) -> float:
        """Kolmogorov's distance between this law and the empirical one of draws."""
        at, n = np.sort(self.cdf(draws)), len(draws)
        above = np.arange(1, n + 1) / n
        return float(max(np.max(above - at), np.max(at - above + 1.0 / n)))


class ConcentrationLaw(_Law):
    """Conditional law of theta given the seating of the restaurants that share it."""

    WIDE = (-60.0, 20.0)  # of log theta, or of log(theta + d)

    def __init__(
        self,
        prior: Prior,
        discount: float | Sequence[float],
        customers: Sequence[int],
        tables: Sequence[int],
        *,
        shifted: bool = False,
    ) -> None:
        self.prior = prior
        discounts = np.broadcast_to(discount, len(tables)).tolist()
        self.shift = float(np.max(discount)) if shifted else 0.0
        rows = zip(customers, tables, discounts, strict=True)
        self.seatings = [(int(n), int(t), d) for n, t, d in rows if n > 0]
        super().__init__()

    def log_density_on_the_line(self, y: Floats) -> Floats:
        """Log density of log theta, or of log(theta + d)."""
        x = np.exp(y)
        theta = x - self.shift
        total = y + np.array([self.prior.log_density(value) for value in x.tolist()])
        for n, t, d in self.seatings:
            for i in range(1, t):
                # With a shift, theta + d i = x + d (i - 1), which is accurate also if x is far below d.
                total += np.log(x + d * (i - 1) if self.shift else theta + d * i)
            total -= gammaln(theta + n) - gammaln(theta + 1.0)
        return total

    def to_line(self, x: Floats) -> Floats:
        """Log of theta, or of theta + d."""
        return np.log(np.asarray(x) + self.shift)

    def from_line(self, y: Floats) -> Floats:
        """Theta."""
        return np.exp(y) - self.shift


class DiscountLaw(_Law):
    """Conditional law of d given the seating of the restaurants that share it."""

    WIDE = (-60.0, 60.0)  # of the logit of (d - low) / (1 - low)

    def __init__(
        self,
        prior: Prior,
        theta: float | Sequence[float],
        sizes: Sequence[Sequence[int]],
        sums: Prior | None = None,
    ) -> None:
        self.prior = prior
        thetas = np.broadcast_to(theta, len(sizes)).tolist()
        self.seatings = list(zip(thetas, sizes, strict=True))
        self.sums = sums
        self.thetas = np.atleast_1d(theta).tolist()
        self.low = max(0.0, -float(np.min(theta)))
        super().__init__()

    def log_density_on_the_line(self, y: Floats) -> Floats:
        """Log density of the logit."""
        # d - low and 1 - d, each to full precision.
        d, above, rest = self.from_line(y), (1.0 - self.low) * expit(y), (1.0 - self.low) * expit(-y)
        total = log_expit(y) + log_expit(-y)
        total += np.array([self.prior.log_density(value) for value in d.tolist()])
        if self.sums is not None:
            for theta in self.thetas:
                total += np.array([self.sums.log_density(theta + value) for value in d.tolist()])
        for theta, sizes in self.seatings:
            for i in range(1, len(sizes)):
                total += np.log((theta + self.low) + above + d * (i - 1))
            for size in sizes:
                for j in range(1, size):
                    total += np.log(j - 1 + rest)
        return total

    def to_line(self, x: Floats) -> Floats:
        """The logit of (d - low) / (1 - low)."""
        return np.asarray(logit((np.asarray(x) - self.low) / (1.0 - self.low)))

    def from_line(self, y: Floats) -> Floats:
        """The discount."""
        return np.asarray(self.low + (1.0 - self.low) * expit(y))


def dkw_bound(n_draws: int, error_rate: float) -> float:
    """Bound that the distance of n independent draws from their law exceeds with at most this probability."""
    return math.sqrt(math.log(2.0 / error_rate) / (2.0 * n_draws))


def dkw_p(distance: float, n_draws: int) -> float:
    """P-value of n independent draws at this distance from their hypothesised distribution."""
    return min(1.0, 2.0 * math.exp(-2.0 * n_draws * distance**2))
