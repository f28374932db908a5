"""The exact-kernel test over trees in which the homes of customers depend on the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.stores import FrozenSeating
from hdpkit.stores.protocol import Frozen
from hdpkit.testing.enumeration import (
    Key,
    Shape,
    listed,
    log_labels,
    log_likelihood,
    log_prior,
    log_root,
    table_sizes,
)
from hdpkit.testing.exact import ExactModel, chain_rule_of
from hdpkit.testing.states import frozen_key, labelled_arrays, reduced_seatings


def numbered(names: Sequence[Hashable]) -> list[int]:
    """Numbers in place of names, in order of first appearance."""
    label: dict[Hashable, int] = {}
    return [label.setdefault(name, len(label)) for name in names]


@attrs.frozen
class NumberedState:
    """Dishes by their order of first appearance, in place of a `HomeState`."""

    dishes: list[int]
    first: int
    n_fixed: int

    def dish_of(self, customer: int) -> int:
        """The dish of a customer."""
        return self.dishes[customer]

    def row(self, dish: int) -> int:
        """The restaurant of a dish."""
        return self.first + self.n_fixed + dish

    def fixed(self, number: int) -> int:
        """A restaurant that belongs to no dish."""
        return self.first + number


class HiddenMarkovModel(ExactModel):
    """Every state of a small franchise over a tree of which homes depend on the state.

    Weights of the root are not in the state.
    """

    def __init__(
        self, franchise: Franchise, log_marginal: Callable[[list[Any]], float] | None = None
    ) -> None:
        self._begin(franchise)
        data, n = franchise.data, franchise.topology.n_customers
        self._first = next(
            number for number, one in enumerate(franchise.declarations) if isinstance(one.each, StateHomes)
        )
        each: Any = franchise.declarations[self._first].each
        self._rule, self._parent = each.for_data(data), tuple(franchise.topology.parent.tolist())
        tree: Any = franchise.topology
        # A label has a copy of all rows; the customers without one are in the rows themselves.
        self._n_own, self._labels = tree.n_own, [0] * n if tree.labels is None else tree.labels.tolist()
        self._rows = self._first + self._rule.n_fixed  # number of the restaurant of the first dish
        theta, d = franchise.hyperparameters.theta.tolist(), franchise.hyperparameters.d.tolist()
        missing = getattr(data, "missing", np.zeros(n, dtype=bool))
        of_values, most = log_marginal or chain_rule_of(franchise.measure), franchise.root.most_dishes

        def of_observations(customers: list[int]) -> float:
            return of_values([data.values[i] for i in customers if not missing[i]])

        weights: dict[Any, list[float]] = {}
        frozen: dict[Any, dict[str, Any]] = {}
        template = self.franchise.freeze()
        for partition in listed(Shape((-1,), (0,) * n)):
            dishes = numbered(partition)
            shape = self._shape(dishes)
            reduced = reduced_seatings(shape, None, self.detail)
            for key in listed(shape):
                served = [tables[-1] for tables in key]
                if numbered(served) != dishes:
                    continue
                log = log_prior(key, shape, theta, d) + log_likelihood(key, range(n), of_observations)
                root = table_sizes(key, shape)[0]
                sizes = [root[table] for table in dict.fromkeys(served)]
                log -= log_root(sizes, theta[0], d[0])
                for what, log_what, left in self._ways(key, shape, dishes, sizes):
                    of_root = log_root(left, theta[0], d[0]) if most is None else log_labels(left, most)
                    if of_root > -math.inf:
                        state = reduced[key] if what is None else (reduced[key], what)
                        weights.setdefault(state, []).append(math.exp(log + log_what + of_root))
                        frozen[state] = self._frozen_state(template, key, shape, dishes, what)
        sums = [math.fsum(these) for these in weights.values()]
        total = math.fsum(sums)
        self._keep(list(weights), [one / total for one in sums], list(frozen.values()))
        self._check_frozen()

    def _ways(
        self, key: Key, shape: Shape, dishes: list[int], sizes: list[int]
    ) -> Iterator[tuple[Any, float, list[int]]]:
        """What else is in the state, its log weight, and the customers of the root by dish."""
        yield None, 0.0, sizes

    def _shape(self, dishes: list[int]) -> Shape:
        """The homes of observations with these dishes."""
        names = NumberedState(dishes, self._first, self._rule.n_fixed)
        rows = [self._rule.home(i, names) for i in range(len(dishes))]
        return Shape(self._parent, [row + t * self._n_own for row, t in zip(rows, self._labels, strict=True)])

    def _copies(self, row: int) -> range:
        """Numbers of a row and of its copies."""
        return range(self._rows + row, len(self._parent), self._n_own)

    def _frozen_state(
        self, template: Mapping[str, Any], key: Key, shape: Shape, dishes: list[int], what: Any
    ) -> dict[str, Any]:
        """A frozen state in which the restaurants of dishes are not in the order of their slots."""
        part: Any = self.franchise.parts["rows"]
        n_dishes, arrays = max(dishes) + 1, labelled_arrays(key, shape)
        rows = (np.arange(n_dishes, dtype=np.int32) + 1) % part.n_rows
        to = np.arange(shape.n_nodes, dtype=np.int32)
        for dish, row in enumerate(rows.tolist()):
            to[list(self._copies(dish))] = self._copies(row)
        arrays["table_node"] = to[arrays["table_node"]]
        slots = np.arange(n_dishes, dtype=np.int32)
        return {
            **template,
            "seating": FrozenSeating.of(arrays).to(self.detail).arrays(),
            "slots": slots, "dish_ids": slots, "births": n_dishes,
            "components": {**template["components"], "rows": {"rows": rows}},
        }  # fmt: skip

    def _besides(self) -> list[Any]:
        """Which restaurant belongs to which dish."""
        return [self.franchise.parts["rows"].freeze()["rows"]]

    def _key(self, arrays: Frozen) -> Any:
        slots, rows = FrozenSeating.of(arrays).dishes.tolist(), self.franchise.parts["rows"]
        dishes = numbered(slots)
        of_dish: Any = rows
        back = {
            there: here
            for slot, dish in zip(slots, dishes, strict=True)
            for there, here in zip(self._copies(of_dish.row(slot)), self._copies(dish), strict=True)
        }
        renamed = {
            name: np.array([back.get(node, node) for node in array.tolist()], dtype=np.int32)
            if name in ("table_node", "bin_node", "count_node")
            else array
            for name, array in arrays.items()
        }
        return frozen_key(renamed, self._shape(dishes))
