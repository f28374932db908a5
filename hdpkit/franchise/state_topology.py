"""Trees of which customers' homes depend on the dishes of others: hidden Markov models, sticky or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import one_of_kind, refuse, whole_number
from hdpkit.data import GroupedData, NGrams
from hdpkit.errors import DeclarationError, StateError
from hdpkit.franchise.declarations import Restaurant, Several
from hdpkit.franchise.several_parents import GraphTopology, graph_topology
from hdpkit.franchise.state_homes import (
    DishRows,
    HomeState,
    PreviousDish,
    StateHomes,
    StickyRows,
    read_start,
    read_sticky,
)
from hdpkit.franchise.topology import (
    START,
    ContextTopology,
    Restaurants,
    Topology,
    is_context_chain,
    labelled_topology,
)
from hdpkit.numerics import log, rising_sum
from hdpkit.parts import Part, inconsistent
from hdpkit.priors import draw_from
from hdpkit.random import ChoiceSource
from hdpkit.steps.walk import Eaten

MOST_ROWS = 1 << 14
"""Largest number of restaurants of dishes at a time; each takes about 60 bytes, with customers or without."""

MOST_COPIES = 1 << 18
"""Largest number of restaurants of dishes where labels have copies of them."""

STATES = 30  # of a hidden Markov model at the start: chains leave too many states sooner than too few


class StateTopology(Restaurants):
    """Restaurants by number, as `Topology`, of which customers' homes depend on the dishes of others."""

    # The root comes first, then a restaurant for each declaration above the rule for homes, then its rows:
    # those of no dish, and one for each of as many dishes as there are customers, up to `MOST_ROWS`.
    # Declarations below the rule are labels: each label has a copy of all rows, whose parents are the rows
    # of the label above it, or the rows themselves; `below` is the tree of these labels alone.

    kind = "by state"
    kappa: float = 0.0
    cells = None
    known = 0

    def __init__(
        self,
        chain: Sequence[Restaurant],
        rule: StateHomes,
        n_customers: int,
        below: Topology | None = None,
    ) -> None:
        inner, n_rows = _place(chain), min(max(n_customers, 1), MOST_ROWS)
        if below is not None:
            n_rows = min(n_rows, max(MOST_COPIES // below.n_nodes - rule.n_fixed, 1))
        own = rule.n_fixed + n_rows
        parent = np.array([*range(-1, inner - 1), *[inner - 1] * own], dtype=np.int32)
        level = np.array([*range(inner), *[inner] * own], dtype=np.int32)
        declaration, first = level, tuple(range(inner + 1))
        keys: tuple[Sequence[Any], ...] = (*[(None,)] * inner, range(own))
        if below is not None:  # the copies for label t begin with number inner + t own
            copies = inner + below.parent[1:, None] * own + np.arange(own)
            parent = np.append(parent, copies.ravel()).astype(np.int32)
            level = np.append(level, np.repeat(inner + below.level[1:], own)).astype(np.int32)
            numbers = np.repeat(inner + below.declaration[1:], own)
            declaration = np.append(declaration, numbers).astype(np.int32)
            first = (*first, *[inner + t * own for t in below.first[1:]])
            keys = (*keys, *[[(one, r) for one in labels for r in range(own)] for labels in below.keys[1:]])
        for array in (parent, level, declaration):
            array.setflags(write=False)
        nobody = np.empty(0, dtype=np.int32)
        tree = Topology(parent, level, declaration, nobody, first, keys)
        self.n_levels = tree.n_levels
        self.nodes, self.node, self.keys_of = tree.nodes, tree.node, tree.keys_of
        self.parent: Int32s = parent
        self.level: Int32s = level
        self.declaration: Int32s = declaration
        self.first = first
        self.first_own = inner  # number of the first restaurant that belongs to no dish
        self.n_own = own
        self.labels = None if below is None else below.home
        self.keys = keys
        self.n_customers = self.n_all = n_customers
        self.n_fixed = rule.n_fixed
        self.first_row = inner + rule.n_fixed
        self.rows = DishRows(n_rows)
        self.start = read_start(rule.start_concentration)
        self._declared = chain[inner]
        self._rule = rule

    @property
    def home(self) -> Int32s:
        """Raises a StateError: homes are no array of the data."""
        raise StateError(
            "home", self._rule, "a tree of which homes don't depend on the state, for this operation",
            "Homes depend on the dishes of other customers here; TableGibbs supports it.",
        )  # fmt: skip

    def sizes(self) -> npt.NDArray[np.int64]:
        """Raises a StateError, as `home`."""
        return np.bincount(self.home, minlength=self.n_nodes)

    def restaurants_at(self, declaration: int) -> Int32s:
        """Raises a DeclarationError: a customer's restaurant changes."""
        raise DeclarationError(
            "each", self._rule.name, "restaurants of the data, where dishes differ by restaurant",
            "With StateHomes a customer's restaurant changes: use labels of the data, or another measure.",
        )  # fmt: skip

    def _state(self, eaten: Eaten, rows: DishRows) -> HomeState:
        return HomeState(eaten, rows, self.first_own, self._rule.n_fixed)

    def home_of(self, customer: int, eaten: Eaten) -> int:
        """Restaurant of a data customer, given the dishes of others, who must be seated."""
        return self._home(customer, self._state(eaten, self.rows))

    def _home(self, customer: int, state: HomeState) -> int:
        node = self._rule.home(customer, state)
        if isinstance(node, int) and self.first_own <= node < self.first_own + self.n_own:
            return node if self.labels is None else node + int(self.labels[customer]) * self.n_own
        raise refuse(
            self._rule,
            "home",
            node,
            "the number of a restaurant",
            "Return state.fixed(j) or state.row(dish).",
        )

    def followers(self, customer: int) -> Sequence[int]:
        """Customers whose homes depend on the dish of this one, ascending."""
        given = self._rule.followers(customer)
        found = list(given) if isinstance(given, Sequence) else [None]
        whole = all(isinstance(j, int) and 0 <= j < self.n_customers and j != customer for j in found)
        if not whole or sorted(set(found)) != found:
            raise refuse(
                self._rule, "followers", given, "numbers of other customers, ascending", "Return a list."
            )
        return found

    def parts(self) -> Mapping[str, Part]:
        """The restaurants of dishes."""
        return {self.rows.name: self.rows}

    def placed(self, eaten: Eaten, slots: Int32s | None = None, components: Any = None) -> Topology:
        """The tree with fixed homes if customers have these dishes; those not seated are at the root."""
        # `slots` and `components` are those of a frozen state; by default the current rows are used.
        rows = self.rows
        if slots is not None:
            there = components.get(rows.name) if isinstance(components, Mapping) else None
            rows = rows.checked(there, np.asarray(slots).tolist())
        state, everybody = self._state(eaten, rows), range(self.n_customers)
        homes = [self._home(i, state) if eaten.dish_of(i) >= 0 else 0 for i in everybody]
        home = np.array(homes, dtype=np.int32)
        return Topology(self.parent, self.level, self.declaration, home, self.first, self.keys)

    def memory_bytes(self) -> int:
        """Bytes of the arrays."""
        arrays = {id(one): one.nbytes for one in (self.parent, self.level, self.declaration)}
        return sum(arrays.values())


class ChainTopology(StateTopology):
    """A hidden Markov model: the home of a customer is the row of the dish before (`PreviousDish`)."""

    kind = "chain"
    chained = True
    scored_by = "forward"

    def __init__(self, chain: Sequence[Restaurant], rule: PreviousDish, n_customers: int) -> None:
        super().__init__(chain, rule, n_customers)
        self.begins = np.array(sorted(rule.begins), dtype=np.int64)

    def check_new_groups(self, franchise: Any) -> None:
        raise DeclarationError(
            "franchise", franchise, "one whose groups are labels of the data",
            "New sequences of a hidden Markov model: franchise.state_probabilities(sequences), hk.evaluate.",
        )  # fmt: skip

    def usual_dishes(self) -> int:
        return max(min(STATES, self.n_customers // 10), 1)

    def names_in_sample(self, declaration: int, n_dishes: int) -> list[Any]:
        return ["start", *range(n_dishes)]

    def in_sample(self, declaration: int, level: Any, slots: Int32s) -> Any:
        """The start row and the rows of the dishes, in their order."""
        if declaration < len(self.first) - 1:
            return level
        own = np.append(0, self.n_fixed + self.rows.of_slots(slots))
        return attrs.evolve(
            level,
            parent=level.parent[own],
            counts=level.counts[own],
            tables=None if level.tables is None else level.tables[own],
            concentration=level.concentration[own] if level.concentration.ndim else level.concentration,
            n_fixed=self.n_fixed,
            own=self.kappa,
        )


class StickyTopology(StateTopology):
    """Rows that favour their dishes: they draw from (alpha G0 + kappa delta_dish) / (alpha + kappa)."""

    # The concentration of a row is alpha + kappa (Fox et al. 2008). A table of the dish in its own row
    # comes from G0, and is then a customer of the root, or from kappa: an *override* table, which the store
    # counts like any other, but the distribution of the root's weights doesn't.

    def __init__(self, chain: Sequence[Restaurant], rule: Any, n_customers: int) -> None:
        super().__init__(chain, rule, n_customers)
        self.sticky = StickyRows(rule.sticky, self.first_row)

    @property
    def kappa(self) -> float:  # type: ignore[override]
        """By how much each row favours its dish."""
        return self.sticky.kappa

    def parts(self) -> Mapping[str, Part]:
        """The restaurants of dishes, and kappa with the override tables."""
        return {**super().parts(), self.sticky.name: self.sticky}

    def check_tables(self, at_end: bool) -> None:
        if not at_end:
            raise DeclarationError(
                f"sticky of {self._declared.name!r}", self.sticky.start,
                "0, unless tables are drawn given the dishes: a store of counts, two levels, and a root with "
                "weights",
                "Build hk.Franchise(..., store='counts', root='weights'), or hk.FixedWeights(K) as root.",
            )  # fmt: skip

    def favoured(self, node: int) -> tuple[int, float]:
        """The dish of a row, and kappa; restaurants that are no rows have neither."""
        row = node - self.first_row
        return (self.rows.dish_in(row), self.kappa) if row >= 0 else (-1, 0.0)

    def take(self, dish: int, n: int) -> None:
        self.sticky.tables[dish] = n

    def overrides(self, dishes: Int32s) -> Int64s:
        return np.array([self.sticky.tables[dish] for dish in dishes.tolist()], dtype=np.int64)

    def log_seating(self, store: Any, concentration: Floats, discount: Floats) -> float:
        """Sum over rows of what overrides and alpha + kappa change."""
        # With n customers, m tables of the own dish, w of them overrides: (kappa / alpha)^w m! / (w! (m -
        # w)!), and the denominator of n customers is that of alpha + kappa.
        total = 0.0
        gammaln = scipy.special.gammaln
        for dish, w in self.sticky.tables.items():
            node = self.first_row + self.rows.row(dish)
            n, m, alpha = store.node_customers(node), store.tables(node, dish), float(concentration[node])
            if n > 0:
                own = alpha + self.kappa
                total += float(gammaln(own) - gammaln(own + n) - gammaln(alpha) + gammaln(alpha + n))
            if w > 0:
                total += w * (log(self.kappa) - log(alpha))
                total += float(gammaln(m + 1) - gammaln(w + 1) - gammaln(m - w + 1))
        return total

    def law_of_rows(self, state: Any) -> Callable[[float, float], float]:
        """log p(tables, overrides | customers, weights of the root) as a function of alpha and kappa."""
        # Of the restaurants that share alpha: rows and, without a concentration of its own, the start.
        number = len(self.first) - 1
        shared = state.hyperparameters.sharers[number].own
        nodes, customers, tables = (of_all[shared] for of_all in state.totals_of(number))
        overrides = sum(self.sticky.tables.values())
        from_above, row, one = int(tables.sum()) - overrides, nodes >= self.first_row, np.ones(1)
        rows, others = (
            np.unique(customers[which & (customers > 0)], return_counts=True) for which in (row, ~row)
        )

        def law(alpha: float, kappa: float) -> float:
            opened = from_above * log(alpha) + (overrides * log(kappa) if overrides else 0.0)
            seated = rising_sum(np.array([alpha + kappa]), one, *rows)
            return float(opened - seated - rising_sum(np.array([alpha]), one, *others))

        return law

    def law_of(self, state: Any, shared: Any) -> Callable[[float], float] | None:
        if shared.name != self._declared.name:
            return None
        law, kappa = self.law_of_rows(state), self.kappa
        return lambda alpha: law(alpha, kappa)

    def audit(self, store: Any) -> None:
        for dish, w in self.sticky.tables.items():
            m = store.tables(self.first_row + self.rows.row(dish), dish)
            if not 0 <= w <= m:
                raise inconsistent(f"override tables of dish {dish}", w, f"0 to {m}, its tables in its row")

    def begin(self) -> None:
        self.sticky.kappa = self.sticky.start

    def draw_prior(self, source: ChoiceSource) -> None:
        if self.sticky.prior is not None:
            self.sticky.kappa = float(draw_from(self.sticky.prior, source))

    def values(self) -> Mapping[str, float]:
        return {"sticky/kappa": self.kappa}


class StickyChain(StickyTopology, ChainTopology):
    """A sticky hidden Markov model."""


_KINDS: dict[tuple[bool, bool], Callable[..., StateTopology]] = {
    (False, False): StateTopology, (False, True): StickyTopology,
    (True, False): ChainTopology, (True, True): StickyChain,
}  # fmt: skip


def state_topology(chain: Sequence[Restaurant], data: GroupedData, known: int) -> StateTopology:
    """Create the restaurants of declarations of which one has a rule for homes."""
    at = _place(chain)
    rule = _checked_rule(chain, at, data, known)
    if at < len(chain) - 1:
        _check_labels(chain, at, rule)
        below = labelled_topology([chain[at], *chain[at + 1 :]], data, 0)
        return StateTopology(chain, rule, len(data), below)
    kind = _KINDS[type(rule) is PreviousDish, rule.sticky != 0.0]  # a subclass may have other homes
    return kind(chain, rule, len(data))


def _place(chain: Sequence[Restaurant]) -> int:
    """Number of the first declaration with a rule for homes."""
    return next(number for number, one in enumerate(chain) if isinstance(one.each, StateHomes))


def _check_labels(chain: Sequence[Restaurant], at: int, rule: StateHomes) -> None:
    """Raise an error unless the declarations below the rule for homes are labels of all its rows."""
    for declaration in chain[at + 1 :]:
        if isinstance(declaration.each, StateHomes):
            raise DeclarationError(
                f"each of {declaration.name!r}", declaration.each,
                "a label of the data, below restaurants of dishes",
                "One declaration may have a rule for homes.",
            )  # fmt: skip
    for name in ("sticky", "start_concentration"):
        if getattr(rule, name):
            raise DeclarationError(
                name, getattr(rule, name), "left out where restaurants of dishes have restaurants below",
                "Only the deepest declaration may have it.",
            )  # fmt: skip


def _checked_rule(chain: Sequence[Restaurant], at: int, data: GroupedData, known: int) -> StateHomes:
    """The rule of declaration ``at`` for these data; raises an error if the rest doesn't fit."""
    for declaration in chain[1:at]:
        if declaration.each is not None:
            raise DeclarationError(
                f"each of {declaration.name!r}", declaration.each,
                "None where homes below depend on the state",
                "All restaurants of dishes have the same parent: leave each out, or declare the label below "
                "them, where each label has a copy of every restaurant of a dish.",
            )  # fmt: skip
    rule = chain[at].each
    assert isinstance(rule, StateHomes)
    if known:
        raise DeclarationError(
            "known", known, "no components where homes depend on the state", "Leave it out."
        )
    if chain[0].measure.atomic:
        raise DeclarationError(
            "base", chain[0].measure, "a measure over latent dishes, where homes depend on dishes",
            "Observed dishes never change: label the data with them.",
        )  # fmt: skip
    for deep in chain[at:]:
        for name, declared_one in zip(("concentration", "discount"), deep.hyperparameters, strict=True):
            if declared_one.each:
                raise DeclarationError(
                    f"{name} of {deep.name!r}", getattr(deep, name), "one for all restaurants of dishes",
                    "Restaurants come and go with their dishes: leave hk.Each out.",
                )  # fmt: skip
    bound = one_of_kind(rule, "for_data", rule.for_data(data), StateHomes, "a StateHomes")
    remedy = "It is the number of restaurants that belong to no dish."
    whole_number("n_fixed", bound.n_fixed, 0, 2**30, remedy=remedy)
    read_sticky(bound.sticky)
    if read_start(bound.start_concentration) is not None:
        _check_start(chain, bound)
    return bound


def _check_start(chain: Sequence[Restaurant], rule: StateHomes) -> None:
    """Raise an error unless restaurants that belong to no dish can have a concentration of their own."""
    discount = chain[-1].hyperparameters[1]
    if rule.n_fixed == 0:
        raise DeclarationError(
            "start_concentration", rule.start_concentration,
            "None without restaurants that belong to no dish", "Leave it out.",
        )  # fmt: skip
    if discount.prior is not None or discount.start != 0.0:
        raise DeclarationError(
            f"discount of {chain[-1].name!r}", chain[-1].discount, "0 with a start_concentration",
            "Leave the discount out, or let the start row share the concentration of the rows.",
        )  # fmt: skip
    if START in [one.name for one in chain]:
        raise DeclarationError(
            "name",
            START,
            "another one with a start_concentration, whose name it is",
            "Rename the restaurant.",
        )


Tree = Topology | ContextTopology | StateTopology | GraphTopology


def build_topology(chain: Sequence[Restaurant], data: GroupedData, known: int = 0) -> Tree:
    """Create the restaurants of these declarations for these data; ``known`` components have customers."""
    if any(isinstance(one.base, Several) for one in chain):
        return graph_topology(chain, data, known)
    if any(isinstance(one.each, StateHomes) for one in chain):
        return state_topology(chain, data, known)
    if is_context_chain(chain, data):
        assert isinstance(data, NGrams)
        if known:
            raise DeclarationError(
                "known", known, "no components over contexts of n-grams", "Leave known out."
            )
        return ContextTopology(len(chain), data)
    return labelled_topology(chain, data, known)
