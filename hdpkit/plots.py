"""Pictures of runs and topics with Altair, which is an extra (``pip install 'hdpkit[plots]'``).

Every function returns an Altair chart, which notebooks show and whose ``save`` writes a file: .png, .svg,
.pdf or .html. Components, states, topics and groups have the same colour in all pictures of a run, by their
number. The page of `hdpkit.report` has the same pictures.
"""

from hdpkit.pages.plots.components import components, group_weights
from hdpkit.pages.plots.topics import dendrogram, match, posterior_similarity, similarity, topics
from hdpkit.pages.plots.traces import acceptance, move_times, perplexity, topic_shares, trace, traces

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
