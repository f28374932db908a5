"""Restaurants with several parents: their declarations, the graph of restaurants, and the weights.

G_r ~ PY(d, theta, sum_j w_j G_j) over the parents j of r (Wood & Teh 2009; Ren, Dunson & Carin 2008): a table
of r is a customer of one parent, which it chose with probability w_j. A restaurant has an *arm* for each
parent, with the tables that chose it. Arms are nodes of the store, so stores keep their tables like those of
any restaurant, and the restaurant's own numbers are sums over its arms.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy

from hdpkit.arrays import Floats, Int32s, Int64s, sums_by_key
from hdpkit.checks import number_array
from hdpkit.data import GroupedData
from hdpkit.errors import DataError, DeclarationError, ParameterError
from hdpkit.franchise.declarations import Restaurant, Several
from hdpkit.franchise.scores import totals
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.franchise.topology import FixedHomes, Topology, keys_in
from hdpkit.parts import Part, unfitting
from hdpkit.priors import Dirichlet
from hdpkit.random import ChoiceSource
from hdpkit.steps._counts_walk import GraphCountsWalk, GraphWalk
from hdpkit.steps.counts_walk import GraphCountsReferenceWalk, GraphReferenceWalk

WEIGHTS = "parent weights"
"""Name of the part that has the weights of parents."""


def _positive_shares(given: Any, n: int) -> Floats | None:
    """n positive numbers with a sum of one; None if they are others."""
    weights = number_array(given)
    if weights is None or weights.shape != (n,) or not np.all(weights > 0.0):
        return None
    return weights if abs(float(weights.sum()) - 1.0) < 1e-9 else None


def _checked_restaurants(found: tuple[Any, ...], least: int, given: Any) -> tuple[Restaurant, ...]:
    distinct = len(set(map(id, found))) == len(found)
    if len(found) < least or not distinct or not all(isinstance(one, Restaurant) for one in found):
        raise ParameterError(
            "restaurants", given, f"{least} or more different Restaurants",
            "For instance hk.MixtureOf(general, domain).",
        )  # fmt: skip
    return found


_LEAST = -700.0
"""Logs of weights are at least this: the exponential of less isn't a positive number for long."""


def drawn_weights(source: ChoiceSource, shapes: Floats) -> Floats:
    """Draw weights of parents from a Dirichlet distribution; none is 0, however small its shape."""
    weights = np.exp(np.maximum(source.log_dirichlet(shapes), _LEAST))
    return np.asarray(weights / weights.sum(), dtype=np.float64)


class MixtureOf(Several):
    """A base of several parents: each table of a restaurant is a customer of one of them.

    G_r ~ PY(d, theta, w_1 G_1 + ... + w_m G_m). A table that opens chooses parent j with probability w_j
    (Wood & Teh 2009). All restaurants of a declaration share the weights. Raises a ParameterError if there
    are fewer than two restaurants, one twice, or weights don't fit them.

    Parameters
    ----------
    *restaurants : Restaurant
        The parents, two or more, with one root. One may lie below another.
    weights : Dirichlet or sequence of float
        A prior, from which `hdpkit.moves.ParentWeights` resamples them, starting at its mean; or fixed
        positive numbers with a sum of one.
    """

    def __init__(self, *restaurants: Restaurant, weights: Any = None) -> None:
        self.restaurants = _checked_restaurants(restaurants, 2, restaurants)
        self.weights = Dirichlet(1.0) if weights is None else weights
        n = len(self.restaurants)
        drawn = isinstance(self.weights, Dirichlet)
        if np.size(self.weights.shapes) not in (1, n) if drawn else _positive_shares(weights, n) is None:
            raise ParameterError(
                "weights", weights, f"hk.Dirichlet of {n} parents, or {n} positive numbers with a sum of one",
                "Leave it out for hk.Dirichlet(1.0).",
            )  # fmt: skip

    def __repr__(self) -> str:
        names = ", ".join(repr(one.name) for one in self.restaurants)
        return f"MixtureOf({names}, weights={self.weights!r})"

    def constructor_arguments(self) -> dict[str, Any]:
        """What a run folder keeps."""
        return {"restaurants": self.restaurants, "weights": self.weights}

    @classmethod
    def _from_arguments(cls, restaurants: Any, weights: Any) -> Self:
        """The base that had these `constructor_arguments`."""
        return cls(*restaurants, weights=weights)

    @property
    def shapes(self) -> Floats | None:
        """Parameters of the prior of the weights; None: they are fixed."""
        if not isinstance(self.weights, Dirichlet):
            return None
        shapes = np.asarray(self.weights.shapes, dtype=np.float64)
        return np.array(np.broadcast_to(shapes, len(self.restaurants)))

    def start(self) -> Floats:
        """The weights at a start: the mean of the prior, or the fixed ones."""
        shapes = self.shapes
        return np.asarray(self.weights, dtype=np.float64) if shapes is None else shapes / shapes.sum()


