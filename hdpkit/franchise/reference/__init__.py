"""The readable walk and sweeps in Python; `hdpkit._compiled` has twins with the same distribution.

Modules with kernels register them and their verbs when they are imported.
"""

from hdpkit.franchise.reference import counts_walk, groups, slices, state_homes, sweeps, table_counts

__all__ = ["counts_walk", "groups", "slices", "state_homes", "sweeps", "table_counts"]
