"""Mistakes with values of the state that a measure reads."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_SEATS = "hdpkit.franchise.seats"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "statistics given the value before",
        "The measure has the new value, but the statistics of dishes are not recomputed.",
        _SEATS,
        "            self.n_changes += 1\n            recount(self)\n",
        "            self.n_changes += 1\n",
        "check_shared_values",
    ),
    PlantedBug(
        "the measure given the value before",
        "The part has the new value, the measure and its bank don't.",
        _SEATS,
        "        self.access.change(self._give)\n",
        "",
        "check_shared_values",
    ),
    PlantedBug(
        "a bank with the value before",
        "The franchise has the measure given the new value, its bank has the one before.",
        _SEATS,
        "            self.measure = measure\n            self.bank.adopt(measure)\n",
        "            self.measure = measure\n",
        "check_shared_values",
    ),
    PlantedBug(
        "a thawed value that nobody reads",
        "The part is thawed, but the measure is given the value that was there.",
        _SEATS,
        "        self._read_parts()\n        self.bank.thaw(bank)\n",
        "        self.bank.thaw(bank)\n",
        "check_thawed_values",
    ),
    PlantedBug(
        "a start with the value of the chain before",
        "Two runs with one seed differ.",
        "hdpkit.franchise.franchise",
        "            part.begin()\n",
        "            pass\n",
        "check_values_at_starts",
    ),
    PlantedBug(
        "a refused value that stays",
        "The measure refuses the value, the part keeps it.",
        _SEATS,
        "            found.take(before)\n",
        "            pass\n",
        "check_refused_values",
    ),
)