class OneOf(Several):
    """A base that depends on a label of the data: restaurant r lies below the parent of its customers' value.

    Raises a ParameterError if the label is no string, or ``restaurants`` is no mapping to different
    Restaurants.

    Parameters
    ----------
    label : str
        A label of the data, which all customers of a restaurant share.
    restaurants : mapping
        The parent for each value of the label.
    """

    def __init__(self, label: str, restaurants: Mapping[Any, Restaurant]) -> None:
        if not isinstance(label, str) or not label:
            raise ParameterError("label", label, "the name of a label of the data", "For instance 'year'.")
        if not isinstance(restaurants, Mapping):
            raise ParameterError(
                "restaurants", restaurants, "a dict: value of the label -> Restaurant",
                "For instance {1990: G1990, 1991: G1991}.",
            )  # fmt: skip
        self.label = label
        self.restaurants = _checked_restaurants(tuple(restaurants.values()), 1, restaurants)
        self.values: tuple[Hashable, ...] = tuple(restaurants)

    def constructor_arguments(self) -> dict[str, Any]:
        """What a run folder keeps."""
        return {"label": self.label, "restaurants": self.restaurants, "values": self.values}

    @classmethod
    def _from_arguments(cls, label: Any, restaurants: Any, values: Any) -> Self:
        """The base that had these `constructor_arguments`."""
        return cls(label, dict(zip(values, restaurants, strict=True)))

    def __repr__(self) -> str:
        names = ", ".join(
            f"{value!r}: {one.name!r}" for value, one in zip(self.values, self.restaurants, strict=True)
        )
        return f"OneOf({self.label!r}, {{{names}}})"


