"""The planted bugs, by place."""

from planted import PlantedBug

from bugs import (
    counts,
    evaluation,
    fixed_weights,
    hyperparameters,
    known,
    measures,
    moves,
    observed,
    proposals,
    replicas,
    root_weights,
    seating,
    selection,
    several_parents,
    shared_values,
    smoothings,
    state_homes,
    updates,
)
from bugs.fused import (
    ALL_FAULTS,
    BLOCK_FAULTS,
    BURSTY_DOCUMENT_FAULTS,
    CELL_FAULTS,
    DOCUMENT_FAULTS,
    FAULTS,
    LEVEL_FAULTS,
    OBSERVED_FAULTS,
    STATE_FAULTS,
)

__all__ = [
    "ALL_FAULTS",
    "BLOCK_FAULTS",
    "BUGS",
    "BURSTY_DOCUMENT_FAULTS",
    "CELL_FAULTS",
    "DOCUMENT_FAULTS",
    "FAULTS",
    "LEVEL_FAULTS",
    "OBSERVED_FAULTS",
    "STATE_FAULTS",
]

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
    *shared_values.BUGS,
    *smoothings.BUGS,
    *evaluation.BUGS,
    *known.BUGS,
    *replicas.BUGS,
    *proposals.BUGS,
    *several_parents.BUGS,
    *state_homes.BUGS,
)
