"""Held-out evaluation: scores of groups that a state was not sampled with, and forecasts."""

from hdpkit.posterior.evaluation.completion import completion_perplexity, fit_proportions
from hdpkit.posterior.evaluation.evaluate import GroupLogLikelihood, evaluate
from hdpkit.posterior.evaluation.forward import Forecast, forecast
from hdpkit.posterior.evaluation.result import Evaluation

__all__ = [
    "Evaluation",
    "Forecast",
    "GroupLogLikelihood",
    "completion_perplexity",
    "evaluate",
    "fit_proportions",
    "forecast",
]
