"""Schedules: combinators of moves, the scheduler that runs them, runs in folders and in several chains.

`Scheduler.run` checks all arguments, and calls `collect` (in memory), `begin_folder` (in a folder) or
`run_chains`. All end in `collect`, which appends draws of `sweep_by_sweep` to a trace. A checkpoint is the
state after a complete sweep, never within one: only then is a resumed run identical to an uninterrupted one.
Ctrl-C is deferred to places where the state is consistent; signal handling of other threads isn't changed.
"""

from hdpkit.schedule.collect import Checkpoint
from hdpkit.schedule.combinators import Mixture
from hdpkit.schedule.progress import Tick
from hdpkit.schedule.runs import Run, open_run
from hdpkit.schedule.scheduler import Scheduler

__all__ = ["Checkpoint", "Mixture", "Run", "Scheduler", "Tick", "open_run"]