class ParentWeights(Part):
    """The weights of the parents, by declaration: a part of the state."""

    name = WEIGHTS
    enumerable = True

    def __init__(
        self, declarations: Sequence[Restaurant], nodes: Mapping[int, Sequence[Any]], n: int
    ) -> None:
        self.arms: Floats = np.ones(n)
        self._nodes = nodes  # by declaration: for each parent, its nodes
        self.declared: dict[int, MixtureOf] = {number: declarations[number].base for number in nodes}
        self._names = [one.name for one in declarations]
        self.begin()

    def of(self, number: int) -> Floats:
        """Weights of a declaration: shape (parents,)."""
        return np.array(self._current[number])

    def put(self, number: int, weights: Floats) -> None:
        """Set the weights of a declaration."""
        self._current[number] = np.array(weights, dtype=np.float64)
        for own, weight in zip(self._nodes[number], weights, strict=True):
            self.arms[own] = weight

    def tables(self, number: int, by_node: Int64s) -> Int64s:
        """Tables of a declaration's restaurants by parent, from tables by node: shape (parents,)."""
        return np.array([by_node[own].sum() for own in self._nodes[number]], dtype=np.int64)

    def begin(self) -> None:
        """Set the weights to their starting values."""
        self._current: dict[int, Floats] = {}
        for number, base in self.declared.items():
            self.put(number, base.start())

    def draw_prior(self, source: ChoiceSource) -> None:
        """Draw the weights that have a prior from it."""
        for number, base in self.declared.items():
            if base.shapes is not None:
                self.put(number, drawn_weights(source, base.shapes))

    def freeze(self) -> dict[str, Any]:
        """The weights by declaration."""
        return {self._names[number]: self.of(number) for number in self.declared}

    def thaw(self, frozen: Mapping[str, Any]) -> None:
        for number, base in self.declared.items():
            given = frozen.get(self._names[number]) if isinstance(frozen, Mapping) else None
            weights = _positive_shares(given, len(base.restaurants))
            if weights is None:
                name = f"{WEIGHTS} of {self._names[number]!r}"
                raise unfitting(name, given, f"{len(base.restaurants)} positive numbers with a sum of one")
            self.put(number, weights)

    def log_density(self, state: Any) -> float:
        """Log prior density of the weights that have a prior."""
        total = 0.0
        for number, base in self.declared.items():
            shapes = base.shapes
            if shapes is not None:
                total += float(scipy.special.gammaln(shapes.sum()) - scipy.special.gammaln(shapes).sum())
                total += float(((shapes - 1.0) * np.log(self.of(number))).sum())
        return total

    def scalars(self, state: Any) -> Mapping[str, float]:
        """Each weight, by the names of the declaration and of its parent."""
        return {
            f"{self._names[number]}/{parent.name}": float(weight)
            for number, base in self.declared.items()
            for parent, weight in zip(base.restaurants, self.of(number).tolist(), strict=True)
        }

    def memory_bytes(self) -> int:
        """Bytes of the weights by node."""
        return self.arms.nbytes


