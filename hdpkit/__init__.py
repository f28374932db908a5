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

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdpkit import errors, init, moves, plots, summaries
from hdpkit.base_measures import (
    AtomicMeasure,
    BaseMeasure,
    BetaBernoulli,
    Bursty,
    Categorical,
    DirichletMultinomial,
    Finite,
    GammaPoisson,
    NonConjugate,
    NormalGamma,
    NormalInverseWishart,
    SparseDirichletMultinomial,
    Uniform,
    VonMisesFisher,
    base_measures,
)
from hdpkit.data import Corpus, Groups, Limits, NGrams, Sequences, ShardedCorpus, downsample
from hdpkit.evaluation import Evaluation, Forecast, GroupLogLikelihood, evaluate, forecast
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.sample import Sample
from hdpkit.franchise.state_homes import PreviousDish
from hdpkit.kinds import ESTIMATORS, estimator
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.spelling import Spelling
from hdpkit.parts import IntegrablePart, Part
from hdpkit.posterior.comparison.candidates import Candidate
from hdpkit.posterior.comparison.compare import compare_schedules
from hdpkit.posterior.comparison.convergence import ConvergenceRule
from hdpkit.posterior.comparison.mixing import CheckedChains, MixingCheck, check_mixing
from hdpkit.posterior.comparison.predictive import StatisticCheck
from hdpkit.posterior.comparison.result import Comparison, ScheduleResult
from hdpkit.posterior.fold_in import FoldIn
from hdpkit.posterior.hidden_states import StateProbabilities
from hdpkit.prior_expectations import expected_tables
from hdpkit.priors import Above, Beta, Each, Gamma, Normal, Shifted
from hdpkit.run.chain_trace import ChainTrace
from hdpkit.run.collect import Checkpoint
from hdpkit.run.combinators import Mixture
from hdpkit.run.progress import ProgressBar, Tick
from hdpkit.run.runs import Run, open_run
from hdpkit.run.samples import Samples
from hdpkit.run.scheduler import Scheduler
from hdpkit.run.trace import Draw, Trace
from hdpkit.steps.fused.instruction_set import instruction_set
from hdpkit.steps.step import step
from hdpkit.stores import SeatingStore, stores

if TYPE_CHECKING:
    from hdpkit.kinds.hidden_markov_model import HiddenMarkovModel as HiddenMarkovModel
    from hdpkit.kinds.points_model import MixtureModel as MixtureModel
    from hdpkit.kinds.topic_model import SparseTopicModel as SparseTopicModel
    from hdpkit.kinds.topic_model import TopicModel as TopicModel

__version__ = "0.1.0"


def get_include() -> str:
    """Folder of the C headers, for extensions with a compiled base measure (``hdpkit/measure.h``)."""
    return str(Path(__file__).parent / "include")


__all__ = [
    "Above",
    "AtomicMeasure",
    "BaseMeasure",
    "Beta",
    "BetaBernoulli",
    "Bursty",
    "Candidate",
    "Categorical",
    "ChainTrace",
    "CheckedChains",
    "Checkpoint",
    "Comparison",
    "ConvergenceRule",
    "Corpus",
    "DirichletMultinomial",
    "Draw",
    "Each",
    "Evaluation",
    "Finite",
    "FixedWeights",
    "FoldIn",
    "Forecast",
    "Franchise",
    "Gamma",
    "GammaPoisson",
    "GroupLogLikelihood",
    "Groups",
    "IntegrablePart",
    "Known",
    "KnownValues",
    "Limits",
    "MixingCheck",
    "Mixture",
    "NGramModel",
    "NGrams",
    "NonConjugate",
    "Normal",
    "NormalGamma",
    "NormalInverseWishart",
    "Part",
    "PreviousDish",
    "ProgressBar",
    "Restaurant",
    "Run",
    "Sample",
    "Samples",
    "ScheduleResult",
    "Scheduler",
    "SeatingStore",
    "Sequences",
    "ShardedCorpus",
    "Shifted",
    "SparseDirichletMultinomial",
    "Spelling",
    "StateProbabilities",
    "StatisticCheck",
    "Tick",
    "Trace",
    "Uniform",
    "VonMisesFisher",
    "base_measures",
    "check_mixing",
    "compare_schedules",
    "downsample",
    "errors",
    "evaluate",
    "expected_tables",
    "forecast",
    "get_include",
    "init",
    "instruction_set",
    "moves",
    "open_run",
    "plots",
    "step",
    "stores",
    "summaries",
]


def __getattr__(name: str) -> Any:
    # Their base classes are in scikit-learn, which is optional and takes a second to import.
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    thing = globals()[name] = estimator(name)
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *ESTIMATORS})
