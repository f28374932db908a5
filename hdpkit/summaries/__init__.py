"""Summaries of a posterior sample: whether chains have settled, partitions, groups and scores of topics."""

from hdpkit.summaries.diagnosis import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
