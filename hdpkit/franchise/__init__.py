"""The franchise: declarations, topology, seating."""

from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.sample import Level, Sample, SeatingSample, TermMeans, TopicLaw
from hdpkit.franchise.starts import Random
from hdpkit.franchise.state_homes import HomeState, PreviousDish, StateHomes
from hdpkit.franchise.topology import Topology
from hdpkit.franchise.view import RestaurantView
from hdpkit.parts import IntegrablePart, Part

__all__ = [
    "FixedWeights",
    "Franchise",
    "HomeState",
    "IntegrablePart",
    "Known",
    "KnownValues",
    "Level",
    "Part",
    "PreviousDish",
    "Random",
    "Restaurant",
    "RestaurantView",
    "Sample",
    "SeatingSample",
    "Snapshot",
    "StateHomes",
    "TermMeans",
    "TopicLaw",
    "Topology",
]
