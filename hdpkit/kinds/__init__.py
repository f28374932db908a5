"""Models: restaurants, moves and predictions combined for one purpose. They contain no sampler.

`NGramModel` declares restaurants each="context 1", "context 2", ... over `NGrams`, runs a `Scheduler`, and
keeps a `Snapshot` for each sample. Predictions are array operations: the deepest restaurant of each context,
and P of each token there in each sample, by the walk of sampling. Only the back-off weights of
`hdpkit.kinds.back_off` have code of their own.

All other kinds of models are classes derived from `hdpkit.kinds.kind.Kind`, which are named in
`hdpkit.kinds.catalog`. Their estimators derive from `hdpkit.kinds.estimator.Estimator`: they declare the
franchise of their kind over the data, run a `Scheduler`, and predict from the last state
(`hdpkit.posterior.evaluation.fixed_topics`), by the forward and backward pass
(`hdpkit.posterior.hidden_states`), or under the dishes of samples (`hdpkit.posterior.mixture_density`).
They are imported on first use, because they derive from classes of scikit-learn.
"""

from importlib import import_module
from typing import Any

from hdpkit.checks import choice
from hdpkit.errors import MissingExtraError
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.predict import Scores
from hdpkit.kinds.spelling import Spelling

__all__ = ["ESTIMATORS", "NGramModel", "Scores", "Spelling", "estimator"]

ESTIMATORS = {
    "HiddenMarkovModel": "hidden_markov_model",
    "MixtureModel": "points_model",
    "SparseTopicModel": "topic_model",
    "TopicModel": "topic_model",
}
"""The estimators, and the modules they are in."""


def estimator(name: str) -> Any:
    """The class of an estimator, which derives from scikit-learn's classes.

    Raises a MissingExtraError if scikit-learn isn't installed.
    """
    choice("name", name, ESTIMATORS, remedy="Or hk.NGramModel.")
    try:
        import sklearn.base  # noqa: F401 - so that the error is raised here, not in a module of the package
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", None, f"installed, for hk.{name}",
            "It is an extra: pip install 'hdpkit[text]'. hk.Franchise and hk.Scheduler need none.",
        ) from error  # fmt: skip
    return getattr(import_module(f"hdpkit.kinds.{ESTIMATORS[name]}"), name)
