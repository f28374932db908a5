"""Bad values by the kind of value expected, and the format of rows in the table of bad input."""

import math
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import hdpkit as hk
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams

NAN, INF = math.nan, math.inf
HUGE = 10**400  # a whole number that no double holds


@attrs.frozen
class Anything:
    """Every value is legal, or how to check it is somebody else's business: say whose."""

    reason: str


@attrs.frozen
class Told:
    """A bad value that the error describes in words of its own, which the text must hold."""

    value: Any
    told: str


@attrs.frozen
class Made:
    """A bad value that is made from the franchise of the test."""

    value: Callable[[hk.Franchise], Any]


@attrs.frozen
class Row:
    """A public function: what builds it with good arguments, and bad values by parameter.

    ``run`` replaces the call with the good values where that would take long or leave something behind.
    """

    build: Callable[[hk.Franchise], tuple[Callable[..., Any], dict[str, Any]]]
    bad: dict[str, Any]
    run: Callable[..., Any] | None = None


def corpus():
    return hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)


def restaurants(**options):
    root = hk.Restaurant(
        hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)), concentration=hk.Gamma(1.0, 1.0), **options
    )
    return hk.Restaurant(root, concentration=hk.Each(hk.Gamma(1.0, 1.0)), each="document")


def tiny(**options):
    """A tiny franchise in its sequential state."""
    franchise = hk.Franchise(restaurants(), corpus(), **options)
    start(franchise, "sequential", Streams(0).source(STARTS))
    return franchise


def another():
    """A franchise of another shape."""
    return hk.Franchise(restaurants(), hk.Corpus.from_documents([[0]]))


def without(values, *more):
    """These values but those that are legal somewhere."""
    return [value for value in values if not any(value is one for one in more)]


NOT_NUMBERS = [None, "1", b"1", [], {}, [1.0], 1j, object(), float]
NOT_FINITE = [NAN, INF, -INF, HUGE, -HUGE, np.float32("nan")]
BOOLS = [True, False, np.True_]
REAL = [*NOT_NUMBERS, *NOT_FINITE, *BOOLS]
POSITIVE = [*REAL, 0, 0.0, -1.0]


def whole(low, high=None):
    """What is no whole number from low to high."""
    bad = [*NOT_NUMBERS, *BOOLS, NAN, INF, 2.5, 2.0, np.float64(1.0), low - 1, -(2**63), -HUGE]
    return bad if high is None else [*bad, high + 1, 2**63, HUGE, 10**5000]


def optional(values):
    """The same where None is legal."""
    return without(values, None)


NO_TEXT = [None, 5, 1.5, True, "", b"a", ["a"], {}, np.array(["a", "b"]), object()]
NO_NAME = [None, 5, NAN, "nobody", "", b"root", ["root"], {"root": 1}, np.array(["root", "root"])]
NO_FUNCTION = [5, "f", [len], {}]
NO_SEQUENCE = [None, 5, "ab", b"ab", {0, 1}, {0: 1}, list]
NO_INTERRUPT = [None, 5, True, "stop", "", b"raise", ["raise"]]
NO_FLAG = [None, 1, 0, "yes", 1.0, [True]]
NO_SEED = [-1, 1.0, NAN, "1", True, [1], np.array([1, 2]), np.random.RandomState(0), object()]
NO_MEASURE = [5, "DirichletMultinomial", hk.DirichletMultinomial, {}, []]
# Bad values by the name of the parameter, where a row has none of its own; `bad_input_rows` has more.
BY_NAME = {
    "after": whole(0), "level": optional(NO_NAME), "measure": NO_MEASURE,
    "move": [None, 5, "TableGibbs", hk.moves.TableGibbs], "name": NO_NAME, "on_interrupt": NO_INTERRUPT,
    "particles": whole(1, 2**31), "progress": NO_FUNCTION, "reversible": NO_FLAG, "rng": NO_SEED,
    "scans": optional(whole(0)), "seed": whole(0),
    "shapes": [None, 5, "2+2", [], ["nobody"], [5], [["2+2"]]], "sweep": whole(0), "threads": whole(1),
    "verify": NO_FLAG, "width": POSITIVE,
}  # fmt: skip
# Other words that an error may name a parameter by.
ALIASES = {
    "X": "counts corpus tokens", "blocks": "corpus", "concentration": "value", "context": "key",
    "d": "document", "data": "terms label each values document held_out", "discount": "value",
    "docs": "document corpus",
    "end": "start vocabulary", "first": "last", "folder": "file", "frozen": "weights", "given": "folder run",
    "groups": "label", "held_out": "terms", "init": "frozen", "inits": "init frozen", "keys": "key",
    "labels": "label", "n_terms": "document line", "name": "label toy", "one": "folder run",
    "other": "folder run", "path": "file line corpus tokens", "schedule": "moves", "schedules": "moves",
    "selection": "r s", "sentences": "sentence", "start": "vocabulary", "text": "sentence file source",
    "topics": "n_terms", "trace": "folder run", "v": "term", "values": "document eta parameters",
    "vocabulary": "line", "words": "contexts",
}  # fmt: skip
NO_MOVES = [*NO_SEQUENCE, [], [None], [5], ["TableGibbs"], [hk.moves.TableGibbs], hk.moves.TableGibbs()]


def method(name):
    """Build a method of the franchise with good arguments."""
    return lambda **good: lambda franchise: (getattr(franchise, name), good)


def plain(function, **good):
    """Build a function that needs no franchise."""
    return lambda franchise: (function, good)


def view(name, **good):
    return lambda franchise: (getattr(franchise.restaurant("document", 0), name), good)


def unseated(franchise):
    franchise.restaurant("document", 0).unseat(0, 1)
    return franchise


def skipped(why):
    """The call with good values is made elsewhere."""
    assert why
    return lambda function, good: None


def changed(**changes):
    """A frozen state with changes; a dot goes one level down."""

    def make(franchise):
        frozen = franchise.freeze()
        for key, value in changes.items():
            if key.startswith("seating_"):
                frozen["seating"] = {**frozen["seating"], key.removeprefix("seating_"): value}
            else:
                frozen[key] = value
        return Told(frozen, ", in the frozen state")

    return Made(make)


def lacking(key):
    def make(franchise):
        frozen = franchise.freeze()
        del frozen[key]
        return Told(frozen, f"without: [{key!r}]")

    return Made(make)


KEYS = ["seating", "slots", "held", "concentration", "discount", "measure", "bank", "sweep", "streams"]
KEYS += ["components", "dish_ids", "births"]
NO_STATE = [
    *map(lacking, KEYS), changed(concentration=np.array([NAN, 1.0, 1.0, 1.0])),
    changed(concentration=np.array([1.0, 1.0])), changed(concentration="1"),
    changed(discount=np.array([1.0, 0.0, 0.0, 0.0])), changed(discount=None), changed(sweep=-1),
    changed(sweep=2.5), changed(slots=np.array([1, 0])), changed(slots=np.array([-1])), changed(slots=[0.5]),
    changed(held=[-1]), changed(measure={"eta": NAN}), changed(measure={"beta": 1.0}), changed(measure=5),
    changed(seating_dish=np.zeros(3, np.int32)), changed(seating_dish=np.full(7, 99, np.int32)),
    changed(seating_dish=np.full(7, -2, np.int32)), changed(seating_dish=[[1], [2, 3]]),
    changed(seating_bin_node=np.full(3, 99, np.int32)), changed(seating_bin_size=[]),
    Made(lambda franchise: Told(another().freeze(), "frozen")),
]  # fmt: skip
