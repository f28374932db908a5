"""Concentrations and discounts of a franchise: two arrays by restaurant, theta > -d everywhere.

Walks read the same two arrays, and only this module writes them. Declarations determine which entries are
shared, separately for each array. A prior of theta + d (`hdpkit.priors.Shifted`) allows theta below 0; it
depends on d, so the updates of theta and of d both include it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.checks import number_array
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.franchise.declarations import Hyperparameter, Restaurant, number_of
from hdpkit.franchise.state_topology import Tree
from hdpkit.franchise.topology import START
from hdpkit.numerics import add_up
from hdpkit.priors import Prior, draw_from, log_density_at
from hdpkit.random import ChoiceSource

_TRIES = 1000
_versions = itertools.count()


def _once(computed: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A method whose result is kept until the values change."""

    @functools.wraps(computed)
    def kept(self: Any) -> Any:
        if computed not in self._kept:
            self._kept[computed] = computed(self)
        return self._kept[computed]

    return kept


@attrs.frozen(eq=False)
class Sharers:
    """Restaurants that share a concentration, if it isn't declared for each of them."""

    name: str  # of the concentration: that of the declaration, or `START`
    number: int  # number of the declaration to which they belong
    hyperparameters: tuple[Hyperparameter, Hyperparameter]  # their concentration and discount as declared
    own: slice = slice(None)  # which restaurants of the declaration they are
    named: tuple[str, ...] = ("concentration", "discount")  # what can be read and set by this name

    @property
    def whole(self) -> bool:
        """Whether they are all restaurants of the declaration."""
        return self.own == slice(None)


def sharers_of(declarations: Sequence[Restaurant], tree: Tree) -> tuple[Sharers, ...]:
    """Those of each declaration and, last, those of the start row if it has a concentration of its own."""
    found = [Sharers(one.name, number, one.hyperparameters) for number, one in enumerate(declarations)]
    if tree.start is not None:
        rows, n_fixed = found.pop(), tree.n_fixed
        found.append(attrs.evolve(rows, own=slice(n_fixed, None)))
        start = Hyperparameter(*tree.start), rows.hyperparameters[1]
        found.append(Sharers(START, rows.number, start, slice(n_fixed), ("concentration",)))
    return tuple(found)


