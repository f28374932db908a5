"""What estimators over chains have in common: runs in rounds and chains, diagnosis, copies, folders."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hdpkit.arrays import Floats
from hdpkit.checks import DAMAGED, fitting, whole_number
from hdpkit.data import Corpus
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds import saved_estimator
from hdpkit.kinds.kept_columns import KeptColumns
from hdpkit.posterior.verdicts import Diagnosis, diagnose
from hdpkit.run.chain_trace import ChainTrace
from hdpkit.run.samples import Samples
from hdpkit.run.scheduler import Scheduler
from hdpkit.run.trace import Trace

F = TypeVar("F", bound=Callable[..., Any])


class NotNumbersError(DataError, TypeError):
    """Entries that aren't numbers: scikit-learn's checks of estimators require a TypeError."""


def at_once(method: F) -> F:
    """Decorate a method that fits a model: after an exception, at any moment, the model is what it was."""

    @wraps(method)
    def at_once(self: Any, *arguments: Any, **named: Any) -> Any:
        changed = copy.copy(self)
        method(changed, *arguments, **named)
        self.__dict__ = vars(changed)
        return self

    return at_once  # type: ignore[return-value]


class SampledModel(BaseEstimator):
    """Base of estimators that run chains of a franchise.

    A subclass has the parameters of a run (``sweeps``, ``samples``, ``chains``, ``until``, ``at_most``,
    ``schedule``, ``init``, ``random_state``, ``n_jobs``, ``progress``), `_moves`, and `_finish`, which sets
    its fitted attributes from the last states of the chains and the trace. `at_once` decorates what fits it.
    """

    _kind: ClassVar[str]  # names the model in its folder
    sweeps: Any
    samples: Any
    chains: Any
    until: Any
    at_most: Any
    schedule: Any
    init: Any
    random_state: Any
    n_jobs: Any
    progress: Any
    franchise_: Franchise
    _columns: KeptColumns | None = None
    franchises_: list[Franchise]
    trace_: Trace | ChainTrace

    @property
    def _settings(self) -> Mapping[str, Any]:
        """``chains``, ``sweeps`` and ``until`` of a fit."""
        return {name: getattr(self, name) for name in ("chains", "sweeps", "until")}

    def _moves(self, restaurant: Any) -> list[Any]:
        """The default schedule."""
        raise NotImplementedError

    def _finish(self, franchises: list[Franchise], trace: Trace | ChainTrace) -> None:
        """Set the fitted attributes."""
        raise NotImplementedError

    # ------------------------------------------------------------------ runs

    def _sampled(self, restaurant: Any, franchise: Franchise) -> tuple[Trace | ChainTrace, list[Franchise]]:
        """The sweeps of a fit: their trace, and the last states of the chains."""
        chains, sweeps, until = (self._settings[name] for name in ("chains", "sweeps", "until"))
        trace = (
            self._run(restaurant, franchise, chains, sweeps, self.samples or None)
            if until is None
            else self._run_until(restaurant, franchise, until, chains, sweeps)
        )
        _check_swept(trace)
        return trace, list(trace.franchises) if isinstance(trace, ChainTrace) else [franchise]

    def _run(
        self,
        restaurant: Any,
        franchise: Franchise,
        chains: int,
        sweeps: int,
        samples: Any,
        callbacks: Iterable[Callable[[Any], Any]] = (),
    ) -> Trace | ChainTrace:
        """The sweeps of a fit, from its start."""
        return self._scheduler(restaurant, chains).run(
            franchise,
            sweeps,
            rng=seed_of(self.random_state),
            init=self.init,
            samples=samples,
            chains=chains if chains > 1 else None,
            processes=effective_n_jobs(self.n_jobs),
            progress=self.progress,
            callbacks=callbacks,
        )

    def _run_until(
        self, restaurant: Any, franchise: Franchise, verdict: str, least_chains: int, most: int
    ) -> Trace | ChainTrace:
        """Rounds of sweeps until a verdict is green."""
        from hdpkit.posterior.rounds import FEWEST_CHAINS, Until, run_in_rounds, samples_of_round

        until = Until(verdict, self.at_most, most)
        chains, number = max(least_chains, FEWEST_CHAINS), max(self.samples, 2)
        whole: list[ChainTrace] = []

        def step(begun: int, sweeps: int) -> tuple[ChainTrace, int]:
            rule = samples_of_round(number, begun, sweeps)
            if not whole:
                made: Any = self._run(restaurant, franchise, chains, sweeps, rule, until.callbacks)
            else:
                scheduler = self._scheduler(restaurant, chains)
                swept = Parallel(n_jobs=self.n_jobs)(
                    delayed(go_on)(scheduler, one, sweeps, rule, None, until.callbacks)
                    for one in whole[-1].franchises
                )
                later = ChainTrace([trace for _, trace in swept], None, [one for one, _ in swept])
                made = whole[-1].followed_by(later, begun // 2)
            whole[:] = [made]
            return made, max(one.sweep for one in made.franchises)

        return run_in_rounds(until, 0, step, lambda trace: self._diagnosed(trace, franchise))

    def _go_on(
        self, franchises: list[Franchise], sweeps: int, record: Mapping[str, Any] | None = None
    ) -> tuple[Trace | ChainTrace, list[Franchise]]:
        """Further sweeps of chains from these states: their trace, and the last states."""
        scheduler = self._scheduler(self.franchise_.declarations[-1], len(franchises))
        progress = self.progress if len(franchises) == 1 else None
        swept = Parallel(n_jobs=self.n_jobs)(
            delayed(go_on)(scheduler, one, sweeps, self.samples or None, progress, (), record)
            for one in franchises
        )
        last, traces = [one for one, _ in swept], [trace for _, trace in swept]
        trace = ChainTrace(traces, None, last) if len(traces) > 1 else traces[0]
        _check_swept(trace)
        return trace, last

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle's state."""
        with fitting(f"pickle of {type(self).__name__}", "the state of an estimator", remedy=DAMAGED):
            super().__setstate__(state)

    def _scheduler(self, restaurant: Any, chains: int) -> Scheduler:
        moves = self._moves(restaurant) if self.schedule is None else self.schedule
        return Scheduler(moves, threads=effective_n_jobs(self.n_jobs) if chains == 1 else 1)

    def _check_run(self) -> None:
        """Raise a ParameterError for invalid parameters of a run."""
        for name in ("sweeps", "chains"):
            whole_number(name, self._settings[name], 1, remedy="Give a whole number.")
        if not isinstance(self.samples, Samples):
            whole_number("samples", self.samples, 0, remedy="0 keeps none.")
        self._check_until()

    def _check_until(self) -> None:
        until = self._settings["until"]
        if until is None:
            if self.at_most is not None:
                raise ParameterError(
                    "at_most", self.at_most, "None without until", 'Give until="readable", or sweeps.'
                )
            return
        from hdpkit.posterior.rounds import Until

        if isinstance(self.samples, Samples):
            raise ParameterError(
                "samples", self.samples, "a number with until", "Each round keeps so many of each chain."
            )
        Until(until, self.at_most, self._settings["sweeps"])

    @property
    def diagnosis_(self) -> Diagnosis:
        """Whether the model can be read and quoted, in words: see `hdpkit.summaries.diagnose`."""
        if not hasattr(self, "trace_"):
            raise AttributeError("diagnosis_: fit the model first")
        return self._diagnosed(self.trace_, self.franchise_)

    def _diagnosed(self, trace: Trace | ChainTrace, franchise: Franchise) -> Diagnosis:
        """The diagnosis of a trace; that of documents uses them."""
        corpus = franchise.data if isinstance(franchise.data, Corpus) else None
        return diagnose(trace, data=corpus, words=self._words(franchise))

    def _words(self, franchise: Franchise) -> Any:
        """Words of a diagnosis; None: those of documents."""
        return None

    # ------------------------------------------------------------------ columns of numbers

    def _without(self, data: Any, reset: bool, prior: Any) -> Any:
        """Data without columns that a default ``prior`` can't describe; all columns of other priors."""
        if reset:
            default = isinstance(prior, str) and prior in ("normal", "diagonal") and data.values.ndim == 2
            self._columns = KeptColumns.of(data) if default else None
        return data if self._columns is None else self._columns.of_data(data)

    def _every_column(self, values: Any) -> Any:
        """Rows of all columns from those that are kept."""
        rows = np.asarray(values).reshape(len(values), -1)
        return rows if self._columns is None else self._columns.rows(rows)

    def _of_all(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Means and covariance matrices of all columns from those of the ones that are kept."""
        if self._columns is None or self._columns.whole:
            return means, covariances
        slopes = self._columns.slopes
        return self._columns.rows(means), slopes @ covariances @ slopes.T

    # ------------------------------------------------------------------ folders

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model to a run folder, which contains no pickle.

        ``hdpkit resume``, ``hdpkit report`` and `open_run` accept it as a run; `load` restores the model.

        Parameters
        ----------
        folder : path
            New or empty.

        Raises
        ------
        RunError
            If the folder isn't empty, or something can't be saved. It then holds no run.
        """
        check_is_fitted(self)
        moves = self._scheduler(self.franchise_.declarations[-1], len(self.franchises_)).moves
        saved_estimator.save(self, folder, moves)

    @classmethod
    def load(cls, folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Self:
        """Load a model from a folder written by `save`.

        Parameters
        ----------
        folder : path
        allow : iterable of str, class or function
            Code of your own that may be imported: see `open_run`.

        Raises
        ------
        RunError
            If there is no such model in the folder.
        CorruptRunError, RunVersionError
            If a file fails its checks.
        """
        kept = saved_estimator.load(folder, allow, cls._kind)
        names = set(cls._get_param_names())
        model = cls(**{name: value for name, value in kept.parameters.items() if name in names})
        for name, value in kept.attributes.items():
            setattr(model, name, value)
        model._finish(kept.franchises, kept.trace)
        return model


def go_on(
    scheduler: Scheduler,
    franchise: Franchise,
    sweeps: int,
    samples: Any,
    progress: Any,
    callbacks: Iterable[Callable[[Any], Any]] = (),
    record: Mapping[str, Any] | None = None,
) -> tuple[Any, Any]:
    """Further sweeps of one chain, in this process or another."""
    trace = scheduler.run(
        franchise, sweeps, init=None, samples=samples, progress=progress, callbacks=callbacks, record=record
    )
    return franchise, trace


def _check_swept(trace: Trace | ChainTrace) -> None:
    """Raise a KeyboardInterrupt if Ctrl-C ended a chain before its first sweep: there is nothing to keep."""
    if not all(one.n_draws for one in (trace.chains if isinstance(trace, ChainTrace) else [trace])):
        raise KeyboardInterrupt("Ctrl-C came before the first sweep: the model is what it was before")


def best_chain(trace: Trace | ChainTrace) -> int:
    """Number of the chain whose mean log joint over the second half of its draws is the highest."""
    if not isinstance(trace, ChainTrace):
        return 0
    means = [np.mean(chain["log_joint"][chain.n_draws // 2 :]) for chain in trace.chains]
    return int(np.argmax(means))


def seed_of_chain(franchise: Franchise) -> int:
    """A seed for seating new data, different for each chain."""
    streams = franchise.streams
    assert streams is not None  # set, since it has been run
    return streams.seed + streams.chain


def seed_of(random_state: Any) -> Any:
    """The seed for a scheduler from scikit-learn's ``random_state``."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return random_state
    return whole_number("random_state", random_state, remedy="A number, RandomState, Generator or None.")
