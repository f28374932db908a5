"""User code that fails or returns invalid values at its n-th call, wherever the package calls it.

After each trial the franchise is audited, and a sweep is run without the fault.
"""

import collections
import random

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference, Resampled
from hdpkit.errors import AuditError, HdpkitError, ParameterError, ReturnValueError
from hdpkit.moves.protocol import check_move
from hdpkit.random import Streams
from hdpkit.stores import Detail, ExplicitReference, HistogramReference, at_least


class Tripped(Exception):
    """What a fault raises."""


class Fault:
    """Strikes at the n-th call of one method: raises, or replaces what the method returns."""

    method = None
    met = False

    def set(self, method, calls, answer):
        self.method, self.calls, self.answer, self.met = method, calls, answer, False

    def off(self):
        self.method = None

    def around(self, method, function, *arguments):
        if method == self.method:
            self.calls -= 1
            if self.calls == 0:
                self.met = True
                if self.answer is Tripped:
                    if random.Random(len(arguments)).random() < 0.5:  # before or after the work is done
                        function(*arguments)
                    raise Tripped(method)
                return self.answer(function(*arguments))
        return function(*arguments)


FAULT = Fault()

# What a method may return instead of n log densities.
ROWS = {
    "scalar": lambda logs: float(np.asarray(logs).ravel()[0]),
    "zero-dimensional": lambda logs: np.array(-1.0),
    "too short": lambda logs: np.asarray(logs)[:-1],
    "too long": lambda logs: np.append(logs, 0.0),
    "a column": lambda logs: np.asarray(logs)[:, None],
    "NaN": lambda logs: np.append(np.asarray(logs)[:-1], np.nan),
    "all NaN": lambda logs: np.asarray(logs) * np.nan,
    "infinite": lambda logs: np.append(np.asarray(logs)[:-1], np.inf),
    "None": lambda logs: None,
    "complex": lambda logs: np.asarray(logs) + 0j,
    "objects": lambda logs: np.array([None] * len(logs), dtype=object),
    "strings": lambda logs: [str(x) for x in np.asarray(logs)],
    "bools": lambda logs: np.asarray(logs) < 0,
    "a generator": lambda logs: (x for x in logs),
    "ragged": lambda logs: [[0.0], [0.0, 1.0]],
    "a dict": lambda logs: dict(enumerate(logs)),
}
NUMBERS = {
    "NaN": lambda x: float("nan"),
    "infinite": lambda x: float("inf"),
    "None": lambda x: None,
    "a string": lambda x: "0.5",
    "complex": lambda x: 1j,
    "a vector": lambda x: np.array([0.0, 1.0]),
    "a bool": lambda x: True,
}
EXCEPTION = {"exception": Tripped}
LEGAL = {
    # These must change nothing.
    "a list": lambda logs: np.asarray(logs).tolist(),
    "a tuple": lambda logs: tuple(np.asarray(logs)),
    "a read-only view": lambda logs: np.broadcast_to(np.asarray(logs), np.shape(logs)),
    "every second": lambda logs: np.repeat(np.asarray(logs), 2)[::2],
    "float32": lambda logs: np.asarray(logs, dtype=np.float32),
}


def injected_measure(kind, supports=()):
    """A subclass of a measure's class with the fault around its methods."""

    class Injected(kind):
        def make(self):
            return FAULT.around("make", super().make)

        def add(self, statistics, value):
            return FAULT.around("add", super().add, statistics, value)

        def remove(self, statistics, value):
            return FAULT.around("remove", super().remove, statistics, value)

        def copy(self, statistics):
            return FAULT.around("copy", super().copy, statistics)

        def log_predictive(self, value, many):
            return FAULT.around("log_predictive", super().log_predictive, value, many)

        def bank(self, data):
            return hk.BaseMeasure.bank(self, data)

    def added(name):
        def method(self, *arguments):
            return FAULT.around(name, getattr(super(Injected, self), name), *arguments)

        return method

    for name in ("log_block", "log_marginal", "simulate", "posterior_mean"):
        if getattr(kind, name) is not getattr(hk.BaseMeasure, name):
            setattr(Injected, name, added(name))
    return Injected


def _terms(*options):
    return injected_measure(DirichletMultinomialReference)(*options, n_terms=3), [0, 0, 1, 1, 2, 0, 2, 1]


def _numbers(*options):
    from hdpkit.measures.normal_gamma import NormalGammaReference

    return injected_measure(NormalGammaReference)(*options), [0.3, 0.1, -1.2, 2.0, 0.4, 0.2, -1.0, 1.9]


