"""The exact-kernel test where a state is more than a seating, or homes of customers depend on it.

A move that is right whatever the weights of the root are is right if the root's children draw from a few
given atoms: a new dish is then one of the atoms that are left, with probability proportional to its weight,
which takes the place of the draw at its birth. All states can be listed. A move that integrates the weights
out and draws them again may not depend on them: it has the transition matrix of a root that is a restaurant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import ROOT_WEIGHTS
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.measures.non_conjugate import Finite
from hdpkit.moves import Move
from hdpkit.priors import Each
from hdpkit.random import ScriptedSource
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
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel, chain_rule_of, check_matrix, steps_of
from hdpkit.testing.states import frozen_key, labelled_arrays, reduced_seatings

LogLikelihood = Callable[[list[Any], Any], float]


def grid_of(measure: Any) -> Finite | None:
    """Return the possible parameters of a dish if they are finitely many, otherwise None."""
    declared = getattr(measure, "sample_prior", None)
    if declared is None:
        fields = attrs.fields(type(measure)) if attrs.has(type(measure)) else ()
        own = [value for field in fields if isinstance(value := getattr(measure, field.name), Each)]
        declared = own[0].prior if len(own) == 1 else None
    return declared if isinstance(declared, Finite) else None


def shares_of(grid: Finite) -> list[tuple[Any, float]]:
    """The possible parameters with their probabilities."""
    weights = np.array(grid.weights) / sum(grid.weights)
    return list(zip(grid.values, weights.tolist(), strict=True))


def blocks_of(frozen: dict[str, Any]) -> list[list[int]]:
    """Customers of each dish number of a frozen state."""
    dishes = FrozenSeating.of(frozen["seating"]).dishes
    return [np.flatnonzero(dishes == dish).tolist() for dish in np.unique(dishes)]


def exact_model(franchise: Franchise, witness: Callable[..., float] | None = None) -> ExactModel:
    """The model of every state of a tiny franchise, with or without kept parameters of dishes."""
    if franchise.measure.conjugate:
        return ExactModel(franchise, witness)
    return ExactParameterModel(franchise, witness)


class ExactParameterModel(ExactModel):
    """A tiny franchise over a measure whose dishes keep one of finitely many parameters."""

    def __init__(self, franchise: Franchise, log_likelihood: LogLikelihood | None = None) -> None:
        measure: Any = franchise.measure
        grid = grid_of(measure)
        if grid is None:
            raise ExactFailure("only dishes with finitely many possible parameters can be enumerated")
        self._shares = shares_of(grid)
        self.log_likelihood = log_likelihood or (
            lambda values, one: float(measure.log_block(values, [measure.begun(one)])[0])
        )
        super().__init__(franchise, lambda values: math.log(sum(self._joint(values))))
        self._split(self._parameters)

    def _joint(self, values: list[Any]) -> list[float]:
        """p(parameter) p(values | parameter) for every parameter."""
        return [share * math.exp(self.log_likelihood(values, one)) for one, share in self._shares]

    def _parameters(self, frozen: dict[str, Any]) -> Iterator[tuple[Any, float, dict[str, Any]]]:
        """Parameters of the dishes, and their probability given the seating."""
        laws = [self._joint([self.values[i] for i in block]) for block in blocks_of(frozen)]
        of_dish = [
            [(one, p / sum(law)) for (one, _), p in zip(self._shares, law, strict=True)] for law in laws
        ]
        for chosen in itertools.product(*of_dish):
            own = tuple(one for one, _ in chosen)
            bank = {"slots": frozen["slots"], "parameters": [*map(np.array, own)]}
            yield own, math.prod(p for _, p in chosen), {"bank": bank}

    def _state(self) -> Any:
        bank: Any = self.franchise.bank
        seating, slots = self._seating()
        return seating, tuple(bank.parameter(slot) for slot in slots)


class GivenWeightsModel(ExactModel):
    """A tiny franchise whose root has the weights of given atoms: every seating, the atom of each dish."""

    def __init__(self, franchise: Franchise) -> None:
        super().__init__(franchise)
        self.seatings, self.given_none, self.number_of = self.states, self.pi, self._number
        weights = np.sqrt(np.arange(2.0, len(self.values) + 3.0))
        self.atoms = weights / weights.sum()  # one more than there can be dishes
        self._split(self._of_atoms)
        self.pi = self.pi / math.fsum(self.pi)
        self._scripted = AtomSource(self)

    def _of_atoms(self, frozen: dict[str, Any]) -> Iterator[tuple[Any, float, dict[str, Any]]]:
        """Atoms of the dishes, and by how much they change the probability of the seating."""
        numbers = self.franchise.hyperparameters
        parts = {name: part for name, part in frozen["components"].items() if name != ROOT_WEIGHTS}
        there = self._put({**frozen, "components": parts}).seating
        sizes = [there.customers(0, slot) for slot in self.franchise.slots.occupied_slots().tolist()]
        of_root = math.exp(log_root(sizes, float(numbers.theta[0]), float(numbers.d[0])))
        for atoms in itertools.permutations(range(len(self.atoms)), len(sizes)):
            own = self.atoms[list(atoms)]
            drawn = {"weights": np.append(own, 1.0 - own.sum())}
            p = math.prod(own ** np.array(sizes)) / of_root
            yield atoms, p, {"components": {**parts, ROOT_WEIGHTS: drawn}}

    def source(self) -> ScriptedSource:
        """A source that chooses atoms."""
        self._scripted = AtomSource(self)
        return self._scripted

    def read(self) -> int:
        """Number of the state, or after a draw of all weights that of the seating, from -1 downwards."""
        if (drawn := self._scripted.drawn_after) is None:
            return super().read()
        if drawn != len(self._scripted.path):
            raise ExactFailure(MIXED)
        return -1 - self._among(self.number_of, super()._state())

    def _state(self) -> Any:
        weights, _ = self.franchise.root_weights()
        known = self.franchise.known
        first = [] if known is None else range(known.n_components)
        order = list(dict.fromkeys([*first, *self.franchise.dishes.tolist()]))
        nearest = np.abs(weights[order][:, None] - self.atoms).argmin(axis=1).tolist()
        return super()._state(), tuple(nearest)


MIXED = (
    "weights of the root are drawn in the same step as something that depends on them: divide it by n_steps"
)


class AtomSource(ScriptedSource):
    """A scripted source: a new dish is an atom without customers, and draws of all weights are recorded."""

    drawn_after: int | None = None

    def __init__(self, model: GivenWeightsModel) -> None:
        super().__init__()
        self._model = model

    def rewind(self) -> None:
        """Clear the record and start the same script again."""
        super().rewind()
        self.drawn_after = None

    def log_beta(self, a: float, b: float, size: None = None) -> tuple[float, float]:
        """Logarithms of the share of the remainder that an atom has, and of the rest."""
        franchise, atoms = self._model.franchise, self._model.atoms
        weights: Any = franchise.root.weights
        used = weights.table.many(franchise.slots.occupied_slots())
        left = atoms[np.abs(atoms[:, None] - used).min(axis=1, initial=1.0) > 1e-9]
        share = float(left[self.choose(left.tolist())] / left.sum())
        return math.log(share), math.log1p(-share)

    def log_dirichlet(self, shapes: np.ndarray) -> np.ndarray:
        """Any weights: what depends on them in the same step is an error."""
        self.drawn_after = len(self.path)
        return np.log(np.full(len(shapes), 1.0 / len(shapes)))


def check_given_weights(model: GivenWeightsModel, move: Move) -> None:
    """Check every step of a move, whether it uses the weights or integrates them out."""
    n = len(model.states)
    for number, step in enumerate(steps_of(model, move)):
        P, drawn = np.zeros((n, n)), np.zeros((n, len(model.seatings)))
        for before, after, probability in model.branches(step):
            into, place = (drawn, -1 - after) if after < 0 else (P, after)
            into[before, place] += probability
        if not drawn.any():
            check_matrix(model, move, number, P, model.pi)
            continue
        of = np.array([model.number_of[seating] for seating, _ in model.states])
        first = np.unique(of, return_index=True)[1]
        if P.any() or not np.abs(drawn - drawn[first][of]).max() <= TOLERANCE:
            raise ExactFailure(f"{move.name}, step {number}, {model.franchise!r}: {MIXED}")
        check_matrix(model, move, number, drawn[first], model.given_none, model.seatings)


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
    """Every state (without weights of the root) of a franchise in which homes depend on the state."""

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
