"""The rows of moves, schedules, runs, folders, registries and the harness in the table of bad input."""

import atexit
import io
import shutil
import tempfile
from pathlib import Path

import numpy as np
from bad_values import (
    INF,
    NAN,
    NO_FLAG,
    NO_FUNCTION,
    NO_INTERRUPT,
    NO_MEASURE,
    NO_MOVES,
    NO_SEED,
    NO_SEQUENCE,
    NO_STATE,
    NO_TEXT,
    POSITIVE,
    REAL,
    Anything,
    Made,
    Row,
    Told,
    another,
    optional,
    plain,
    restaurants,
    skipped,
    whole,
)

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.franchise import Franchise
from hdpkit.registry import Registry
from hdpkit.testing import ExactModel, check_base_measure, check_exact, check_move, check_part, check_store

NO_FOLDER = [None, 5, NAN, True, "", ["run"], {}, object(), "a\0b"]
NO_ALLOW = [None, 5, "module", [5], [None], [hk.Corpus.from_documents([[0]])]]
NO_CHECKPOINT = [5, 60.0, "60", [60], hk.Checkpoint]
NO_SEPARATOR = [None, 5, "", True, ["/"], b"/", "/", "a/b"]
NO_CALLBACKS = [*NO_SEQUENCE, [5], [None], len]
NO_RECORD = [5, "n_dishes", [len], {"mine": 5}, {"n_dishes": len}, {5: len}]


def run_in(franchise):
    """A short run in a folder that goes when Python does."""
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    hk.Scheduler([moves.TableGibbs()]).run(franchise.copy(), sweeps=1, rng=0, folder=folder / "run")
    return folder / "run"


def trace_of(franchise):
    return hk.Scheduler([moves.TableGibbs()]).run(franchise.copy(), sweeps=2, rng=0)


def chains_of(franchise):
    return hk.ChainTrace([trace_of(franchise), trace_of(franchise)])


# What `Scheduler.run` takes for folders and chains.
CHAINS = {
    "folder": [value for value in NO_FOLDER if value is not None],
    "checkpoint": NO_CHECKPOINT,
    "chains": optional(whole(1)),
    "processes": optional(whole(1)),
    "on_interrupt": NO_INTERRUPT,
    "backend": [5, "mpi", object()],
}

FOLDERS = {
    "Checkpoint": Row(
        plain(hk.Checkpoint, sweeps=5, seconds=1.0),
        {"sweeps": optional(whole(1)), "seconds": optional(POSITIVE)},
    ),
    "open_run": Row(
        lambda franchise: (hk.open_run, {"folder": run_in(franchise), "allow": ()}),
        {"folder": [*NO_FOLDER, "/nowhere"], "allow": NO_ALLOW},
    ),
    "Run.franchise": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).franchise, {"chain": 0}), {"chain": whole(0, 0)}
    ),
    "Run.resume": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).resume, {"sweeps": 1}),
        {
            "sweeps": optional(whole(1)),
            "callbacks": NO_CALLBACKS,
            "record": NO_RECORD,
            "samples": [0, -1, 1.5, True, "some", [3], {"after": 1}],
            "checkpoint": NO_CHECKPOINT,
            "processes": optional(whole(1)),
            "franchise": [5, "franchise", hk.Franchise, Told(another(), "7 customers")],
            "backend": [5, "mpi", object()],
        },
    ),
    "Run.state": Row(
        lambda franchise: (hk.open_run(run_in(franchise)).state, {"chain": 0}), {"chain": [-1, 1, 0.5, "0"]}
    ),
    "Trace.own": Row(lambda franchise: (hk.Trace().own, {"record": {"mine": len}}), {"record": NO_RECORD}),
    "ChainTrace.__getitem__": Row(
        lambda franchise: (chains_of(franchise).__getitem__, {"key": "n_dishes"}),
        {"key": [None, 5, "", "nobody", ["n_dishes"], slice(0, 1)]},
    ),
    "ChainTrace.to_arviz": Row(
        lambda franchise: (chains_of(franchise).to_arviz, {"after": 0, "separator": "_"}),
        {"separator": NO_SEPARATOR},
    ),
    "ChainTrace.summary": Row(
        lambda franchise: (chains_of(franchise).summary, {"after": 0}),
        {"options": Anything("ArviZ's own, which it checks")},
        run=skipped("a summary of two draws warns; test_chains makes one"),
    ),
}


def model():
    return ExactModel(hk.Franchise(hk.Restaurant(hk.DirichletMultinomial()), hk.Groups.from_labels([0, 1])))


NO_START = [5, 5.0, NAN, True, "many", "", b"one", [0, 1], np.zeros((7, 1)), [0.5] * 7, [-1] * 7, [NAN] * 7,
            [INF] * 7, ["0"] * 7, [[0], [1, 2]], [True] * 7, [2**63] * 7, hk.init.Random, Franchise, object(),
            Told({}, "frozen"), Told({"seating": 5}, "frozen"),
            Made(lambda franchise: Told(another(), "frozen")),
            *NO_STATE]  # fmt: skip
