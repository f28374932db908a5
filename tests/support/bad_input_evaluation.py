"""The rows of fold-in, held-out evaluation and comparisons in the table of bad input."""

import math
import os
import tempfile

import numpy as np
from bad_input_runs import NO_START
from bad_values import (
    NO_FUNCTION,
    NO_MOVES,
    POSITIVE,
    REAL,
    Row,
    Told,
    another,
    optional,
    restaurants,
    tiny,
    whole,
    without,
)

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams

TABLES = [moves.TableGibbs()]
FRANCHISES = [5, "franchise", hk.Franchise, restaurants()]
SCHEDULES = {"tables": TABLES}
NO_SCHEDULES = [
    None, 5, "tables", TABLES, {}, {"": TABLES}, {5: TABLES},
    *({"a": bad} for bad in without(NO_MOVES, None)),
    Told({"a": TABLES, "b": hk.Candidate(another(), TABLES)}, "they have different"),
    Told({"a": [moves.RootWeights()]}, "moves that have something to do"),
]  # fmt: skip
SHARE = [*REAL, -0.1, 1.0, 2]
NO_PATH = [None, 5, "", b"a.csv", ["a.csv"], "a\0b"]


def comparison():
    return hk.compare_schedules(SCHEDULES, tiny(), seconds=1e-9, chains=1)


def written(name):
    """A method that writes a file, and a place for it."""
    place = os.path.join(tempfile.gettempdir(), f"hdpkit-{os.getpid()}.csv")
    return lambda franchise: (getattr(comparison(), name), {"path": place})


def removed(function, good):
    function(**good)
    os.unlink(good["path"])


COMPARISON = {
    "compare_schedules": Row(
        lambda franchise: (
            hk.compare_schedules,
            {"schedules": SCHEDULES, "franchise": franchise, "seconds": 1e-9, "chains": 1, "rng": 1},
        ),
        {
            "schedules": NO_SCHEDULES,
            "franchise": [Told(None, "has none of its own"), *FRANCHISES],
            "seconds": POSITIVE,
            "chains": whole(1, 10_000),
            "inits": [5, "one", b"one", {}, [], np.zeros(7), *([bad] for bad in [*NO_START, None])],
            "burn_in": SHARE,
            "within": SHARE,
            "shares": whole(1, 1000),
            "rule": [5, "1.05", 1.05, {}, hk.ConvergenceRule],
            "clock": [None, 5, "", "sun", b"wall", ["wall"]],
        },
    ),
    "check_mixing": Row(
        lambda franchise: (
            hk.check_mixing,
            {"franchise": franchise, "schedule": TABLES, "sweeps": 40, "copies": 10, "inits": ["one"]},
        ),
        {
            "franchise": [None, *FRANCHISES, Told(another(), "unseated")],
            "schedule": [bad for bad in NO_MOVES if bad is not None],
            "seconds": optional(POSITIVE),
            "sweeps": optional(whole(40, 2**31)),
            "inits": [5, "one", b"one", {}, [], np.zeros(7), *([bad] for bad in [*NO_START, None])],
            "chain": [*whole(0), 1],
            "copies": whole(10, 100_000),
            "statistics": [5, "one", [], {"": len}, {5: len}, {"a": 5}, {"a": None}],
            "rule": [5, "1.05", 1.05, {}, hk.ConvergenceRule],
            "clock": [None, 5, "", "sun", b"wall", ["wall"]],
            "progress": [bad for bad in NO_FUNCTION if bad is not None],
        },
    ),
    "Candidate": Row(
        lambda franchise: (hk.Candidate, {"franchise": franchise, "schedule": TABLES}),
        {"franchise": [None, *FRANCHISES], "schedule": NO_MOVES},
    ),
    "ConvergenceRule": Row(
        lambda franchise: (hk.ConvergenceRule, {}),
        {"rhat": [*POSITIVE, 1, 0.5], "ess": POSITIVE, "drift": POSITIVE},
    ),
    "ScheduleResult.means_by_chain": Row(
        lambda franchise: (comparison()["tables"].means_by_chain, {"key": "log_joint"}),
        {"key": [None, 5, "", "k", b"log_joint", ["log_joint"]]},
    ),
    "Comparison.__getitem__": Row(
        lambda franchise: (comparison().__getitem__, {"name": "tables"}),
        {"name": [None, 5, "seats", "", b"tables", ["tables"]]},
    ),
    "Comparison.to_csv": Row(
        written("to_csv"), {"path": NO_PATH, "rows": [None, 5, "", "chains", ["moves"]]}, run=removed
    ),
    "Comparison.plot": Row(
        written("plot"), {"path": [*NO_PATH, "picture", "picture.docx"]}, run=lambda function, good: None
    ),
}


