"""Starts: what a scheduler takes as ``init`` besides "auto", "sequential", "one", an array or a state."""

from hdpkit.franchise.starts import Factors, Random, TermClusters

__all__ = ["Factors", "Random", "TermClusters"]
