"""Mistakes in fixed weights of the root."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_TABLE, _ROOT = "hdpkit.franchise.root", "hdpkit.steps.root"
_REMAINDER = "        return max(self.n_dishes - n, 0) / self.n_dishes\n"
_DIED = "        self.table.fix(slot, 0.0, self._remainder(len(self.state.slots)))\n"
_ROW = "        return np.append(np.ones(len(live)), max(self.n_dishes - len(live), 0)) / self.n_dishes\n"
_STEPS = "check_fixed_weights"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "all dishes without customers weigh as one",
        "A new dish has the weight 1/K, not (K - n) / K.",
        _TABLE,
        _REMAINDER,
        "        return (n < self.n_dishes) / self.n_dishes\n",
        _STEPS,
    ),
    PlantedBug(
        "the remainder stays what it was at first",
        "A new dish has the weight 1 however many dishes have customers.",
        _TABLE,
        _REMAINDER,
        "        return float(n < self.n_dishes)\n",
        _STEPS,
    ),
    PlantedBug(
        "fixed weight of a dead dish lost",
        "The weight of a dish that dies does not go back to the remainder.",
        _TABLE,
        _DIED,
        "        self.table.fix(slot, 0.0, self.table.remainder)\n",
        _STEPS,
    ),
    PlantedBug(
        "fixed weight of a dead dish kept",
        "A dish that dies keeps its weight, and the remainder has it, too.",
        _TABLE,
        _DIED,
        "        self.table.fix(slot, 1.0 / self.n_dishes, self._remainder(len(self.state.slots)))\n",
        "check_fixed_weights_of_slots",
    ),
    PlantedBug(
        "all dishes without customers weigh as one, readable",
        "A new dish has the weight 1/K, not (K - n) / K.",
        _ROOT,
        _ROW,
        "        return np.append(np.ones(len(live)), float(len(live) < self.n_dishes)) / self.n_dishes\n",
        _STEPS,
    ),
    PlantedBug(
        "the root a restaurant above fixed weights",
        "The restaurants that change fixed weights include the root.",
        _ROOT,
        _ROW + "\n    def restaurants(self, path: Sequence[int]) -> Sequence[int]:\n"
        '        """All but the root."""\n        return path[:-1]\n',
        _ROW + "\n    def restaurants(self, path: Sequence[int]) -> Sequence[int]:\n        return path\n",
        _STEPS,
    ),
    PlantedBug(
        "split with all K dishes before it",
        "The prior ratio of a split is K, not the number of dishes that have no customers.",
        "hdpkit.moves.split_merge",
        "log(root.most_dishes - n_before)",
        "log(root.most_dishes)",
        _STEPS,
    ),
    PlantedBug(
        "labels without their number",
        "The score of a state has 1/K^m for the dishes, and not K (K-1) ... (K-n+1) besides.",
        _TABLE,
        "math.fsum(log((k - i) / k) for i in range(n_dishes)) - (n_customers - n_dishes) * log(k)",
        "-n_customers * log(k)",
        "check_score_under_fixed_weights",
    ),
)
