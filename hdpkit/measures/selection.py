"""The number of selected terms of a sparse topic, in Python, as a readable reference.

Term v of topic k is selected with probability pi_k, and the topic is Dirichlet(lambda) over its selected
terms (Wang & Blei 2009). For a dish with n customers and a distinct terms, these a terms are selected; the
selection of the other V - a terms is summed over, by the total number R = a .. V of selected terms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import as_float, whole_number
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.random import ChoiceSource

_MOST_TERMS = 2**31 - 1
SMALLEST, LARGEST = 1e-6, 1e6  # range of the smoothing, and of the parameters of the prior of proportions


def check_n_terms(value: Any) -> int:
    """Return V, the number of terms: 2 or more, because with one term there is nothing to select."""
    if whole_number("n_terms", value, 1, _MOST_TERMS) == 1:
        raise DeclarationError(
            "n_terms", value, f"a whole number from 2 to {_MOST_TERMS}",
            "A topic over one term has nothing to select; use DirichletMultinomial.",
        )  # fmt: skip
    return int(value)


def check_shape(name: str, value: Any) -> float:
    """Return r or s, a parameter of the Beta prior of the proportion of selected terms."""
    return _between(name, value, "1 and 1 make every proportion equally probable.")


def check_smoothing(value: Any) -> float:
    """Return lambda, the Dirichlet parameter of each selected term."""
    return _between("smoothing", value, "0.01 to 1 is usual for topics.")


def _between(name: str, value: Any, remedy: str) -> float:
    """Return a parameter as a float; a ParameterError unless it is from `SMALLEST` to `LARGEST`."""
    number = as_float(value)
    if SMALLEST <= number <= LARGEST:
        return number
    raise ParameterError(name, value, f"a number from {SMALLEST} to {LARGEST}", remedy)


class SelectionReference:
    """The distribution of R, the number of selected terms, for dishes with a distinct terms and n customers.

    1 <= a <= V, or a = n = 0. The proportion pi has the prior Beta(r, s) and is integrated out, or is given
    by log_pi = log pi and log_rest = log(1 - pi). The compiled twin is
    `hdpkit.measures._selection.Selection`.
    """

    def __init__(
        self,
        n_terms: int,
        smoothing: float,
        *,
        r: float | None = None,
        s: float | None = None,
        log_pi: float | None = None,
        log_rest: float | None = None,
    ) -> None:
        self.n_terms = n_terms
        self.smoothing = smoothing
        self.shapes = np.array([r, s], dtype=float)  # NaN if pi is given
        self.log_pi, self.log_rest = log_pi, log_rest

    def log_prior(self, R: npt.NDArray[np.int64]) -> Floats:
        """Log probability p(R) of one set of R selected terms: shape (n,)."""
        if self.log_pi is not None and self.log_rest is not None:
            return R * self.log_pi + (self.n_terms - R) * self.log_rest
        r, s = self.shapes
        return np.asarray(scipy.special.betaln(r + R, s + self.n_terms - R) - scipy.special.betaln(r, s))

    def log_weights(self, a: int, n: int) -> Floats:
        """log C(V-a, y) p(a+y) g(a+y; n), g(R; n) = G(lambda R) / G(lambda R + n), for y = 0 .. V - a."""
        V, size, gammaln = self.n_terms, self.smoothing, scipy.special.gammaln
        y = np.arange(V - a + 1)
        choices = gammaln(V - a + 1) - gammaln(y + 1) - gammaln(V - a - y + 1)
        if n == 0:  # g(R; 0) = 1, also for R = 0
            return np.asarray(choices + self.log_prior(a + y))
        with np.errstate(divide="ignore"):
            seating = np.where(
                a + y > 0, gammaln(np.maximum(size * (a + y), 1e-300)) - gammaln(size * (a + y) + n), -np.inf
            )
        return np.asarray(choices + self.log_prior(a + y) + seating)

    def log_sum(self, a: int, n: int) -> float:
        """log Z(a, n): the logarithm of the sum of these weights."""
        return _log_sum(self.log_weights(a, n))

    def coefficients(self, a: int, n: int) -> tuple[float, float]:
        """Return the factor of n_v + lambda for a term that the dish has, and f(v) of any other term.

        Z(a, n+1) / Z(a, n), and lambda Z(a+1, n+1) / Z(a, n); 0 if there is no such term.
        """
        log_sum = self.log_sum(a, n)
        inside = math.exp(self.log_sum(a, n + 1) - log_sum) if a > 0 else 0.0
        outside = self.smoothing * math.exp(self.log_sum(a + 1, n + 1) - log_sum) if a < self.n_terms else 0.0
        return inside, outside

    def log_ratio(self, a0: int, n0: int, a1: int, n1: int) -> float:
        """log Z(a1, n1) / Z(a0, n0)."""
        return self.log_sum(a1, n1) - self.log_sum(a0, n0)

    def expected(self, a: int, n: int) -> float:
        """Mean number of selected terms."""
        return float(np.sum(np.exp(self._log_law(a, n)) * np.arange(a, self.n_terms + 1)))

    def log_density(self, y: int, a: int, n: int) -> float:
        """Log probability of y selected terms in addition to those of the dish."""
        return float(self._log_law(a, n)[y]) if 0 <= y <= self.n_terms - a else -math.inf

    def draw(self, a: int, n: int, source: ChoiceSource) -> int:
        """Draw the number of selected terms in addition to those of the dish."""
        if a == self.n_terms:
            return 0
        return int(source.choose(np.exp(self._log_law(a, n))))

    def _log_law(self, a: int, n: int) -> Floats:
        weights = self.log_weights(a, n)
        return np.asarray(weights - _log_sum(weights))


def draw_topic(law: Any, n: int, shapes: Floats, smoothing: float, source: ChoiceSource) -> Floats:
    """Draw a topic given its n customers: the number of selected terms, which, and their proportions.

    ``law`` is the distribution of the number, and ``shapes`` has n_v + smoothing for terms with customers,
    and 0 for others. Terms that are not selected have 0; if a dish without customers selects none, all have.
    """
    others = np.flatnonzero(shapes == 0.0)
    more = law.draw(len(shapes) - len(others), n, source)
    shapes = np.array(shapes, dtype=np.float64)
    shapes[others[source.permutation(len(others))[:more]]] = smoothing
    topic = np.zeros(len(shapes))
    selected = shapes > 0.0
    if selected.any():
        topic[selected] = source.dirichlet(shapes[selected])
    return topic


def _log_sum(weights: Floats) -> float:
    """log sum exp of log weights, at least one of which is finite."""
    # scipy.special.logsumexp, which supports arrays of several libraries, takes ten times longer.
    largest = weights.max()
    return float(largest + np.log(np.exp(weights - largest).sum()))
