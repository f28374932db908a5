"""The planted bugs, by place."""

from hdpkit.testing.bugs import fused, hyperparameters, measures, moves, observed, seating, updates
from hdpkit.testing.planted import PlantedBug, PlantedFault

__all__ = ["BUGS", "FAULTS"]

BUGS: tuple[PlantedBug, ...] = (
    *seating.BUGS,
    *measures.BUGS,
    *moves.BUGS,
    *hyperparameters.BUGS,
    *updates.BUGS,
    *observed.BUGS,
)

FAULTS: tuple[PlantedFault, ...] = fused.FAULTS
