"""The exact-kernel test over a hidden Markov model, in which the homes of customers depend on the state."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Int32s
from hdpkit.franchise.franchise import Franchise
from hdpkit.stores import FrozenSeating, detail_of
from hdpkit.testing.enumeration import (
    Shape,
    listed,
    log_labels,
    log_likelihood,
    log_prior,
    log_root,
    table_sizes,
)
from hdpkit.testing.exact import ExactModel, chain_rule_of, frozen_key, labelled_arrays, reduced_seatings

_FIRST = 1  # number of the restaurant of first observations, after the root; those of dishes follow


def _numbered(names: Sequence[Hashable]) -> list[int]:
    """Numbers in place of names, in order of first appearance."""
    label: dict[Hashable, int] = {}
    return [label.setdefault(name, len(label)) for name in names]


class HiddenMarkovModel(ExactModel):
    """Every state of a `hidden_markov` franchise with its exact posterior, but not under drawn weights."""

    def __init__(self, franchise: Franchise) -> None:
        self.franchise, n = franchise.copy(), franchise.topology.n_customers
        self.parent, self.detail = franchise.topology.parent.tolist(), detail_of(franchise.store_type)
        theta, d = franchise.hyperparameters.theta.tolist(), franchise.hyperparameters.d.tolist()
        values, marginal = list(franchise.data.values), chain_rule_of(franchise.measure)
        most, template = franchise.root.most_dishes, self.franchise.freeze()
        weights: dict[Any, float] = {}
        frozen: dict[Any, dict[str, Any]] = {}
        for partition in listed(Shape((-1,), (0,) * n)):
            states = _numbered(partition)
            shape = self._shape(states)
            reduced = reduced_seatings(shape, None, self.detail)
            for key in listed(shape):
                if _numbered([tables[-1] for tables in key]) != states:
                    continue
                log = log_prior(key, shape, theta, d) + log_likelihood(key, values, marginal)
                if most is not None:
                    sizes = list(table_sizes(key, shape)[0].values())
                    log += log_labels(sizes, most) - log_root(sizes, theta[0], d[0])
                if log > -math.inf:
                    weights[reduced[key]] = weights.get(reduced[key], 0.0) + math.exp(log)
                    frozen[reduced[key]] = self._state(template, key, shape)
        self.states, self._version = list(weights), -1
        self.pi = np.array(list(weights.values())) / math.fsum(weights.values())
        self._number = {state: i for i, state in enumerate(self.states)}
        self._seen, self._frozen = {}, list(frozen.values())
        for state in self._frozen:
            self.franchise._check_frozen({**state, "bank": None})

    def _shape(self, states: Sequence[int]) -> Shape:
        """The homes of observations with these states: each has that of the state before it."""
        return Shape(self.parent, [_FIRST, *(_FIRST + 1 + state for state in states[:-1])])

    def _state(self, template: dict[str, Any], key: Any, shape: Shape) -> dict[str, Any]:
        """A frozen state in which the restaurants of dishes are not in the order of their slots."""
        n_dishes, arrays = len({tables[-1] for tables in key}), labelled_arrays(key, shape)
        rows = (np.arange(n_dishes, dtype=np.int32) + 1) % self.franchise.topology.n_customers
        to = np.arange(len(self.parent), dtype=np.int32)
        to[_FIRST + 1 : _FIRST + 1 + n_dishes] = _FIRST + 1 + rows
        arrays["table_node"] = to[arrays["table_node"]]
        slots = np.arange(n_dishes, dtype=np.int32)
        return {
            **template,
            "seating": FrozenSeating.of(arrays).to(self.detail).arrays(),
            "slots": slots, "dish_ids": slots, "births": n_dishes,
            "components": {**template["components"], "rows": {"rows": rows}},
        }  # fmt: skip

    def _recalled(self) -> Any:
        """The state is also known by which restaurant belongs to which dish."""
        arrays = self.franchise.store.freeze()
        rows = self.franchise.parts["rows"].freeze()["rows"]
        form = tuple([array.tobytes() for array in (*arrays.values(), rows)])
        if form not in self._seen:
            self._seen[form] = self._understood(arrays)
        return self._seen[form]

    def _key(self, arrays: dict[str, Int32s]) -> Any:
        dishes, rows = FrozenSeating.of(arrays).dishes.tolist(), self.franchise.parts["rows"]
        states = _numbered(dishes)
        of_dish: Any = rows
        back = {
            _FIRST + 1 + of_dish.row(slot): _FIRST + 1 + state
            for slot, state in zip(dishes, states, strict=True)
        }
        renamed = {
            name: np.array([back.get(node, node) for node in array.tolist()], dtype=np.int32)
            if name in ("table_node", "bin_node", "count_node")
            else array
            for name, array in arrays.items()
        }
        return frozen_key(renamed, self._shape(states))
