"""The planted bugs, by place."""

from bugs import (
    counts,
    evaluation,
    fixed_weights,
    hyperparameters,
    known,
    measures,
    moves,
    observed,
    root_weights,
    seating,
    selection,
    smoothings,
    updates,
)
from bugs.fused import BLOCK_FAULTS, FAULTS, OBSERVED_FAULTS
from hdpkit.testing.planted import PlantedBug

__all__ = ["BLOCK_FAULTS", "BUGS", "FAULTS", "OBSERVED_FAULTS"]

BUGS: tuple[PlantedBug, ...] = (
    *seating.BUGS,
    *measures.BUGS,
    *moves.BUGS,
    *hyperparameters.BUGS,
    *updates.BUGS,
    *observed.BUGS,
    *root_weights.BUGS,
    *fixed_weights.BUGS,
    *counts.BUGS,
    *selection.BUGS,
    *smoothings.BUGS,
    *evaluation.BUGS,
    *known.BUGS,
)
