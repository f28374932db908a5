"""The loop, schedules, chains, traces and run folders, and what runs them in other processes.

`Scheduler.run` checks all arguments, and calls `collect` (in memory), `begin_folder` (in a folder) or
`run_chains`. All end in `collect`, which appends the draws of a chain to a trace: of one in this process, or
of one over shards (`hdpkit.run.sweeps.Chain`). A checkpoint is the state after a complete sweep, never within
one: only then is a resumed run identical to an uninterrupted one. Ctrl-C is deferred to places where the
state is consistent; signal handling of other threads isn't changed.
"""
