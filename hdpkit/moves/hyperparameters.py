"""Base of `Concentration` and `Discount`.

Both depend on the seating of the restaurants that share a value only through

    prod over restaurants of [theta+d]_d^(T-1) / [theta+1]_1^(c-1) prod over tables of [1-d]_1^(n_t-1),

T tables, c customers, n_t of them at table t, [x]_y^n = x (x+y) ... (x+(n-1)y). So sums over restaurants and
tables are computed over the distinct values of T, c and n_t.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, positive_number, validator
from hdpkit.franchise.declarations import Hyperparameter
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.hyperparameters import Sharers
from hdpkit.moves.protocol import EVERYWHERE, Move, MoveInfo, something_to_do
from hdpkit.numerics import rising_sum
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
        if steps == (0, 0):
            return info
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
        """Update the value that the restaurants in dishes share (`Bursty`), given their numbers of tables.

        By slice sampling unless auxiliary variables are asked for. Most of these restaurants have few
        customers, and a concentration far above them: there are nearly as many tables as customers, and steps
        by auxiliary variables would be small.
        """
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
    """Restaurants that share a hyperparameter: one entry per restaurant, with the current values.

    Sizes of tables are read, or drawn, by ``sizes_of``, a function of the numbers of restaurants.
    """

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
            yield Sharing(
                self.sizes_of,
                self.nodes[own],
                self.theta[own],
                self.d[own],
                self.customers[own],
                self.tables[own],
            )

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
        """Draw sum y and sum (1 - y), y_i ~ Bernoulli(theta / (theta + d i)) for 1 <= i < T.

        That is, the number of tables opened because of theta, and the number opened because of d.
        """
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
