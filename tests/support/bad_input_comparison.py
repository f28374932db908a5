"""The rows of `compare_schedules`, its arguments and its results in the table of bad input."""

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
