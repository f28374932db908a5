"""Concentration parameters with priors."""

from __future__ import annotations

import math
from typing import Any, cast

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.declarations import Hyperparameter, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.hyperparameters import Sharers
from hdpkit.moves.dish_parameters import proposed_from_prior, update_dishes
from hdpkit.moves.hyperparameters import (
    ByMethod,
    Declared,
    Openings,
    Sharing,
    counted,
    log_rising,
    one_a_dish,
    priors_in_dishes,
)
from hdpkit.moves.protocol import MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, slice_within
from hdpkit.priors import Gamma, draw_from, log_density_at
from hdpkit.random import ChoiceSource


@attrs.define
class Concentration(ByMethod):
    """Draw every concentration that has a prior, given seating and discounts.

    By auxiliary variables if the prior is Gamma(a, b), with rate b. For one restaurant with n customers and T
    tables (Escobar & West 1995): e ~ Beta(theta + 1, n), then theta from a mixture of Gamma(a + T, b - log e)
    and Gamma(a + T - 1, b - log e), odds (a+T-1) : n (b - log e). For several restaurants that share theta
    (Teh et al. 2006, appendix): w_j ~ Beta(theta + 1, n_j), s_j ~ Bernoulli(n_j / (n_j + theta)), theta ~
    Gamma(a + sum T_j - sum s_j, b - sum log w_j), without empty restaurants. The customers of the root are
    the tables of its children (and data seated at it).

    With discounts (Teh 2006): x_j ~ Beta(theta + 1, n_j - 1), y_ji ~ Bernoulli(theta / (theta + d_j i)) for
    1 <= i < T_j, theta ~ Gamma(a + sum y, b - sum log x). The two augmentations are never mixed.

    By slice sampling (Neal 2003, stepping out) for every prior, on the scale of log theta; with a `Shifted`
    prior, of log(theta + d). The target is prod_j [theta+d_j]_(d_j)^(T_j-1) / [theta+1]_1^(n_j-1) times the
    prior.

    "concentration/bursts" of a `Bursty` measure is drawn in the same ways, given the numbers of tables; if
    the method is "auto", by slice sampling. If each topic has a concentration (``hk.Each``), they are drawn
    in the order of the dishes; if the prior has finitely many values, they are proposed from it.

    Parameters
    ----------
    method : str
        "auxiliary", "slice", or "auto": auxiliary variables if the prior allows them, otherwise slice
        sampling.
    width : float
        Initial width of the slice, on that scale.
    """

    updates = ("concentration",)
    over = "totals"

    def needs_lengths(self, restaurant: Restaurant) -> bool:
        """Auxiliary variables are drawn document by document."""
        return not by_numbers(self, restaurant)

    def check(self, state: Franchise) -> None:
        """Raise an error if auxiliary variables are not possible."""
        declared = [one.hyperparameters[0] for one in state.hyperparameters.sharers]
        declared += [Hyperparameter.of(*own) for own in priors_in_dishes(state, "concentration").items()]
        if one_a_dish(state):
            declared.append(Hyperparameter.of("concentration", cast(Any, state.measure).concentration))
        for one in declared:
            if self.method == "auxiliary" and one.prior is not None and not _conjugate(one):
                raise ScheduleError(
                    "concentration", one.prior, "a Gamma prior",
                    "Auxiliary variables need one: hk.Gamma(shape, rate). Or use method='slice'.",
                )  # fmt: skip

    def _update(self, state: Franchise, shared: Sharers, rng: ChoiceSource) -> MoveInfo:
        declared, prior = shared.hyperparameters[0], shared.hyperparameters[0].prior
        law = None if prior is None else state.topology.law_of(state, shared)
        if prior is not None and law is not None:
            value = float(state.concentration(shared.name))
            after = slice_within(
                Scale(0.0, math.inf), lambda x: law(x) + log_density_at(prior, x), value, self.width, rng
            )
            state.set_concentration(shared.name, after)
            return MoveInfo(1, int(value != after))
        if prior is None or not shared.whole or not by_numbers(self, shared):
            return self._by_restaurant(state, shared, rng)
        (customers, of), (tables, counts) = state.counted_totals_of(shared.number)
        if of.sum() == 0:  # there is no such restaurant
            return MoveInfo()
        value, d = (float(each(shared.name)) for each in (state.concentration, state.discount))
        seated = customers[customers > 1] - 1, of[customers > 1]
        openings = Openings.of_counted(d, tables, counts)
        after = _slice(declared, value, d, openings, seated, self.width, rng)
        state.set_concentration(shared.name, after)
        return MoveInfo(1, int(value != after))

    def _dish_by_dish(self, state: Franchise, rng: ChoiceSource) -> MoveInfo:
        return update_dishes(state, self._of_dish, rng) if one_a_dish(state) else MoveInfo()

    def _of_dish(
        self, state: Franchise, slot: int, customers: Int64s, rng: ChoiceSource
    ) -> tuple[float, MoveInfo]:
        """Return the updated concentration of a dish whose restaurants have tables of their own."""
        measure, bank = cast(Any, state.measure), cast(Any, state.bank)
        value = float(bank.parameter(slot))
        if measure.log_prior is None:
            return proposed_from_prior(measure, value, bank.log_likelihood_of(slot, customers), rng)
        declared = Hyperparameter(value, measure.concentration.prior), Hyperparameter(float(measure.discount))
        n, t = bank.totals_of(slot)
        theta, d = (np.full(len(n), one.start) for one in declared)
        sharing = Sharing(state.size_counts, np.arange(len(n)), theta, d, n, t, in_dishes=True)
        after = self._draw(declared, value, sharing, rng)
        return after, MoveInfo(1, int(after != value))

    def _draw(self, declared: Declared, value: float, sharing: Sharing, source: ChoiceSource) -> float:
        concentration, _ = declared
        d, n, t = sharing.d, sharing.customers, sharing.tables
        by_slice = self.method == "slice" or (self.method == "auto" and sharing.in_dishes)
        if by_slice or not _conjugate(concentration):
            return slice_concentration(concentration, value, d, n, t, self.width, source)
        assert isinstance(concentration.prior, Gamma)  # it is conjugate
        return draw_concentration(concentration.prior, value, d, n, t, source)


