"""Chains over a corpus in shards, in several processes, bit for bit equal to the chain of one process."""

from hdpkit.data.cut import CutCorpus, cut
from hdpkit.shards.backend import Backend
from hdpkit.shards.dask import Dask
from hdpkit.shards.local import Local
from hdpkit.shards.mpi import MPI
from hdpkit.shards.runs import ShardedRun, run
from hdpkit.shards.source import Source

__all__ = ["MPI", "Backend", "CutCorpus", "Dask", "Local", "ShardedRun", "Source", "cut", "run"]
