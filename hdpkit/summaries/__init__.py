"""Summaries of a posterior sample: convergence, topics in common, partitions, groups and scores."""

from hdpkit.summaries.aligned import AlignedTopics
from hdpkit.summaries.alignment import align_topics
from hdpkit.summaries.coherence import coherence
from hdpkit.summaries.consensus import Consensus, consensus
from hdpkit.summaries.exposures import Exposures, exposures, reconstruction
from hdpkit.summaries.grouping import TopicGroups, group_topics
from hdpkit.summaries.matching import TopicMatch, match_topics
from hdpkit.summaries.merging import extract_components, merge_components, merge_topics
from hdpkit.summaries.partitions import PointPartition, co_clustering, point_partition
from hdpkit.summaries.scores import diversity, exclusivity
from hdpkit.summaries.trends import Trends, trends
from hdpkit.summaries.verdicts import Diagnosis, Verdict, diagnose

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
