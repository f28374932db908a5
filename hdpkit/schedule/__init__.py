"""Schedules: combinators of moves, and the scheduler that runs them."""

from hdpkit.schedule.combinators import Mixture
from hdpkit.schedule.scheduler import Scheduler
from hdpkit.schedule.ticks import Tick

__all__ = ["Mixture", "Scheduler", "Tick"]
