"""Misuses of steps, made from their signatures: `python tests/trials/step_trials.py --count 2000 --seed 0`.

Each trial builds a small franchise, calls a method with up to three wrong arguments, audits and continues.
It runs in a worker that may be killed: calls that end the process or take over 10 seconds are counted.
`test_steps.py` runs a few of them.
"""

import argparse
import collections
import faulthandler
import inspect
import json
import os
import subprocess
import sys
import warnings

import numpy as np
from states import same_state

import hdpkit as hk
from hdpkit.errors import HdpkitError
from hdpkit.random import ChoiceSource, RandomStream, ScriptedSource
from hdpkit.stores import Detail, detail_of

SECONDS = 10
STORES = ("histogram", "explicit", "counts")
PRIVATE = "_"


# ------------------------------------------------------------------ what is misused


def topics(store, kernel="auto", each=("document",)):
    rng = np.random.default_rng(1)
    documents = [rng.integers(0, 6, size=5) for _ in range(8)]
    corpus = hk.Corpus.from_documents(documents, n_terms=6)
    restaurant = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), name="root", discount=0.1)
    for label in each:
        restaurant = hk.Restaurant(restaurant, each=label, name=label, discount=0.1)
    return hk.Franchise(restaurant, corpus, store=store, kernel=kernel)


def direct(store, kernel="auto", measure=None):
    """Direct assignment: weights of the root, and counts."""
    if measure is None:
        return _with_weights(topics(store="histogram").data, hk.DirichletMultinomial(eta=0.5), store, kernel)
    return _with_weights(numbers(store="histogram").data, measure, store, kernel, each="group")


def _with_weights(data, measure, store, kernel, each="document"):
    restaurant = hk.Restaurant(hk.Restaurant(measure, name="root"), each=each, name=each)
    return hk.Franchise(restaurant, data, store=store, kernel=kernel, root="weights")


def numbers(store, kernel="auto", depth=3, measure=None):
    rng = np.random.default_rng(2)
    values = rng.normal(size=30)
    labels = {"group": rng.integers(0, 4, size=30)}
    labels["half"] = labels["group"] // 2
    data = _grouped(values, labels)
    restaurant = hk.Restaurant(measure or hk.NormalGamma(), name="root")
    for label in ("half", "group")[: depth - 1]:
        restaurant = hk.Restaurant(restaurant, each=label, name=label)
    return hk.Franchise(restaurant, data, store=store, kernel=kernel)


def _grouped(values, labels):
    return hk.Groups.from_labels(values, {name: code.tolist() for name, code in labels.items()})


def words(store, kernel="auto"):
    sentences = [["a", "b", "c"], ["b", "b", "a"], ["c", "a", "a", "b"], ["a"]]
    data = hk.NGrams.from_sentences(sentences, order=3)
    restaurant = hk.Restaurant(hk.Uniform(), name="root", discount=0.3)
    for depth in (1, 2):
        restaurant = hk.Restaurant(restaurant, each=f"context {depth}", name=f"context {depth}", discount=0.3)
    return hk.Franchise(restaurant, data, store=store, kernel=kernel)


class Counts(hk.BaseMeasure):
    """A measure in Python."""

    def make(self):
        return np.array([2.0, 1.0])

    def add(self, statistics, value):
        statistics += abs(value), 1

    def remove(self, statistics, value):
        statistics -= abs(value), 1

    def log_predictive(self, value, many):
        a, b = np.array(many).T
        return np.log(b) * 0.1 - 0.1 * a


