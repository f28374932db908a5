"""Schedules: combinators of moves, the scheduler that runs them, runs in folders and in several chains."""

from hdpkit.schedule.checkpoint import Checkpoint
from hdpkit.schedule.combinators import Mixture
from hdpkit.schedule.runs import Run, open_run
from hdpkit.schedule.scheduler import Scheduler
from hdpkit.schedule.ticks import Tick

__all__ = ["Checkpoint", "Mixture", "Run", "Scheduler", "Tick", "open_run"]