class Hyperparameters:
    """Concentration and discount of each restaurant."""

    def __init__(
        self,
        declarations: Sequence[Restaurant],
        topology: Tree,
        check_discount: Callable[[Floats], None],
        theta: Floats | None = None,
        d: Floats | None = None,
    ) -> None:
        self.declarations = tuple(declarations)
        self.topology = topology
        self.sharers = sharers_of(self.declarations, topology)
        self.check_discount = check_discount
        self.theta: Floats = np.zeros(topology.n_nodes) if theta is None else theta
        self.d: Floats = np.zeros(topology.n_nodes) if d is None else d
        self._changed()
        self._longest = -1  # customers of the largest restaurant below the root, -1: not counted yet

    def _changed(self) -> None:
        self.version = next(_versions)  # increases with each change
        self._kept: dict[Any, Any] = {}  # what was computed from the present values

    @property
    def concentration(self) -> Floats:
        """Concentration of each restaurant by number; read-only."""
        return _read_only(self.theta)

    @property
    def discount(self) -> Floats:
        """Discount of each restaurant by number; read-only."""
        return _read_only(self.d)

    def memory_bytes(self) -> int:
        """Bytes of the arrays."""
        return self.theta.nbytes + self.d.nbytes

    def reset(self) -> None:
        """Set every concentration and discount to its starting value: the number, or the prior's mean."""
        for one in self.sharers:
            theta, discount = one.hyperparameters
            nodes = self.topology.nodes(one.number)
            self.put(nodes if one.whole else _some(nodes, one.own), theta.start, discount.start)

    def values_of(self, name: str) -> tuple[Any, Any]:
        """Concentration and discount of a declaration: each a float, or an array by restaurant."""
        if isinstance(name, str) and ("of", name) in self._kept:
            return self._kept["of", name]
        one = self._named(name)
        nodes = self.topology.nodes(one.number)
        theta, discount = (
            values[nodes].copy() if declared.each else _shared(values[nodes][one.own], declared)
            for declared, values in zip(one.hyperparameters, (self.theta, self.d), strict=True)
        )
        if isinstance(theta, float) and isinstance(discount, float):
            self._kept["of", name] = theta, discount
        return theta, discount

    def _named(self, name: str) -> Sharers:
        return self.sharers[number_of(self.sharers, name)]

    def current(self) -> dict[str, Any]:
        """Concentrations and discounts by their keys in a trace; arrays are read-only."""
        return self._current().copy()

    @_once
    def _current(self) -> dict[str, Any]:
        values = {}
        for one in self.sharers:
            for key, value in zip(one.named, self.values_of(one.name), strict=False):
                if isinstance(value, np.ndarray):
                    value.setflags(write=False)
                values[f"{key}/{one.name}"] = value
        return values

    def assign(self, name: str, **values: Any) -> None:
        """Set ``concentration`` or ``discount`` of a declaration, or both at once."""
        self.put(*self.checked(name, **values))

    def checked(self, name: str, **values: Any) -> tuple[Any, Any, Any]:
        """Return restaurants, concentrations and discounts for `put`, from the arguments of `assign`."""
        one = self._named(name)
        nodes, declared = self.topology.nodes(one.number), one.hyperparameters
        if not set(values) <= set(one.named):
            number_of(self.declarations, name)  # raises an error: no declaration has this name
        if isinstance(values.get("concentration"), float) and not (declared[0].each or declared[1].each):
            value, discount = values["concentration"], self.values_of(name)[1]
            if len(values) == 1 and math.isfinite(value) and value > -discount:
                return (nodes if one.whole else _some(nodes, one.own)), value, discount
        theta, d = self.theta[nodes], self.d[nodes]
        if "concentration" in values:
            theta = theta.copy()
            theta[one.own] = _entries(declared[0], name, values["concentration"], len(d[one.own]))
            if not np.all(np.isfinite(theta)):
                raise _outside("concentration", values["concentration"], "finite and above -discount")
        if "discount" in values:
            d = _entries(declared[1], name, values["discount"], len(d))
            if not np.all((d >= 0.0) & (d < 1.0) & (theta > -d)):
                raise _outside("discount", values["discount"], "in [0, 1) and above -concentration")
            if one.number > 0:
                self.check_discount(np.atleast_1d(d))
        elif not np.all(theta > -d):
            raise _outside("concentration", values["concentration"], "finite and above -discount")
        return nodes, theta, d

    def put(self, nodes: Any, theta: Any, d: Any) -> None:
        """Set the concentrations and discounts of these restaurants."""
        self._changed()
        self.d[nodes] = d
        self.theta[nodes] = theta
        self.topology.spread(self.d)
        self.topology.spread(self.theta)

    def replace(self, concentration: Floats, discount: Floats) -> None:
        """Replace both arrays by those of a frozen state."""
        for values, frozen in ((self.theta, concentration), (self.d, discount)):
            if not np.array_equal(values, frozen):
                self._changed()
                values[:] = frozen
                self.topology.spread(values)

    def over(self, topology: Tree, to: npt.NDArray[Any], theta: Floats, d: Floats) -> Self:
        """Return those of another tree, in which restaurant r of theta and d is to[r], if that is not -1."""
        # Old restaurants keep their values; new ones get that of their declaration, or the starting value.
        kept, made = to >= 0, []
        before = np.full(topology.n_nodes, -1, dtype=np.int64)
        before[to[kept]] = np.flatnonzero(kept)
        for place, old in enumerate((theta, d)):
            new = np.empty(topology.n_nodes)
            for number, declaration in enumerate(self.declarations):
                declared, nodes = declaration.hyperparameters[place], topology.nodes(number)
                there = before[nodes][before[nodes] >= 0]
                new[nodes] = old[there[0]] if len(there) and not declared.each else declared.start
            topology.spread(new)
            new[to[kept]] = old[kept]
            made.append(new)
        return type(self)(self.declarations, topology, self.check_discount, *made)

    @_once
    def ends(self) -> list[tuple[float, float]]:
        """Return the largest concentration and the largest discount of each declaration, the root's first."""
        out = []
        for number, declaration in enumerate(self.declarations):
            nodes = self.topology.nodes(number)
            theta, d = self.values_of(declaration.name) if len(self.theta[nodes]) else (0.0, 0.0)
            if isinstance(theta, float) and isinstance(d, float):
                theta, d = max(0.0, theta), max(0.0, d)
            else:
                theta, d = (float(np.max(values[nodes], initial=0.0)) for values in (self.theta, self.d))
            out.append((theta, d))
        return out

    def least(self) -> float:
        """Return the smallest concentration + discount below the root; infinity if there is no restaurant."""
        return float(np.min(self.theta[1:] + self.d[1:], initial=np.inf))

    def longest(self) -> int:
        """Return the number of data customers of the largest restaurant below the root."""
        topology = self.topology
        if self._longest < 0:
            self._longest = int(np.max(topology.sizes()[1:], initial=0))
        return self._longest

    @_once
    def log_prior(self) -> float:
        """Log prior density of the concentrations and discounts that have a prior, in nats."""
        total = 0.0
        for sharers in self.sharers:
            theta, d = self.values_of(sharers.name)
            declared = sharers.hyperparameters
            for one, values in zip(declared, (theta + d if declared[0].shifted else theta, d), strict=True):
                if one.prior is not None:
                    total += add_up(
                        log_density_at(one.prior, float(value)) for value in np.atleast_1d(values)
                    )
        return total

    def draw(self, source: ChoiceSource) -> None:
        """Draw every concentration and discount that has a prior from its prior, discounts first."""
        for one in self.sharers:
            theta, d = self.values_of(one.name)
            declared, discount = one.hyperparameters
            n = len(self.theta[self.topology.nodes(one.number)])
            if discount.prior is not None:
                low = -declared.start if declared.prior is None else 0.0
                d = _draw_above(low, discount.prior, n if discount.each else None, source)
            if declared.prior is not None:
                theta = draw_from(declared.prior, source, n if declared.each else None)
                if declared.shifted:
                    # If theta + d is far below d, it is smaller than theta's last bit, but theta > -d must
                    # hold.
                    theta = np.maximum(theta - d, np.nextafter(-np.asarray(d), 1.0))
            self.assign(one.name, **dict(zip(one.named, (theta, d), strict=False)))