def foldable():
    """A franchise whose new documents have a concentration."""
    corpus = hk.Corpus.from_documents([["cat", "dog", "cat"], ["cow", "dog"]], groups={"farm": ["a", "b"]})
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    farm = hk.Restaurant(root, concentration=1.0, each="farm")
    franchise = hk.Franchise(hk.Restaurant(farm, concentration=1.0, each="document"), corpus)
    start(franchise, "sequential", Streams(0).source(STARTS))
    return franchise


def finite():
    """A finite model of three dishes."""
    corpus = hk.Corpus.from_documents([[0, 0], [1, 1]], n_terms=2)
    document = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each="document")
    return hk.Franchise(document, corpus, root=hk.FixedWeights(3))


def chain_of_states():
    """A hidden Markov model over terms, with states."""
    data = hk.Sequences.from_arrays([[0, 1, 1], [1]], n_terms=2)
    rows = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each=hk.PreviousDish(sticky=1.0))
    franchise = hk.Franchise(rows, data, store="counts", root="weights")
    start(franchise, "sequential", Streams(0).source(STARTS))
    return franchise


NO_SEQUENCES = [
    5, "data", [[0, 1]], np.zeros(3), hk.Sequences, {}, hk.Corpus.from_documents([[0, 1]]),
    Told(hk.Sequences.from_arrays([[0, 2]], n_terms=3), "terms from 0 to 1"),
    Told(hk.Sequences.from_arrays([[0.5]]), "sequences of terms"),
]  # fmt: skip
NO_SAMPLE = [5, "sample", {}, hk.Franchise, Told(foldable().sample(), "states")]
NO_FORM = [None, 5, "", "median", ["mean"]]
NO_FRANCHISE = [None, 5, "franchise", hk.Franchise, [], {}]


def documents(*lists, farms=None, **options):
    farms = ["a"] * len(lists) if farms is None else farms
    return hk.Corpus.from_documents(list(lists), groups={"farm": farms}, **options)


NEW = documents(["cow", "cat"], [], ["dog"])
NO_GROUPS = [None, 5, "data", [[0, 1]], np.zeros(3), hk.Corpus, {}]
NO_NEW = [
    *NO_GROUPS,
    Told(documents(["cat", "emu"], [], ["cat"]), "'emu'"),
    Told(documents([0, 1, 3], [], [0]), "unknown terms"),
    Told(documents(["cat"], ["dog"], [], farms=["a", "c", "a"]), "'c'"),
    Told(hk.Corpus.from_documents([["cat"], [], []]), "a label of the new data"),
    Told(
        hk.Groups.from_arrays([[0.5], [], []], groups={"farm": list("aaa")}, label="document"), "term numbers"
    ),
    Told(hk.Groups.from_labels([0, 1], {"farm": ["a", "a"]}), "a label of the new data"),
    Told(hk.Groups.from_labels([0, 1], {"farm": ["a", "a"], "document": [0, None]}), "every customer"),
    Told(
        hk.Groups.from_labels([0, 1, 0, 0], {"farm": list("abaa"), "document": [0, 0, 1, 2]}), "several farms"
    ),
]

