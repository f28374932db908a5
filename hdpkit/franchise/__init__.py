"""The franchise: declarations, topology, seating."""

from hdpkit.franchise.declarations import Hyperparameter, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.look import Look
from hdpkit.franchise.parts import Component, Part
from hdpkit.franchise.snapshot import Snapshot
from hdpkit.franchise.starts import Random, check_start, start
from hdpkit.franchise.topology import Topology
from hdpkit.franchise.view import RestaurantView

__all__ = [
    "Component",
    "Franchise",
    "Hyperparameter",
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
