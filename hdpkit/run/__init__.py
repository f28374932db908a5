"""The loop, schedules, chains, traces and run folders, and what runs them in other processes."""