def _log_likelihood(value, mean):
    return FAULT.around("log_likelihood", lambda: -0.5 * float((value - np.sum(mean)) ** 2) - 0.92)


def _prior(generator):
    return FAULT.around("sample_prior", generator.normal)


def _log_prior(mean):
    return FAULT.around("log_prior", lambda: -0.5 * float(mean**2))


def _update(mean, values, generator):
    def draw():
        precision = 1.0 + len(values)
        return float(generator.normal(sum(values) / precision, precision**-0.5))

    return FAULT.around("update", draw)


def _value(mean, generator):
    return FAULT.around("simulate_value", lambda: float(generator.normal(np.sum(mean))))


def _parameters(**options):
    return hk.NonConjugate(_log_likelihood, _prior, simulate_value=_value, **options), _numbers()[1]


class Weight:
    """A prior of a user's, exponential."""

    support = (0.0, np.inf)
    mean = 1.0

    def log_density(self, x):
        return FAULT.around("log_density", lambda: -x if x > 0 else -np.inf)

    def draw(self, generator, size=None):
        return FAULT.around("draw", lambda: generator.exponential(size=size) + 1e-3)


class Tracker(hk.Part):
    """A component that counts live dishes."""

    def __init__(self):
        self.live = set()

    def born(self, slot):
        FAULT.around("born", self.live.add, slot)

    def died(self, slot):
        FAULT.around("died", self.live.discard, slot)

    def holds(self, slot):
        return FAULT.around("holds", lambda slot: False, slot)

    def relabelled(self, mapping):
        FAULT.around("relabelled", lambda: setattr(self, "live", {int(mapping[s]) for s in self.live}))

    def reset(self, slots):
        FAULT.around("reset", lambda: setattr(self, "live", set(map(int, slots))))

    def audit(self, slots):
        if self.live != set(map(int, slots)):
            raise AuditError("component", self.live, f"{slots}", "")


def injected_store(kind, names):
    """A store of a user's: a package's reference with the fault around these methods."""

    def added(name):
        def method(self, *arguments):
            return FAULT.around(name, getattr(super(Injected, self), name), *arguments)

        return method

    Injected = type(f"My{kind.__name__}", (kind,), {name: added(name) for name in names})
    Injected.__module__ = __name__
    return Injected


STORE_METHODS = (
    "join", "open", "remove", "customers", "tables", "node_customers", "node_tables", "node_dishes",
    "dish_of",
)  # fmt: skip
OWN_STORES = {
    "my histograms": injected_store(HistogramReference, STORE_METHODS),
    "my tables": injected_store(ExplicitReference, (*STORE_METHODS, "table_at", "serve_dish")),
}
DOCUMENTS = [0, 0, 0, 1, 1, 2, 2, 2]
AUTHORS = [0, 0, 0, 0, 0, 1, 1, 1]

MEASURES = {
    "terms": (_terms, ("make", "add", "remove", "copy", "log_predictive", "log_block", "log_marginal")),
    "numbers": (_numbers, ("make", "add", "remove", "copy", "log_predictive", "log_marginal")),
    "terms with a prior": (lambda: _terms(Weight()), ("log_predictive", "log_density", "draw")),
    "parameters": (_parameters, ("log_likelihood", "sample_prior")),
    "parameters by slices": (lambda: _parameters(log_prior=_log_prior), ("log_prior", "log_likelihood")),
    "parameters by an update": (lambda: _parameters(update=_update), ("update", "log_likelihood")),
}
FAULTS = {
    "log_predictive": ROWS | EXCEPTION | LEGAL,
    "log_block": ROWS | EXCEPTION | LEGAL,
    "log_marginal": NUMBERS | EXCEPTION,
    "log_likelihood": NUMBERS | EXCEPTION,
    "log_prior": NUMBERS | EXCEPTION,
    "log_density": NUMBERS | EXCEPTION,
    "draw": {k: NUMBERS[k] for k in ("NaN", "infinite", "None", "a string")} | EXCEPTION,
    "sample_prior": {k: NUMBERS[k] for k in ("None", "a string")} | EXCEPTION,
    "update": {k: NUMBERS[k] for k in ("None", "a string", "a vector")} | EXCEPTION,
    "holds": {"an array": lambda x: np.zeros(3), "None": lambda x: None} | EXCEPTION,
}
MOVES = {
    "TableGibbs": moves.TableGibbs,
    "DishGibbs": moves.DishGibbs,
    "SplitMerge": moves.SplitMerge,
    "SplitMerge, 1 scan": lambda: moves.SplitMerge(scans=1),
    "ReseatGroups": lambda: moves.ReseatGroups(scans=0),
    "DishParameters": moves.DishParameters,
    "BaseMeasureParameters": moves.BaseMeasureParameters,
    "Metropolis": lambda: moves.BaseMeasureParameters("metropolis"),
    "Concentration": lambda: moves.Concentration("slice"),
}


