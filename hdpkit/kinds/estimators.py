"""Estimators with scikit-learn's contract, made from kinds: parameters, runs, folders."""

from __future__ import annotations

import copy
import inspect
import os
import shutil
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import attrs
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from hdpkit.allowed import Allowed
from hdpkit.checks import DAMAGED, absolute_path, check_unmasked, fitting, whole_number
from hdpkit.errors import CorruptRunError, DataError, ParameterError, RunError
from hdpkit.files import reading
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.starts import Factors, Random, TermClusters
from hdpkit.kinds.catalog import kind_of
from hdpkit.kinds.kind import Setting
from hdpkit.kinds.values import Placed, Values, Whole
from hdpkit.moves import Move
from hdpkit.posterior.components import Components
from hdpkit.posterior.finding import components
from hdpkit.posterior.settled import Fitted
from hdpkit.posterior.topic_labels import LABELS, LabelRow, write_topic_labels
from hdpkit.posterior.verdicts import Diagnosis, diagnose
from hdpkit.run.collect import Plan
from hdpkit.run.run_folder import RUN, ChainFolder, ChainWriter, holding
from hdpkit.run.runs import Run, Scheduler, begin_folder, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.sweeps import OneProcess
from hdpkit.run.trace import ChainTrace, Trace, chains_in

F = TypeVar("F", bound=Callable[..., Any])


def _of_a_run(name: str, default: Any, values: Values, told: str, said: str | None = None) -> Setting:
    return Setting(name=name, default=default, values=values, told=told, said=said, of="estimators")


@attrs.frozen
class _Samples(Whole):
    """A number of samples, or a `Samples`."""

    def kept(self, name: str, value: Any) -> Any:
        return attrs.asdict(value) if isinstance(value, Samples) else value

    def back(self, tree: Any, allowed: Allowed) -> Any:
        return Samples(**tree) if isinstance(tree, dict) else tree


class _Moves(Values):
    """The moves of a sweep."""

    place = "move"

    def back(self, tree: Any, allowed: Allowed) -> Any:
        if isinstance(tree, list | tuple):
            return [self.back(one, allowed) for one in tree]
        return super().back(tree, allowed)


SAMPLING = (
    _of_a_run(
        "sweeps", 500, Whole(1), "Sweeps of `fit`. With ``until``: ten times those of the first round."
    ),
    _of_a_run(
        "samples", 20, _Samples(0),
        "Number of states of each chain, from the second half of its sweeps, that are kept: results are "
        "averages over them.", "int or Samples",
    ),
    _of_a_run("chains", 1, Whole(1), "Number of chains; each has its own process and random streams."),
    _of_a_run(
        "until", None, Values(),
        "Run in rounds, each with as many sweeps as all before it, until this verdict of `diagnosis_` is "
        "green, two rounds in a row made no progress, or ``at_most`` is over. There are at least two chains, "
        "since a single one can't show what another would find. None: all sweeps.",
        '"readable" or "quotable", optional',
    ),
    _of_a_run(
        "at_most", None, Values(),
        'With ``until``: the longest time, in seconds or with a unit ("10min"). None: at most ``sweeps``.',
        "float or str, optional",
    ),
    _of_a_run(
        "schedule", None, _Moves(), "Moves of a sweep. None: those of the model.",
        "sequence of Move, optional",
    ),
    _of_a_run("init", "auto", Placed("start"), "As in `Scheduler.run`.", "start"),
    _of_a_run(
        "random_state", None, Values(), "The same seed gives the same model.",
        "int, RandomState, Generator or None",
    ),
    _of_a_run(
        "n_jobs", None, Values(),
        "Number of chains that run at once; for a single chain the number of threads, for moves that can use "
        "them. None: 1. -1: the number of processors.", "int, optional",
    ),
    _of_a_run(
        "progress", None, Values(),
        "Called with a `Tick` several times a second, for instance ``hk.ProgressBar()``.",
        "function, optional",
    ),
)  # fmt: skip
"""Parameters of a run, which all estimators have."""


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


