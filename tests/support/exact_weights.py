"""The exact-kernel test if the root has weights: a state is a seating and a point of the simplex."""

import math
from typing import Any

import numpy as np
from exact_points import Numbers, PointModel
from scipy import special

from hdpkit.arrays import Floats
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.scores import ROOT_WEIGHTS as NAME

WEIGHT_P_VALUES = ("seating", "remainder", "first dish", "second dish")


class ExactWeightModel(PointModel):
    """A tiny franchise with weights of the root: every seating, and the law of the weights given each."""

    P_VALUES = WEIGHT_P_VALUES

    def __init__(self, franchise: Franchise, log_marginal: Any = None) -> None:
        super().__init__(franchise, log_marginal)
        theta, d = franchise.root.concentration, franchise.root.discount
        self.shapes: list[Floats] = []
        for number in range(len(self.states)):
            seating = self.franchise.seating
            self.enter(number)
            m = [seating.customers(0, slot) for slot in self.franchise.slots.occupied_slots().tolist()]
            self.shapes.append(np.append(np.array(m) - d, theta + len(m) * d))

    def enter(self, state: int, numbers: Numbers | None = None) -> Franchise:
        """Set the franchise to a state with these weights of its dishes and of the remainder."""
        frozen = self._frozen[state]
        parts = {name: part for name, part in frozen["components"].items() if name != NAME}
        if numbers is not None:
            parts[NAME] = {"weights": np.asarray(numbers, dtype=float)}
        return self._put({**frozen, "components": parts})

    def numbers(self) -> Floats:
        """Weights that the franchise has now, dishes in order of their first customer, the remainder last."""
        of_dishes, remainder = self.franchise.root_weights()
        known = self.franchise.known
        first = [] if known is None else list(range(known.n_components))
        order = list(dict.fromkeys([*first, *self.franchise.dishes.tolist()]))
        return np.append(of_dishes[order], remainder)

    def density(self, state: int, numbers: Numbers) -> float:
        """p(seating, weights | data), with respect to the weights of the dishes."""
        a, w = self.shapes[state], np.asarray(numbers)
        log_norm = math.lgamma(float(a.sum())) - sum(math.lgamma(x) for x in a.tolist())
        return float(self.pi[state]) * math.exp(log_norm + float(np.dot(a - 1.0, np.log(w))))

    def drawn(self, numbers: Floats, ends: Floats) -> float | None:
        """Share of the remainder that a dish must take to have the weight that it had."""
        dead = [w for w in numbers[:-1].tolist() if np.abs(ends[:-1] - w).min(initial=1.0) > 1e-10]
        return float(dead[0] / (dead[0] + numbers[-1])) if dead else None

    def jacobian(self, drawn: float, after: Floats) -> float:
        """The weight of a new dish is its share times the remainder before."""
        return float((1.0 - drawn) / after[-1])

    def generic_numbers(self, state: int) -> Floats:
        """Weights that are all different."""
        n = len(self.shapes[state])
        weights = np.sqrt(np.arange(2.0, n + 2.0) + state % 7)
        return weights / weights.sum()

    def exact_draws(self, state: int, generator: np.random.Generator) -> Floats:
        """Exact draws of the weights given a seating."""
        return generator.dirichlet(self.shapes[state])

    def uniform(self, state: int, numbers: Floats) -> list[float | None]:
        """Distribution functions of the remainder, of the first dish's share of the rest, and of the second
        dish's share of what is then left: beta distributed."""
        shapes = self.shapes[state]
        found: list[float | None] = []
        left, total = 1.0, float(shapes.sum())
        for place in (-1, 0, 1):
            # The share of the last dish is 1.
            if place >= len(shapes) - 2 or (place == 1 and len(shapes) < 4):
                found.append(None)
                continue
            a = float(shapes[place])
            found.append(float(special.betainc(a, total - a, min(numbers[place] / left, 1.0))))
            left, total = left - float(numbers[place]), total - a
        return found