def by_numbers(move: Concentration, declared: Restaurant | Sharers) -> bool:
    """Whether the move needs only how often each number of customers and of tables occurs."""
    theta, d = declared.hyperparameters
    auxiliary = move.method != "slice" and _conjugate(theta)
    return theta.prior is None or not (auxiliary or theta.each or d.each)


def _conjugate(declared: Hyperparameter) -> bool:
    return isinstance(declared.prior, Gamma) and not declared.shifted


def draw_concentration(
    prior: Gamma, theta: float, d: Floats, customers: Int64s, tables: Int64s, source: ChoiceSource
) -> float:
    """Draw theta > 0 by auxiliary variables."""
    if not theta > 0.0:
        raise StateError("concentration", theta, "above 0, where its prior has support", "See hk.Shifted.")
    seated = customers > 0
    d, n, t = d[seated], customers[seated], tables[seated]
    if len(n) == 0:
        return float(draw_from(prior, source))
    if d.any():
        log_x = _log_beta(theta + 1.0, n[n > 1] - 1, source)
        openings = Openings(d, t)
        by_theta, _ = openings.draw(theta, openings.other, source)
        return float(Gamma(prior.shape + by_theta, prior.rate - math.fsum(log_x)).draw(source))
    log_w = _log_beta(theta + 1.0, n, source)
    rate = prior.rate - math.fsum(log_w)
    if len(n) == 1:
        # Both components of the mixture, with their weights: s is integrated out.
        shape = prior.shape + t[0]
        odds = (shape - 1.0) / (n[0] * rate)
        shape -= source.uniform() * (1.0 + odds) >= odds
    else:
        shape = prior.shape + t.sum() - np.count_nonzero(source.uniform(len(n)) * (n + theta) < n)
    return float(Gamma(shape, rate).draw(source))


def _log_beta(a: float, b: Int64s, source: ChoiceSource) -> Floats:
    """Logarithms of Beta(a, b) draws, which themselves may underflow."""
    if len(b) == 1:  # one restaurant; this case is frequent
        return np.array([source.log_beta(float(a), float(b[0]))[0]])
    return np.asarray(source.log_beta(a, b)[0])


def slice_concentration(
    declared: Hyperparameter,
    theta: float,
    d: Floats,
    customers: Int64s,
    tables: Int64s,
    width: float,
    source: ChoiceSource,
) -> float:
    """Draw theta by slice sampling; parameters as in `draw_concentration`, ``declared`` with any prior."""
    seated = counted(customers[customers > 1] - 1)
    return _slice(declared, theta, float(d[0]), Openings(d, tables), seated, width, source)


def _slice(
    declared: Hyperparameter,
    theta: float,
    d: float,
    openings: Openings,
    seated: tuple[Int64s, Int64s],
    width: float,
    source: ChoiceSource,
) -> float:
    """Draw theta by slice sampling, given how many restaurants have each number of customers - 1."""
    prior = declared.prior
    assert prior is not None
    shift = d if declared.shifted else 0.0  # a shifted theta has a single d
    low, high = declared.support
    scale = Scale(max(low, 0.0), high)

    def log_target(y: float) -> float:
        value = y - shift
        if not value > -shift:  # if theta + d is far below d, it is smaller than the last bit of theta
            return -math.inf
        return (
            openings.log_density(value, openings.other)
            - log_rising(value + 1.0, *seated)
            + log_density_at(prior, y)
        )

    after = slice_within(scale, log_target, theta + shift, width, source)
    return theta if after == theta + shift else after - shift


moves.register("concentration", Concentration, lambda: [Concentration(), Concentration("slice")])
