"""Mistakes in separate smoothings for each dish of a sparse Dirichlet-multinomial."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_KEPT = "hdpkit.measures.kept_parameters"
_PART = "hdpkit.measures.proportions"
_BIRTH_AND_DEATH = (
    "        self.kept.born(slot)\n"
    "        super().born(slot)\n"
    "        self._hold(slot)\n"
    "\n"
    "    def _hold(self, slot: int) -> None:\n"
    '        """Put the number of a dish in its statistics."""\n'
    "        setattr(self._of[int(slot)], self.measure.held, self.kept.parameter(slot))\n"
    "\n"
    "    def died(self, slot: int) -> None:\n"
    '        """Remove the parameter of the dish, except for the current step."""\n'
    "        self.kept.died(slot)\n"
)

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "smoothing of a dead dish",
        "A dish that is born has the smoothing of the last one in its slot.",
        _KEPT,
        _BIRTH_AND_DEATH,
        _BIRTH_AND_DEATH.replace(
            "        self.kept.born(slot)\n",
            "        if not self.kept.has_parameter(slot):\n            self.kept.born(slot)\n",
        ).replace("        self.kept.died(slot)\n", ""),
        "check_dish_smoothings",
    ),
    PlantedBug(
        "one auxiliary smoothing for all",
        "A block is weighed under the first auxiliary dish, whichever the dish that is born will be.",
        _KEPT,
        "(measure.begun(one) for one in offered)",
        "(measure.begun(offered[0]) for one in offered)",
        "check_dish_smoothings",
    ),
    PlantedBug(
        "a block without auxiliary dishes",
        "The smoothing of a dish that is born for a block comes from the prior, whatever the block is.",
        _KEPT,
        "        chosen = 0 if len(parameters) == 1 else self._source.choose_log(logs)\n",
        "        chosen = 0 if len(parameters) == 1 else self._source.choose_log(0.0 * logs)\n",
        "check_dish_smoothings",
    ),
    PlantedBug(
        "smoothing that leaves with a block",
        "A dish that dies with a block that leaves it is not among those offered to the block.",
        _KEPT,
        "        lent = [self._lent[first]] if first in self._lent else []\n",
        "        lent: list[Any] = []\n",
        "check_dish_smoothings",
    ),
    PlantedBug(
        "counts with the smoothing of another dish",
        "The counts of all dishes are weighed with the smoothing of the first.",
        _KEPT,
        "        setattr(self._of[int(slot)], self.measure.held, self.kept.parameter(slot))\n",
        "        setattr(self._of[int(slot)], self.measure.held, self.kept.parameter(min(self._of)))\n",
        "check_dish_smoothings",
    ),
    PlantedBug(
        "smoothing given the data of another dish",
        "The smoothing of a dish is updated given the data of the first.",
        _KEPT,
        "        statistics = self._many([slot])[0]\n",
        "        statistics = self._of[min(self._of)]\n",
        "check_updates_of_dish_smoothings",
    ),
    PlantedBug(
        "prior of the smoothing twice",
        "A proposal from the prior is accepted with the ratio of priors, too.",
        "hdpkit.moves.dish_parameters",
        "    taken = accepts(log_likelihood(candidate) - log_likelihood(parameter), rng)\n",
        "    prior = measure.smoothing.prior.log_density\n"
        "    ratio = prior(candidate) - prior(parameter)\n"
        "    taken = accepts(log_likelihood(candidate) - log_likelihood(parameter) + ratio, rng)\n",
        "check_updates_of_dish_smoothings",
    ),
    PlantedBug(
        "proportion given another smoothing",
        "The proportion of a dish is drawn given the mean of the prior in place of its smoothing.",
        _PART,
        "None if state.measure.conjugate else state.bank.parameter(slot)",
        "None",
        "check_stored_dish_smoothings",
    ),
    PlantedBug(
        "density of smoothings of one dish",
        "The log joint counts the density of the first smoothing alone.",
        _KEPT,
        "for value in self.values().tolist())",
        "for value in self.values().tolist()[:1])",
        "check_density_of_dish_smoothings",
    ),
)
