"""Summaries of a posterior sample: whether chains have settled, partitions, groups and scores of topics."""

from hdpkit.summaries.coherence import coherence
from hdpkit.summaries.diagnosis import Diagnosis, diagnose
from hdpkit.summaries.grouping import TopicGroups, group_topics
from hdpkit.summaries.partitions import PointPartition, co_clustering, point_partition
from hdpkit.summaries.scores import diversity, exclusivity

__all__ = [
    "Diagnosis",
    "PointPartition",
    "TopicGroups",
    "co_clustering",
    "coherence",
    "diagnose",
    "diversity",
    "exclusivity",
    "group_topics",
    "point_partition",
]
