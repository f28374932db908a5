"""Randomness: the choice source and the keyed streams.

A `ChoiceSource` is a C struct of functions with a Python class around it, from which moves draw. `sources`
has the algorithms; they use only arithmetic, square roots and `hdpkit.numerics`, since logarithms and
exponentials of NumPy and of C libraries differ between processors in the last bit, and fused multiply-add
is disabled. Exceptions are the linear algebra of the start `Factors`, and readable kernels, which use
NumPy's logarithms. NumPy's generator on the same stream (``source.generator``) is for user functions,
simulated data and starts.
"""

from hdpkit.random._source import ChoiceSource
from hdpkit.random.sources import RandomStream, ScriptedSource
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
