"""Starts: what to pass as ``init`` to a scheduler besides "sequential", "one", an array or a state."""

from hdpkit.franchise.starts import Random

__all__ = ["Random"]
