"""Figures of runs and topics with Matplotlib, which is an extra (``pip install 'hdpkit[plots]'``).

Every function draws into ``ax`` if it is given, otherwise into a new figure, and returns the Axes. Functions
that draw several panels take ``figure`` and return the Figure.
"""

from hdpkit.pages.plots.components import components, group_weights
from hdpkit.pages.plots.moves import acceptance, move_times
from hdpkit.pages.plots.partitions import dendrogram, posterior_similarity
from hdpkit.pages.plots.scores import perplexity
from hdpkit.pages.plots.topics import match, similarity, topics
from hdpkit.pages.plots.traces import topic_shares, trace, traces

__all__ = [
    "acceptance",
    "components",
    "dendrogram",
    "group_weights",
    "match",
    "move_times",
    "perplexity",
    "posterior_similarity",
    "similarity",
    "topic_shares",
    "topics",
    "trace",
    "traces",
]
