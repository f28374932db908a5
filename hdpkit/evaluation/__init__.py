"""Held-out evaluation: scores of groups that a state was not sampled with."""

from hdpkit.evaluation.completion import completion_perplexity, fit_proportions
from hdpkit.evaluation.evaluate import evaluate
from hdpkit.evaluation.result import Evaluation

__all__ = ["Evaluation", "completion_perplexity", "evaluate", "fit_proportions"]
