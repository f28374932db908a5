"""Kinds of models: restaurants, moves and predictions combined for one purpose. They contain no sampler.

A kind is an object (`hdpkit.kinds.kind.Kind`); commands, run folders, pages and estimators are written once,
over kinds. Estimators have the parameters of a kind and of a run. They are imported on first use, because
they derive from classes of scikit-learn.
"""

from importlib import import_module
from typing import Any

from hdpkit.checks import choice
from hdpkit.errors import MissingExtraError
from hdpkit.kinds import values
from hdpkit.kinds.kind import Hierarchy, Kind, setting
from hdpkit.kinds.listing import Nouns
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.points import Points
from hdpkit.kinds.predict import Scores
from hdpkit.kinds.spelling import Spelling

__all__ = [
    "ESTIMATORS",
    "Hierarchy",
    "Kind",
    "NGramModel",
    "Nouns",
    "Points",
    "Scores",
    "Spelling",
    "estimator",
    "setting",
    "values",
]

ESTIMATORS = {
    "HiddenMarkovModel": "hidden_markov_model",
    "MixtureModel": "points_model",
    "SparseTopicModel": "topic_model",
    "TopicModel": "topic_model",
}
"""The estimators, and the modules they are in."""


def estimator(of: str | type[Kind]) -> Any:
    """The class of an estimator by its name, or for a kind of one's own: ``Visits`` gives ``VisitsModel``."""
    if not (isinstance(of, type) and issubclass(of, Kind)):
        choice("of", of, ESTIMATORS, remedy="Or hk.NGramModel.")
    name = of if isinstance(of, str) else f"{of.__name__}Model"
    try:
        import sklearn.base  # noqa: F401 - so that the error is raised here, not in a module of the package
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", None, f"installed, for {name}",
            "It is an extra: pip install 'hdpkit[text]'. hk.Franchise and hk.Scheduler need none.",
        ) from error  # fmt: skip
    module = ESTIMATORS[of] if isinstance(of, str) else of.estimator.partition(":")[0]
    there = import_module(f"hdpkit.kinds.{module}")
    if isinstance(of, str):
        return getattr(there, of)
    told = f"{of.__doc__ or of.__name__}\n\n    Parameters\n    ----------\n    {{parameters}}\n    "
    base = getattr(there, of.estimator.partition(":")[2])
    return type(name, (base,), {"kind": of, "__doc__": told, "__module__": of.__module__})
