"""Mistakes in the fused sweep of topic models, which only scripted sweeps can have (`topic_faults.h`)."""

from __future__ import annotations

from hdpkit.testing.planted import PlantedFault

__all__ = ["FAULTS"]

_STEPS, _NEXT, _SITES = "check_steps", "check_neighbours", "check_sites"

FAULTS: tuple[PlantedFault, ...] = (
    # ------------------------------------------------------------------ parts of the conditional
    PlantedFault(
        "new table without dishes",
        "A new table can bring a new dish alone: 2.76 expected tables for 3.349 in one sampler.",
        _STEPS,
    ),
    PlantedFault("gamma left out", "A new dish has 1 + d0 K for theta_0 + d0 K.", _STEPS),
    PlantedFault("eta sum left out", "A new dish has eta_v for eta_v / sum eta: V is forgotten.", _STEPS),
    PlantedFault("fresh by count", "A new dish has 1 / V for eta_v / sum eta.", _STEPS),
    PlantedFault("symmetric eta", "Every term has the eta of the first.", _STEPS),
    PlantedFault(
        "term part dropped", "A new table's dishes are weighed without their counts of the term.", _STEPS
    ),
    PlantedFault("smooth part dropped", "A new table brings only dishes that have the term.", _STEPS),
    PlantedFault("fresh part dropped", "A new dish has next to no weight.", _STEPS),
    # ------------------------------------------------------------------ discounts and concentrations
    PlantedFault("discount ignored", "To share a dish weighs n_jk for n_jk - d t_jk.", _STEPS),
    PlantedFault("discount once", "To share a dish weighs n_jk - d for n_jk - d t_jk.", _STEPS),
    PlantedFault("new table discount ignored", "A new table has theta for theta + d T.", _STEPS),
    PlantedFault("new table discount once", "A new table has theta + d for theta + d T.", _STEPS),
    PlantedFault("root discount ignored", "A new table of dish k has m_k for m_k - d0.", _STEPS),
    PlantedFault("new dish discount ignored", "A new dish has theta_0 for theta_0 + d0 K.", _STEPS),
    PlantedFault("tokens for tables", "The root counts the customers of a dish for its tables.", _STEPS),
    PlantedFault("lone customer passed through", "A restaurant with one customer counts as empty.", _STEPS),
    PlantedFault(
        "empty restaurant not passed through",
        "theta + d T is evaluated at T = 0: nothing can be drawn where theta = 0.",
        "check_concentrations_below_zero",
    ),
    PlantedFault(
        "joined without discount", "A table among several is joined with its size as its weight.", _STEPS
    ),
    # ------------------------------------------------------------------ what is out while it is drawn
    PlantedFault("customer not removed", "The term counts in its dish while a dish is drawn.", _STEPS),
    PlantedFault(
        "total not removed", "The term is taken out of its dish's counts, but not of their sum.", _STEPS
    ),
    PlantedFault(
        "stale total",
        "The dish that a customer left is weighed with the sum of before: n_k for n_k - 1.",
        _STEPS,
    ),
    PlantedFault("stale open", "(theta + d T) / (theta_0 + m) as it was before the table closed.", _STEPS),
    PlantedFault(
        "closed table still counted", "m_k counts a table that has closed while a dish is drawn.", _STEPS
    ),
    PlantedFault("empty dish kept", "A dish that lost its last customer stays, owned by nobody.", _STEPS),
    PlantedFault(
        "two new dishes", "A birth is announced twice; the first dish stays without customers.", _STEPS
    ),
    # ------------------------------------------------------------------ what the next customer finds
    PlantedFault(
        "total of the old dish", "The sum of the dish that was left grows, not that of the new one.", _NEXT
    ),
    PlantedFault("stale total of the new dish", "A dish that grew is weighed with the sum of before.", _NEXT),
    PlantedFault("stale share", "n_jk - d t_jk of a dish that was shared stays as it was.", _NEXT),
    PlantedFault(
        "stale place", "Entries are looked up where they were before one was put among them.", _NEXT
    ),
    PlantedFault(
        "stale open of the last restaurant",
        "The next document opens tables with the odds of the one before.",
        _NEXT,
    ),
    PlantedFault("opened table not counted", "m_k doesn't count a table that opened.", _NEXT),
    # ------------------------------------------------------------------ sums
    PlantedFault("last dish left out", "The last dish can't get a new table: a truncated sum.", _STEPS),
    PlantedFault("last block left out", "The last sixteen slots can't get a new table.", _SITES),
    PlantedFault("new block unseen", "A dish born beyond the blocks in use stays out of the sums.", _SITES),
    PlantedFault("shifted choice", "The place after the one that was drawn.", _STEPS),
)