FRANCHISES = {
    "topics": topics,
    "topics, generic": lambda store: topics(store, "generic"),
    "topics, reference": lambda store: topics(store, "reference"),
    "numbers": numbers,
    "numbers, two levels": lambda store: numbers(store, depth=2),
    "numbers, flat": lambda store: numbers(store, depth=1),
    "measure in Python": lambda store: numbers(store, depth=2, measure=Counts()),
    "words": words,
}
OVER_COUNTS = {
    "topics": direct,
    "topics, reference": lambda store: direct(store, "reference"),
    "numbers": lambda store: direct(store, measure=hk.NormalGamma()),
    "measure in Python": lambda store: direct(store, measure=Counts()),
    "topics, indicators": lambda store: topics(store),
    "numbers, indicators": lambda store: numbers(store),
    "measure in Python, indicators": lambda store: numbers(store, depth=2, measure=Counts()),
}


# ------------------------------------------------------------------ arguments


class Liar(RandomStream):
    """A source whose answers are no options."""

    answer = 10**6

    def choose(self, weights):
        return self.answer

    def index(self, n):
        return self.answer

    def bernoulli(self, p):
        return True


class Unmade(ChoiceSource):
    """A source that was never initialised."""

    def __init__(self):
        pass


class Thief(RandomStream):
    """A source that raises."""

    def choose(self, weights):
        raise RuntimeError("no choice")


def wrong(rng, state):
    """A value that is wrong nearly everywhere."""
    n = state.topology.n_customers
    liar = Liar()
    liar.answer = [10**6, -1, None, "a", 2**63, 0.5][rng.integers(6)]
    pool = [
        None, "a", b"x", 1.5, float("nan"), float("inf"), True, -1, -2, n, n + 1, 2**31 - 1, 2**31,
        -(2**31), 2**63, -(2**63), 10**30, [], [0], [None], [-1], [n], [2**31], [2**63], [0, [1]], {}, {0},
        {"a": 1}, (), (1, 2), np.array(3), np.int64(-5), np.int32(n), np.arange(3.0),
        np.zeros((2, 2), dtype=np.int64), np.full(n, 2**31 - 1, dtype=np.int32),
        np.full(n, -7, dtype=np.int64), np.zeros(n, dtype=np.int32), np.arange(2 * n, dtype=np.int64)[::2],
        np.arange(n, dtype=np.int32)[::-1], np.array([], dtype=np.int64), np.array(["x"]), np.array([None]),
        np.full(n, np.nan), np.zeros(n, dtype=np.int8), object(), lambda: 0, liar, Thief(), Unmade(),
        ScriptedSource([10**6] * 50), ScriptedSource([-1]), RandomStream(), state, state.store, state.slots,
        state.bank, type, ChoiceSource,
    ]  # fmt: skip
    frozen = np.arange(n, dtype=np.int64)
    frozen.setflags(write=False)
    return [*pool, frozen][rng.integers(len(pool) + 1)]


def right(name, state, rng):
    """A value that fits a parameter of this name, where one is known."""
    n = state.topology.n_customers
    known = {
        "first": lambda: 0,
        "last": lambda: n // 2,
        "source": RandomStream,
        "rng": RandomStream,
        "walk": lambda: state.walk(),
        "bank": lambda: state.bank,
        "units": lambda: state.units(1, with_customers=True),
        "level": lambda: 1,
        "with_customers": lambda: bool(rng.integers(2)),
        "order": lambda: np.arange(len(state.units(1, with_customers=True)), dtype=np.int64),
        "sides": lambda: np.full(len(state.units(1, with_customers=True)), -1, dtype=np.int8),
        "sizes": lambda: np.array([1, 1]),
        "forced": lambda: None,
        "which": lambda: np.array([0, 1]),
        "dish": lambda: int(state.slots.occupied_slots()[0]),
        "slot": lambda: int(state.slots.occupied_slots()[0]),
        "slots": lambda: state.slots.occupied_slots(),
        "dishes": lambda: state.seating.dishes(),
        "customers": lambda: [0, 1],
        "customer": lambda: 0,
        "node": lambda: int(state.topology.home[0]),
        "nodes": lambda: np.array([0, 1]),
        "groups": state.groups,
        "launches": lambda: 1,
        "discount": lambda: 0.1,
        "concentration": lambda: state.hyperparameters.theta,
        "name": lambda: state.declarations[-1].name,
        "step": lambda: "reseat",
        "frozen": lambda: state.freeze(),
        "home": lambda: state.topology.home,
        "parent": lambda: state.topology.parent,
        "node_level": lambda: state.topology.level,
        "store": lambda: state.seating,
        "n": lambda: 2,
        "mapping": lambda: np.arange(state.n_dishes, dtype=np.int32),
        "value": lambda: 1.0,
        "data": lambda: state.data,
        "weights": lambda: [1.0, 2.0],
        "above": lambda: np.ones(2),
    }
    try:
        return known[name]()
    except (KeyError, HdpkitError):  # nothing fits
        return wrong(rng, state)


