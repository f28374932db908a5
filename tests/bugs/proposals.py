"""Mistakes in proposals: their log ratio, and what is taken back."""

from __future__ import annotations

from planted import PlantedBug

__all__ = ["BUGS"]

_JOURNAL = "hdpkit.steps.journal"
_DOOR = "hdpkit.franchise.proposals"

BUGS: tuple[PlantedBug, ...] = (
    PlantedBug(
        "ratio without data",
        "The value of a customer who is seated doesn't count.",
        _JOURNAL,
        "self.log_ratio += float(self.bank.log_block(customers, [slot])[0])",
        "self.log_ratio += 0.0",
        "check_proposals",
    ),
    PlantedBug(
        "a value predicted by itself",
        "The predictive of a value that leaves is taken before it is removed.",
        _JOURNAL,
        "self.bank.remove(slot, customers)\n"
        "        self.log_ratio -= float(self.bank.log_block(customers, [slot])[0])",
        "self.log_ratio -= float(self.bank.log_block(customers, [slot])[0])\n"
        "        self.bank.remove(slot, customers)",
        "check_proposals",
    ),
    PlantedBug(
        "a seat without its discount",
        "A customer joins a table with weight size instead of size - d.",
        _JOURNAL,
        "log(others - d if others",
        "log(others if others",
        "check_proposals",
    ),
    PlantedBug(
        "the tables above left out of the ratio",
        "Only the lowest of the tables that close counts.",
        _JOURNAL,
        "            self.log_ratio -= self._log_seat(node, dish, size)\n            if closed",
        "            self.log_ratio -= self._log_seat(node, dish, size) if customer >= 0 else 0.0\n"
        "            if closed",
        "check_proposals",
    ),
    PlantedBug(
        "a table that comes back as the first",
        "The place of a table in its list is forgotten.",
        _JOURNAL,
        "self.store.reopen(node, dish, customer, table)\n        self.store.place_after(table, before)",
        "self.store.reopen(node, dish, customer, table)",
        "check_proposals",
    ),
    PlantedBug(
        "a new id for an old dish",
        "A dish that comes back has the id of the next birth.",
        _JOURNAL,
        "number = self.slots.id_of(slot)",
        "number = self.slots.n_births()",
        "check_proposals",
    ),
    PlantedBug(
        "the first change taken back first",
        "Changes are taken back in the order in which they were made.",
        _JOURNAL,
        "self._inverses.pop()()",
        "self._inverses.pop(0)()",
        "check_proposals",
    ),
    PlantedBug(
        "a customer left standing",
        "A proposal that leaves a customer unseated can be accepted.",
        _DOOR,
        "        if self._unseated:\n",
        "        if self._unseated and False:\n",
        "check_proposals",
    ),
)
