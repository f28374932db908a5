"""Randomness: the choice source and the keyed streams."""

from hdpkit.random._source import ChoiceSource
from hdpkit.random.random_stream import RandomStream
from hdpkit.random.scripted_source import ScriptedSource
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