EVALUATION = {
    "Sample.draw_topics": Row(lambda franchise: (franchise.sample().draw_topics, {"rng": 0}), {}),
    "Sample.topic_law": Row(
        lambda franchise: (franchise.sample().topic_law, {"dish": 0}), {"dish": [*whole(0), 10**6]}
    ),
    "Sample.draw_transitions": Row(
        lambda franchise: (chain_of_states().sample().draw_transitions, {"rng": 0}), {}
    ),
    "Franchise.state_probabilities": Row(
        lambda franchise: (
            chain_of_states().state_probabilities,
            {"data": hk.Sequences.from_arrays([[0]], n_terms=2), "parameters": "drawn", "rng": 1},
        ),
        {"data": NO_SEQUENCES, "parameters": NO_FORM, "sample": NO_SAMPLE, "horizon": whole(1, 10**6)},
    ),
    "Franchise.draw_sequences": Row(
        lambda franchise: (chain_of_states().draw_sequences, {"lengths": [2, 0], "rng": 1}),
        {"lengths": [None, 5, "lengths", [1.5], [-1], [None], {}], "sample": NO_SAMPLE},
    ),
    "Franchise.fold_in": Row(
        lambda franchise: (foldable().fold_in, {"data": NEW, "sweeps": 2, "burn_in": 1, "rng": 1}),
        {"data": NO_NEW, "sweeps": whole(1, 2**31), "burn_in": whole(0, 2**31)},
    ),
    "GroupLogLikelihood": Row(
        lambda franchise: (hk.GroupLogLikelihood, {"particles": 2, "after": 0, "every": 1, "seed": 0}),
        {"every": whole(1, 2**31)},
    ),
    "GroupLogLikelihood.__call__": Row(
        lambda franchise: (hk.GroupLogLikelihood(particles=2), {"franchise": finite()}),
        {"franchise": [*NO_FRANCHISE, Told(foldable(), "two levels")]},
    ),
    "forecast": Row(
        lambda franchise: (
            hk.forecast,
            {
                "states": chain_of_states(),
                "horizon": 2,
                "data": hk.Sequences.from_arrays([[0]], n_terms=2),
                "draws": 3,
                "rng": 1,
            },
        ),
        {
            "states": [None, 5, "states", hk.Franchise, [], [None], {}, {1: 2}, set()],
            "horizon": whole(1, 10**6),
            "data": NO_SEQUENCES,
            "samples": [5, "samples", [], [None]],
            "draws": whole(1, 2**31),
        },
    ),
    "Forecast.quantiles": Row(
        lambda franchise: (hk.forecast(chain_of_states(), 2, draws=3).quantiles, {"levels": [0.1, 0.9]}),
        {"levels": [None, "levels", [1.5], [-0.1], [None], [math.nan], {}]},
    ),
    "evaluate": Row(
        lambda franchise: (
            hk.evaluate,
            {"states": foldable(), "data": NEW, "held_out": NEW, "rng": 1, "particles": 2, "sweeps": 2},
        ),
        {
            "states": [None, 5, "states", hk.Franchise, [], [None], [foldable(), 5], {}, {1: 2}, set()],
            "data": NO_NEW,
            "method": [None, 5, "", "harmonic mean", ["completion"], b"completion"],
            "held_out": [
                *(value for value in NO_GROUPS if value is not None),
                Told(documents(["cat"]), "in the same order"),
                Told(documents([], ["dog"], [], names=["x", "y", "z"]), "in the same order"),
                Told(documents(["cat", "emu"], [], []), "'emu'"),
            ],
            "samples": [5, "samples", [], [None], [foldable().sample()]],
            "fit": [None, 5, "", "mcmc", ["em"]],
            "sweeps": whole(1, 2**31),
            "burn_in": whole(0, 2**31),
            "tolerance": [*POSITIVE, -math.inf],
        },
    ),
}