def targets(state):
    """What a move can call, except private objects: (where it belongs, its name, the function).

    Stores, slots, banks and walks are compiled, and promise nothing to those who call them directly.
    """
    view = state.restaurant(state.declarations[-1].name, state.keys(state.declarations[-1].name)[0])
    holders = [
        ("state", state),
        ("view", view),
        ("snapshot", state.snapshot()),
        ("source", RandomStream()),
    ]
    if detail_of(state.seating) is Detail.SEATS and state.topology.n_levels > 1:
        holders.append(("units", state.units(1, with_customers=True)))
    found = []
    for label, holder in holders:
        weight = 6 if label == "state" else 1
        for name in dir(holder):
            # A permutation of 2**31 - 1 is no misuse: it takes as long as it takes.
            if name.startswith(PRIVATE) or name == "permutation":
                continue
            if isinstance(getattr(type(holder), name, None), property):
                continue
            function = getattr(holder, name, None)
            if callable(function) and not isinstance(function, type):
                found += [(label, name, function)] * weight
    return found


def arguments(function, state, rng):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    given, named = [], {}
    made = []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty and rng.random() < 0.3:
            break
        made.append((parameter, right(parameter.name, state, rng)))
    if not made:
        return [wrong(rng, state)] * (not parameters), {}
    # Some calls look right: made outside a move, they must leave a whole state too.
    for place in rng.integers(len(made), size=rng.integers(1 + min(3, len(made)))):
        made[place] = made[place][0], wrong(rng, state)
    for parameter, value in made:
        if parameter.kind == parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            given.append(value)
    return given, named


# ------------------------------------------------------------------ a trial


def go_on(state):
    """A little of a chain."""
    rng = RandomStream((1, 2))
    n = state.topology.n_customers
    seated = state.seating.dishes() >= 0
    for customer in np.flatnonzero(~seated).tolist():
        state.enter(customer, customer + 1, rng)
    state.reseat(0, n, rng)
    if state.topology.n_levels > 1:
        with state.labelled_seating(rng), state.root_integrated(rng):
            found = state.units(1)
            state.resample_dish(found, 0, len(found), rng)
            if not state.measure.atomic:
                state.reseat_groups(state.groups(), 0, 1, 1, rng)
    state.settle()
    state.log_joint()
    state.root_weights()
    state.audit()


def trial(seed, number, store):
    """Misuse something; returns what happened."""
    rng = np.random.default_rng([seed, number, STORES.index(store)])
    franchises = OVER_COUNTS if store == "counts" else FRANCHISES
    kind = sorted(franchises)[rng.integers(len(franchises))]
    state = franchises[kind](store)
    stream = RandomStream((number, seed))
    state.enter(0, state.topology.n_customers, stream)
    if rng.random() < 0.5 and state.topology.n_levels > 1:
        go_on(state)
    before = state.freeze()
    transaction = state.transaction()
    transaction.__enter__()
    block = state.labelled_seating(stream) if rng.random() < 0.6 else None
    if block is not None:
        block.__enter__()
    found = targets(state)
    label, name, function = found[rng.integers(len(found))]
    given, named = arguments(function, state, rng)
    told = {"kind": kind, "store": store, "call": f"{label}.{name}", "arguments": repr((given, named))[:300]}
    print(json.dumps({"begin": number, **told}), flush=True)
    outcome, failure = "accepted", None
    try:
        answer = function(*given, **named)
        if hasattr(answer, "__enter__"):
            with answer:
                pass
    except Exception as error:
        outcome, failure = type(error).__name__, error
        if isinstance(error, HdpkitError):
            outcome = f"typed: {outcome}"
        told["error"] = str(error)[:200]
    told["outcome"] = outcome
    told["after"] = aftermath(state, transaction, block, before, failure)
    return told