def _read_only(values: Floats) -> Floats:
    seen = values.view()
    seen.flags.writeable = False
    return seen


def _some(nodes: Any, own: slice) -> Any:
    """Some of these restaurants."""
    return range(nodes.start, nodes.stop)[own] if isinstance(nodes, slice) else nodes[own]


def _shared(values: Floats, declared: Hyperparameter) -> float:
    """The value that all restaurants share; there are none if no context is long enough for the level."""
    return float(values[0]) if len(values) else declared.start


def _outside(what: str, value: Any, allowed: str) -> ParameterError:
    return ParameterError(f"value (a {what})", value, allowed, "A move has to reject such a value.")


def _entries(declared: Hyperparameter, name: str, value: Any, n: int) -> Floats:
    """One entry per restaurant."""
    values = number_array(value)
    shapes = [(), (n,)] if declared.each else [()]
    if values is None or values.shape not in shapes:
        allowed = f"one number, or {n} of them" if declared.each else "one number"
        raise ParameterError("value", value, allowed, f"{name!r} has {n} restaurants.")
    return np.broadcast_to(values, n)


def _draw_above(low: float, prior: Prior, size: int | None, source: ChoiceSource) -> Any:
    """Draw from a prior given that the value is above ``low``."""
    drawn = np.asarray(draw_from(prior, source, size))
    for _ in range(_TRIES):
        outside = ~(drawn > low)
        if not outside.any():
            return drawn
        drawn[outside] = draw_from(prior, source, int(outside.sum()))
    raise DeclarationError(
        "discount", prior, f"a prior with mass above {low}, which is -concentration", "Give it another one."
    )
