"""Held-out evaluation: scores of groups that a state was not sampled with, and forecasts."""

from hdpkit.evaluation.completion import completion_perplexity, fit_proportions
from hdpkit.evaluation.evaluate import evaluate
from hdpkit.evaluation.forward import Forecast, forecast
from hdpkit.evaluation.pointwise import GroupLogLikelihood
from hdpkit.evaluation.result import Evaluation

__all__ = [
    "Evaluation",
    "Forecast",
    "GroupLogLikelihood",
    "completion_perplexity",
    "evaluate",
    "fit_proportions",
    "forecast",
]
