"""Mistakes in components, frozen states, streams and schedules."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_SWEEPS = "hdpkit.steps.sweeps"
_FREEZING = "hdpkit.franchise.freezing"
_EXPLICIT = "hdpkit.stores.explicit"
_TIME_TABLE = "hdpkit.moves.protocol"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ components and frozen states
    PlantedBug(
        "dish id reused in silence",
        "A dish dies without telling the components, and its number is given out again.",
        _SWEEPS,
        "            walk.slots.close(dish)\n        dish = _choose_dish(walk, node, [i], ",
        "            live = [k for k in walk.slots.occupied_slots() if k != dish]\n"
        "            walk.slots.reset(live, walk.slots.held_slots())\n"
        "            bank.died(dish)\n"
        "        dish = _choose_dish(walk, node, [i], ",
        "check_components",
    ),
    PlantedBug(
        "components not reset",
        "A state is thawed behind the back of the components.",
        "hdpkit.franchise.dish_kinds",
        "            part.reset(self.slots.occupied_slots())\n\n    def freeze",
        "            pass\n\n    def freeze",
        "check_components",
    ),
    PlantedBug(
        "held slots forgotten",
        "A frozen state leaves out the slots that a component keeps empty.",
        _FREEZING,
        "np.array(slots.held_slots(), dtype=np.int32)",
        "np.array([], dtype=np.int32)",
        "check_held_slots",
    ),
    PlantedBug(
        "order of tables forgotten",
        "A frozen seating sorts the tables of a dish anew.",
        _EXPLICIT,
        "for t in self._serving[pair]]",
        "for t in self._serving[pair][::-1]]",
        "check_resumed_runs",
    ),
    PlantedBug(
        "frozen state that lives on",
        "A frozen state shares the array of concentrations with the franchise.",
        _FREEZING,
        '"concentration": self.hyperparameters.theta.copy(),',
        '"concentration": self.hyperparameters.theta,',
        "check_resumed_runs",
    ),
    PlantedBug(
        "sweep counter forgotten",
        "A thawed franchise counts its sweeps from zero, and uses their streams again.",
        _FREEZING,
        'self.sweep = int(frozen["sweep"])',
        "self.sweep = 0",
        "check_resumed_runs",
    ),
    # ------------------------------------------------------------------ streams and schedules
    PlantedBug(
        "streams not keyed by sweep",
        "Every sweep draws the same words.",
        "hdpkit.run.sweeps",
        "applied(move, self.franchise, streams.source(place, sweep))",
        "applied(move, self.franchise, streams.source(place))",
        "check_streams",
    ),
    PlantedBug(
        "every(n) off by one",
        "A move that runs every n sweeps runs in 1, n + 1, ...",
        _TIME_TABLE,
        "sweep % self.period == 0",
        "(sweep - 1) % self.period == 0",
        "check_time_tables",
    ),
    PlantedBug(
        "until(n) off by one",
        "A move that runs until sweep n ends at n - 1.",
        _TIME_TABLE,
        "sweep <= self.last",
        "sweep < self.last",
        "check_time_tables",
    ),
    PlantedBug(
        "after(n) off by one",
        "A move that runs after sweep n begins at n.",
        "hdpkit.moves.protocol",
        "remedy=_FROM_ONE) + 1",
        "remedy=_FROM_ONE)",
        "check_time_tables",
    ),
    PlantedBug(
        "repeat(n) off by one",
        "A repeated move runs n - 1 times.",
        _TIME_TABLE,
        "else self.times):",
        "else self.times - 1):",
        "check_combinators",
    ),
    PlantedBug(
        "mixture without weights",
        "The moves of a mixture are drawn uniformly.",
        "hdpkit.run.combinators",
        "rng.choose(self.weights)",
        "rng.index(len(self.weights))",
        "check_combinators",
    ),
)
