"""hdpkit: inference with hierarchical Dirichlet and Pitman-Yor processes.

Declare restaurants, build a franchise over data, and let a scheduler run moves over it::

    import hdpkit as hk
    from hdpkit import moves

    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    G0 = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    Gj = hk.Restaurant(base=G0, concentration=0.7, each="document")
    franchise = hk.Franchise(Gj, corpus)
    trace = hk.Scheduler([moves.TableGibbs(), moves.Concentration()]).run(franchise, sweeps=100, rng=0)
"""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hdpkit import errors as errors
    from hdpkit import init as init
    from hdpkit import moves as moves
    from hdpkit import plots as plots
    from hdpkit import summaries as summaries
    from hdpkit.base_measures import AtomicMeasure as AtomicMeasure
    from hdpkit.base_measures import BaseMeasure as BaseMeasure
    from hdpkit.base_measures import BetaBernoulli as BetaBernoulli
    from hdpkit.base_measures import Bursty as Bursty
    from hdpkit.base_measures import Categorical as Categorical
    from hdpkit.base_measures import DirichletMultinomial as DirichletMultinomial
    from hdpkit.base_measures import Finite as Finite
    from hdpkit.base_measures import GammaPoisson as GammaPoisson
    from hdpkit.base_measures import NonConjugate as NonConjugate
    from hdpkit.base_measures import NormalGamma as NormalGamma
    from hdpkit.base_measures import NormalInverseWishart as NormalInverseWishart
    from hdpkit.base_measures import SparseDirichletMultinomial as SparseDirichletMultinomial
    from hdpkit.base_measures import Uniform as Uniform
    from hdpkit.base_measures import VonMisesFisher as VonMisesFisher
    from hdpkit.base_measures import base_measures as base_measures
    from hdpkit.data import Corpus as Corpus
    from hdpkit.data import Groups as Groups
    from hdpkit.data import Limits as Limits
    from hdpkit.data import NGrams as NGrams
    from hdpkit.data import Sequences as Sequences
    from hdpkit.data import ShardedCorpus as ShardedCorpus
    from hdpkit.data import downsample as downsample
    from hdpkit.evaluation import Evaluation as Evaluation
    from hdpkit.evaluation import Forecast as Forecast
    from hdpkit.evaluation import GroupLogLikelihood as GroupLogLikelihood
    from hdpkit.evaluation import evaluate as evaluate
    from hdpkit.evaluation import forecast as forecast
    from hdpkit.franchise.declarations import FixedWeights as FixedWeights
    from hdpkit.franchise.declarations import Restaurant as Restaurant
    from hdpkit.franchise.franchise import Franchise as Franchise
    from hdpkit.franchise.known import Known as Known
    from hdpkit.franchise.known import KnownValues as KnownValues
    from hdpkit.franchise.sample import Sample as Sample
    from hdpkit.franchise.several_parents import MixtureOf as MixtureOf
    from hdpkit.franchise.several_parents import OneOf as OneOf
    from hdpkit.franchise.state_homes import PreviousDish as PreviousDish
    from hdpkit.kinds.hidden_markov_model import HiddenMarkovModel as HiddenMarkovModel
    from hdpkit.kinds.ngram import NGramModel as NGramModel
    from hdpkit.kinds.points_model import MixtureModel as MixtureModel
    from hdpkit.kinds.spelling import Spelling as Spelling
    from hdpkit.kinds.topic_model import SparseTopicModel as SparseTopicModel
    from hdpkit.kinds.topic_model import TopicModel as TopicModel
    from hdpkit.parts import IntegrablePart as IntegrablePart
    from hdpkit.parts import Part as Part
    from hdpkit.parts import SharedValue as SharedValue
    from hdpkit.posterior.comparison.chains import Candidate as Candidate
    from hdpkit.posterior.comparison.compare import compare_schedules as compare_schedules
    from hdpkit.posterior.comparison.convergence import ConvergenceRule as ConvergenceRule
    from hdpkit.posterior.comparison.mixing import CheckedChains as CheckedChains
    from hdpkit.posterior.comparison.mixing import MixingCheck as MixingCheck
    from hdpkit.posterior.comparison.mixing import check_mixing as check_mixing
    from hdpkit.posterior.comparison.predictive import StatisticCheck as StatisticCheck
    from hdpkit.posterior.comparison.result import Comparison as Comparison
    from hdpkit.posterior.comparison.result import ScheduleResult as ScheduleResult
    from hdpkit.posterior.fold_in import FoldIn as FoldIn
    from hdpkit.posterior.hidden_states import StateProbabilities as StateProbabilities
    from hdpkit.priors import Above as Above
    from hdpkit.priors import Beta as Beta
    from hdpkit.priors import Dirichlet as Dirichlet
    from hdpkit.priors import Each as Each
    from hdpkit.priors import Gamma as Gamma
    from hdpkit.priors import Normal as Normal
    from hdpkit.priors import Shifted as Shifted
    from hdpkit.priors import expected_tables as expected_tables
    from hdpkit.run.collect import Checkpoint as Checkpoint
    from hdpkit.run.combinators import Mixture as Mixture
    from hdpkit.run.progress import ProgressBar as ProgressBar
    from hdpkit.run.progress import Tick as Tick
    from hdpkit.run.runs import Run as Run
    from hdpkit.run.runs import Scheduler as Scheduler
    from hdpkit.run.runs import open_run as open_run
    from hdpkit.run.samples import Samples as Samples
    from hdpkit.run.trace import ChainTrace as ChainTrace
    from hdpkit.run.trace import Draw as Draw
    from hdpkit.run.trace import Trace as Trace
    from hdpkit.steps.fused.instruction_set import instruction_set as instruction_set
    from hdpkit.steps.step import step as step
    from hdpkit.stores import SeatingStore as SeatingStore
    from hdpkit.stores import stores as stores

