"""Moves of concentrations and discounts.

Both depend on the seating of the restaurants that share a value only through

    prod over restaurants of [theta+d]_d^(T-1) / [theta+1]_1^(c-1) prod over tables of [1-d]_1^(n_t-1),

T tables, c customers, n_t of them at table t, [x]_y^n = x (x+y) ... (x+(n-1)y). So sums over restaurants and
tables are computed over the distinct values of T, c and n_t.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self, cast

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, positive_number, validator
from hdpkit.errors import ScheduleError, StateError
from hdpkit.franchise.declarations import Hyperparameter, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.hyperparameters import Sharers
from hdpkit.moves.parameters import proposed_from_prior, update_dishes
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.moves.registry import moves
from hdpkit.moves.slice import Scale, drawn_within
from hdpkit.numerics import add_up, rising_sum
from hdpkit.priors import Beta, Gamma, draw_beta, draw_from, log_density_at
from hdpkit.random import ChoiceSource

Declared = tuple[Hyperparameter, Hyperparameter]
"""Concentration and discount."""

_PIECE = 1 << 20
_ONE = np.ones(1)


def priors_in_dishes(state: Franchise, what: str) -> dict[str, Any]:
    """Priors of restaurants in dishes, as that of "concentration/bursts"."""
    return {name: prior for name, prior in state.measure.priors.items() if name.startswith(f"{what}/")}


def _has_priors(state: Franchise, what: str) -> bool:
    place = ("concentration", "discount").index(what)
    shared = any(one.hyperparameters[place].prior is not None for one in state.hyperparameters.sharers)
    of_each = what == "concentration" and one_a_dish(state)
    return shared or of_each or bool(priors_in_dishes(state, what))


@attrs.define
class ByMethod(Move):
    """Base of the moves that update by auxiliary variables or by slice sampling."""

    serves = EVERYWHERE
    continuous = True
    by_cell = True
    needs_sizes: ClassVar[bool] = False
    """Whether the move needs the sizes of tables."""
    requires = (
        something_to_do(
            lambda state, move: _has_priors(state, *move.updates),
            "Every {move.updates[0]} is fixed: give one a prior (hk.Gamma for concentrations, hk.Beta for "
            "discounts), or leave {move.name} out.",
        ),
    )

    method: str = attrs.field(
        default="auto",
        validator=validator(choice, ("auto", "auxiliary", "slice"), remedy="Leave it out: auto."),
    )
    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 suits the log scale.")
    )

    @abc.abstractmethod
    def _draw(self, declared: Declared, value: float, sharing: Sharing, source: ChoiceSource) -> float:
        """Draw a value from its conditional, given the restaurants that share it."""

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Draw all values that have a prior: from the root's declaration to the deepest, then in dishes."""
        info = MoveInfo()
        shared = state.hyperparameters.sharers
        if any(self._declared(*one.hyperparameters).prior is not None for one in shared):
            sizes = state.labelled_seating(rng, sizes=True) if self.needs_sizes else nullcontext()
            with state.root_integrated(rng), sizes:  # the root's weights depend on its hyperparameters
                for one in shared:
                    info += self._update(state, one, rng)
        info += self._in_dishes(state, rng)
        return info + self._dish_by_dish(state, rng)

    def _declared(self, concentration: Hyperparameter, discount: Hyperparameter) -> Hyperparameter:
        """The one that this move updates."""
        return concentration if self.updates == ("concentration",) else discount

    def _dish_by_dish(self, state: Franchise, rng: ChoiceSource) -> MoveInfo:
        """Draw the value of each dish, if each has one."""
        return MoveInfo()

    def _update(self, state: Franchise, shared: Sharers, rng: ChoiceSource) -> MoveInfo:
        return self._by_restaurant(state, shared, rng)

    def _by_restaurant(self, state: Franchise, shared: Sharers, rng: ChoiceSource) -> MoveInfo:
        """Update the value that restaurants share, or the value of each restaurant, given the seating."""
        (what,) = self.updates
        declared = self._declared(*shared.hyperparameters)
        if declared.prior is None:
            return MoveInfo()
        sharing = Sharing.of(state, shared)
        if len(sharing.nodes) == 0:  # no context is long enough for this level
            return MoveInfo()
        groups = sharing.one_by_one() if declared.each else [sharing]
        now = getattr(state, what)(shared.name)
        before = [now] if isinstance(now, float) else now.tolist()
        after = [
            self._draw(shared.hyperparameters, value, group, rng)
            for value, group in zip(before, groups, strict=True)
        ]
        getattr(state, f"set_{what}")(shared.name, after if declared.each else after[0])
        return _moved(before, after)

    def _in_dishes(self, state: Franchise, rng: ChoiceSource) -> MoveInfo:
        """Update the value that the restaurants in dishes share (`Bursty`), given their numbers of tables."""
        info = MoveInfo()
        for key in priors_in_dishes(state, *self.updates):
            value = float(state.base_parameters[key])
            sharing, declared = Sharing.of_dishes(state, key.partition("/")[2], rng)
            after = self._draw(declared, value, sharing, rng)
            state.set_base_parameters(**{key: after})
            info += _moved([value], [after])
        return info


