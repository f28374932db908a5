"""Moves: Markov kernels that leave p(state | data) invariant.

Register your own moves with ``hdpkit.moves.registry.moves.register``.
"""

from hdpkit.moves.base_measure_parameters import BaseMeasureParameters
from hdpkit.moves.beam_sampler import BeamSampler, ForwardBackward
from hdpkit.moves.concentration import Concentration
from hdpkit.moves.discount import Discount
from hdpkit.moves.dish_gibbs import DishGibbs
from hdpkit.moves.dish_parameters import DishParameters
from hdpkit.moves.documents import CountGibbs, DrawProportions, DrawRootWeights, DrawTopics, SliceGibbs
from hdpkit.moves.over_documents import ByDocument, Common, Document, OverDocuments
from hdpkit.moves.parent_weights import ParentWeights
from hdpkit.moves.protocol import LATENT_DISHES, MARGINALS, Move, MoveInfo, Scheduled
from hdpkit.moves.replica_exchange import ReplicaExchange
from hdpkit.moves.reseat_groups import ReseatGroups
from hdpkit.moves.root_weights import RootWeights
from hdpkit.moves.selectors import SelectorCounts, Selectors
from hdpkit.moves.smoothing import Smoothing
from hdpkit.moves.split_merge import SplitMerge, SplitMergeStates
from hdpkit.moves.sticky import Sticky
from hdpkit.moves.table_counts import TableCounts
from hdpkit.moves.table_gibbs import TableGibbs

__all__ = [
    "LATENT_DISHES",
    "MARGINALS",
    "BaseMeasureParameters",
    "BeamSampler",
    "ByDocument",
    "Common",
    "Concentration",
    "CountGibbs",
    "Discount",
    "DishGibbs",
    "DishParameters",
    "Document",
    "DrawProportions",
    "DrawRootWeights",
    "DrawTopics",
    "ForwardBackward",
    "Move",
    "MoveInfo",
    "OverDocuments",
    "ParentWeights",
    "ReplicaExchange",
    "ReseatGroups",
    "RootWeights",
    "Scheduled",
    "SelectorCounts",
    "Selectors",
    "SliceGibbs",
    "Smoothing",
    "SplitMerge",
    "SplitMergeStates",
    "Sticky",
    "TableCounts",
    "TableGibbs",
]