RUN = {
    "franchise": [None, 5, "franchise", hk.Franchise, restaurants()],
    "sweeps": whole(1),
    "rng": NO_SEED,
    "init": NO_START,
    "progress": NO_FUNCTION,
    "audit_every": optional(whole(1)),
}
SCHEDULER = [moves.TableGibbs(), moves.Concentration()]


def run_arguments(name):
    return lambda franchise: (
        getattr(hk.Scheduler(SCHEDULER), name),
        {"franchise": franchise, "sweeps": 2, "rng": 1, "init": "sequential"},
    )


def fresh_registry():
    registry = Registry("toy")
    registry.register("here", dict)
    return registry


def draw_of(franchise):
    return next(hk.Scheduler([moves.TableGibbs()]).sample(franchise.copy(), 1, 0))


def tick():
    return hk.Tick(1, 2, 0.5, 3, -1.0, 10.0, 1.0, False)


RUNS = {
    # ------------------------------------------------------------------ starts, moves, schedules
    "init.TermClusters": Row(
        plain(hk.init.TermClusters, n_dishes=2), {"n_dishes": optional(whole(1, 2**31 - 1))}
    ),
    "init.Factors": Row(
        plain(hk.init.Factors, n_dishes=2),
        {
            "n_dishes": optional(whole(1, 2**31 - 1)),
            "topics": [
                5, "a", [], [[]], [0.5, 0.5], [[NAN, 1.0], [1.0, 1.0]], [[INF, 1.0], [1.0, 1.0]], {},
                [[-0.5, 1.5], [1.0, 1.0]], [[0.0, 0.0], [1.0, 1.0]], [[1.0], [1.0, 2.0]], [["a", "b"]] * 2,
            ],
        },
    ),
    "init.Random": Row(plain(hk.init.Random, n_dishes=2), {"n_dishes": whole(1, 2**31 - 1)}),
    "moves.BaseMeasureParameters": Row(
        plain(moves.BaseMeasureParameters, method="slice", width=1.0),
        {"method": [None, 5, "", "newton", ["slice"], np.array(["slice", "slice"])]},
    ),
    **{
        f"moves.{kind.__name__}": Row(
            plain(kind, method="slice", width=1.0),
            {"method": [None, 5, "", "newton", ["slice"], np.array(["slice", "slice"])]},
        )
        for kind in (moves.Concentration, moves.Discount, moves.Smoothing)
    },
    "moves.Sticky": Row(plain(moves.Sticky, width=1.0), {}),
    "moves.ReseatGroups": Row(plain(moves.ReseatGroups, scans=2), {}),
    **{
        f"moves.{kind.__name__}": Row(plain(kind, threads=2), {})
        for kind in (moves.SliceGibbs, moves.CountGibbs, moves.BeamSampler, moves.ForwardBackward)
    },
    "moves.ReplicaExchange": Row(
        plain(moves.ReplicaExchange, powers=(1.0, 0.5)),
        {"powers": [None, 5, "1.0", [], [1.0], [0.9, 0.5], [1.0, 1.0], [1.0, 0.0], [1.0, NAN], ["1", "0"]]},
    ),
    "moves.TableCounts": Row(
        plain(moves.TableCounts, method="binomial"), {"method": [None, 5, "", "poisson", ["binomial"]]}
    ),
    "moves.SplitMerge": Row(
        plain(moves.SplitMerge, scans=2, candidates=9, annealed=True),
        {"candidates": optional(whole(1)), "annealed": NO_FLAG},
    ),
    "moves.SplitMergeStates": Row(
        plain(moves.SplitMergeStates, scans=2, length=1), {"scans": whole(0, 10**6), "length": whole(1, 32)}
    ),
    "moves.Scheduled": Row(
        plain(moves.Scheduled, move=moves.TableGibbs(), first=1, last=3, period=2, times=2),
        {
            "move": [None, 5, "TableGibbs", moves.TableGibbs, [moves.TableGibbs()]],
            "first": whole(1),
            "last": optional(whole(0)),
            "period": whole(1),
            "times": whole(1),
        },
    ),
    "moves.Move.until": Row(plain(moves.TableGibbs().until, sweep=2), {}),
    "moves.Move.after": Row(plain(moves.TableGibbs().after, sweep=2), {}),
    "moves.Move.every": Row(plain(moves.TableGibbs().every, n=2), {"n": whole(1)}),
    "moves.Move.repeat": Row(plain(moves.TableGibbs().repeat, n=2), {"n": whole(1)}),
    "Mixture": Row(
        plain(hk.Mixture, weighted=[(moves.TableGibbs(), 1.0)]),
        {
            "weighted": [
                *NO_MOVES, [(moves.TableGibbs(),)], [moves.TableGibbs()], [("TableGibbs", 1.0)],
                [(moves.TableGibbs(), 1.0, 2.0)], [(moves.TableGibbs().until(3), 1.0)],
                *([(moves.TableGibbs(), weight)] for weight in POSITIVE),
            ]
        },
    ),
    "Scheduler": Row(plain(hk.Scheduler, moves=SCHEDULER), {"moves": NO_MOVES}),
    "Scheduler.run": Row(
        run_arguments("run"),
        RUN
        | {
            "record": [
                5, "n_dishes", [len], {"mine": 5}, {5: len}, {"": len}, {"n_dishes": len}, {"base/eta": len},
            ],
            "thin": whole(1),
            "samples": [0, -1, 1.5, True, "some", [3], {"after": 1}],
            "callbacks": [None, 5, print, "ab", [5], {"print": print}],
        },
    ),
    "Scheduler.sample": Row(run_arguments("sample"), RUN),
    # ------------------------------------------------------------------ traces, progress, registries
    "Trace": Row(
        plain(hk.Trace, record={"mine": len}, seed=1, exact=True),
        {
            "record": [5, "n_dishes", [len], {"mine": 5}, {5: len}, {"sweep": len}],
            "seed": optional(whole(0)),
            "exact": NO_FLAG,
        },
    ),
    "Trace.__getitem__": Row(
        lambda franchise: (trace_of(franchise).__getitem__, {"key": "n_dishes"}),
        {"key": [None, 5, "", "nobody", ["n_dishes"], slice(0, 1)]},
    ),
    "Trace.append": Row(
        lambda franchise: (hk.Trace().append, {"draw": draw_of(franchise)}),
        {"draw": [None, 5, {}, "draw", hk.Draw]},
    ),
    "Trace.keep": Row(
        lambda franchise: (hk.Trace().keep, {"sample": franchise.sample()}),
        {"sample": [None, 5, {}, "sample", hk.Sample]},
    ),
    "Samples": Row(
        plain(hk.Samples, after=2, every=3),
        {"every": whole(1), "at": [5, "many", [2], [0.5], [None], {3: 4}, object()]},
    ),
    "Trace.append_moves": Row(
        lambda franchise: (hk.Trace().append_moves, {"draw": draw_of(franchise)}),
        {"draw": [None, 5, {}, "draw", hk.Draw]},
    ),
    "ProgressBar": Row(
        plain(hk.ProgressBar, file=io.StringIO(), seconds_between_lines=1.0),
        {
            "file": [5, "log.txt", [], io.StringIO],
            "seconds_between_lines": [*REAL, -1.0],
            "unit": NO_TEXT,
        },
    ),
    "ProgressBar.__call__": Row(
        lambda franchise: (hk.ProgressBar(io.StringIO()), {"tick": tick()}),
        {"tick": [None, 5, "tick", {}, hk.Tick]},
    ),
    "Registry.register": Row(
        lambda franchise: (fresh_registry().register, {"name": "toy", "thing": list, "examples": list}),
        {"name": [*NO_TEXT, "here"], "thing": [None, 5, "thing", []], "examples": [None, 5, "examples", []]},
    ),
    "Registry.remove": Row(
        lambda franchise: (fresh_registry().remove, {"name": "here"}), {}
    ),
    "Registry.__getitem__": Row(
        lambda franchise: (fresh_registry().__getitem__, {"name": "here"}), {}
    ),
    # ------------------------------------------------------------------ the harness
    "testing.check_move": Row(
        plain(check_move, move=moves.TableGibbs(), shapes=("flat 4",), corners=("middle",)),
        {
            "corners": [None, 5, "middle", [], ["nobody"], [5]],
        },
        run=skipped("test_exact_kernels runs it over every move"),
    ),
    "testing.check_base_measure": Row(
        plain(check_base_measure, measure=hk.DirichletMultinomial()),
        {
            "measure": [None, *NO_MEASURE],
            "values": [5, "ab", [], {}, {1, 2}],
        },
        run=skipped("test_exact_kernels runs it over every measure"),
    ),
    "testing.check_part": Row(
        plain(check_part, make=hk.Part, move=moves.TableGibbs(), name="part"),
        {
            "make": [None, 5, "part", hk.Part(), {}],
            "name": NO_TEXT,
            "replicas": whole(1),
            "rounds": whole(1),
        },
        run=skipped("test_examples runs it over the part of an example"),
    ),
    "testing.check_store": Row(
        plain(check_store, store_class=hk.stores["histogram"].thing, examples=1, steps=1),
        {
            "store_class": [None, 5, "histogram", {}],
            "examples": whole(1),
            "steps": whole(1),
            "shrink": NO_FLAG,
        },
        run=skipped("test_stores runs it over every store"),
    ),
    "testing.check_exact": Row(
        lambda franchise: (check_exact, {"model": model(), "move": moves.TableGibbs()}),
        {
            "model": [None, 5, "model", restaurants()],
            "matrices": [5, "ab", [5], [np.zeros((3, 3))], [np.full((2, 3), NAN)]],
            "tolerance": POSITIVE,
        },
        run=skipped("test_exact_kernels runs it over every move"),
    ),
}  # fmt: skip
