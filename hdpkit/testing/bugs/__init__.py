"""The planted bugs, by place."""

from hdpkit.testing.bugs import hyperparameters, measures, moves, observed, seating, updates
from hdpkit.testing.planted import PlantedBug

__all__ = ["BUGS"]

BUGS: tuple[PlantedBug, ...] = (
    *seating.BUGS,
    *measures.BUGS,
    *moves.BUGS,
    *hyperparameters.BUGS,
    *updates.BUGS,
    *observed.BUGS,
)
