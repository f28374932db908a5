"""The exact-kernel test under weights of the root, which are continuous: given that they are those of atoms.

A move that is right whatever the weights are is right if the root's children draw from a few given atoms: a
new dish is then one of the atoms that are left, with probability proportional to its weight, which takes the
place of the draw at its birth. All states can be listed. A move that integrates the weights out and draws
them again may not depend on them: it has the transition matrix of a root that is a restaurant.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import ROOT_WEIGHTS
from hdpkit.moves import Move
from hdpkit.random import ScriptedSource
from hdpkit.testing.enumeration import log_root
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel, check_matrix, steps_of


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
