"""Models: the pieces wired for one purpose. There is no sampler here."""

from hdpkit.models.ngram import NGramModel
from hdpkit.models.scores import Scores

__all__ = ["NGramModel", "Scores"]
