"""Pictures of runs and topics with matplotlib, which is an extra (``pip install 'hdpkit[plots]'``).

Every function draws into ``ax`` where it is given, into a new figure otherwise, and returns the Axes; those
that draw several panels take ``figure`` and return the Figure.
"""

from hdpkit.plots.moves import acceptance, move_times
from hdpkit.plots.partitions import co_clustering, dendrogram
from hdpkit.plots.scores import perplexity
from hdpkit.plots.topics import similarity, topics
from hdpkit.plots.traces import topic_shares, trace, traces

__all__ = [
    "acceptance",
    "co_clustering",
    "dendrogram",
    "move_times",
    "perplexity",
    "similarity",
    "topic_shares",
    "topics",
    "trace",
    "traces",
]