def franchise_of(measure, values, store, shape, kernel="auto"):
    prior = Weight() if "prior" in shape else 2.0
    restaurant = hk.Restaurant(measure, concentration=prior)
    labels = {}
    if "flat" not in shape:
        if "deep" in shape:
            restaurant = hk.Restaurant(restaurant, each="author")
            labels["author"] = AUTHORS
        restaurant = hk.Restaurant(restaurant, each="document", discount=0.2)
        labels["document"] = DOCUMENTS
    return hk.Franchise(restaurant, hk.Groups.from_labels(values, labels), store=store, kernel=kernel)


def served(franchise):
    found = []
    for name, make in MOVES.items():
        try:
            check_move(make(), franchise)
        except HdpkitError:
            continue
        found.append(name)
    return found


def _view(franchise, generator):
    """One customer out and in again by a view."""
    i = int(generator.integers(8))
    name = franchise.declarations[-1].name
    view = franchise.restaurant(name, None if name == "root" else DOCUMENTS[i])
    with franchise.transaction():
        view.unseat(i, 1)
        view.seat(
            i, [None, 0, franchise.n_dishes][int(generator.integers(3))] if franchise.n_dishes else None, 2
        )


def table_gibbs(franchise, seed):
    """Start, and one sweep."""
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=seed, init="sequential")


def action(franchise, generator):
    """What is done with the fault switched on, and its name."""
    found = served(franchise)
    name = str(
        generator.choice([*found, *found, "view", "start", "log_joint", "dish_parameters", "simulate"])
    )
    if name in MOVES:
        schedule = hk.Scheduler([MOVES[name]()])
        return name, lambda: schedule.run(franchise, sweeps=2, rng=3, init=None)
    acts = {
        "view": lambda: _view(franchise, generator),
        "start": lambda: hk.Scheduler([moves.TableGibbs()]).run(
            franchise, sweeps=1, rng=3, init="sequential"
        ),
        "log_joint": franchise.log_joint,
        "dish_parameters": franchise.dish_parameters,
        "simulate": lambda: franchise.simulate(Streams(5).source(1)),
    }
    return name, acts[name]


def trial(number, seed, totals):
    """Run one trial; returns None, or what went wrong."""
    generator = np.random.default_rng([seed, number])
    kind = str(generator.choice(list(MEASURES)))
    make, methods = MEASURES[kind]
    own_store = generator.random() < 0.25
    store = str(generator.choice(list(OWN_STORES if own_store else at_least(Detail.SIZES))))
    shape = str(generator.choice(["flat", "two", "two, prior", "deep"]))
    measure, values = make()
    franchise = franchise_of(measure, values, OWN_STORES.get(store, store), shape)
    component = Tracker()
    FAULT.off()
    table_gibbs(franchise, int(generator.integers(99)))
    franchise.register("tracker", component)
    door = generator.random()
    if own_store and door < 0.6:
        method = str(generator.choice(STORE_METHODS))
    elif door > 0.8:
        method = str(generator.choice(["born", "died", "holds", "relabelled", "reset"]))
    else:
        method = str(generator.choice([*methods, "log_density"] if "prior" in shape else methods))
    fault = str(generator.choice(list(FAULTS.get(method, EXCEPTION))))
    name, act = action(franchise, generator)
    started = name == "start"
    what = f"trial {number}: {fault} of {method}, {kind}, {store}, {shape}, {name}"
    FAULT.set(method, int(generator.integers(1, 40 if generator.random() < 0.5 else 6)),
              FAULTS.get(method, EXCEPTION)[fault])  # fmt: skip
    error = None
    try:
        with np.errstate(all="ignore"):
            act()
    except Exception as caught:
        error = caught
    met = FAULT.met
    FAULT.off()
    totals["met"] += met
    totals[f"met: {method}"] += met
    if not met:
        return f"{what}: {error!r} without a fault" if error is not None else None
    if fault == "exception":
        # A frozen state is checked with the likelihood: what that raises is the cause of a DataError.
        if not isinstance(error, Tripped) and not isinstance(getattr(error, "__cause__", None), Tripped):
            return f"{what}: the exception became {error!r}"
    elif fault in LEGAL:
        if error is not None:
            return f"{what}: refused with {error!r}"
    elif error is None or not isinstance(error, HdpkitError):
        return f"{what}: {error!r}"
    elif method not in str(error):
        return f"{what}: {error} doesn't name the method"
    try:
        franchise.audit()
        if not started and (franchise.dishes < 0).any():
            return f"{what}: customers are unseated"
        init = "sequential" if (franchise.dishes < 0).any() else None
        hk.Scheduler([MOVES[move]() for move in served(franchise)]).run(
            franchise, sweeps=1, rng=0, init=init, audit_every=1
        )
    except Exception as second:
        return f"{what}: afterwards {second!r}"
    return None


