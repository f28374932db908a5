"""Summaries of a posterior sample: convergence, topics in common, partitions, groups and scores."""

from hdpkit.posterior.coherence import coherence
from hdpkit.posterior.components import Components, components
from hdpkit.posterior.grouping import TopicGroups, group_topics
from hdpkit.posterior.matching import TopicMatch, match_topics
from hdpkit.posterior.partitions import PointPartition, co_clustering, point_partition
from hdpkit.posterior.reconstruction import reconstruction
from hdpkit.posterior.scores import diversity, exclusivity
from hdpkit.posterior.trends import Trends, trends
from hdpkit.posterior.verdicts import Diagnosis, Verdict, diagnose

__all__ = [
    "Components",
    "Diagnosis",
    "PointPartition",
    "TopicGroups",
    "TopicMatch",
    "Trends",
    "Verdict",
    "co_clustering",
    "coherence",
    "components",
    "diagnose",
    "diversity",
    "exclusivity",
    "group_topics",
    "match_topics",
    "point_partition",
    "reconstruction",
    "trends",
]
