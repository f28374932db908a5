"""The franchise: declarations, topology, seating."""

from hdpkit.franchise.declarations import FixedWeights, Hyperparameter, Restaurant
from hdpkit.franchise.fold_in import FoldIn
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.look import Look
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.sample_draws import TopicLaw
from hdpkit.franchise.sample_parts import Level, TermMeans
from hdpkit.franchise.sampling import check_latent, hyperparameter_values, sample_of
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
    "check_latent",
    "check_start",
    "hyperparameter_values",
    "sample_of",
    "start",
]