@pytest.fixture(autouse=True)
def fault():
    FAULT.off()
    yield FAULT
    FAULT.off()


@pytest.mark.parametrize("count", [250, pytest.param(10_000, marks=pytest.mark.long)])
def test_faults_at_any_call(count):
    totals = collections.Counter()
    found = [trial(number, 11, totals) for number in range(count)]
    assert [wrong for wrong in found if wrong is not None] == []
    assert totals["met"] > count / 4


@pytest.mark.parametrize("answer", list(ROWS))
def test_a_row_of_the_wrong_kind_names_class_method_and_shape(answer, fault):
    franchise = franchise_of(*_terms(), "histogram", "two")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    fault.set("log_predictive", 3, ROWS[answer])
    with pytest.raises(ReturnValueError) as caught:
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=None)
    assert caught.value.parameter == "Injected.log_predictive()"
    assert "shape (" in str(caught.value)


@pytest.mark.parametrize(
    "returned",
    [None, 3, (1, 1), moves.MoveInfo(1, 2), moves.MoveInfo(-1, -2), moves.MoveInfo(float("nan"), 0),
     moves.MoveInfo(1.5, 1), moves.MoveInfo(True, True), moves.MoveInfo],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.repeat(2), lambda m: hk.Mixture([(m, 1.0)])])
def test_what_a_move_returns(returned, wrap):
    class Mine(moves.Move):
        def apply(self, state, rng, steps=None):
            return returned

    franchise = franchise_of(*_numbers(), "explicit", "two")
    with pytest.raises(ReturnValueError, match=r"Mine\.apply\(\)"):
        hk.Scheduler([moves.TableGibbs(), wrap(Mine())]).run(franchise, sweeps=2, rng=0)
    franchise.audit()
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=None, audit_every=1)


@pytest.mark.parametrize("part", ["mean", "support"])
@pytest.mark.parametrize("value", [float("nan"), None, "one", 1j, (1.0,)])
def test_what_a_prior_says_of_itself(part, value):
    prior = type("Mine", (Weight,), {part: value})()
    for declare in (
        lambda: hk.Restaurant(hk.NormalGamma(), concentration=prior),
        lambda: hk.NormalGamma(rate=prior),
        lambda: hk.Restaurant(hk.NormalGamma(), concentration=hk.Each(hk.Shifted(prior))),
    ):

        def use(declare=declare):
            restaurant = declare()
            if isinstance(restaurant, hk.BaseMeasure):
                restaurant = hk.Restaurant(restaurant)
            franchise = hk.Franchise(restaurant, hk.Groups.from_labels(_numbers()[1], {}))
            hk.Scheduler([moves.BaseMeasureParameters()]).run(franchise, sweeps=1, rng=0)

        with pytest.raises(HdpkitError) as caught:
            use()
        assert "Mine" in str(caught.value) or isinstance(caught.value, ParameterError)


@pytest.mark.parametrize("method", ["for_data", "with_parameters"])
@pytest.mark.parametrize("returned", [None, 3, hk.NormalGamma])
def test_a_measure_that_returns_no_measure(method, returned):
    class Mine(hk.BaseMeasure):
        parameters = {"rate": Resampled(1.0, hk.Gamma(1.0, 1.0))}  # noqa: RUF012

        def make(self):
            return [0]

        add = remove = lambda self, statistics, value: None

        def log_predictive(self, value, many):
            return np.zeros(len(many))

    setattr(Mine, method, lambda self, *data, **values: returned)
    with pytest.raises(ReturnValueError, match=rf"Mine\.{method}\(\)"):
        hk.Franchise(hk.Restaurant(Mine()), hk.Groups.from_labels([1, 2], {}))


def test_a_component_must_freeze_to_a_dict():
    franchise = franchise_of(*_numbers(), "explicit", "two")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0)
    franchise.register("mine", type("Mine", (Tracker,), {"freeze": lambda self: None})())
    with pytest.raises(ReturnValueError, match=r"Mine\.freeze\(\)"):
        franchise.freeze()
