"""Dishes over terms that differ by restaurant: terms repeat within a document more than topics explain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Bools, Floats, Int32s, Int64s, IntsOrList
from hdpkit.checks import as_float, instance, text, validator
from hdpkit.data import GroupedData
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.measures._bursty import BurstyBank, DishBurstsBank
from hdpkit.measures._dirichlet_multinomial import DirichletMultinomialBank
from hdpkit.measures._sparse_dirichlet_multinomial import SparseDirichletMultinomialBank
from hdpkit.measures.bank import StatisticsBank
from hdpkit.measures.by_restaurant import ByRestaurant, NewRestaurants, Placed, Repeats, RestaurantBank
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.kept_parameters import ConcentrationsOfDishes, OwnNumbers, OwnParameter, ParameterBank
from hdpkit.measures.protocol import BaseMeasure, Resampled, as_parameter, parameter
from hdpkit.measures.python_bank import FixedBank
from hdpkit.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.numerics import add_up, exp, exp_each, log, rising_sum
from hdpkit.parts import Part
from hdpkit.priors import Each, Gamma, support_of
from hdpkit.random import ChoiceSource
from hdpkit.stirling import one_alone
from hdpkit.stores._stirling import sum_of_logs

_NEW = -1  # a new dish, among slots
_LARGEST = 1e100
_START = 1e6  # of b: on AP, chains from one topic with 1e4 had half as many topics after 40 s
_COMPILED = DirichletMultinomialBank, SparseDirichletMultinomialBank


def _parameter_or_each(default: Any, check: Callable[[Any, Any, Any], None]) -> Any:
    """A parameter of all dishes, or one of each."""

    def convert(value: Any, field: attrs.Attribute[Any]) -> Any:
        return value if isinstance(value, Each) else as_parameter(value, field)

    return attrs.field(default=default, converter=attrs.Converter(convert, takes_field=True), validator=check)


def _concentration(instance: Any, attribute: Any, value: Any) -> None:
    if isinstance(value, Each):
        Bursty.check_each(value)
        return
    number = as_float(value)
    infinite = number == math.inf
    if not (0.0 < number <= _LARGEST or infinite) or _support(value)[0] < 0.0:
        raise ParameterError(
            "concentration", _given(value),
            f"a number above 0, up to {_LARGEST:g} or infinite, or a prior of positive numbers",
            "The larger it is, the less terms repeat; hk.Gamma(1.0, 0.01) is resampled.",
        )  # fmt: skip


def _discount(instance: Any, attribute: Any, value: Any) -> None:
    low, high = _support(value)
    if not 0.0 <= as_float(value) < 1.0 or low < 0.0 or high > 1.0:
        raise ParameterError(
            "discount", _given(value), "a number from 0, below 1, or a prior on that range",
            "0 is usual; hk.Beta(1.0, 1.0) is resampled.",
        )  # fmt: skip


def _given(value: Any) -> Any:
    """The value as a user wrote it, for errors."""
    return value.prior if isinstance(value, Resampled) else getattr(value, "tolist", lambda: value)()


def _support(value: Any) -> tuple[float, float]:
    return support_of(value.prior) if isinstance(value, Resampled) else (0.0, 1.0)


@attrs.define
class Bursts:
    """Statistics of a dish: its terms in each restaurant, and those of the tables that they share."""

    tables: Any  # statistics of the inner measure, of one term for each table
    # Customers and tables of each (restaurant, term), and of each restaurant.
    cells: dict[tuple[int, Any], list[int]] = attrs.field(factory=dict)
    totals: dict[int, list[int]] = attrs.field(factory=dict)
    concentration: float | None = None  # b, if each dish has one and it is known

    def count(self, restaurant: int, value: Any, customers: int, tables: int) -> None:
        """Add numbers of customers and of tables, which may be negative."""
        _count(self.cells, (restaurant, value), customers, tables)
        _count(self.totals, restaurant, customers, tables)


def _count(counts: dict[Any, list[int]], key: Any, customers: int, tables: int) -> None:
    """Add to two numbers, and remove those of no customers."""
    numbers = counts.setdefault(key, [0, 0])
    numbers[0] += customers
    numbers[1] += tables
    if numbers[0] == 0:
        del counts[key]


def _of_tables(name: str) -> Any:
    """A method that is that of the inner measure, given the statistics of the tables."""

    @wraps(getattr(BaseMeasure, name))
    def method(self: Any, statistics: Bursts, *more: Any) -> Any:
        return getattr(self.measure, name)(statistics.tables, *more)

    return method


def _of_inner(name: str) -> Any:
    """A method that is that of the inner measure, given the inner bank."""

    @wraps(getattr(BaseMeasure, name))
    def method(self: Any, bank: Any, *more: Any) -> Any:
        return getattr(self.measure, name)(bank.inner, *more)

    return method


@attrs.frozen(eq=False)
class Bursty(ByRestaurant, OwnParameter):
    """Topics that differ by document: a term that has occurred in a document occurs there again.

    phi_k is the topic of dish k under ``measure``, and phi_jk ~ PY(discount, concentration, phi_k) that of
    dish k in restaurant j (Doyle & Elkan 2009; Buntine & Mishra 2014). Both are integrated out. The terms of
    dish k in restaurant j sit at tables of a restaurant of their own, whose tables draw terms from phi_k:
    only these tables are observations of phi_k. The predictive is

        f_jk(v) = (c_jkv - a t_jkv + (b + a t_jk) phi_k(v)) / (c_jk + b),

    with c_jkv customers with term v at t_jkv tables, b the concentration and a the discount. The numbers of
    tables are part of the state. With an infinite concentration it is the inner measure.

    Parameters
    ----------
    measure : DirichletMultinomial or SparseDirichletMultinomial
        The base measure of topics.
    concentration : float or prior
        b, above 0. With a prior it is resampled by `moves.Concentration`. Traces record it as
        "concentration/bursts". ``float("inf")``: the inner measure is used in place of this one. With
        ``hk.Each(prior)`` each topic has a concentration b_k of its own, kept in the state with the dishes;
        traces record their median as "bursts/median". Then `TableGibbs`, `DishGibbs`, `Concentration` and
        `Discount` run, and no move that needs the probability of all terms of a topic.
    discount : float or prior
        a, from 0 to 1. With a prior it is resampled by `moves.Discount`. Traces record it as
        "discount/bursts".
    each : str
        Name of the declaration by whose restaurants topics differ.
    """

    measure: Any = attrs.field()
    concentration: Any = _parameter_or_each(Gamma(1.0, 0.01), _concentration)  # noqa: RUF009
    discount: Any = parameter(default=0.0, validator=_discount)
    each: str = attrs.field(
        default="document", validator=validator(text, remedy="The name of a declaration.")
    )

    exact_statistics = True
    seats_values = True
    held = "concentration"
    smallest, largest, in_range = 5e-324, _LARGEST, f"above 0, up to {_LARGEST:g}"
    auxiliary: ClassVar[int] = 1

    @property
    def plain(self) -> bool:
        """Whether the concentration is infinite, so that topics don't differ by document."""
        return self.conjugate and float(self.concentration) == math.inf

    @measure.validator
    def _check_measure(self, attribute: Any, value: Any) -> None:
        kinds = DirichletMultinomial, SparseDirichletMultinomial
        instance(
            "measure", value, kinds, "a DirichletMultinomial or SparseDirichletMultinomial",
            remedy="Terms repeat in a measure over terms.",
        )  # fmt: skip
        if not value.conjugate or getattr(value, "proportions", "") == "stored":
            raise DeclarationError(
                "measure", value, "one whose dishes keep no parameters in the state",
                "Give the smoothing of the sparse measure a number or a prior without hk.Each, and leave "
                "proportions out.",
            )  # fmt: skip

    @property
    def differ_by(self) -> str:  # type: ignore[override]
        """Name of the declaration by whose restaurants topics differ."""
        return self.each

    @property
    def n_terms(self) -> int | None:
        """V, if it is known."""
        n_terms: int | None = self.measure.n_terms
        return n_terms

    @property
    def eta_vector(self) -> Any:
        """Dirichlet parameter of topics over terms, shape (V,), if the inner measure has one."""
        return self.measure.eta_vector

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters by name: those of the inner measure, and of the restaurants in which terms repeat."""
        own = {"concentration/bursts": self.concentration} if self.conjugate else {}
        own["discount/bursts"] = self.discount
        return {**self.measure.parameters, **({} if self.plain else own)}

    @property
    def starting_parameters(self) -> Mapping[str, float]:
        """The inner measure's, and a large b with a prior on all positive numbers: terms hardly repeat.

        Words of a start with few dishes would share tables otherwise, and such tables seldom change dish. So
        topics appear first, and tables are shared as b falls.
        """
        prior = self.priors.get("concentration/bursts")
        unbounded = (
            prior is not None and not hasattr(prior, "choose") and support_of(prior) == (0.0, math.inf)
        )
        return {**self.measure.starting_parameters, **({"concentration/bursts": _START} if unbounded else {})}

    def with_parameters(self, **values: float) -> Self:
        own: dict[str, Any] = {
            name: Resampled(values.pop(f"{name}/bursts"), self.priors[f"{name}/bursts"])
            for name in ("concentration", "discount")
            if f"{name}/bursts" in values
        }
        inner = self.measure.with_parameters(**values) if values else self.measure
        return attrs.evolve(self, measure=inner, **own)

    def for_data(self, data: GroupedData) -> BaseMeasure:
        """Take V from the data and check that every value is a term. The inner measure if this is `plain`."""
        inner: BaseMeasure = self.measure.for_data(data)
        if self.plain:
            return inner
        return self if inner is self.measure else attrs.evolve(self, measure=inner)

    def parts(self, state: Any) -> Mapping[str, Part]:
        """The concentrations of dishes, if each has one; the inner measure may have no parts."""
        return {} if self.conjugate else {"bursts": BurstsOfDishes(state)}

    def concentration_of(self, statistics: Bursts) -> float:
        """b of a dish."""
        if self.conjugate:
            return float(self.concentration)
        # Without customers a dish has the same predictive whatever its concentration.
        return 1.0 if statistics.concentration is None else statistics.concentration

    # ------------------------------------------------------------------ statistics of one dish

    def make(self) -> Bursts:
        return Bursts(self.measure.make())

    def add(self, statistics: Bursts, value: Placed) -> None:
        """Add a term: at a table that its restaurant has for it, otherwise at a new one. Nothing is drawn."""
        opens = (value.restaurant, value.value) not in statistics.cells
        statistics.count(value.restaurant, value.value, 1, int(opens))
        if opens:
            self.measure.add(statistics.tables, value.value)

    def remove(self, statistics: Bursts, value: Placed) -> None:
        """Remove a term; a table closes if there would be more tables than terms. Nothing is drawn."""
        customers, tables = statistics.cells[value.restaurant, value.value]
        statistics.count(value.restaurant, value.value, -1, -int(customers == tables))
        if customers == tables:
            self.measure.remove(statistics.tables, value.value)

    def log_predictive(self, value: Placed, many: Sequence[Bursts]) -> Floats:
        """log f_jk(v) given the numbers of tables: shape (n,)."""
        logs = np.asarray(self.measure.log_predictive(value.value, [one.tables for one in many]))
        return self._log_probabilities(many, value, exp_each(logs).tolist())

    def _log_probabilities(self, many: Sequence[Bursts], value: Placed, topics: Sequence[float]) -> Floats:
        """log f_jk(v) under each dish, with ``topics`` the predictives of a new table: shape (n,)."""
        found = [self._weights(*one) for one in zip(many, [value] * len(many), topics, strict=True)]
        return np.array([log((shared + opening) / total) for shared, opening, total in found])

    def _weights(self, statistics: Bursts, value: Placed, topic: float) -> tuple[float, float, float]:
        """Weights of the tables with the term, of a new table with predictive ``topic``, and of all."""
        customers, tables = statistics.cells.get((value.restaurant, value.value), (0, 0))
        here, opened = statistics.totals.get(value.restaurant, (0, 0))
        b = self.concentration_of(statistics)
        return customers - self.discount * tables, (b + self.discount * opened) * topic, here + b

    def log_marginal(self, statistics: Bursts) -> float:
        """log p(terms, numbers of tables), summed over the seatings with these numbers, in nats."""
        return float(self.measure.log_marginal(statistics.tables)) + self.log_seating(statistics)

    def log_seating(self, statistics: Bursts) -> float:
        """Log of prod_j [b]_a^T / [b]_1^c prod_v S_a(c, t), in nats."""
        a, b = float(self.discount), np.array([self.concentration_of(statistics)])
        # Sums are over sorted numbers, so that they don't depend on the order in which customers came.
        numbers = sorted(Counter(map(tuple, statistics.totals.values())).items())
        customers, tables = np.array([key for key, _ in numbers], dtype=np.int64).reshape(-1, 2).T
        of = np.array([n for _, n in numbers], dtype=np.int64)
        cells = np.array(sorted(map(tuple, statistics.cells.values())), dtype=np.int64).reshape(-1, 2)
        return (
            rising_sum(b, np.array([a]), tables, of)
            - rising_sum(b, np.ones(1), customers, of)
            + sum_of_logs(*np.ascontiguousarray(cells.T), a)
        )

    def simulate_in(self, statistics: Bursts, restaurant: int, generator: np.random.Generator) -> Any:
        own = [(v, n) for (r, v), n in statistics.cells.items() if r == restaurant]
        shared = np.array([n - self.discount * t for _, (n, t) in own])
        _, opened = statistics.totals.get(restaurant, (0, 0))
        opening = self.concentration_of(statistics) + self.discount * opened
        if generator.random() * (shared.sum() + opening) < opening:
            return self.measure.simulate(statistics.tables, generator)
        return own[int(generator.choice(len(own), p=shared / shared.sum()))][0]

    def supports(self, method: str) -> bool:
        """Whether this measure has an optional method; some it has if the inner measure does."""
        if method in ("draw_parameters", "selected_terms", "log_observable"):
            return bool(self.measure.supports(method))
        if method == "in_new_restaurants":
            return self.conjugate
        return super().supports(method)

    # Of phi_k, which the dish has before it differs by restaurant, given the tables.
    draw_parameters, posterior_mean = map(_of_tables, ("draw_parameters", "posterior_mean"))
    log_observable, selected_terms = map(_of_tables, ("log_observable", "selected_terms"))

    # ------------------------------------------------------------------ all dishes

    draw_many, posterior_means, term_means = map(_of_inner, ("draw_many", "posterior_means", "term_means"))

    def in_new_restaurants(self, bank: Any, dishes: Int32s) -> NewRestaurants:
        """Dishes phi_k given the tables; those of a restaurant without terms are drawn around them."""
        at_tables = np.array(dishes, dtype=np.int32)
        if len(dishes):  # otherwise customers are counted by cell, and the inner bank has the tables
            opens = np.asarray(bank.freeze()["opens"])
            at_tables[: len(opens)][opens[: len(dishes)] == 0] = -1
        repeats = Repeats(float(self.concentration), float(self.discount))
        return NewRestaurants(self.measure, bank.inner, at_tables, repeats)

    def bank(self, data: GroupedData) -> StatisticsBank:
        """Return a bank over the bank of the inner measure, which has the tables; compiled if that one is."""
        inner = self.measure.bank(data)
        if type(inner) in _COMPILED:
            values = np.asarray(data.values, dtype=np.int32)
            if not self.conjugate:
                return DishBurstsBank(self, values, inner, kept=OwnNumbers(self, values))
            return BurstyBank(self, values, inner, n_earlier=getattr(data, "n_earlier", 0))
        return self.readable_bank(data)

    def readable_bank(self, data: GroupedData) -> StatisticsBank:
        if self.conjugate:
            return BurstyReferenceBank(self, data)
        return DishBurstsReferenceBank(self, data)

    def counts_by_cell(self, documents: str) -> bool:
        """Whether customers may be counted by cell, where ``documents`` is the name of the declaration."""
        # Tables of different terms must be independent given the topics, and topics must differ by document.
        independent = self.conjugate and not isinstance(self.discount, Resampled) and self.discount == 0.0
        return independent and self.each == documents and "bank_of_cells" in vars(type(self.measure))

    def bank_of_cells(self) -> Any:
        """Return numbers of tables for a store by cell, without updates for single customers."""
        from hdpkit.measures.bursty_cells import BurstyCells

        return BurstyCells(self)


def _columns(pairs: Iterable[Sequence[int]]) -> tuple[Int64s, Int64s]:
    """The first and the second numbers of pairs: int64, shape (n,) each."""
    first, second = np.array(list(pairs), dtype=np.int64).reshape(-1, 2).T
    return first, second


@attrs.frozen
class _Path:
    """How the customers of a block sit in a slot: which of them open tables, and log p(block)."""

    customers: tuple[int, ...]
    opens: tuple[bool, ...]
    log_p: float


@attrs.define
class _Exchange:
    """A proposal for all customers of one or two dishes, which are added to reserved slots."""

    order: tuple[int, ...]
    slots: set[int]
    recalled: dict[int, tuple[int, bool]]  # by customer: the slot of the reverse proposal, whether it opens
    log_current: float
    opens: dict[int, bool] = attrs.field(factory=dict)  # of the proposal
    log_added: float = 0.0

    def known(self, block: tuple[int, ...], slot: int) -> tuple[bool, ...] | None:
        """Which customers of a block open tables in a slot, if the reverse proposal has them there."""
        found = [self.recalled.get(i, (_NEW, False)) for i in block]
        return tuple(opens for _, opens in found) if all(at == slot for at, _ in found) else None


class BurstyReferenceBank(RestaurantBank):
    """Customers and tables of terms in each restaurant, for all dishes; the inner bank has the tables."""

    # Where a customer sits is drawn: a new one given the others, in `add`, and in `remove` whether it sat
    # alone (Blunsom et al. 2009; Chen, Du & Buntine 2011). Earlier observations of known components follow
    # the customers: each is a table of its own, in the inner bank only. The probability of a block has no
    # closed form. `log_block` draws the tables of the block in each slot, one customer after the other: the
    # product of the predictives is an unbiased estimate. If the block was removed just before, its own tables
    # take the place of a draw in the slot that it left: to choose a slot by prior and estimate is a Gibbs
    # step over the slot given one set of tables in each (Andrieu, Doucet & Holenstein 2010, one particle).

    needs_dishes = False
    measure: Any

    def __init__(self, measure: Bursty, data: GroupedData) -> None:
        super().__init__(measure, data.values, getattr(data, "n_earlier", 0))
        self.inner: Any = measure.measure.bank(data)
        self._slot = np.full(len(data.values), -1, dtype=np.int32)
        self._opens = np.zeros(len(data.values), dtype=np.int8)  # from `thaw` to `rebuild`
        self._source: ChoiceSource | None = None
        self._exchange: _Exchange | None = None
        self._settling = False
        self._given: Mapping[int, Any] | None = None
        self._forget()

    def fix(self, topics: Floats, which: Bools) -> None:
        """Set fixed topics of slots, as `FixedBank.fix` does."""
        if not hasattr(self.inner, "fix"):
            self.inner = FixedBank(self.measure.measure, self.values.values)
        self.inner.fix(topics, which)

    def _forget(self) -> None:
        self._left: dict[int, _Path] = {}  # the block that was removed last, by the slot that it left
        self._offered: dict[int, _Path] = {}  # the block that `log_block` was asked for, by slot

    def prepare(self, source: ChoiceSource) -> None:
        self._source = source
        self._forget()

    def _bernoulli(self, p: float) -> bool:
        assert self._source is not None  # set by every step
        return bool(self._source.bernoulli(p))

    # ------------------------------------------------------------------ dishes

    def born(self, slot: int) -> None:
        self.inner.born(slot)
        self._of[int(slot)] = self.measure.make()

    def died(self, slot: int) -> None:
        """The slot's statistics are no longer needed; the block that left it last may open a dish again."""
        self.inner.died(slot)
        self._of.pop(int(slot), None)
        if self._exchange is not None:
            self._exchange.slots.discard(int(slot))
        if slot in self._left:
            self._left[_NEW] = self._left.pop(slot)

    # ------------------------------------------------------------------ customers

    def give(self, topics: Mapping[int, Any] | None) -> None:
        """Use these topics of dishes, by slot, instead of integrating them out; None: no longer."""
        self._given = topics

    def log_likelihoods(self, customer: int, slots: IntsOrList) -> Floats:
        """Log predictive of a customer's term under each slot, given the topics."""
        many = [self._of.get(int(slot), Bursts(None)) for slot in slots]
        topics = [self._topic(customer, int(slot)) for slot in slots]
        return self.measure._log_probabilities(many, self.values[customer], topics)

    def _topic(self, customer: int, slot: int) -> float:
        """Probability of a customer's term under the topic of a dish."""
        if self._given is not None:
            return exp(self.measure.measure.log_likelihood(self.values[customer].value, self._given[slot]))
        return exp(float(self.inner.log_predictive(customer, [slot])[0]))

    def _sit(self, customer: int, slot: int, opens: bool | None = None) -> tuple[bool, float]:
        """Seat a customer; whether it opens a table is drawn unless it is given. Also log f of its term."""
        value, here = self.values[customer], self._of[slot]
        shared, opening, total = self.measure._weights(here, value, self._topic(customer, slot))
        log_p = log((shared + opening) / total)
        if opens is None:
            opens = not shared > 0.0 or self._bernoulli(opening / (shared + opening))
        here.count(value.restaurant, value.value, 1, int(opens))
        if opens:
            self.inner.add(slot, [customer])
        return opens, log_p

    def _rise(self, customer: int, slot: int, alone: bool | None = None) -> bool:
        """Remove a customer; whether it sat alone is drawn unless it is given, or tables don't matter yet."""
        value, here = self.values[customer], self._of[slot]
        n, t = here.cells[value.restaurant, value.value]
        if alone is None:
            draws = t > 1 and not self._settling
            alone = t == n or (draws and self._bernoulli(one_alone(n, t, float(self.measure.discount))))
        here.count(value.restaurant, value.value, -1, -int(alone))
        if alone:
            self.inner.remove(slot, [customer])
        return alone

    def add(self, slot: int, customers: IntsOrList) -> None:
        """Seat these customers in a slot, at the tables that were drawn for them if `log_block` was asked."""
        slot, block = int(slot), tuple(int(i) for i in customers)
        path = self._offered.get(slot, self._offered.get(_NEW))
        known: tuple[bool | None, ...] = (None,) * len(block)
        trial = self._exchange if self._exchange is not None and slot in self._exchange.slots else None
        if path is not None and path.customers == block:
            known = path.opens
        elif trial is not None:
            known = trial.known(block, slot) or known
        self._forget()
        for i, opens in zip(block, known, strict=True):
            if self._settling:
                opens = (self.values[i].restaurant, self.values[i].value) not in self._of[slot].cells
            opens, log_p = self._sit(i, slot, opens)
            if trial is None:
                self._slot[i] = slot
            else:
                trial.opens[i] = opens
                trial.log_added += log_p

    def remove(self, slot: int, customers: IntsOrList) -> None:
        """Remove these customers from a slot, the last one first."""
        slot, block = int(slot), tuple(int(i) for i in customers)
        self._forget()
        alone, log_p = self.take_out(block, slot)
        self._slot[list(block)] = -1
        self._left[slot] = _Path(block, tuple(alone[i] for i in block), log_p)

    def log_predictive(self, customer: int, slots: IntsOrList) -> Floats:
        """Log predictive of a customer's term under each slot and, last, a new dish: shape (n + 1,)."""
        topics = exp_each(np.asarray(self.inner.log_predictive(customer, slots))).tolist()
        many = [*(self._of[int(slot)] for slot in slots), Bursts(None)]
        return self.measure._log_probabilities(many, self.values[customer], topics)

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log of an unbiased estimate of the probability of a block under each slot and, last, a new dish."""
        block = tuple(int(i) for i in customers)
        if len(block) == 1:
            return self.log_predictive(block[0], slots)
        offered = {}
        for slot in [*map(int, slots), _NEW]:
            left = self._left.get(slot)
            if left is not None and left.customers == block:
                offered[slot] = left
            else:
                trial = self._exchange
                known = trial.known(block, slot) if trial is not None and slot in trial.slots else None
                offered[slot] = self._draw(block, slot, known)
        self._offered = offered
        return np.array([path.log_p for path in offered.values()])

    def _new_dish(self) -> Bursts:
        """Statistics of a new dish of a block."""
        return self.measure.make()

    def _draw(self, block: tuple[int, ...], slot: int, known: tuple[bool, ...] | None = None) -> _Path:
        """Draw the tables of a block in a slot, one customer after the other; nothing changes."""
        if slot == _NEW:
            slot = max(self._of, default=-1) + 1
            self.inner.born(slot)
            self._of[slot] = self._new_dish()
            path = self._draw(block, slot)
            self.inner.died(slot)
            del self._of[slot]
            return path
        found = [
            self._sit(i, slot, opens) for i, opens in zip(block, known or (None,) * len(block), strict=True)
        ]
        for i, (opens, _) in zip(reversed(block), reversed(found), strict=True):
            self._rise(i, slot, opens)
        return _Path(block, tuple(opens for opens, _ in found), add_up(log_p for _, log_p in found))

    # ------------------------------------------------------------------ proposals for many customers

    def take_out(self, customers: IntsOrList, slot: int | None = None) -> tuple[dict[int, bool], float]:
        """Remove customers, the last one first; which sat alone, and log of their predictives' product."""
        alone, log_p = {}, 0.0
        for i in map(int, reversed(customers)):
            left = int(self._slot[i]) if slot is None else slot
            alone[i] = self._rise(i, left)
            log_p += float(self.log_likelihoods(i, [left])[0])
        return alone, log_p

    def exchange(
        self,
        blocks: Sequence[IntsOrList],
        slots: Sequence[int],
        targets: Sequence[int] | None,
        source: ChoiceSource,
    ) -> None:
        """Begin a proposal for blocks that are all customers of one or two dishes; no targets: a split."""
        # The present tables are drawn given their numbers. Blocks are added to the reserved ``slots`` in this
        # order; one that is added to its target, its slot in the reverse proposal, sits at these. So the
        # ratio has products of predictives in place of marginals.
        self.prepare(source)
        order = tuple(int(i) for block in blocks for i in block)
        opens, log_p = self.take_out(order)
        for i in order:
            self._sit(i, int(self._slot[i]), opens[i])
        recalled = {
            int(i): (int(target), opens[int(i)])
            for block, target in zip(blocks, targets or [_NEW] * len(blocks), strict=True)
            for i in block
        }
        self._exchange = _Exchange(order, set(map(int, slots)), recalled, log_p)

    def log_exchanged(self, split: bool) -> float:
        """Log of p(terms, tables) of two dishes over that of one, over the densities of drawn tables."""
        trial = self._exchange
        assert trial is not None
        if split:
            return trial.log_added - trial.log_current
        path = self._draw(trial.order, _NEW)
        trial.opens = dict(zip(trial.order, path.opens, strict=True))
        return trial.log_current - path.log_p

    def settle(self, move: Callable[[], None]) -> None:
        """Run a function that moves the customers to their new dishes, and seat them as proposed."""
        trial = self._exchange
        assert trial is not None
        self._settling = True
        try:
            move()
            for i in reversed(trial.order):
                self._rise(i, int(self._slot[i]))
        finally:
            self._settling = False
        self._exchange = None
        for i in trial.order:
            self._sit(i, int(self._slot[i]), trial.opens[i])

    def sit(self, customer: int, slot: int, opens: bool | None = None) -> tuple[bool, float]:
        """Seat one customer; whether it opens a table is drawn unless given. Also log f of its value."""
        self._forget()
        self._slot[customer] = slot
        return self._sit(customer, slot, opens)

    def rise(self, customer: int, opens: bool) -> None:
        """Remove one customer, who sat alone or not."""
        self._forget()
        self._rise(customer, int(self._slot[customer]), opens)
        self._slot[customer] = -1

    # ------------------------------------------------------------------ all customers

    def log_marginals(self, slots: IntsOrList, dishes: Int32s | None) -> Floats:
        heads = np.where(self.opens() > 0, self._slot, -1) if self.inner.needs_dishes else None
        inner = np.asarray(self.inner.log_marginals(slots, heads))
        return inner + np.array([self.measure.log_seating(self._of[int(slot)]) for slot in slots])

    def totals(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant in a dish, in any order: shape (n,) each."""
        return _columns(numbers for one in self._of.values() for numbers in one.totals.values())

    def cells(self) -> tuple[Int64s, Int64s]:
        """Customers and tables of every term of a restaurant in a dish, in any order: shape (n,) each."""
        return _columns(numbers for one in self._of.values() for numbers in one.cells.values())

    def statistics(self, slots: IntsOrList, dishes: Int32s) -> list[Bursts]:
        return [
            attrs.evolve(self._of[int(slot)], tables=own)
            for slot, own in zip(slots, self.inner.statistics(slots, dishes), strict=True)
        ]

    def adopt(self, measure: Any) -> bool:
        kept: bool = self.inner.adopt(measure.measure)
        self.measure = measure
        return kept

    def opens(self) -> npt.NDArray[np.int8]:
        """Which customers represent tables: the first t of a restaurant's customers with a term of a dish."""
        found = np.zeros(len(self._slot), dtype=np.int8)
        left: dict[tuple[int, int, Any], int] = {}
        for i in np.flatnonzero(self._slot >= 0).tolist():
            value, slot = self.values[i], int(self._slot[i])
            key = slot, value.restaurant, value.value
            if key not in left:
                left[key] = self._of[slot].cells[value.restaurant, value.value][1]
            found[i] = left[key] > 0
            left[key] -= 1
        return found

    def freeze(self) -> dict[str, Any]:
        """The numbers of tables, as customers who represent them: the first ones of each."""
        return {"opens": self.opens()[: self.values.n_customers]}

    def thaw(self, frozen: Any) -> None:
        """Restore frozen numbers of tables; None: one table for each term of a dish in a restaurant."""
        self._opens = np.zeros(len(self.values), dtype=np.int8)
        if frozen is not None:
            self._opens[: len(frozen["opens"])] = frozen["opens"]
        self._slot[:] = -1
        self._of = {}

    def rebuild(self, dishes: Int32s, slots: IntsOrList) -> None:
        opens = self.opens() if self._of else self._opens
        self._forget()
        self._slot[:] = -1
        n = min(len(dishes), self.values.n_customers)
        self._slot[:n] = dishes[:n]
        self._of = {int(slot): self.measure.make() for slot in slots}
        heads = np.full(len(self._slot), -1, dtype=np.int32)
        heads[n : len(dishes)] = dishes[n:]
        for i in np.flatnonzero(self._slot >= 0).tolist():
            value, slot = self.values[i], int(self._slot[i])
            first = (value.restaurant, value.value) not in self._of[slot].cells
            represents = bool(opens[i]) or first
            self._of[slot].count(value.restaurant, value.value, 1, int(represents))
            if represents:
                heads[i] = slot
        self.inner.rebuild(heads, slots)

    def relabelled(self, mapping: Int32s) -> None:
        self.inner.relabelled(mapping)
        self._of = {int(mapping[slot]): statistics for slot, statistics in self._of.items()}
        seated = self._slot >= 0
        self._slot[seated] = np.asarray(mapping)[self._slot[seated]]
        self._forget()

    def memory_bytes(self) -> int:
        """Bytes of the arrays and of the inner bank; dictionaries are not counted."""
        return int(self.inner.memory_bytes() + self._slot.nbytes + self._opens.nbytes)


class DishBurstsReferenceBank(ParameterBank, BurstyReferenceBank):
    """Customers and tables of terms in each restaurant, with a separate concentration for each dish."""

    # A block's new dish has a concentration that is drawn, or that of the dish it has left.

    def log_block(self, customers: IntsOrList, slots: IntsOrList) -> Floats:
        """Log of an unbiased estimate of the probability of a block under each slot and, last, a new dish."""
        if len(customers) == 1:  # the same whatever the concentration of the new dish
            return BurstyReferenceBank.log_block(self, customers, slots)
        offered = self.kept.offered(customers)
        self._next = float(offered[0])
        logs = BurstyReferenceBank.log_block(self, customers, slots)
        self.kept.weighed(offered, logs[-1:])
        return logs

    def _new_dish(self) -> Bursts:
        made: Bursts = self.measure.begun(self._next)
        return made

    def log_likelihood_of(self, slot: int, customers: IntsOrList) -> Callable[[Any], float]:
        """Return log p(terms, numbers of tables) of a dish given its concentration, up to a constant."""
        statistics = self._of[int(slot)]
        return lambda b: self.measure.log_seating(attrs.evolve(statistics, concentration=float(b)))

    def totals_of(self, slot: int) -> tuple[Int64s, Int64s]:
        """Customers and tables of every restaurant in the dish of a slot, in any order: shape (n,) each."""
        return _columns(self._of[int(slot)].totals.values())

    def freeze(self) -> dict[str, Any]:
        return {**BurstyReferenceBank.freeze(self), **super().freeze()}

    def check_frozen(self, frozen: Any, slots: Any) -> None:
        super().check_frozen(self.kept.without_tables(frozen), slots)

    def thaw(self, frozen: Any) -> None:
        BurstyReferenceBank.thaw(self, frozen)
        super().thaw(self.kept.without_tables(frozen))


class BurstsOfDishes(ConcentrationsOfDishes):
    """The concentrations of dishes of terms that repeat. Most are large, so the trace has their median."""

    def scalars(self, state: Any) -> Mapping[str, float]:
        return {"median": float(np.median(self.values()))}
