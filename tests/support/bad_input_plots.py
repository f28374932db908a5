"""The rows of `hdpkit.plots` in the table of bad input."""

import functools

import numpy as np
from bad_values import INF, NAN, NO_FLAG, NO_TEXT, Row, Told, optional, tiny, whole

import hdpkit as hk
from hdpkit import moves, plots


@functools.cache
def traced():
    return hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()]).run(tiny(), sweeps=4, rng=0)


@functools.cache
def mixture():
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, [0.5, 0.5]), concentration=1.0)
    franchise = hk.Franchise(root, hk.Groups.from_labels([[0.1, 0.2], [0.3, 0.1], [5.0, 4.0]]))
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=0)
    return franchise


@functools.cache
def grouped():
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.5), concentration=1.0)
    data = hk.Groups.from_arrays([[0.1, 0.2, 5.0], [5.1, 4.9]])
    franchise = hk.Franchise(hk.Restaurant(root, each="group"), data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=0)
    return hk.summaries.components([franchise.sample()])


@functools.cache
def matched():
    franchise = tiny()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=2, rng=0)
    aligned = hk.summaries.components([franchise.sample()])
    return hk.summaries.match_topics(aligned, aligned)


NO_TRACE = [None, 5, "trace", [], {}, hk.Trace, Told(hk.Trace(), "with at least one sweep")]
NO_TOPICS = [
    None, 5, "topics", [], {}, [1.0, 2.0], np.zeros((2, 3)), np.full((2, 2), NAN), np.array([[1.0, -1.0]]),
    np.ones((2, 2, 2)), [["a", "b"]],
]  # fmt: skip
WEIGHTS = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
NO_NAMES = [5, "abc", {"a", "b", "c"}, Told(["a"], "1 ")]
LINKAGE = np.array([[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 0.7, 3.0]])
TOGETHER = np.array([[1.0, 0.2], [0.2, 1.0]])


def drawn(name, **good):
    """A function of `hdpkit.plots` with good arguments."""

    def build(franchise):
        return getattr(plots, name), {
            key: value() if callable(value) else value for key, value in good.items()
        }

    return build


PLOTS = {
    "plots.trace": Row(
        drawn("trace", trace=traced),
        {
            "key": [*NO_TEXT, "no such key"],
            "after": [*whole(0), Told(4, "less than the number of sweeps")],
        },
    ),
    "plots.traces": Row(
        drawn("traces", trace=traced),
        {
            "keys": [5, "n_dishes", {"n_dishes"}, [], ["no such key"], [5], ["concentration/document"]],
            "after": [*whole(0), Told(4, "less than the number of sweeps")],
        },
    ),
    "plots.topic_shares": Row(
        drawn("topic_shares", samples=[[3, 2], [4, 1, 1]]),
        {
            "samples": [
                None, 5, "samples", [], {0: [1]}, [[1.0], "a"], [[-1.0, 2.0]], [[0.0]], [[NAN]], [[[1.0]]],
            ]
        },
    ),
    "plots.topics": Row(
        drawn("topics", topics=WEIGHTS),
        {"topics": NO_TOPICS, "vocabulary": NO_NAMES, "n_topics": whole(1), "n_terms": whole(1)},
    ),
    "plots.similarity": Row(
        drawn("similarity", topics=WEIGHTS),
        {"topics": [*NO_TOPICS, Told(WEIGHTS[:1], "two topics"), {"a": WEIGHTS, "b": 5}], "rng": whole(0)},
    ),
    "plots.match": Row(
        drawn("match", found=matched), {"found": [None, 5, "found", [], {}, WEIGHTS, hk.summaries.TopicMatch]}
    ),
    "plots.components": Row(
        drawn("components", franchise=mixture, axes=(1, 0)),
        {
            "franchise": [None, 5, "franchise", [], {}, hk.Franchise, WEIGHTS],
            "aligned": [5, "aligned", [], {}, WEIGHTS, hk.summaries.Components],
            "axes": [5, "01", [0], [0, 0], [0, 2], [0, -1], [0.5, 1], ["x", "y"], [True, 0], {0, 1}],
        },
    ),
    "plots.perplexity": Row(
        drawn("perplexity", curves={"a": ([1.0, 2.0], [30.0, 20.0])}),
        {
            "curves": [
                None, 5, {}, [([1.0], [2.0])], {"a": 5}, {"a": ([1.0], [2.0, 3.0])}, {"a": ([], [])},
                {"a": ([1.0], [0.0])}, {"a": ([-1.0], [1.0])}, {"a": ([1.0], [INF])}, {"a": "ab"},
            ],
            "logarithmic": NO_FLAG,
        },
    ),
    "plots.acceptance": Row(
        drawn("acceptance", trace=traced),
        {"moves": [5, "TableGibbs", ["no such move"], [5], [None]], "parts": whole(1)},
    ),
    "plots.move_times": Row(drawn("move_times", trace=traced), {}),
    "plots.posterior_similarity": Row(
        drawn("posterior_similarity", matrix=TOGETHER),
        {
            "matrix": [
                None, 5, "matrix", [], [[1.0, 2.0]], [[1.0, 0.5], [0.1, 1.0]], [[1.0, NAN], [NAN, 1.0]],
                [[2.0]], [[-0.5]],
            ],
            "labels": [*optional(NO_NAMES)],
            "ordered": NO_FLAG,
            "partition": [5, "ab", [], [0], [0, -1], [0.5, 1.0], ["a", "b"], {0, 1}],
        },
    ),
    "plots.group_weights": Row(
        drawn("group_weights", aligned=grouped),
        {
            "aligned": [None, 5, "aligned", [], {}, WEIGHTS, hk.summaries.Components],
            "groups": [5, "ab", [], [2], [-1], [0.5], {0, 1}],
            "components": whole(1),
        },
    ),
    "plots.dendrogram": Row(
        drawn("dendrogram", groups=LINKAGE),
        {
            "groups": [None, 5, "groups", [], [[1.0, 2.0]], LINKAGE * NAN, LINKAGE[:, :3]],
            "labels": [5, "abc", {"a"}, Told(["a"], "1 names")],
        },
    ),
}  # fmt: skip
