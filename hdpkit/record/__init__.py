"""The records of a run: draws and traces, in memory and on disk."""

from hdpkit.record.chain_trace import ChainTrace
from hdpkit.record.samples import Samples, StoredSamples
from hdpkit.record.trace import Draw, MoveRecord, Trace

__all__ = [
    "ChainTrace",
    "Draw",
    "MoveRecord",
    "Samples",
    "StoredSamples",
    "Trace",
]
