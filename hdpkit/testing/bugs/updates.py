"""Mistakes in updates of hyperparameters, components, frozen states, streams and schedules."""

from __future__ import annotations

from hdpkit.testing.planted import PlantedBug

__all__ = ["BUGS"]

_SWEEPS = "hdpkit.franchise.reference"
_CORE = "hdpkit.franchise.core"
_EXPLICIT = "hdpkit.stores.explicit"
_CONCENTRATION = "hdpkit.moves.concentration"
_TIME_TABLE = "hdpkit.moves.scheduled"
_SCHEDULER = "hdpkit.schedule.sweeps"

BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------------ concentrations
    PlantedBug(
        "Beta(a, n) for Beta(a+1, n)",
        "The auxiliary variable of theta lacks the 1.",
        _CONCENTRATION,
        "log_w = _log_beta(theta + 1.0, n, generator)",
        "log_w = _log_beta(theta, n, generator)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "scale for rate",
        "The second parameter of NumPy's gamma is a scale.",
        "hdpkit.priors",
        "generator.gamma(self.shape, 1.0 / self.rate, size)",
        "generator.gamma(self.shape, self.rate, size)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "odds with the prior's rate",
        "Escobar and West's odds take b for b - log e.",
        _CONCENTRATION,
        "odds = (shape - 1.0) / (n[0] * rate)",
        "odds = (shape - 1.0) / (n[0] * prior.rate)",
        "check_concentration_of_one",
    ),
    PlantedBug(
        "indicator of the other side",
        "s_j ~ Bernoulli(theta / (n_j + theta)) for n_j / (n_j + theta).",
        _CONCENTRATION,
        "* (n + theta) < n)",
        "* (n + theta) < theta)",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "empty restaurants not skipped",
        "Restaurants without customers have their s_j = 1 subtracted too.",
        _CONCENTRATION,
        "* (n + theta) < n)",
        "* (n + theta) < n) - (len(customers) - len(n))",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "log w of the first restaurant alone",
        "The rate takes one auxiliary variable for all.",
        _CONCENTRATION,
        "rate = prior.rate - log_w.sum()",
        "rate = prior.rate - log_w[0]",
        "check_concentration_of_several",
    ),
    PlantedBug(
        "half of each augmentation",
        "Beta(theta+1, n) of one scheme with the y of the other, which has n - 1.",
        _CONCENTRATION,
        "_log_beta(theta + 1.0, n[n > 1] - 1, generator)",
        "_log_beta(theta + 1.0, n, generator)",
        "check_concentration_with_discount",
    ),
    PlantedBug(
        "y of the first table",
        "The y_i count from i = 0: one too many for every restaurant.",
        _CONCENTRATION,
        "np.arange(1, tables)",
        "np.arange(tables)",
        "check_concentration_with_discount",
    ),
    PlantedBug(
        "tokens for the root's customers",
        "gamma is drawn given the number of tokens, not of the tables below the root.",
        _CONCENTRATION,
        "n, t = customers[nodes], tables[nodes]",
        "n, t = (customers[nodes] if number else customers[1:].sum(keepdims=True)), tables[nodes]",
        "check_concentration_of_a_franchise",
    ),
    PlantedBug(
        "tables for tokens below the root",
        "alpha is drawn given the tables of a restaurant, not its customers.",
        _CONCENTRATION,
        "n, t = customers[nodes], tables[nodes]",
        "n, t = (tables if number else customers)[nodes], tables[nodes]",
        "check_concentration_of_a_franchise",
    ),
    # ------------------------------------------------------------------ components and frozen states
    PlantedBug(
        "dish id reused in silence",
        "A dish dies without telling the components, and its number is given out again.",
        _SWEEPS,
        "    walk.slots.close(dish)\n    bank.died(dish)\n",
        "    live = [k for k in walk.slots.occupied_slots() if k != dish]\n"
        "    walk.slots.reset(live, walk.slots.held_slots())\n"
        "    bank.died(dish)\n",
        "check_components",
    ),
    PlantedBug(
        "components not reset",
        "A state is thawed behind the back of the components.",
        _CORE,
        "            component.reset(slots)\n",
        "            pass\n",
        "check_components",
    ),
    PlantedBug(
        "held slots forgotten",
        "A frozen state leaves out the slots that a component keeps empty.",
        _CORE,
        "np.array(self.slots.held_slots(), dtype=np.int32)",
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
        _CORE,
        '"concentration": self._concentration.copy(),',
        '"concentration": self._concentration,',
        "check_resumed_runs",
    ),
    PlantedBug(
        "sweep counter forgotten",
        "A thawed franchise counts its sweeps from zero, and uses their streams again.",
        _CORE,
        'self.sweep = int(frozen["sweep"])',
        "self.sweep = 0",
        "check_resumed_runs",
    ),
    # ------------------------------------------------------------------ streams and schedules
    PlantedBug(
        "streams not keyed by sweep",
        "Every sweep draws the same words.",
        _SCHEDULER,
        "streams.source(place + 1, sweep, attempt",
        "streams.source(place + 1, attempt",
        "check_streams",
    ),
    PlantedBug(
        "interrupted attempt not counted",
        "After Ctrl-C the words of the sweep's streams are used twice.",
        _SCHEDULER,
        "franchise.attempt += 1",
        "franchise.attempt += 0",
        "check_streams",
    ),
    PlantedBug(
        "attempts that run into places",
        "The second attempt of one move has the words of the next move's first.",
        "hdpkit.random.streams",
        "place | (attempt << 32)",
        "place + attempt",
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
        "hdpkit.schedule.combinators",
        "rng.choose(self.weights)",
        "rng.index(len(self.weights))",
        "check_combinators",
    ),
)
