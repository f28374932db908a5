"""Randomness: the choice source and the keyed streams."""

from hdpkit.random._source import ChoiceSource, RandomStream, ScriptedSource
from hdpkit.random.streams import STARTS, Purpose, Seed, Streams, as_source

__all__ = [
    "STARTS",
    "ChoiceSource",
    "Purpose",
    "RandomStream",
    "ScriptedSource",
    "Seed",
    "Streams",
    "as_source",
]
