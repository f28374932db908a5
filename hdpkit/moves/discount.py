"""Discount parameters with priors."""

from __future__ import annotations

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.declarations import Hyperparameter
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves.hyperparameters import (
    ByMethod,
    Declared,
    Openings,
    Sharing,
    exceeding,
    log_rising,
    priors_in_dishes,
)
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, slice_within
from hdpkit.numerics import add_up
from hdpkit.priors import Beta, draw_beta, log_density_at
from hdpkit.random import ChoiceSource


@attrs.define
class Discount(ByMethod):
    """Draw every discount that has a prior, given seating and concentrations.

    By auxiliary variables if the prior is Beta(a, b) and theta > 0 (Teh 2006; sums are over the restaurants
    that share d): y_i ~ Bernoulli(theta / (theta + d i)) for 1 <= i < T in a restaurant of T tables, z_tj ~
    Bernoulli((j - 1) / (j - d)) for 1 <= j < n_t at a table of n_t customers, d ~ Beta(a + sum (1 - y), b +
    sum (1 - z)). All variables with the same i, or the same j, are drawn at once as a binomial.

    By slice sampling (Neal 2003, stepping out) for every prior, on the scale of logit d, within the range
    allowed by the prior and d > -theta. The target is prod [theta+d]_d^(T-1) prod_t [1-d]_1^(n_t-1) times the
    prior of d, and times that of theta + d if theta has a `Shifted` prior.

    "discount/bursts" of a `Bursty` measure is drawn in the same ways, given sizes of tables drawn from their
    law given the numbers of tables; if the method is "auto", by slice sampling.

    Parameters
    ----------
    method : str
        "auxiliary", "slice", or "auto": auxiliary variables if priors and concentrations allow them.
    width : float
        Initial width of the slice, on that scale.
    """

    updates = ("discount",)
    over = "totals"  # over shards only `Bursty` may have a discount
    needs_sizes = True

    def check(self, state: Franchise) -> None:
        """Raise an error if auxiliary variables are not possible."""
        declared = [one.hyperparameters for one in state.declarations]
        priors = priors_in_dishes(state, "discount").values()
        declared += [(Hyperparameter(1.0), Hyperparameter.of("discount", prior)) for prior in priors]
        for one in declared:
            if self.method == "auxiliary" and one[1].prior is not None and not _conjugate(one):
                raise ScheduleError(
                    "discount", one[1].prior, "a Beta prior, beside a positive concentration",
                    "Auxiliary variables need it (and no Shifted prior). Or use method='slice'.",
                )  # fmt: skip

    def _draw(self, declared: Declared, value: float, sharing: Sharing, source: ChoiceSource) -> float:
        prior = declared[1].prior
        theta, tables, sizes = sharing.theta, sharing.tables, sharing.size_counts()
        fits = _conjugate(declared) and bool(np.all(theta > 0.0)) and not sharing.in_dishes
        if isinstance(prior, Beta) and (self.method == "auxiliary" or (self.method == "auto" and fits)):
            return draw_discount(prior, value, theta, tables, sizes, source)
        return slice_discount(declared, value, theta, tables, sizes, self.width, source)


def _conjugate(declared: Declared) -> bool:
    theta, discount = declared
    positive = theta.start > 0.0 if theta.prior is None else not theta.shifted
    return isinstance(discount.prior, Beta) and positive


def draw_discount(
    prior: Beta,
    d: float,
    theta: Floats,
    tables: Int64s,
    sizes: tuple[Int64s, Int64s],
    source: ChoiceSource,
) -> float:
    """Draw d by auxiliary variables."""
    if not np.all(theta > 0.0):
        raise StateError("concentration", theta, "above 0 for auxiliary variables", "Use method='slice'.")
    openings = Openings(theta, tables)
    _, by_discount = openings.draw(openings.other, d, source)
    # Sum of 1 - z: at j = 1 the probability is 1.
    apart = sum(int(source.binomial(n, (1.0 - d) / (j - d)).sum()) for j, n in exceeding(*sizes))
    return float(draw_beta(prior.a + by_discount, prior.b + apart, source))


def slice_discount(
    declared: Declared,
    d: float,
    theta: Floats,
    tables: Int64s,
    sizes: tuple[Int64s, Int64s],
    width: float,
    source: ChoiceSource,
) -> float:
    """Draw d by slice sampling; parameters as in `draw_discount`, with the declared priors of theta and d."""
    concentration, discount = declared
    prior = discount.prior
    assert prior is not None
    low, high = discount.support
    scale = Scale(max(low, -float(theta.min())), min(high, 1.0))
    openings = Openings(theta, tables)
    seated = sizes[0] - 1, sizes[1]
    # Each theta with a prior on theta + d contributes a factor.
    shifted = concentration.prior if concentration.shifted else None
    own = theta if concentration.each else theta[:1]

    def log_target(value: float) -> float:
        total = openings.log_density(openings.other, value) + log_rising(1.0 - value, *seated)
        if shifted is not None:
            total += add_up(log_density_at(shifted, float(one)) for one in own + value)
        return total + log_density_at(prior, value)

    return slice_within(scale, log_target, d, width, source)


moves.register("discount", Discount, lambda: [Discount(), Discount("slice")])
