"""What a run leaves: draws and traces."""

from hdpkit.record.scalars import scalars
from hdpkit.record.trace import Draw, MoveRecord, Trace, make_draw

__all__ = ["Draw", "MoveRecord", "Trace", "make_draw", "scalars"]
