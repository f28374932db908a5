"""Franchises over a corpus in shards, and where the workers of their runs are (`hdpkit.Scheduler.run`)."""

from hdpkit.data.sharded import CutCorpus, cut
from hdpkit.run.shards.backend import MPI, Backend, Dask, Local
from hdpkit.run.shards.franchise import ShardedFranchise
from hdpkit.run.shards.state import Source

__all__ = ["MPI", "Backend", "CutCorpus", "Dask", "Local", "ShardedFranchise", "Source", "cut"]
