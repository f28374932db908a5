"""The franchise: declarations, topology, seating."""

from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.fold_in import FoldIn
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.look import Look
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.sample_draws import TopicLaw
from hdpkit.franchise.sample_parts import Level, TermMeans
from hdpkit.franchise.snapshot import Snapshot
from hdpkit.franchise.starts import Random
from hdpkit.franchise.topology import Topology
from hdpkit.franchise.view import RestaurantView
from hdpkit.parts import Component, IntegrablePart, Part

__all__ = [
    "Component",
    "FixedWeights",
    "FoldIn",
    "Franchise",
    "IntegrablePart",
    "Known",
    "KnownValues",
    "Level",
    "Look",
    "Part",
    "Random",
    "Restaurant",
    "RestaurantView",
    "Sample",
    "Snapshot",
    "TermMeans",
    "TopicLaw",
    "Topology",
]
