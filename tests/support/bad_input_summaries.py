"""The rows of summaries in the table of bad input."""

from bad_input_folders import trace_of
from bad_values import Row, optional, whole

import hdpkit as hk

__all__ = ["SUMMARIES"]

SUMMARIES = {
    "summaries.diagnose": Row(
        lambda franchise: (
            hk.summaries.diagnose,
            {"trace": trace_of(franchise), "after": 0, "rule": hk.ConvergenceRule()},
        ),
        {
            "trace": [None, 5, "trace", [], hk.Trace, {}, hk.Trace()],
            "after": optional(whole(0)),
            "rule": [5, "rule", 1.05, hk.ConvergenceRule],
        },
    ),
}
