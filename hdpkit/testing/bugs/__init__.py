"""The planted bugs, by place."""

from hdpkit.testing.bugs import (
    fused,
    fused_blocks,
    fused_observed,
    hyperparameters,
    measures,
    moves,
    observed,
    seating,
    updates,
)
from hdpkit.testing.planted import PlantedBug, PlantedFault

__all__ = ["BLOCK_FAULTS", "BUGS", "FAULTS", "OBSERVED_FAULTS"]

BUGS: tuple[PlantedBug, ...] = (
    *seating.BUGS,
    *measures.BUGS,
    *moves.BUGS,
    *hyperparameters.BUGS,
    *updates.BUGS,
    *observed.BUGS,
)

FAULTS: tuple[PlantedFault, ...] = fused.FAULTS
BLOCK_FAULTS: tuple[PlantedFault, ...] = fused_blocks.FAULTS
OBSERVED_FAULTS: tuple[PlantedFault, ...] = fused_observed.FAULTS