def one_a_dish(state: Franchise) -> bool:
    """Whether each topic has a concentration of its own, by which it differs by restaurant."""
    return state.measure.seats_values and not state.measure.conjugate


def _moved(before: Sequence[float], after: Sequence[float]) -> MoveInfo:
    """The number of values updated, and the number of those that changed."""
    return MoveInfo(len(after), sum(a != b for a, b in zip(before, after, strict=True)))


@attrs.frozen(eq=False)
class Sharing:
    """Restaurants that share a hyperparameter: one entry per restaurant, with the current values."""

    sizes_of: Callable[[Int64s], tuple[Int64s, Int64s]]
    nodes: Int64s
    theta: Floats
    d: Floats
    customers: Int64s
    tables: Int64s
    in_dishes: bool = False

    @classmethod
    def of(cls, state: Franchise, shared: Sharers) -> Self:
        """All restaurants that share a concentration."""
        nodes, customers, tables = state.totals_of(shared.number)
        if not shared.whole:
            nodes, customers, tables = (of_all[shared.own] for of_all in (nodes, customers, tables))
        theta, d = state.concentration(shared.name), state.discount(shared.name)
        thetas = np.full(len(nodes), theta) if isinstance(theta, float) else theta
        ds = np.full(len(nodes), d) if isinstance(d, float) else d
        return cls(state.size_counts, nodes, thetas, ds, customers, tables)

    @classmethod
    def of_dishes(cls, state: Franchise, name: str, source: ChoiceSource) -> tuple[Self, Declared]:
        """All restaurants in dishes, and what is declared of them. Sizes of their tables are drawn."""
        measure = state.measure
        declared = [
            Hyperparameter(float(measure.parameters.get(key, 1.0)), measure.priors.get(key))
            for key in (f"concentration/{name}", f"discount/{name}")
        ]
        customers, tables = state.totals_in_dishes()
        theta, d = (np.full(len(customers), one.start) for one in declared)
        if one_a_dish(state):
            bank: Any = state.bank
            of = {slot: bank.totals_of(slot) for slot in state.slots.occupied_slots().tolist()}
            customers, tables = (np.concatenate(rows) for rows in zip(*of.values(), strict=True))
            theta = np.repeat([bank.parameter(slot) for slot in of], [len(n) for n, _ in of.values()])

        def sizes_of(nodes: Int64s) -> tuple[Int64s, Int64s]:
            return state.size_counts_in_dishes(source)

        made = cls(sizes_of, np.arange(len(customers)), theta, d, customers, tables, in_dishes=True)
        return made, (declared[0], declared[1])

    def one_by_one(self) -> Iterator[Sharing]:
        """Each restaurant separately."""
        for j in range(len(self.nodes)):
            own = slice(j, j + 1)
            arrays = self.nodes[own], self.theta[own], self.d[own], self.customers[own], self.tables[own]
            yield Sharing(self.sizes_of, *arrays)

    def size_counts(self) -> tuple[Int64s, Int64s]:
        """Sizes of all their tables, ascending, and the number of tables of each size."""
        return self.sizes_of(self.nodes)


