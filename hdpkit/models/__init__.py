"""Models: the pieces wired for one purpose. There is no sampler here."""

from hdpkit.models.ngram import NGramModel
from hdpkit.models.scores import Scores
from hdpkit.models.spelling import Spelling

__all__ = ["NGramModel", "Scores", "Spelling"]
