"""Models wired from the pieces of the kit; they contain no sampler."""

from hdpkit.models.ngram import NGramModel
from hdpkit.models.scores import Scores
from hdpkit.models.spelling import Spelling

__all__ = ["NGramModel", "Scores", "Spelling"]