@attrs.frozen(eq=False, slots=False)
class _Found(Fitted):
    """A fit, and its components, which are found when they are first needed."""

    @cached_property
    def components(self) -> Components:
        """The components of all samples."""
        if self.samples[0].counts is None and any(one.dishes is None for one in self.samples):
            # Of too many customers samples don't have the dishes, by which components are compared.
            best = max(self.states, key=lambda state: state.sample.log_joint)
            return components(Fitted([best.sample], [best]), distance=_alike, threshold=1.0)
        return components(self)


class Estimator(BaseEstimator):
    """Base of the estimators: `kind` gives the parameters of the model, beside those of a run.

    A subclass names its kind. It gets a constructor with the settings of the kind and `SAMPLING`, and their
    documentation in the place of ``{parameters}`` in its own.
    """

    kind: ClassVar[type[Any]]
    kind_: Any
    franchise_: Franchise
    franchises_: list[Franchise]
    trace_: Trace | ChainTrace
    samples_: tuple[Sample, ...]
    _fitted: _Found
    _parameters: ClassVar[Mapping[str, Setting]]
    _label_rows: Sequence[LabelRow] = ()  # of labels.csv in the folder that the model is from
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
    partial_sweeps: Any  # of those that can grow

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "kind" not in vars(cls):
            return
        made = {one.name: one for one in cls.kind.settings() if one.of != "commands"}
        made |= {one.name: one for one in SAMPLING}
        cls._parameters = made
        keyword = inspect.Parameter.KEYWORD_ONLY
        defaults = {name: one.default for name, one in made.items()} | dict(cls.kind.sampling)
        signature = inspect.Signature(
            [
                inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
                *(inspect.Parameter(name, keyword, default=defaults[name]) for name in made),
            ]
        )

        def __init__(self: Any, **parameters: Any) -> None:
            try:
                bound = signature.bind(self, **parameters)
            except TypeError as error:
                raise TypeError(f"{type(self).__name__}: {error}. Parameters: {', '.join(made)}") from None
            self.__dict__ |= defaults | bound.kwargs

        __init__.__signature__ = signature  # type: ignore[attr-defined]  # scikit-learn reads its names
        cls.__init__ = __init__  # type: ignore[method-assign]
        if cls.__doc__:
            told = "\n".join(one.documented for one in made.values())
            cls.__doc__ = cls.__doc__.replace("{parameters}", textwrap.indent(told, "    ").lstrip())

    def _made(self) -> Any:
        """The kind with the settings of this estimator; a ParameterError for one that is out of range."""
        settings = [one.name for one in self.kind.settings() if one.of != "commands"]
        return self.kind(**{name: getattr(self, name) for name in settings})

    @property
    def _run_settings(self) -> Mapping[str, Any]:
        """``chains``, ``sweeps`` and ``until`` of a fit."""
        return self._made().run_settings(
            {name: getattr(self, name) for name in ("chains", "sweeps", "until", "samples")}
        )

    def _finish(self, franchises: list[Franchise], trace: Trace | ChainTrace) -> None:
        """Keep the fitted states, and set the attributes."""
        self.franchises_, self.trace_ = list(franchises), trace
        self.franchise_ = self.franchises_[best_chain(trace)]
        self.n_iter_ = int(self.franchise_.sweep)
        self._fitted = _Found.of(trace, self.franchises_, self._label_rows)
        self.samples_ = tuple(trace.samples)

    # ------------------------------------------------------------------ components

    @property
    def aligned_(self) -> Components:
        """The components that the samples of all chains have in common, with intervals of all quantities.

        They are those of `hdpkit.summaries.components`, and of the commands for a saved model.
        """
        return self._found("aligned_")

    @property
    def n_components_(self) -> int:
        """Number of components, K."""
        return len(self._found("n_components_"))

    def _found(self, name: str) -> Components:
        """The components, which an attribute shows; an AttributeError before a fit."""
        if not hasattr(self, "_fitted"):
            raise AttributeError(f"{name}: fit the model first")
        return self._fitted.components

    def _moments(self, name: str) -> tuple[Any, Any]:
        """Means and covariances of the components, for measures that have them."""
        found, measure = self._found(name), self.franchise_.measure
        if not measure.supports("moments"):
            raise AttributeError(f"{name}: {type(measure).__name__} has no moments")
        moments: tuple[Any, Any] = self.kind_.of_all_columns(*measure.moments(found.rows))
        return moments

    # ------------------------------------------------------------------ fits

    def _check_width(self, width: int, reset: bool) -> None:
        """Set the number of columns, or raise a DataError for another one."""
        if reset:
            self.n_features_in_ = width
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
        elif width != self.n_features_in_:
            raise DataError(
                "X", f"{width} columns", f"the {self.n_features_in_} columns of the model",
                "Give data like those of fit.",
            )  # fmt: skip

    def _begin(self, data: Any) -> Self:
        """Fit to prepared data."""
        self._check_run()
        franchise = self.kind_.franchise(data)
        self.kind_.warn(franchise.declarations[-1], data, self._run_settings["sweeps"])
        chains, sweeps, until = (self._run_settings[name] for name in ("chains", "sweeps", "until"))
        trace = (
            self._run(franchise, chains, sweeps, self.samples or None)
            if until is None
            else self._run_until(franchise, until, chains, sweeps)
        )
        _check_swept(trace)
        self._finish(list(trace.franchises) if isinstance(trace, ChainTrace) else [franchise], trace)
        return self

    def _run(
        self,
        franchise: Franchise,
        chains: int,
        sweeps: int,
        samples: Any,
        callbacks: Iterable[Callable[[Any], Any]] = (),
    ) -> Trace | ChainTrace:
        """The sweeps of a fit, from its start."""
        scheduler = self._scheduler(franchise, chains)
        return scheduler.run(
            franchise,
            sweeps,
            rng=seed_of(self.random_state),
            init=self.kind_.start(self.init, scheduler.moves),
            samples=samples,
            chains=chains if chains > 1 else None,
            processes=effective_n_jobs(self.n_jobs),
            progress=self.progress,
            callbacks=callbacks,
        )

    def _run_until(
        self, franchise: Franchise, verdict: str, least_chains: int, most: int
    ) -> Trace | ChainTrace:
        """Rounds of sweeps until a verdict is green."""
        from hdpkit.posterior.rounds import FEWEST_CHAINS, Until, samples_of_round

        until = Until(verdict, self.at_most, most)
        chains, number = max(least_chains, FEWEST_CHAINS), max(self.samples, 2)
        whole: list[ChainTrace] = []

        def step(begun: int, sweeps: int) -> tuple[ChainTrace, int]:
            rule = samples_of_round(number, begun, sweeps)
            if not whole:
                made: Any = self._run(franchise, chains, sweeps, rule, until.callbacks)
            else:
                _, later = self._swept(whole[-1].franchises, sweeps, rule, until.callbacks)
                made = whole[-1].followed_by(later, begun // 2)
            whole[:] = [made]
            return made, max(one.sweep for one in made.franchises)

        return until.run(0, step, lambda trace: self._diagnosed(trace, franchise))

    def _swept(
        self,
        franchises: Sequence[Franchise],
        sweeps: int,
        samples: Any,
        callbacks: Iterable[Callable[[Any], Any]] = (),
        record: Mapping[str, Any] | None = None,
    ) -> tuple[list[Franchise], Any]:
        """Further sweeps of chains from these states: the last states, and the trace."""
        scheduler = self._scheduler(franchises[0], len(franchises))
        progress = self.progress if len(franchises) == 1 else None
        swept = Parallel(n_jobs=self.n_jobs)(
            delayed(go_on)(scheduler, one, sweeps, samples, progress, callbacks, record) for one in franchises
        )
        last, traces = [one for one, _ in swept], [trace for _, trace in swept]
        return last, ChainTrace(traces, None, last) if len(traces) > 1 else traces[0]

    def _grow(self, data: Any, record: Mapping[str, Any] | None = None) -> Self:
        """Seat what longer data have more, if not None, and continue sampling from there."""
        grown = [
            one.copy() if data is None else one.with_documents(data, seed_of_chain(one))
            for one in self.franchises_
        ]
        last, trace = self._swept(grown, self.partial_sweeps, self.samples or None, (), record)
        _check_swept(trace)
        self._finish(last, trace)
        return self

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle's state."""
        with fitting(f"pickle of {type(self).__name__}", "the state of an estimator", remedy=DAMAGED):
            super().__setstate__(state)

    def _scheduler(self, franchise: Franchise, chains: int) -> Scheduler:
        own = self.schedule
        moves = self.kind_.moves(franchise.declarations[-1]) if own is None else own
        return Scheduler(moves, threads=effective_n_jobs(self.n_jobs) if chains == 1 else 1)

    def _seed(self, given: Any) -> Any:
        """The seed of draws: the given one, or that of the model; 0 if it has none."""
        seed = seed_of(self.random_state if given is None else given)
        return 0 if seed is None else seed

    def _check_run(self) -> None:
        """Raise a ParameterError for invalid parameters of a run."""
        for name in ("sweeps", "chains"):
            whole_number(name, self._run_settings[name], 1, remedy="Give a whole number.")
        if not isinstance(self.samples, Samples):
            whole_number("samples", self.samples, 0, remedy="0 keeps none.")
        until = self._run_settings["until"]
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
        Until(until, self.at_most, self._run_settings["sweeps"])

    @property
    def diagnosis_(self) -> Diagnosis:
        """Whether the model can be read and quoted, in words: see `hdpkit.summaries.diagnose`."""
        if not hasattr(self, "trace_"):
            raise AttributeError("diagnosis_: fit the model first")
        return self._diagnosed(self.trace_, self.franchise_)

    def _diagnosed(self, trace: Trace | ChainTrace, franchise: Franchise) -> Diagnosis:
        """The diagnosis of a trace; that of documents uses them."""
        return diagnose(trace, data=self.kind_.diagnosed(franchise.data), words=self.kind_.nouns)

    # ------------------------------------------------------------------ folders

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the fitted model to a run folder, which contains no pickle.

        ``hdpkit resume``, ``hdpkit report`` and `open_run` accept it as a run; `load` restores the model.
        Raises a RunError if the folder isn't empty, or something can't be saved. It then holds no run.

        Parameters
        ----------
        folder : path
            New or empty.
        """
        check_is_fitted(self)
        moves = self._scheduler(self.franchise_, len(self.franchises_)).moves
        path = absolute_path("folder", folder, remedy="Name a new folder.")
        parameters = {
            name: one.values.kept(name, getattr(self, name))
            for name, one in self._parameters.items()
            if name not in ("progress", "random_state")
        }
        parameters["random_state"] = self.random_state if isinstance(self.random_state, int) else None
        tree = {
            "parameters": parameters,
            "n_features": int(self.n_features_in_),
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", ())],
        }
        with holding(path, {"estimator": tree, "model": self.kind_.as_data(), **self._about()}):
            _write_run(path, self, moves)
        if self._label_rows:
            write_topic_labels(path / LABELS, self._label_rows)

    def _about(self) -> dict[str, Any]:
        """More that run.json says."""
        return {}

    def _restore(self, run: Run) -> None:
        """Set more attributes from a folder."""

    @classmethod
    def load(cls, folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Self:
        """Load a model from a folder written by `save`, or by the command of its kind.

        Raises a RunError if there is no such model in the folder; a CorruptRunError or RunVersionError if a
        file fails its checks.

        Parameters
        ----------
        folder : path
        allow : iterable of str, class or function
            Code of your own that may be imported: see `open_run`.
        """
        path = absolute_path("folder", folder, remedy="What was given to save.")
        run = open_run(path, allow)
        with reading(path / RUN):
            kind = kind_of(run.data, run.about, run.allowed)
            held = f"It holds a model of the kind {kind.name!r}." if "model" in run.about else None
            if held is None or type(kind) is not cls.kind:
                raise RunError(
                    "folder", str(path), f"one of {cls.__name__}.save, or of the command of its kind",
                    held or "hk.open_run opens any run folder.",
                )  # fmt: skip
            tree = run.about.get("estimator")
            if tree is None:  # of a command
                given = {one.name: getattr(kind, one.name) for one in kind.settings() if one.of != "commands"}
                model = cls(**given, chains=len(run.sweeps), random_state=run.trace.seed)
                model.n_features_in_ = kind.width(run.data)
            else:
                given = {
                    name: cls._parameters[name].values.back(value, run.allowed)
                    for name, value in tree["parameters"].items()
                }
                model = cls(**given)
                model.n_features_in_ = tree["n_features"]
                if tree["feature_names"]:
                    model.feature_names_in_ = np.array(tree["feature_names"], dtype=object)
            model.kind_ = kind
            if kind.width(run.data) != model.n_features_in_:
                raise CorruptRunError(
                    str(path / RUN), model.n_features_in_, f"a model over {kind.width(run.data)} columns",
                    "Files of several folders were mixed: restore copies of them.",
                )  # fmt: skip
            model._restore(run)
        model._finish(run.franchises(), run.trace)
        return model


def _alike(one: Any, other: Any) -> Any:
    """Distances of components of a single state, which needs none."""
    return np.zeros((len(one), len(other)))


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
    if not all(one.n_draws for one in chains_in(trace).values()):
        raise KeyboardInterrupt("Ctrl-C came before the first sweep: the model is what it was before")


def best_chain(trace: Trace | ChainTrace) -> int:
    """Number of the chain whose mean log joint over the second half of its draws is the highest."""
    chains = chains_in(trace).values()
    means = [np.mean(one["log_joint"][one.n_draws // 2 :]) for one in chains] if len(chains) > 1 else [0.0]
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


@contextmanager
def checked_by_sklearn(X: Any, what: str) -> Iterator[None]:
    """Errors of scikit-learn's checks of X as those of this package."""
    check_unmasked("X", X)
    try:
        yield
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        kind = NotNumbersError if isinstance(error, TypeError) else DataError
        raise kind("X", X, what, str(error)) from error


def of_rows(model: Any, X: Any, reset: bool, what: str) -> Any:
    """Numbers in rows, by scikit-learn's checks; NaN is let through."""
    with checked_by_sklearn(X, f"{what}, one in each row"):
        return validate_data(model, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")


def _write_run(path: Path, model: Any, moves: Sequence[Move]) -> None:
    """Write the run: the traces and the current states of its chains."""
    franchises, traces = model.franchises_, list(chains_in(model.trace_).values())
    streams, target = franchises[0].streams, max(one.sweep for one in franchises)
    init = model.init if isinstance(model.init, str | Random | TermClusters | Factors) else "sequential"
    chains = len(franchises) if len(franchises) > 1 else None
    written = list[ChainFolder]()
    try:
        run = OneProcess(moves, franchises[0])
        run.streams = streams
        with begin_folder(path, run, target, init, Plan(), chains) as folder:
            for number, (franchise, trace) in enumerate(zip(franchises, traces, strict=True)):
                written.append(folder.chain(number))
                with closing(
                    ChainWriter(written[-1], streams.seed, franchise.streams.chain, target)
                ) as writer:
                    for sample in trace.samples:
                        writer.keep(sample)
                    writer.trace = trace
                    writer.checkpoint(franchise.freeze())
    except BaseException:  # chains without a state would begin again, and be other ones
        (path / RUN).unlink(missing_ok=True)
        for chain in written:
            shutil.rmtree(chain.path, ignore_errors=True)
        raise
