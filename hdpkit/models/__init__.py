"""Models wired from the pieces of the kit; they contain no sampler."""

from hdpkit.models.spelling import Spelling

__all__ = ["Spelling"]
