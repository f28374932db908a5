"""The traces of several chains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.checks import instance, items, whole_number
from hdpkit.errors import ChainError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.run.inference_data import SEPARATOR, inference_data, summary
from hdpkit.run.tables import trace_frame, trace_table
from hdpkit.run.trace import Trace, is_standard


class ChainTrace(Mapping[str, npt.NDArray[Any]]):
    """The traces of several chains: ``trace[key]`` has shape (chains, sweeps, ...).

    Failed chains are not included. If chains have different lengths (after an interrupted run),
    ``trace[key]`` is the part that all have; ``chains`` has everything.

    Attributes
    ----------
    chains : list of Trace
        One for each chain that did not fail.
    numbers : tuple of int
        Numbers of these chains; chain c draws from ``Streams(seed, chain=c)``.
    franchises : list of Franchise
        Their final states, in the same order; empty for a trace read from disk.
    failures : dict
        Number of a failed chain -> its `ChainError`.
    """

    def __init__(
        self,
        chains: Sequence[Trace],
        numbers: Sequence[int] | None = None,
        franchises: Sequence[Franchise] = (),
        failures: Mapping[int, ChainError] | None = None,
    ) -> None:
        remedy = "run(..., chains=4) returns one."
        self.chains = list(items("chains", chains, "traces, one per chain", remedy=remedy))
        for chain in self.chains:
            instance("chains", chain, Trace, "traces, one per chain", remedy=remedy)
        counted = range(len(self.chains)) if numbers is None else numbers
        given = items("numbers", counted, "numbers, one per chain", remedy=remedy)
        if len(given) != len(self.chains):
            raise ParameterError("numbers", numbers, f"{len(self.chains)} numbers, one per chain", remedy)
        self.numbers = tuple(whole_number("numbers", number) for number in given)
        self.franchises = list(items("franchises", franchises, "a list of franchises", remedy=remedy))
        if failures is not None:
            instance("failures", failures, Mapping, "a dict, or None", remedy=remedy)
        self.failures = dict(failures or {})

    def __getitem__(self, key: str) -> npt.NDArray[Any]:
        parts = [chain[key][: self.n_draws] for chain in self.chains]
        if len({part.shape for part in parts}) > 1 or any(part.dtype == object for part in parts):
            out = np.empty((len(parts), self.n_draws), dtype=object)
            for row, part in zip(out, parts, strict=True):
                row[:] = list(part)
            return out
        return np.stack(parts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.chains[0] if self.chains else ())

    def __len__(self) -> int:
        return len(self.chains[0]) if self.chains else 0

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        lengths = {chain.n_draws for chain in self.chains}
        draws = f"{min(lengths)} to {max(lengths)}" if len(lengths) > 1 else f"{self.n_draws}"
        end = ", interrupted" if self.interrupted else ""
        end += ", final states in .franchises" if self.franchises else ""
        return f"<ChainTrace of {len(self.chains)} chains{failed}, {draws} draws, seed {self.seed}{end}>"

    def _repr_html_(self) -> str:
        return trace_table(repr(self).strip("<>"), self.chains)

    @property
    def n_draws(self) -> int:
        """Number of recorded sweeps that all chains have."""
        return min((chain.n_draws for chain in self.chains), default=0)

    @property
    def seed(self) -> int | None:
        """Seed of the run; as ``rng`` it gives the same chains."""
        return self.chains[0].seed if self.chains else None

    @property
    def exact(self) -> bool:
        """False if a move of the schedule is only approximate."""
        return all(chain.exact for chain in self.chains)

    @property
    def interrupted(self) -> bool:
        """Whether a chain ended early."""
        return any(chain.interrupted for chain in self.chains)

    @property
    def moves(self) -> npt.NDArray[Any]:
        """Records of the moves of all chains: `Trace.moves` with another field, ``chain``."""
        parts = []
        for number, chain in zip(self.numbers, self.chains, strict=True):
            records = chain.moves
            part = np.empty(len(records), dtype=[*records.dtype.descr, ("chain", np.int64)])
            for name in records.dtype.names or ():
                part[name] = records[name]
            part["chain"] = number
            parts.append(part)
        return np.concatenate(parts)

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples (`Trace.samples`) of all chains, ordered by chain and sweep."""
        return tuple(sample for chain in self.chains for sample in chain.samples)

    def followed_by(self, later: ChainTrace, after: int) -> ChainTrace:
        """The traces of these chains and of runs that continue them.

        Parameters
        ----------
        later : ChainTrace
            That of the runs which continue these.
        after : int
            As in `Trace.followed_by`.
        """
        pairs = zip(self.chains, later.chains, strict=True)
        chains = [one.followed_by(more, after) for one, more in pairs]
        return ChainTrace(chains, self.numbers, later.franchises, self.failures)

    def to_arviz(self, *, after: int = 0, separator: str = SEPARATOR) -> Any:
        """Convert all chains for ArviZ; chains of different lengths are cut to the common part.

        Parameters
        ----------
        after : int
            Leave out the sweeps up to this one (warm-up).
        separator : str
            Replacement for the "/" in keys of the trace.

        Returns
        -------
        xarray.DataTree, or arviz.InferenceData by ArviZ 0.x

        Raises
        ------
        MissingExtraError
            Without ArviZ.
        """
        return inference_data(self.chains, self.numbers, after, separator)

    def to_pandas(self) -> Any:
        """Convert to a pandas table with one row per recorded sweep and chain.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtraError
            Without pandas.
        """
        return trace_frame(self.chains, self.numbers)

    def summary(self, *, after: int = 0, **options: Any) -> Any:
        """Summarise every key over all chains, by ArviZ; R-hat shows whether they agree.

        Parameters
        ----------
        after : int
            Leave out the sweeps up to this one (warm-up).
        options
            Passed to ``arviz.summary``.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtraError
            Without ArviZ.
        """
        return summary(self.chains, self.numbers, after, options, is_standard)