def aftermath(state, transaction, block, before, failure):
    """What an audit says, and whether the chain goes on, if need be from the state before.

    After an error the transaction must have restored the state before, bit for bit.
    """
    try:
        try:
            if block is not None:
                block.__exit__(type(failure) if failure else None, failure, None)
        except Exception as error:
            failure = failure or error
        transaction.__exit__(type(failure) if failure else None, failure, None)
        if failure is not None and not same_state(state.freeze(), before):
            return "untyped: another state after the transaction"
        state.audit()
        go_on(state)
        return "whole"
    except Exception as error:
        said = (
            type(error).__name__
            if isinstance(error, HdpkitError)
            else f"untyped {type(error).__name__}: {error}"
        )
    try:
        state.thaw(before)
        state.audit()
        go_on(state)
    except Exception as error:
        return f"{said}, then {type(error).__name__} after a thaw: {error}"
    return f"{said}, whole after a thaw"


# ------------------------------------------------------------------ parent and worker


def work(seed, first, last, store):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    for number in range(first, last):
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        told = trial(seed, number, store)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps({"end": number, **told}), flush=True)


def campaign(seed, first, last, store):
    """All trials of a store, in workers that are begun anew when they end early; what each told."""
    done, place = [], first
    while place < last:
        worker = subprocess.run(
            [sys.executable, __file__, "--worker", str(seed), str(place), str(last), store],
            capture_output=True, text=True, check=False, env=dict(os.environ),
        )  # fmt: skip
        lines = [json.loads(line) for line in worker.stdout.splitlines() if line.startswith("{")]
        ended = [line for line in lines if "end" in line]
        done += ended
        begun = [line for line in lines if "begin" in line]
        if len(ended) < last - place:
            lost = begun[-1] if len(begun) > len(ended) else {"call": "set-up", "begin": place + len(ended)}
            hung = "Timeout" in worker.stderr
            outcome = "hang" if hung else "end of the process"
            done.append({**lost, "outcome": outcome, "after": worker.stderr[-1500:]})
            place += len(ended) + 1
        else:
            place = last
    return done


def is_fault(told):
    """Whether this is what must not happen."""
    if told["outcome"] in ("hang", "end of the process"):
        return True
    if told["after"] == "whole":
        return False
    if "after a thaw:" in told["after"] or "untyped" in told["after"]:
        return True
    # The dish waits for customers, or customers are held: as the docstrings say, the next step says so.
    return told["call"] not in ("state.open_dish", "state.hold") or told["outcome"] != "accepted"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", choices=STORES)
    parser.add_argument("--one", type=int)
    parser.add_argument("--worker", nargs=4)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if options.worker:
        seed, first, last, store = options.worker
        work(int(seed), int(first), int(last), store)
        return
    for store in STORES if options.store is None else (options.store,):
        first, last = (0, options.count) if options.one is None else (options.one, options.one + 1)
        done = campaign(options.seed, first, last, store)
        print(store, len(done), dict(collections.Counter(told["outcome"] for told in done).most_common()))
        print("  afterwards", dict(collections.Counter(str(t["after"])[:40] for t in done).most_common(8)))
        for told in done:
            untyped = told["outcome"] not in ("accepted", "TypeError") and not told["outcome"].startswith(
                "typed"
            )
            if is_fault(told) or (options.verbose and untyped) or options.one is not None:
                print(json.dumps(told)[:1500])


if __name__ == "__main__":
    main()
