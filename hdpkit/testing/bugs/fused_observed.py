"""Mistakes in the fused sweep of observed dishes, which only scripts can have (`observed_faults.h`)."""

from __future__ import annotations

from functools import partial

from hdpkit.testing.planted import PlantedFault

__all__ = ["FAULTS"]

_fault = partial(PlantedFault, module="hdpkit._compiled.fused_sweeps.fused_observed")
_STEPS, _LAW, _SWEEPS = "check_steps", "check_one_law", "check_sweeps"

FAULTS: tuple[PlantedFault, ...] = (
    # ------------------------------------------------------------------ which table is left
    _fault("removal by table", "The table that is left is drawn among tables, not by its customers.", _STEPS),
    _fault("removal with discount", "A table is left with weight s - d for s.", _STEPS),
    # ------------------------------------------------------------------ predictives
    _fault("discount ignored", "A dish's share in a parent is n_k for n_k - d t_k.", _STEPS),
    _fault("discount once", "It is n_k - d.", _STEPS),
    _fault("concentration of the child", "A parent's theta is that of the restaurant below it.", _STEPS),
    _fault("opening without discount", "A parent opens with theta for theta + d T.", _STEPS),
    _fault("opening by the dish", "A table opens with theta + d t of the dish for theta + d T.", _STEPS),
    _fault("customer not removed", "A parent counts the table that has closed below.", _STEPS),
    _fault("closed table still counted", "T counts the table that has closed.", _STEPS),
    _fault("parent left out", "A predictive has no share of the one above.", _STEPS),
    _fault("straight to the base", "Every restaurant has H above it.", _STEPS),
    _fault("base left out", "H is 1.", _STEPS),
    _fault("base of the batch", "H of the first customer of a batch for all of it.", _SWEEPS),
    # ------------------------------------------------------------------ where a customer sits
    _fault("share without discount", "The only table of a dish is joined with n for n - d.", _STEPS),
    _fault("new table without parent", "A table opens with theta + d T, without the parent's share.", _STEPS),
    _fault("new table without discount", "A table opens with theta for theta + d T.", _STEPS),
    _fault("coin reversed", "A table is joined as often as one should open.", _STEPS),
    _fault("join without discount", "Of several tables one is joined with s for s - d.", _STEPS),
    _fault("join by size alone", "Tables of one size have the weight of one of them.", _STEPS),
    _fault("table that was left out", "Nobody comes back to the table that was left.", _STEPS),
    _fault("table that was left twice", "The table that was left is among the others too.", _STEPS),
    _fault("table that was left full", "The table that was left still counts its customer.", _STEPS),
    _fault("last table left out", "The last table can't be joined: a truncated sum.", _STEPS),
    _fault("shifted choice", "The table after the one that was drawn.", _STEPS),
    # ------------------------------------------------------------------ what is written
    _fault(
        "lone table for lone customer",
        "All of a dish's only table moves for one customer: exact, but another kernel.",
        _LAW,
    ),
    _fault("closing not passed up", "A table closes, and its parent isn't told.", _STEPS),
    _fault("opening not passed up", "A table opens, and its parent doesn't count it.", _STEPS),
    _fault("tables not counted", "T stays as it was.", _STEPS),
    _fault("largest closes", "A histogram loses its largest table for the one that closed.", _STEPS),
    _fault("stale sizes", "A histogram keeps the size of the table that was left.", _STEPS),
    _fault("last of batch left out", "The last customer of a batch stays where it is.", _LAW),
)
