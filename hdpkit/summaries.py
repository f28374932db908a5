"""Summaries of a posterior sample: convergence, topics in common, partitions, groups and scores."""

from hdpkit.posterior.aligned import AlignedTopics
from hdpkit.posterior.alignment import align_topics
from hdpkit.posterior.coherence import coherence
from hdpkit.posterior.consensus import Consensus, consensus
from hdpkit.posterior.exposures import Exposures, exposures, reconstruction
from hdpkit.posterior.grouping import TopicGroups, group_topics
from hdpkit.posterior.matching import TopicMatch, match_topics
from hdpkit.posterior.merging import extract_components, merge_components, merge_topics
from hdpkit.posterior.partitions import PointPartition, co_clustering, point_partition
from hdpkit.posterior.scores import diversity, exclusivity
from hdpkit.posterior.trends import Trends, trends
from hdpkit.posterior.verdicts import Diagnosis, Verdict, diagnose

__all__ = [
    "AlignedTopics",
    "Consensus",
    "Diagnosis",
    "Exposures",
    "PointPartition",
    "TopicGroups",
    "TopicMatch",
    "Trends",
    "Verdict",
    "align_topics",
    "co_clustering",
    "coherence",
    "consensus",
    "diagnose",
    "diversity",
    "exclusivity",
    "exposures",
    "extract_components",
    "group_topics",
    "match_topics",
    "merge_components",
    "merge_topics",
    "point_partition",
    "reconstruction",
    "trends",
]
