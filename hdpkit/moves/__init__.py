"""Moves: Markov kernels that leave p(state | data) invariant.

Register your own moves with ``hdpkit.moves.registry.moves.register``.
"""

from hdpkit.moves.beam_sampler import BeamSampler, ForwardBackward
from hdpkit.moves.dish_gibbs import DishGibbs
from hdpkit.moves.documents import (
    ByDocument,
    Common,
    CountGibbs,
    Document,
    DrawProportions,
    DrawRootWeights,
    DrawTopics,
    OverDocuments,
    RootWeights,
    SliceGibbs,
)
from hdpkit.moves.hyperparameters import Concentration, Discount
from hdpkit.moves.parameters import (
    BaseMeasureParameters,
    DishParameters,
    SelectorCounts,
    Selectors,
    Smoothing,
)
from hdpkit.moves.protocol import LATENT_DISHES, MARGINALS, Move, MoveInfo, Scheduled
from hdpkit.moves.replica_exchange import ReplicaExchange
from hdpkit.moves.split_merge import ReseatGroups, SplitMerge, SplitMergeStates
from hdpkit.moves.table_counts import TableCounts
from hdpkit.moves.table_gibbs import TableGibbs
from hdpkit.moves.tree_parameters import ParentWeights, Sticky

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
