"""The rows of summaries in the table of bad input."""

import numpy as np
from bad_input_runs import trace_of
from bad_values import NAN, POSITIVE, REAL, Row, Told, optional, whole

import hdpkit as hk
from hdpkit.kinds.catalog import kind_of

TOPICS = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
NO_TOPICS = [
    None, 5, "topics", [], [[]], [0.5, 0.5], [[0.5, NAN]], [[-1.0, 2.0]], [[0.0, 0.0]], {},
    [[0.5], [0.1, 0.2]],
]  # fmt: skip
TEXTS = [["a", "b", "c"], ["b", "c"]]

LABELS = [[0, 0, 1], [0, 1, 1]]
NO_LABELS = [
    None, 5, "labels", [], [[]], [0, 1], [[0.5, 1.0]], [[0, 1], [0]], {}, [[True, False]], [["a", "b"]],
]  # fmt: skip
NO_ITEMS = [5, "ab", [], [0.5], [-1], [3], [[0]]]
SHARE = [*REAL, -0.1, 1.1]

SUMMARIES = {
    "summaries.components": Row(
        lambda franchise: (
            hk.summaries.components,
            {
                "given": [franchise.sample()],
                "distance": "cosine",
                "threshold": 0.5,
                "level": 0.9,
                "min_occurrence": 0.0,
                "min_share": 0.01,
                "similar": 0.1,
                "apart": 0,
                "partition": False,
                "chain": 0,
            },
        ),
        {
            "given": [None, 5, "", [], [5], hk.Sample, {}, hk.Trace()],
            "distance": [None, 5, "far", "", ["cosine"], int],
            "threshold": POSITIVE[1:],
            "level": [*SHARE, 0.0, 1.0],
            "min_occurrence": SHARE,
            "min_share": SHARE,
            "similar": [value for value in POSITIVE[1:] if value != 0],
            "apart": whole(0),
            "partition": [5, "yes", [], {}],
            "chain": [-1, 0.5, "0", [], 99],
        },
    ),
    "summaries.match_topics": Row(
        lambda franchise: (
            hk.summaries.match_topics,
            {
                "one": hk.summaries.components([franchise.sample()]),
                "other": hk.summaries.components([franchise.sample()]),
                "min_cosine": 0.5,
            },
        ),
        {
            "one": [None, 5, "", [], {}, hk.Trace(), hk.Sample],
            "other": [None, 5, "", [], {}, hk.Trace(), hk.Sample],
            "min_cosine": SHARE,
        },
    ),
    "summaries.trends": Row(
        lambda franchise: (
            hk.summaries.trends,
            {
                "topics": franchise.sample(),
                "dates": [2000] * franchise.sample().n_groups,
                "by": "year",
                "labels": [0] * franchise.n_dishes,
                "level": 0.9,
            },
        ),
        {
            "topics": [None, 5, "topics", [], {}, hk.Trace(), hk.Sample],
            "dates": [None, 5, "2000", Told([], "0 dates"), Told([2000] * 99, "99 dates"), {}],
            "by": [5, "", "week", ["year"]],
            "labels": [5, "ab", [], [0.5] * 3, [-1] * 3, {}, [[0]]],
            "level": [None, "0.9", 0.0, 1.0, NAN, [0.9]],
        },
    ),
    "summaries.reconstruction": Row(
        lambda franchise: (
            hk.summaries.reconstruction,
            {"counts": [[1, 2, 1]], "shares": [[1.0, 2.0]], "components": TOPICS},
        ),
        {
            "counts": [None, 5, "counts", [1, 2, 1], [[1, 2]], [["a", "b", "c"]]],
            "shares": [None, 5, "shares", [[1.0]], [1.0, 2.0]],
            "components": [None, 5, "topics", [0.5, 0.5], [["a"]]],
        },
    ),
    "summaries.coherence": Row(
        lambda franchise: (
            hk.summaries.coherence,
            {
                "topics": TOPICS,
                "reference": TEXTS,
                "measure": "c_npmi",
                "n_terms": 2,
                "window": 2,
                "vocabulary": ["a", "b", "c"],
                "as_gensim": True,
            },
        ),
        {
            "topics": [*NO_TOPICS, Told([["a", "a"]], "each once"), [["a"]]],
            "reference": [
                None, 5, "texts", [], ["a text"], [5], [[["a"]]],
                Told(hk.Corpus.from_counts([[1, 0, 2]], vocabulary=list("abc")), "corpus of counts"),
            ],
            "measure": [None, 5, "", "c_w", ["c_v"]],
            "n_terms": [*whole(2), 4],
            "window": optional(whole(1)),
            "vocabulary": [5, "abc", Told(["a"], "1 words")],
            "as_gensim": [None, 5, "yes"],
        },
    ),
    "summaries.co_clustering": Row(
        lambda franchise: (hk.summaries.co_clustering, {"labels": LABELS, "items": [0, 2]}),
        {},
    ),
    "summaries.point_partition": Row(
        lambda franchise: (
            hk.summaries.point_partition,
            {
                "labels": LABELS,
                "items": [0, 2],
                "loss": "vi",
                "max_clusters": 2,
                "runs": 1,
                "attempts": 1,
                "rng": 0,
            },
        ),
        {
            "loss": [None, 5, "", "rand", ["vi"]],
            "max_clusters": optional(whole(1)),
            "runs": whole(1, 2**31),
            "attempts": whole(0, 2**31),
        },
    ),
    "summaries.group_topics": Row(
        lambda franchise: (
            hk.summaries.group_topics,
            {"topics": TOPICS, "weights": [1, 2], "n_groups": 1, "vocabulary": ["a", "b", "c"]},
        ),
        {
            "weights": [5, "ab", [1.0], [-1.0, 2.0], [NAN, 1.0], [0.0, 0.0], [[1.0, 2.0]]],
            "n_groups": [*optional(whole(1)), 3],
            "method": [None, 5, "", "single", ["ward"]],
            "vocabulary": [5, "abc", Told(["a"], "1 words")],
        },
    ),
    "summaries.diversity": Row(
        lambda franchise: (hk.summaries.diversity, {"topics": TOPICS, "n_terms": 2}),
        {"n_terms": whole(1)},
    ),
    "summaries.exclusivity": Row(
        lambda franchise: (
            hk.summaries.exclusivity,
            {"topics": TOPICS, "n_terms": 2, "measure": "frex", "weight": 0.7},
        ),
        {
            "n_terms": whole(1),
            "measure": [None, 5, "", "lift", ["frex"]],
            "weight": [None, "0.7", NAN, -0.1, 1.1],
        },
    ),
    "summaries.diagnose": Row(
        lambda franchise: (
            hk.summaries.diagnose,
            {
                "trace": trace_of(franchise),
                "after": 0,
                "rule": hk.ConvergenceRule(),
                "data": franchise.data,
                "words": kind_of(franchise.data).nouns,
                "commands": False,
            },
        ),
        {
            "trace": [None, 5, Told("trace", "a folder with a run.json"), [], hk.Trace, {}, hk.Trace()],
            "after": optional(whole(0)),
            "rule": [5, "rule", 1.05, hk.ConvergenceRule],
            "data": [5, "corpus", [[0, 1]], np.ones((2, 2))],
            "commands": [None, 5, "yes"],
            "words": [5, "topics", {"topics": "themes"}],
        },
    ),
}  # fmt: skip