__version__ = "0.1.0"

_NAMES = {
    "base_measures": (
        "AtomicMeasure BaseMeasure BetaBernoulli Bursty Categorical DirichletMultinomial Finite "
        "GammaPoisson NonConjugate NormalGamma NormalInverseWishart SparseDirichletMultinomial Uniform "
        "VonMisesFisher base_measures"
    ),
    "data": "Corpus Groups Limits NGrams Sequences ShardedCorpus downsample",
    "evaluation": "Evaluation Forecast GroupLogLikelihood evaluate forecast",
    "franchise.declarations": "FixedWeights Restaurant",
    "franchise.franchise": "Franchise",
    "franchise.known": "Known KnownValues",
    "franchise.sample": "Sample",
    "franchise.several_parents": "MixtureOf OneOf",
    "franchise.state_homes": "PreviousDish",
    "kinds.ngram": "NGramModel",
    "kinds.spelling": "Spelling",
    "parts": "IntegrablePart Part SharedValue",
    "posterior.comparison.chains": "Candidate",
    "posterior.comparison.compare": "compare_schedules",
    "posterior.comparison.convergence": "ConvergenceRule",
    "posterior.comparison.mixing": "CheckedChains MixingCheck check_mixing",
    "posterior.comparison.predictive": "StatisticCheck",
    "posterior.comparison.result": "Comparison ScheduleResult",
    "posterior.fold_in": "FoldIn",
    "posterior.hidden_states": "StateProbabilities",
    "priors": "Above Beta Dirichlet Each Gamma Normal Shifted expected_tables",
    "run.collect": "Checkpoint",
    "run.combinators": "Mixture",
    "run.progress": "ProgressBar Tick",
    "run.runs": "Run Scheduler open_run",
    "run.samples": "Samples",
    "run.trace": "ChainTrace Draw Trace",
    "steps.fused.instruction_set": "instruction_set",
    "steps.step": "step",
    "stores": "SeatingStore stores",
}
"""Module -> the names that users take from the package; they are imported on first use."""

_HOMES = {name: f"hdpkit.{home}" for home, names in _NAMES.items() for name in names.split()}

_ESTIMATORS = ("HiddenMarkovModel", "MixtureModel", "SparseTopicModel", "TopicModel")
"""Their base classes are in scikit-learn, which is optional."""

_IMPORTING = RLock()
"""Held while a name is imported: modules that import each other can't be imported by two threads at once."""

__all__ = sorted([*_HOMES, "get_include", "errors", "init", "moves", "plots", "summaries"])
if find_spec("sklearn") is not None:  # `from hdpkit import *` works without it
    __all__ = sorted([*__all__, *_ESTIMATORS])


def get_include() -> str:
    """Folder of the C headers, for extensions with a compiled base measure (``hdpkit/measure.h``)."""
    return str(Path(__file__).parent / "include")


class _Package(ModuleType):
    """The package: a name is imported when it is first used."""

    def __getattr__(self, name: str) -> Any:
        with _IMPORTING:
            if name in _ESTIMATORS:
                found = import_module("hdpkit.kinds").estimator(name)
            elif name in _HOMES:
                found = getattr(import_module(_HOMES[name]), name)
            elif not name.startswith("_") and find_spec(f"hdpkit.{name}") is not None:
                found = import_module(f"hdpkit.{name}")
            else:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            setattr(self, name, found)
            return found

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a module sets the attribute of its name; these two are also the names of registries.
        if name in ("base_measures", "stores") and isinstance(value, ModuleType):
            value = getattr(value, name)
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        own = (name for name in super().__dir__() if name.startswith("__"))
        return sorted({*own, *__all__, *_ESTIMATORS})

    def __reduce__(self) -> Any:
        return import_module, (__name__,)  # cloudpickle knows modules by their class


sys.modules[__name__].__class__ = _Package
