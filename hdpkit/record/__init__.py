"""The records of a run: draws and traces, in memory and on disk."""

from hdpkit.record.chain_folder import ChainWriter
from hdpkit.record.chain_trace import ChainTrace
from hdpkit.record.describe import function_name
from hdpkit.record.leave import Leave
from hdpkit.record.run_folder import RunFolder, Settings, check_free, versions
from hdpkit.record.sample_files import StoredSamples
from hdpkit.record.samples import Samples
from hdpkit.record.scalars import scalars
from hdpkit.record.trace import Draw, MoveRecord, Trace, make_draw, own_functions

__all__ = [
    "ChainTrace",
    "ChainWriter",
    "Draw",
    "Leave",
    "MoveRecord",
    "RunFolder",
    "Samples",
    "Settings",
    "StoredSamples",
    "Trace",
    "check_free",
    "function_name",
    "make_draw",
    "own_functions",
    "scalars",
    "versions",
]
