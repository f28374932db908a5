"""The franchise: declarations, topology, seating."""

from hdpkit.franchise.declarations import FixedWeights, Hyperparameter, Restaurant
from hdpkit.franchise.fold_in import FoldIn
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.look import Look
from hdpkit.franchise.snapshot import Snapshot
from hdpkit.franchise.starts import Random, check_start, start
from hdpkit.franchise.topology import Topology
from hdpkit.franchise.view import RestaurantView
from hdpkit.parts import Component, IntegrablePart, Part

__all__ = [
    "Component",
    "FixedWeights",
    "FoldIn",
    "Franchise",
    "Hyperparameter",
    "IntegrablePart",
    "Look",
    "Part",
    "Random",
    "Restaurant",
    "RestaurantView",
    "Snapshot",
    "Topology",
    "check_start",
    "start",
]
