"""Starts: objects that a scheduler accepts as ``init``, in addition to names, arrays and states."""

from hdpkit.franchise.starts import Factors, Random, TermClusters

__all__ = ["Factors", "Random", "TermClusters"]
