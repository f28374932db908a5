"""Mistakes in the weights of the root."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_WEIGHTS = "hdpkit.franchise.root"
_HOME = "        self.table.bring_home(slot)\n"
_BORN = "        self.table.split(slot, source.beta(1.0 - d, theta + k * d))\n"
_DRAWN = (
    "        shapes = np.append(self._customers(slots) - d, theta + len(slots) * d)\n        self.table.put"
)
_STEPS, _GIVEN = "check_seating_and_root_weights", "check_root_weights_given_seating"
_ANEW = "check_root_weights_are_drawn_anew"
_WEIGHTED_PATH = '''        return weights

    def restaurants(self, path: Sequence[int]) -> Sequence[int]:
        """All but the root."""
        return path[:-1]
'''

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "weight of a dead dish not brought home first",
        "The weight of a dish that dies is not in the remainder while the next dish is drawn.",
        _WEIGHTS,
        _HOME,
        "        self.late = slot\n",
        _STEPS,
    ),
    PlantedBug(
        "weights renormalised at a death",
        "The weight of a dish that dies is shared out among all that is left, not given to the remainder.",
        _WEIGHTS,
        _HOME,
        "        slots = self.state.slots.occupied_slots()\n"
        "        weights = self.table.many(slots)\n"
        "        self.table.put(slots, weights / weights.sum())\n",
        _STEPS,
    ),
    PlantedBug(
        "share of a new dish with K of before",
        "nu ~ Beta(1 - d, theta + K d) with K without the new dish.",
        _WEIGHTS,
        _BORN,
        "        self.table.split(slot, source.beta(1.0 - d, theta + (k - 1) * d))\n",
        _STEPS,
    ),
    PlantedBug(
        "share of a new dish without the discount",
        "nu ~ Beta(1, theta).",
        _WEIGHTS,
        _BORN,
        "        self.table.split(slot, source.beta(1.0, theta))\n",
        _STEPS,
    ),
    PlantedBug(
        "share of a new dish for what is left",
        "A new dish takes 1 - nu of the remainder.",
        _WEIGHTS,
        _BORN,
        "        self.table.split(slot, 1.0 - source.beta(1.0 - d, theta + k * d))\n",
        _STEPS,
    ),
    PlantedBug(
        "weight of a new dish left in the remainder",
        "A new dish gets a weight, and the remainder stays what it was.",
        _WEIGHTS,
        _BORN,
        "        left = self.table.remainder\n"
        + _BORN
        + "        slots = self.state.slots.occupied_slots()\n"
        "        self.table.put(slots, np.append(self.table.many(slots)[:-1], left))\n",
        _STEPS,
    ),
    PlantedBug(
        "the root twice above its children",
        "The restaurants that change the weights include the root.",
        "hdpkit.steps.root",
        _WEIGHTED_PATH,
        _WEIGHTED_PATH.replace("path[:-1]", "path"),
        _STEPS,
    ),
    PlantedBug(
        "root weights by tables",
        "The Dirichlet law takes the root's tables of a dish, one each, for its customers.",
        _WEIGHTS,
        "seating.customers(0, slot) for slot",
        "seating.tables(0, slot) for slot",
        _GIVEN,
    ),
    PlantedBug(
        "root weights without the discount of a dish",
        "Dirichlet(m_1, ..., m_K, theta + K d).",
        _WEIGHTS,
        _DRAWN,
        _DRAWN.replace("(slots) - d,", "(slots),"),
        _GIVEN,
    ),
    PlantedBug(
        "remainder without the discounts",
        "Dirichlet(m_1 - d, ..., m_K - d, theta).",
        _WEIGHTS,
        _DRAWN,
        _DRAWN.replace("theta + len(slots) * d)", "theta)"),
        _GIVEN,
    ),
    PlantedBug(
        "density of root weights without its norm",
        "The log density lacks the gamma function of the sum.",
        _WEIGHTS,
        "lgamma(math.fsum(shapes)) - terms",
        "-terms",
        "check_density_of_root_weights",
    ),
    PlantedBug(
        "root weights not drawn anew",
        "A block that integrates the weights out leaves those of before.",
        "hdpkit.franchise.dish_kinds",
        "                part.draw(part.integrated)\n",
        "",
        _ANEW,
    ),
    PlantedBug(
        "root weights kept by hyperparameters",
        "Concentration and Discount leave weights that belong to the values of before.",
        "hdpkit.moves.hyperparameters",
        "with state.root_integrated(rng), sizes:",
        "with state.lock(), sizes:",
        _ANEW,
    ),
)
