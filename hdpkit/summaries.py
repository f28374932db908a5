"""Summaries of a posterior sample: convergence, topics in common, partitions, groups and scores."""

from hdpkit.kinds.diagnosis import diagnose
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import Trends, trends
from hdpkit.posterior.effects import Effects
from hdpkit.posterior.finding import components, match_topics
from hdpkit.posterior.grouping import TopicGroups, group_topics
from hdpkit.posterior.matching import TopicMatch
from hdpkit.posterior.partitions import PointPartition, co_clustering, point_partition
from hdpkit.posterior.scores import coherence, diversity, exclusivity, reconstruction
from hdpkit.posterior.verdicts import Diagnosis, Verdict

__all__ = [
    "Components",
    "Diagnosis",
    "Effects",
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
