"""Summaries of a posterior sample: whether chains have settled, partitions, groups and scores of topics."""

from hdpkit.summaries.coherence import coherence
from hdpkit.summaries.diagnosis import Diagnosis, diagnose
from hdpkit.summaries.scores import diversity, exclusivity

__all__ = ["Diagnosis", "coherence", "diagnose", "diversity", "exclusivity"]
