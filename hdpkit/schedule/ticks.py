"""Progress reports for displays."""

from __future__ import annotations

import attrs

__all__ = ["Tick"]


@attrs.frozen
class Tick:
    """The progress of a run.

    Attributes
    ----------
    sweep, sweeps : int
        Sweeps completed in this run, and to be completed.
    fraction : float
        Completed fraction of the current sweep, 0 to 1.
    n_dishes : int
    log_likelihood : float or None
        After the last completed sweep, in nats.
    customers_per_second, seconds_left : float or None
        Estimated from the sweeps of this run so far.
    finished : bool
        Whether this is the last tick (of its chain).
    chain, chains : int
        Number of the chain, from 0, and number of chains.
    log_joint : float or None
        After the last completed sweep, in nats.
    observed : bool
        Whether dishes are observed. Their number is then uninformative, and the log joint shows the progress.
    """

    sweep: int
    sweeps: int
    fraction: float
    n_dishes: int
    log_likelihood: float | None
    customers_per_second: float | None
    seconds_left: float | None
    finished: bool
    chain: int = 0
    chains: int = 1
    log_joint: float | None = None
    observed: bool = False
