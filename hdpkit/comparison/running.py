"""The chains of all schedules, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from hdpkit.comparison.candidates import Candidate
from hdpkit.comparison.chains import ChainRecord, Standing, run_chain
from hdpkit.comparison.report import shown

__all__ = ["Runs", "run_all"]


@attrs.define
class Runs:
    """What was run.

    Attributes
    ----------
    records : dict of lists
        Chains by the name of the schedule.
    failures : dict
        Errors of schedules, by name: what a move or a franchise raised. Such a schedule has no more chains.
    interrupted : bool
        Whether Ctrl-C ended it early.
    """

    records: dict[str, list[ChainRecord]]
    failures: dict[str, Exception] = attrs.field(factory=dict)
    interrupted: bool = False

    @property
    def whole(self) -> dict[str, tuple[ChainRecord, ...]]:
        """Completed chains of each schedule; if it has none, the one that Ctrl-C ended."""
        found = {}
        for name, chains in self.records.items():
            ended = tuple(chain for chain in chains if chain.finished)
            if ended or chains:
                found[name] = ended or tuple(chains)
        return found


def run_all(
    candidates: Mapping[str, Candidate],
    seconds: float,
    chains: int,
    seed: int,
    starts: tuple[Any, ...],
    shares: int,
    clock: str,
    progress: Callable[[Standing], Any] | None,
) -> Runs:
    """Run every first chain, then every second one, and so on. Parameters as for `compare_schedules`."""
    runs = Runs({name: [] for name in candidates})
    try:
        for c in range(chains):
            init = starts[c % len(starts)]
            for place, (name, candidate) in enumerate(candidates.items()):
                if name in runs.failures:
                    continue
                known = {"schedule": name, "init": shown(init), "chain": c, "chains": chains, "place": place}
                known |= {"schedules": len(candidates), "budget": seconds}
                tell = _teller(progress, known)
                try:
                    record = run_chain(candidate, init, seed + c, seconds, shares, clock, tell)
                except Exception as error:  # of user code, for example: others' chains are kept
                    runs.failures[name] = error
                    continue
                runs.records[name].append(record)
                if not record.finished:
                    runs.interrupted = True
                    return runs
    except _ProgressFailed as failed:
        raise failed.error from None
    except KeyboardInterrupt:
        runs.interrupted = True
    return runs


class _ProgressFailed(BaseException):
    """Wraps an error of the progress function, to distinguish it from errors that a schedule raises."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def _teller(progress: Callable[[Standing], Any] | None, known: Mapping[str, Any]) -> Callable[..., None]:
    """The function that a chain calls to report progress."""

    def tell(spent: float, sweeps: int, n_dishes: int, log_joint: float, finished: bool) -> None:
        if progress is None:
            return
        now = {"seconds": spent, "sweeps": sweeps, "n_dishes": n_dishes, "log_joint": log_joint}
        try:
            progress(Standing(**{**known, **now, "finished": finished}))
        except Exception as error:
            raise _ProgressFailed(error) from error

    return tell
