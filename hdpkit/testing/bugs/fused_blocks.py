"""Mistakes in the fused verbs of blocks, which only scripted verbs can have (`block_faults.h`)."""

from __future__ import annotations

from functools import partial

from hdpkit.testing.planted import PlantedFault

__all__ = ["FAULTS"]

_fault = partial(PlantedFault, module="hdpkit._compiled.fused_sweeps.fused_blocks")
_STEPS, _SWEEPS, _SPLITS = "check_dish_gibbs", "check_sweeps_of_dish_gibbs", "check_split_merge"
_AGREE, _UNITS = "check_agreement", "check_units"

FAULTS: tuple[PlantedFault, ...] = (
    # ------------------------------------------------------------------ what is out while a dish is drawn
    _fault("block not removed", "Its values count in its dish while that is drawn.", _STEPS),
    _fault("block still in total", "They are taken out of the dish's counts, but not of their sum.", _STEPS),
    _fault("table not removed", "It counts at the root while its dish is drawn: m_k for m_k - 1.", _STEPS),
    # ------------------------------------------------------------------ the prior of the dishes
    _fault("discount ignored", "A dish weighs m_k for m_k - d0, a side its size.", _STEPS),
    _fault("tokens for tables", "The root counts the customers of a dish for its tables.", _STEPS),
    _fault("gamma left out", "A new dish has 1 + d0 K for theta_0 + d0 K.", _STEPS),
    _fault("fresh without discount", "A new dish has theta_0 for theta_0 + d0 K.", _STEPS),
    _fault("fresh left out", "No table gets a new dish.", _STEPS),
    # ------------------------------------------------------------------ the likelihood of a block
    _fault("values as independent", "A term that comes again is scored as if it came first.", _STEPS),
    _fault("term counted twice", "The first value's factor stands twice in the product.", _STEPS),
    _fault("smoothing left out", "n_kv for n_kv + eta_v.", _STEPS),
    _fault("symmetric eta", "Every term has the eta of the first.", _STEPS),
    _fault("eta sum left out", "n_k + eta for n_k + V eta: V is forgotten.", _STEPS),
    _fault("totals as power", "(n_k + sum eta)**c for the rising product.", _STEPS),
    _fault("middle left out", "Blocks of odd length lack a factor below.", _STEPS),
    _fault("fresh by count", "A new dish has 1 / V for eta_v / sum eta.", _STEPS),
    _fault("exponents dropped", "Mantissas are compared without their powers of two.", _STEPS),
    _fault("first factors alone", "Of a long block only the first values count.", _AGREE),
    # ------------------------------------------------------------------ sums
    _fault("last dish left out", "The last dish can't be drawn: a truncated sum.", _STEPS),
    _fault("shifted dish", "The dish after the one that was drawn.", _STEPS),
    # ------------------------------------------------------------------ what a move leaves behind
    _fault("counts left behind", "The block's counts stay with the dish that it leaves.", _STEPS),
    _fault("total left behind", "Their sum does.", _STEPS),
    _fault("table not served", "The table sits at another dish of the root, and serves the old one.", _STEPS),
    _fault("empty dish kept", "A dish that lost its last table stays, owned by nobody.", _STEPS),
    _fault("two new dishes", "A birth is announced twice; the first dish stays without customers.", _STEPS),
    _fault("stale dish", "The next table finds the sums of the dish that was left as they were.", _SWEEPS),
    _fault("stale new dish", "The same of the dish that was joined.", _SWEEPS),
    _fault("stale block", "The next table is weighed by the values of this one.", _SWEEPS),
    _fault("table still counted", "m_k of the dish that was left stays as it was.", _SWEEPS),
    _fault("table not counted", "m_k of the dish that was joined stays as it was.", _SWEEPS),
    _fault(
        "bounds kept",
        "Counts change, and the sweep of single customers isn't told: its bounds are those of before.",
        "check_bounds_after_moves",
    ),
    # ------------------------------------------------------------------ units that are remembered
    _fault("stale units", "Units stay as they were found, whoever sits elsewhere by now.", _UNITS),
    _fault(
        "customers of the root forgotten",
        "Units that were found without the customers of the root serve where they are asked for.",
        _UNITS,
    ),
    # ------------------------------------------------------------------ split-merge
    _fault("sizes ignored", "Sides are weighed by their values alone (and q is right).", _AGREE),
    _fault("side not counted", "A side doesn't grow by what joins it.", _AGREE),
    _fault("side still counted", "A side counts the unit that is scanned.", _AGREE),
    _fault("forced side ignored", "The way back of a merge is drawn, not forced.", _SPLITS),
    _fault("other side", "q of the side that was not taken.", _SPLITS),
    _fault("q not normalised", "q of the weight, not of its share.", _SPLITS),
    _fault("q of the last unit", "q of the last unit alone.", _SPLITS),
    _fault("q without exponents", "q of the mantissas.", _SPLITS),
)