def counted(values: Int64s) -> tuple[Int64s, Int64s]:
    """Distinct values, ascending, and how often each occurs."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts


def exceeding(values: Int64s, counts: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    """Pieces of (i, number of counted values above i), for i from 1 to the largest value - 1."""
    at_least = np.cumsum(counts[::-1])[::-1]
    last = int(values[-1]) if len(values) else 0
    for start in range(1, last, _PIECE):
        i = np.arange(start, min(start + _PIECE, last))
        yield i, at_least[np.searchsorted(values, i, side="right")]


def log_rising(start: float, n: Int64s, counts: Int64s) -> float:
    """Sum of log [start]_1^n over the counted n."""
    return float(rising_sum(np.array([start]), _ONE, n, counts))


class Openings:
    """The factors [theta+d]_d^(T-1) of restaurants, for the update of one of the two hyperparameters."""

    def __init__(self, other: Floats, tables: Int64s) -> None:
        several = tables > 1
        self.other, self.opened = other[several], tables[several] - 1
        self.counts = np.ones(len(self.opened), dtype=np.int64)
        if np.all(self.other == self.other[:1]):
            self.opened, self.counts = counted(self.opened)
            self.other = other[:1]

    @classmethod
    def of_counted(cls, other: float, tables: Int64s, counts: Int64s) -> Self:
        """Factors for one value of `other` and distinct numbers of tables, ascending, with counts."""
        made = cls(np.empty(0), np.empty(0, dtype=np.int64))
        several = tables > 1
        made.opened, made.counts = tables[several] - 1, counts[several]
        made.other = np.full(min(1, len(made.opened)), other)
        return made

    def log_density(self, theta: float | Floats, d: float | Floats) -> float:
        """Sum of log [theta+d]_d^(T-1)."""
        return float(rising_sum(np.atleast_1d(theta + d), np.atleast_1d(d), self.opened, self.counts))

    def draw(self, theta: float | Floats, d: float | Floats, source: ChoiceSource) -> tuple[int, int]:
        """Draw sum y and sum (1 - y), y_i ~ Bernoulli(theta / (theta + d i)) for 1 <= i < T."""
        n = by_discount = 0
        if len(self.other) == 1:
            for i, open_ in exceeding(self.opened + 1, self.counts):
                n += int(open_.sum())
                by_discount += int(source.binomial(open_, d * i / (theta + d * i)).sum())
            return n - by_discount, by_discount
        n = int(self.opened.sum())
        a, b = (np.repeat(np.broadcast_to(x, self.opened.shape), self.opened) for x in (theta, d))
        i = np.arange(1, n + 1) - np.repeat(np.cumsum(self.opened) - self.opened, self.opened)
        by_discount = int(np.count_nonzero(source.uniform(n) * (a + b * i) < b * i))
        return n - by_discount, by_discount


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
            after = drawn_within(
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

    after = drawn_within(scale, log_target, theta + shift, width, source)
    return theta if after == theta + shift else after - shift


moves.register("concentration", Concentration, lambda: [Concentration(), Concentration("slice")])


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
            if self.method == "auxiliary" and one[1].prior is not None and not _conjugate_discount(one):
                raise ScheduleError(
                    "discount", one[1].prior, "a Beta prior, beside a positive concentration",
                    "Auxiliary variables need it (and no Shifted prior). Or use method='slice'.",
                )  # fmt: skip

    def _draw(self, declared: Declared, value: float, sharing: Sharing, source: ChoiceSource) -> float:
        prior = declared[1].prior
        theta, tables, sizes = sharing.theta, sharing.tables, sharing.size_counts()
        fits = _conjugate_discount(declared) and bool(np.all(theta > 0.0)) and not sharing.in_dishes
        if isinstance(prior, Beta) and (self.method == "auxiliary" or (self.method == "auto" and fits)):
            return draw_discount(prior, value, theta, tables, sizes, source)
        return slice_discount(declared, value, theta, tables, sizes, self.width, source)


def _conjugate_discount(declared: Declared) -> bool:
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

    return drawn_within(scale, log_target, d, width, source)


moves.register("discount", Discount, lambda: [Discount(), Discount("slice")])