class GraphTopology(FixedHomes):
    """Restaurants by number, as `Topology`, of which some have several parents."""

    # Restaurants come first, parents before children. The node of a store with a restaurant's number is its
    # arm to its first parent; arms to further parents come after all restaurants, those of one together.

    kind = "graph"
    reference_walks = (GraphReferenceWalk, GraphCountsReferenceWalk)
    cells = None

    def __init__(
        self,
        declarations: Sequence[Restaurant],
        parents: Sequence[Int32s],
        home: Int32s,
        keys: Sequence[Sequence[Any]],
        known: int,
    ) -> None:
        # parents[number][r, j] is parent j of restaurant r of a declaration
        sizes = [len(own) for own in keys]
        first = tuple(int(n) for n in np.cumsum([0, *sizes])[:-1])
        n, declared = sum(sizes), np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        further = [above[:, 1:].ravel() for above in parents]
        extra = [np.repeat(np.arange(len(above)) + start, above.shape[1] - 1)
                 for above, start in zip(parents, first, strict=True)]  # fmt: skip
        self.lead: Int32s = np.concatenate([np.arange(n), *extra]).astype(np.int32)
        self.parent: Int32s = np.concatenate([*(above[:, 0] for above in parents), *further]).astype(np.int32)
        self.begin_of_arms: Int64s = n + np.searchsorted(self.lead[n:], np.arange(n + 1))
        level = np.zeros(n, dtype=np.int32)
        for above, start in zip(parents[1:], first[1:], strict=True):
            level[start : start + len(above)] = level[above].max(axis=1) + 1
        self.level: Int32s = level[self.lead]
        self.declaration: Int32s = declared[self.lead]
        self.first, self.keys, self.known = first, tuple(keys), known
        tree = Topology(self.parent, self.level, self.declaration, home, first, self.keys, known=known)
        self.nodes, self.node, self.keys_of = tree.nodes, tree.node, tree.keys_of
        self.home: Int32s = home
        self.n_customers, self.n_all = tree.n_customers, tree.n_all
        self.n_restaurants, self.n_levels = n, int(level.max()) + 1
        for array in (self.lead, self.parent, self.level, self.declaration, self.home):
            array.setflags(write=False)
        self._parents = tuple(parents)
        nodes = {}
        for number, above in enumerate(parents):
            if above.shape[1] > 1:
                own = np.arange(first[number], first[number] + sizes[number])
                nodes[number] = [own, *(self.begin_of_arms[own] + j for j in range(above.shape[1] - 1))]
        self.weights = ParentWeights(declarations, nodes, len(self.parent))
        self._above = _ancestors(self.parent, self.begin_of_arms)

    def sizes(self) -> Int64s:
        """Data customers of each restaurant: int64, shape (n_restaurants,)."""
        return np.bincount(self.home[: self.n_customers], minlength=self.n_restaurants)

    def path(self, node: int) -> list[int]:
        """A restaurant and all above it, each before its parents."""
        start, above = self._above
        return above[start[node] : start[node + 1]].tolist()

    def arms(self, node: int) -> Sequence[int]:
        return (node, *range(int(self.begin_of_arms[node]), int(self.begin_of_arms[node + 1])))

    def weight(self, arm: int) -> float:
        """Probability that a table of the restaurant chooses the parent of this arm."""
        return float(self.weights.arms[arm])

    def parents_of(self, number: int) -> Any:
        above = self._parents[number]
        return above[:, 0] if above.shape[1] == 1 else above

    def weights_of(self, number: int) -> Floats | None:
        return self.weights.of(number) if number in self.weights.declared else None

    def summed(self, values: Int64s) -> Int64s:
        found: Int64s = values[: self.n_restaurants].copy()
        np.add.at(found, self.lead[self.n_restaurants :], values[self.n_restaurants :])
        return found

    def by_restaurant(self, node: Int64s, *columns: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
        dish, customers, tables = columns
        base = int(dish.max(initial=0)) + 1
        pairs, *sums = sums_by_key(self.lead[node].astype(np.int64) * base + dish, customers, tables)
        return pairs // base, pairs % base, *sums

    def map_arms(self, after: GraphTopology, to: Int64s) -> None:
        """Set the numbers of arms to further parents in a larger graph, where restaurant r is to[r]."""
        n = self.n_restaurants
        lead = self.lead[n:]
        to[n:] = after.begin_of_arms[to[lead]] + np.arange(n, len(self.parent)) - self.begin_of_arms[lead]

    def spread(self, values: Floats) -> None:
        values[self.n_restaurants :] = values[self.lead[self.n_restaurants :]]

    def walk(self, store: Any, slots: Any, *given: Any, arms: Any = None, counts: bool = False) -> GraphWalk:
        weights = self.weights.arms if arms is None else arms
        own = store, slots, self.parent, *given, self.begin_of_arms, weights, *self._above
        return GraphCountsWalk(*own, self.declaration) if counts else GraphWalk(*own)

    def current_weights(self) -> Floats | None:
        return self.weights.arms.copy()

    def log_seating(self, store: Any, concentration: Floats, discount: Floats) -> float:
        """Log of the weights of the tables' choices, and what restaurants differ from their arms."""
        # The store takes each arm as a restaurant: the factors of T tables and n customers of each arm are
        # replaced by those of the sums over arms.
        customers, tables = totals(store, len(self.parent))
        several = np.flatnonzero(np.diff(self.begin_of_arms))
        arms = np.flatnonzero(np.isin(self.lead, several))
        of_all, opened = (self.summed(n)[several] for n in (customers, tables))
        total = _log_of_tables(of_all, opened, concentration[several], discount[several])
        total -= _log_of_tables(customers[arms], tables[arms], concentration[arms], discount[arms])
        return total + float((tables[arms] * np.log(self.weights.arms[arms])).sum())

    def log_splits(self, node: Any, dish: Any, customers: Any) -> float:
        dish, customers = np.asarray(dish, dtype=np.int64), np.asarray(customers, dtype=np.int64)
        _, _, together, _ = self.by_restaurant(node, dish, customers, customers)
        gammaln = scipy.special.gammaln
        return float(gammaln(together + 1.0).sum() - gammaln(customers + 1.0).sum())

    def restaurants_at(self, declaration: int) -> Int32s:
        """Raises a DeclarationError: a customer lies below several restaurants of a declaration."""
        raise DeclarationError(
            "base", "a measure whose dishes differ by restaurant",
            "one whose dishes are the same everywhere, where restaurants have several parents",
            "For instance hk.DirichletMultinomial(0.1).",
        )  # fmt: skip

    def check_new_groups(self, franchise: Any) -> None:
        """Raise an error if the groups have several parents: a new group's share of each isn't known."""
        if franchise.topology.weights_of(len(franchise.declarations) - 1) is not None:
            raise DeclarationError(
                "franchise", franchise, "one whose groups have one parent each, to which new ones are added",
                "Put the groups below the restaurant with several parents: "
                'hk.Restaurant(that_restaurant, each="document").',
            )  # fmt: skip

    def begin(self) -> None:
        self.weights.begin()

    def draw_prior(self, source: ChoiceSource) -> None:
        self.weights.draw_prior(source)

    def parts(self) -> Mapping[str, Part]:
        """The weights of the parents."""
        return {WEIGHTS: self.weights} if self.weights.declared else {}

    def memory_bytes(self) -> int:
        """Bytes of the arrays, without the weights."""
        arrays = (self.lead, self.parent, self.level, self.declaration, self.home, self.begin_of_arms)
        return sum(array.nbytes for array in (*arrays, *self._above))


def _ancestors(parent: Int32s, begin: Int64s) -> tuple[Int64s, Int32s]:
    """Each restaurant and all above it, largest number first: those of restaurant r from start[r] on."""
    above: list[list[int]] = []
    up, first = parent.tolist(), begin.tolist()
    for r in range(len(begin) - 1):
        parents = [up[arm] for arm in (r, *range(first[r], first[r + 1])) if up[arm] >= 0]
        above.append(sorted({r}.union(*(above[p] for p in parents)), reverse=True))
    start = np.cumsum([0, *map(len, above)])
    return start, np.fromiter((p for own in above for p in own), np.int32, int(start[-1]))


def _log_of_tables(n: Int64s, tables: Int64s, theta: Floats, d: Floats) -> float:
    """Sum of log [theta+d]_d^(T-1) / [theta+1]_1^(n-1) over restaurants of n customers at T tables."""
    some = n > 0
    n, tables, theta, d = n[some], tables[some], theta[some], d[some]
    gammaln = scipy.special.gammaln
    total = -(gammaln(theta + n) - gammaln(theta + 1.0)).sum()
    discounted = d > 0.0
    scale, later = d[discounted], tables[discounted] - 1
    ratio = theta[discounted] / scale + 1.0
    total += (later * np.log(scale) + gammaln(ratio + later) - gammaln(ratio)).sum()
    return float(total + ((tables[~discounted] - 1) * np.log(theta[~discounted])).sum())


# ---------------------------------------------------------------------- restaurants of data


def graph_topology(declarations: Sequence[Restaurant], data: GroupedData, known: int) -> GraphTopology:
    """Create the restaurants of declarations of which some have several bases."""
    # A customer without the label belongs to the restaurant where it would be without this declaration:
    # that of its base, or the one of several bases' that lies below those of all others.
    n = len(data)
    at: dict[int, Int32s] = {}  # by declaration's identity: the restaurant of each customer
    lower: list[set[int]] = []  # by restaurant: itself and all above it
    parents: list[Int32s] = []
    keys: list[Sequence[Any]] = []
    bases: tuple[Any, ...]
    start = 0
    for declaration in declarations:
        if isinstance(declaration.each, StateHomes):
            raise DeclarationError(
                f"each of {declaration.name!r}", declaration.each,
                "a label of the data, or None, where restaurants have several parents",
                "Restaurants of dishes have one parent.",
            )  # fmt: skip
        own, base = keys_in(declaration, data), declaration.base
        codes = np.zeros(n, dtype=np.int64)
        if declaration.each is not None:
            codes = np.asarray(data.codes(declaration.each))
        if start == 0:
            options, above = [np.zeros(n, dtype=np.int32)], np.full((1, 1), -1, dtype=np.int32)
        else:
            if isinstance(base, OneOf):
                options, bases = [_chosen(base, at, codes >= 0, data)], (base,)
            else:
                bases = base.restaurants if isinstance(base, Several) else (base,)
                options = [at[id(one)] for one in bases]
            each = zip(options, bases, strict=True)
            above = np.stack([_parents(declaration, own, codes, *one) for one in each], axis=1)
        for r, over in enumerate(above.tolist()):
            lower.append({start + r}.union(*(lower[one] for one in over if one >= 0)))
        missing = codes < 0
        here = (start + codes).astype(np.int32)
        here[missing] = _deepest([option[missing] for option in options], lower)
        at[id(declaration)] = here
        parents.append(above)
        keys.append(own)
        start += len(own)
    home = np.append(here, np.zeros(known, dtype=np.int32)).astype(np.int32)
    if np.any(here < 0):
        name = declarations[-1].name
        raise DataError(
            f"labels of customer {int(np.argmax(here < 0))}",
            f"none of {name!r}, and those of several of its bases",
            "labels of restaurants of which one lies below all others",
            f"Give the customer a label for {name!r}, or only those of one base.",
        )
    return GraphTopology(declarations, parents, home, keys, known)


def _chosen(base: OneOf, at: Mapping[int, Int32s], labelled: Any, data: GroupedData) -> Int32s:
    """The restaurant of each customer in the base of its label's value; -1 without one."""
    if base.label not in data.label_names:
        raise DeclarationError(
            "label", base.label, f"a label of the data: {list(data.label_names)}",
            "Give the label when you build the data (groups=...).",
        )  # fmt: skip
    keys, codes = list(data.key_view(base.label)), np.asarray(data.codes(base.label))
    place = {value: i for i, value in enumerate(base.values)}
    found = np.full(len(codes), -1, dtype=np.int32)
    for code, key in enumerate(keys):
        if key in place:
            own = codes == code
            found[own] = at[id(base.restaurants[place[key]])][own]
    astray = labelled & (found < 0)
    if np.any(astray):
        code = int(codes[int(np.argmax(astray))])
        raise DataError(
            base.label, keys[code] if code >= 0 else None, f"one of {list(base.values)} for each restaurant",
            "Add a Restaurant for this value to hk.OneOf.",
        )  # fmt: skip
    return found


def _parents(declaration: Restaurant, own: Any, codes: Any, above: Int32s, base: Any) -> Int32s:
    """The restaurant above each restaurant of a declaration: that of its customers, or the root without."""
    found = np.zeros(len(own), dtype=np.int32)
    labelled = np.flatnonzero(codes >= 0)
    found[codes[labelled]] = above[labelled]
    astray = labelled[found[codes[labelled]] != above[labelled]]
    if len(astray) or np.any(found < 0):
        i = int(astray[0]) if len(astray) else int(labelled[np.argmax(above[labelled] < 0)])
        raise DataError(
            f"{declaration.each} {own[int(codes[i])]!r}",
            f"customers of several restaurants of {base.name if isinstance(base, Restaurant) else base}",
            "customers of one", f"Let {declaration.each!r} have one value for each restaurant above.",
        )  # fmt: skip
    return found


def _deepest(options: list[Int32s], lower: list[set[int]]) -> Int32s:
    """Of each customer's restaurants the one that lies below all others; -1 if none does."""
    if len(options) == 1:
        return options[0]
    rows, place = np.unique(np.stack(options, axis=1), axis=0, return_inverse=True)
    found = [
        next((one for one in row if one >= 0 and lower[one].issuperset(row)), -1) for row in rows.tolist()
    ]
    return np.array(found, dtype=np.int32)[place.reshape(-1)]
