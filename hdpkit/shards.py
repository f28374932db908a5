"""Chains over a corpus in shards, in several processes, bit for bit equal to the chain of one process."""

from hdpkit.data.cut import CutCorpus, cut
from hdpkit.run.shards.backend import Backend
from hdpkit.run.shards.dask import Dask
from hdpkit.run.shards.local import Local
from hdpkit.run.shards.mpi import MPI
from hdpkit.run.shards.runs import ShardedRun, run
from hdpkit.run.shards.source import Source

__all__ = ["MPI", "Backend", "CutCorpus", "Dask", "Local", "ShardedRun", "Source", "cut", "run"]
