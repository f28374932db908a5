"""The rows of priors, measures, declarations, known components and franchises in the table of bad input."""

import numpy as np
from bad_values import (
    HUGE,
    INF,
    NAN,
    NO_FLAG,
    NO_FUNCTION,
    NO_MEASURE,
    NO_NAME,
    NO_SEQUENCE,
    NO_STATE,
    NO_TEXT,
    POSITIVE,
    REAL,
    Anything,
    Row,
    Told,
    corpus,
    method,
    optional,
    plain,
    restaurants,
    skipped,
    tiny,
    unseated,
    view,
    whole,
)

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.random import Streams
from hdpkit.steps.step import step

NO_GROUPS = [*NO_SEQUENCE, [-1], [3], ["nobody"], [0.5], [None], [[0]], [True], [0, 1, 2]]
NO_KNOWN = [
    5, "known", hk.Known, [[0.5, 0.25, 0.25]], hk.Known([[0.5, 0.5]], counts=4),
    hk.Known(np.full((1, 4), 0.25), frozen=True), Told(hk.KnownValues([[0.5]]), "DirichletMultinomial"),
]  # fmt: skip

KNOWN = {
    "Known": Row(
        plain(
            hk.Known, matrix=[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], counts=[4, 5], frozen=False, names=["a", "b"]
        ),
        {
            "matrix": [
                None, 5, "a", [], [[]], [0.5, 0.5], [[0.5, 0.6, 0.0]], [[0.5, 0.4], [1.0]],
                [[1.5, -0.5, 0.0], [0.2, 0.2, 0.6]], [[NAN, 1.0, 0.0]], [["0.5", "x", "y"]], {},
                [[0.2, 0.2, 0.5], [0.2, 0.2, 0.6]],
            ],
            "counts": [
                None, 0, -1, NAN, INF, HUGE, "5", [], [5], [5, 5, 5], [5, 0], [5, NAN], [[5, 5]], 0.1,
                [5, 0.1],
            ],
            "frozen": [None, 1, 0, "yes", 1.0, [], [True], [1, 0], [[True, False]], {}],
            "names": ["ab", 5, ["a"], ["a", "a"], ["a", ""], ["a", 5], ["a", "b", "c"], {}, {"a", "b"}],
        },
    ),
    "KnownValues": Row(
        plain(hk.KnownValues, values=[[0.5, 0.1], [2.0]], names=["a", "b"]),
        {
            "values": [None, 5, "ab", [], [[]], [[0.5], []], [0.5], [[NAN], [1.0]], [["a"], [1.0]], {}],
            "names": ["ab", 5, ["a"], ["a", "a"], ["a", ""], ["a", 5], ["a", "b", "c"], {}, {"a", "b"}],
        },
    ),
    "Known.earlier": Row(
        plain(hk.Known([[0.5, 0.5]], counts=4).earlier, component=0), {"component": whole(0, 0)}
    ),
    "KnownValues.earlier": Row(
        plain(hk.KnownValues([[0.5]]).earlier, component=0), {"component": whole(0, 0)}
    ),
    "Franchise.hold": Row(
        method("hold")(groups=[0], level="document"), {"groups": NO_GROUPS, }
    ),
    "Franchise.release": Row(
        method("release")(groups=[0], level="document"),
        {"groups": optional(NO_GROUPS[:-1]), },
    ),
    "Franchise.held_groups": Row(method("held_groups")(level="document"), {}),
}  # fmt: skip


@step()
def nothing(walk, bank, first, last, source):
    """A step that changes nothing."""


def stream():
    return Streams(0).source(0)


def explicit():
    return tiny(store="explicit")


def weighted():
    return tiny(root="weights")


class Noisy(DirichletMultinomialReference):
    """It has a shared value that it doesn't need."""

    def parts(self, state):
        return {"noise": hk.SharedValue(1.0)}


def shared():
    return hk.Franchise(hk.Restaurant(Noisy(0.5, n_terms=3)), corpus())


def sticky():
    """A hidden Markov model with kappa."""
    data = hk.Sequences.from_arrays([[0, 1, 1]], n_terms=2)
    rows = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each=hk.PreviousDish(sticky=1.0))
    return hk.Franchise(rows, data, store="counts", root="weights")


def resample_dish(franchise):
    units = franchise.units(1)
    return franchise.resample_dish, {"units": units, "first": 0, "last": len(units), "source": stream()}


def sentences(these):
    return hk.NGrams.from_sentences(these, order=2)


def tree():
    """A franchise over contexts that can grow."""
    restaurant = hk.Restaurant(hk.Restaurant(hk.Uniform()), each="context 1")
    franchise = hk.Franchise(restaurant, sentences([["a", "b"], ["a"]]))
    start(franchise, "sequential", stream())
    return franchise


def proposal(name, /, unseats=False, **good):
    """A method of an open proposal of another franchise than that of the test."""

    def build(franchise):
        state = weighted_explicit()
        p = state.proposal(stream()).__enter__()
        if unseats:
            p.unseat(0)
        return getattr(p, name), {"units": state.units(1), **good} if name == "move_units" else good

    return build


def weighted_explicit():
    return tiny(store="explicit", root="weights")


NO_DATA = [None, 5, "data", [[0, 1]], np.zeros(3), hk.Corpus, {}]
NO_STORE = [
    None, 5, "table", "", ["histogram"], object, hk.SeatingStore, type("Half", (), {"DETAIL": "sizes"}),
    type("Odd", (), {"DETAIL": 5}),
]  # fmt: skip
PRIORS = [hk.Gamma, "Gamma"]
# A vector is legal, and shown as the array that it was made into.
ETA = [value for value in POSITIVE if value != 0 and value != [1.0]]
ETA += [0.0, Told([[1.0]], "[[1.]]"), [1.0, NAN], Told([1.0, INF], "inf]"), Told([1.0, -1.0], "-1.]"),
        [1.0, None], [True, 1.0], ["1", "2"], [[1.0], [1.0, 2.0]],
        np.array([1j]), np.array([1.0, None])]  # fmt: skip

NOT_ARRAYS = [value for value in REAL if type(value) is not list] + [
    [1.0, NAN], [1, None], [1.0, INF], ["1"], [True, 2], [[1.0], [1.0, 2.0]],
    np.ma.masked_array([1.0, 2.0], [False, True]),
]  # fmt: skip

ROOT = hk.Restaurant(hk.DirichletMultinomial(0.5))

MODEL = {
    # ------------------------------------------------------------------ priors
    "Gamma": Row(
        plain(hk.Gamma, shape=2.0, rate=1.0),
        {"shape": POSITIVE, "rate": [*POSITIVE, Told(1e-320, "(2.0, 1e-320)")]},
    ),
    "Beta": Row(
        plain(hk.Beta, a=2.0, b=1.0),
        {"a": [*POSITIVE, Told(1e300, "(a, b)")], "b": [*POSITIVE, Told(1e-320, "(a, b)")]},
    ),
    "Normal": Row(plain(hk.Normal, mean=0.0, deviation=1.0), {"mean": REAL, "deviation": POSITIVE}),
    "Above": Row(
        plain(hk.Above, prior=hk.Gamma(1.0, 1.0), low=0.5),
        {
            "prior": [None, 1.0, NAN, *PRIORS, hk.Above, hk.Normal(1.0, 1.0), hk.Each(hk.Gamma(1.0, 1.0))],
            "low": [*REAL, -0.5],
        },
    ),
    "Shifted": Row(
        plain(hk.Shifted, prior=hk.Gamma(1.0, 1.0)),
        {"prior": [None, 1.0, NAN, *PRIORS, hk.Shifted, hk.Normal(1.0, 1.0), hk.Each(hk.Gamma(1.0, 1.0))]},
    ),
    "Dirichlet": Row(
        plain(hk.Dirichlet, shapes=[1.0, 2.0]),
        {"shapes": [value for value in POSITIVE if not isinstance(value, list)] + [[], [1.0]]},
    ),
    "MixtureOf": Row(
        plain(
            lambda restaurants, weights: hk.MixtureOf(*restaurants, weights=weights),
            restaurants=(ROOT, hk.Restaurant(ROOT)),
            weights=[0.25, 0.75],
        ),
        {
            "restaurants": [(), (ROOT,), (ROOT, ROOT), (ROOT, 5), (ROOT, hk.DirichletMultinomial())],
            "weights": [
                5, "", 0.5, NAN, [1.0], [0.5, 0.6], [0.0, 1.0], [-0.5, 1.5], [0.2, NAN], hk.Dirichlet,
                hk.Dirichlet([1.0, 1.0, 1.0]), hk.Gamma(1.0, 1.0), {},
            ],
        },
    ),
    "OneOf": Row(
        plain(hk.OneOf, label="year", restaurants={1990: ROOT}),
        {
            "label": [None, 5, "", b"year", ["year"]],
            "restaurants": [None, 5, "year", {}, {1990: 5}, {1990: ROOT, 1991: ROOT}, [ROOT]],
        },
    ),
    "Each": Row(plain(hk.Each, prior=hk.Gamma(1.0, 1.0)), {"prior": [None, 1.0, NAN, *PRIORS, hk.Each]}),
    # ------------------------------------------------------------------ what a prior says
    "expected_tables": Row(
        plain(hk.expected_tables, n=[1, 2], mass=[0.5, 2.0], method="sum"),
        {
            "n": [
                *NOT_ARRAYS, -1, 1.5, -(2**63), 10**7 + 1, [1, -1.0], [[1.0], [2.5]], Told([1, 2, 3], "(3,)"),
            ],
            "mass": [*NOT_ARRAYS, 0, 0.0, -1.0, [1.0, 0.0], [[-2.0]], Told([1.0, 2.0, 3.0], "(3,)")],
            "method": [None, 5, True, "", "Exact", ["exact"], b"exact", {"exact"}],
        },
    ),
    # ------------------------------------------------------------------ measures
    **{
        name: Row(
            plain(kind, eta=0.5, n_terms=3),
            {"eta": [*ETA, *PRIORS], "n_terms": optional(whole(1, 2**31 - 1))},
        )
        for name, kind in (
            ("DirichletMultinomial", hk.DirichletMultinomial),
            ("DirichletMultinomialReference", DirichletMultinomialReference),
        )
    },
    "Finite": Row(
        plain(hk.Finite, values=[0.2, 0.7], weights=[1.0, 2.0]),
        {
            "values": [*NO_SEQUENCE, [], np.array(1.0)],
            "weights": [
                None, 5, "ab", "12", [], [1.0], [1.0, 0.0], [1.0, -1.0], [1.0, NAN], [1.0, INF], [1.0, None],
                ["1", "2"], [True, True], [[1.0, 2.0]], [HUGE, 1], [1e308, 1e308], {0: 1, 1: 2},
            ],
        },
    ),
    "NonConjugate": Row(
        plain(hk.NonConjugate, log_likelihood=max, sample_prior=hk.Finite([1.0]), auxiliary=2),
        {
            "log_likelihood": [None, *NO_FUNCTION],
            "sample_prior": [None, *NO_FUNCTION, hk.Gamma(1.0, 1.0)],
            "log_prior": NO_FUNCTION,
            "update": NO_FUNCTION,
            "simulate_value": NO_FUNCTION,
            "auxiliary": whole(1, 10**6),
            "examples": [5, "ab", {1: 2}, {1, 2}, []],
        },
    ),
    # ------------------------------------------------------------------ declarations and the franchise
    "Restaurant": Row(
        plain(hk.Restaurant, base=hk.Restaurant(hk.DirichletMultinomial()), each="document"),
        {
            "base": [
                None, 5, "base", hk.DirichletMultinomial, hk.Restaurant, {}, [hk.DirichletMultinomial()],
            ],
            "concentration": [*POSITIVE, *PRIORS, [1.0, 2.0], hk.Normal(1.0, 1.0), hk.Shifted, hk.Each],
            "discount": [
                *REAL, *PRIORS, -0.1, 1.0, 1, 1.5, hk.Beta, hk.Gamma(1.0, 2.0), hk.Shifted(hk.Beta(1.0, 1.0)),
                hk.Each(hk.Shifted(hk.Gamma(1.0, 2.0))),
            ],
            "each": [5, "", b"document", ["document"], True, {}],
            "name": [None, 5, "", "a/b", b"name", ["name"], "root"],
        },
    ),
    "FixedWeights": Row(
        plain(hk.FixedWeights, n_dishes=3),
        {"n_dishes": [None, 0, -1, 1.5, NAN, "3", "", [3], True, HUGE, 2**40, np.array([3, 3])]},
    ),
    "Franchise": Row(
        plain(hk.Franchise, restaurant=restaurants(), data=corpus(), store="explicit", kernel="reference"),
        {
            "restaurant": [None, 5, "root", hk.DirichletMultinomial(), hk.Restaurant, [restaurants()]],
            "data": NO_DATA,
            "store": NO_STORE,
            "kernel": [None, 5, "fast", "", ["auto"], np.array(["auto", "auto"])],
            "root": [
                None, 5, "", "atoms", "Weights", ["weights"], np.array(["weights", "weights"]),
                hk.FixedWeights,
            ],
        },
    ),
    **{
        f"Franchise.{name}": Row(method(name)(name="document"), {})
        for name in ("tables_of", "group_weights", "concentration", "discount", "keys")
    },
    "Franchise.restaurant": Row(
        method("restaurant")(name="document", key=0),
        {"key": [None, 3, -1, NAN, 0.5, "0", "", [0], {}, HUGE, 2**63, np.array([0, 1])]},
    ),
    "Franchise.simulate": Row(
        method("simulate")(rng=1, keep=None),
        {"keep": [5, "", "data", True, ["seating"], np.array(["seating", "data"])]},
    ),
    "Franchise.set_concentration": Row(
        method("set_concentration")(name="document", value=2.0),
        {
            "value": [
                *POSITIVE, [1.0, 2.0], [[1.0]], [1.0, 2.0, NAN], ["1", "2", "3"], [True, 1.0, 2.0],
                [1.0, [2.0]],
            ]
        },
    ),
    "PreviousDish": Row(
        plain(hk.PreviousDish, sticky=2.0, name="state", start_concentration=1.0),
        {
            "sticky": [*REAL, -0.1, hk.Normal(0.0, 1.0), hk.Gamma],
            "name": [None, 5, b"a", ["a"]],
            "start_concentration": [
                *(x for x in POSITIVE if x is not None), hk.Normal(0.0, 1.0), hk.Gamma,
                hk.Each(hk.Gamma(1.0, 1.0)),
            ],
        },
    ),
    "PreviousDish.for_data": Row(
        plain(hk.PreviousDish().for_data, data=hk.Sequences.from_arrays([[0.5, 1.0]])),
        {"data": [None, 5, "ab", [[0, 1]], hk.Groups.from_labels([0, 1]), hk.Sequences]},
    ),
    "Franchise.set_discount": Row(
        method("set_discount")(name="document", value=0.2),
        {"value": [*REAL, -0.1, 1.0, 1, [0.1, 0.2], [[0.1]], [0.1, 0.2, NAN], [0.1, [0.2]]]},
    ),
    "Franchise.look": Row(
        method("look")(timeout=None), {"timeout": [0, -1.0, "1", True, float("nan"), float("inf"), [1.0]]}
    ),
    "Franchise.totals_of": Row(method("totals_of")(number=1), {"number": [*whole(0), 2, -1]}),
    "Franchise.counted_totals_of": Row(method("counted_totals_of")(number=1), {"number": [*whole(0), 2, -1]}),
    "Franchise.size_counts": Row(
        method("size_counts")(nodes=[0, 1]),
        {
            "nodes": [
                None, 5, "0", [-1], [4], [0.5], [NAN], [INF], ["0"], [[0, 1]], [True], [[0], [1, 2]], {0},
            ]
        },
    ),
    "Franchise.set_base_parameters": Row(
        method("set_base_parameters")(eta=0.7),
        {
            "values": [
                *({"eta": value} for value in REAL),
                *(Told({"eta": value}, f"eta = {value!r}") for value in (0.0, -1.0, 1e-200, 1e200)),
                Told({"beta": 1.0}, "['beta']"),
            ]
        },
    ),
    "Franchise.log_likelihood": Row(
        lambda franchise: (franchise.log_likelihood, {"measure": franchise.measure.tempered(0.5)}),
        {
            "measure": [*NO_MEASURE, hk.NormalGamma()],
            "states": [None, 5, "", "summed", ["given"]],
            "parameters": [None, 5, "", "median", ["mean"]],
        },
    ),
    "Franchise.kernel": Row(method("kernel")(step="reseat"), {"step": NO_NAME}),
    "Franchise.walk": Row(method("walk")(kernel="reference"), {"kernel": [5, "", "fast", ["reference"], {}]}),
    "Franchise.register": Row(
        method("register")(name="watcher", component=hk.Part()),
        {"name": NO_TEXT, "component": [None, 5, "component", hk.Part, {}]},
    ),
    "Franchise.thaw": Row(
        lambda franchise: (franchise.thaw, {"frozen": franchise.freeze(), "source": None}),
        {
            "frozen": [*(Told(value, "frozen state") for value in (None, 5, "state", [], {})), *NO_STATE],
            "source": [5, "rng", np.random.default_rng(0), [0.5], object()],
        },
    ),
    "Franchise.reseat": Row(
        lambda franchise: (franchise.reseat, {"first": 0, "last": 7, "source": stream()}),
        {
            "first": whole(0),
            "last": whole(0, 7),
            "source": Anything("moves pass on the source that they were given"),
        },
    ),
    "Franchise.leave": Row(
        lambda franchise: (franchise.leave, {"first": 0, "last": 2, "source": stream()}),
        {
            "first": whole(0),
            "last": whole(0, 7),
            "source": Anything("moves pass on the source that they were given"),
        },
    ),
    "Franchise.extend": Row(
        lambda franchise: (
            tree().extend,
            {"data": hk.NGrams.from_sentences([["a", "b"], ["a"], ["b"]], order=2), "rng": 1},
        ),
        {"data": [None, 5, "data", [["a"]], corpus(), hk.NGrams, sentences([["a"]])]},
    ),
    "Franchise.with_documents": Row(
        lambda franchise: (
            franchise.with_documents,
            {
                "data": franchise.data.plus(hk.Corpus.from_documents([[0]], n_terms=franchise.data.n_terms)),
                "rng": 1,
            },
        ),
        {"data": [*NO_DATA, sentences([["a"]])]},
    ),
    "Franchise.discard": Row(
        lambda franchise: (tree().discard, {"first": 0, "last": 1, "rng": 1}),
        {"first": whole(0), "last": whole(0, 2)},
    ),
    "Franchise.open_dish": Row(
        lambda franchise: (weighted().open_dish, {"source": stream()}),
        {"source": [None, 5, "rng", np.random.default_rng(0), [0.5], object()]},
        run=skipped("a dish that is opened needs customers at once"),
    ),
    "Franchise.root_integrated": Row(
        lambda franchise: (weighted().root_integrated, {"source": stream()}),
        {"source": [None, 5, "rng", np.random.default_rng(0), [0.5], object()]},
        run=skipped("a block, which moves open in every test of them over weights"),
    ),
    "Franchise.parts_integrated": Row(
        lambda franchise: (weighted().parts_integrated, {"source": stream()}),
        {"source": [None, 5, "rng", np.random.default_rng(0), [0.5], object()]},
        run=skipped("a block, which moves open in every test of them over weights"),
    ),
    "SharedValue": Row(
        plain(hk.SharedValue, start=[1.0, 2.0], prior=hk.Normal(0.0, 1.0)),
        {
            "start": [value for value in REAL if value != [1.0]] + [[1.0, NAN]],
            "prior": [5, "Gamma", hk.Gamma, [1.0]],
        },
    ),
    "Franchise.set_shared_value": Row(
        lambda franchise: (shared().set_shared_value, {"part": "noise", "value": 2.0}),
        {"part": NO_NAME, "value": [*REAL, [1.0], [1.0, 2.0]]},
    ),
    "Franchise.at_power": Row(
        lambda franchise: (franchise.at_power, {"power": 0.5}),
        {"power": [*POSITIVE, 1.5]},
        run=skipped("a block, which split-merge opens in a test of it"),
    ),
    "Franchise.units": Row(
        lambda franchise: (explicit().units, {"level": 1, "with_customers": False}),
        {
            "level": whole(1, 1),
            "with_customers": Anything("moves pass a literal, and every value has a truth"),
        },
    ),
    "Franchise.resample_dish": Row(
        lambda franchise: resample_dish(explicit()),
        {
            "units": Anything("what Franchise.units returned"),
            "first": whole(0),
            "last": whole(0, 1000),
            "source": Anything("moves pass on the source that they were given"),
        },
    ),
    "step": Row(
        plain(hk.step, needs_tables=False, draws_tables=True, by_cell=False),
        {
            "needs_tables": NO_FLAG,
            "draws_tables": NO_FLAG,
            "by_cell": NO_FLAG,
            "needs_counts": NO_FLAG,
            "takes": [5, ["people"], ("customers", None)],
            "given": [5, ["people"], (None,)],
            "serves": Anything("the conditions of a kernel"),
        },
    ),
    "Franchise.run_step": Row(
        lambda franchise: (
            lambda step, arguments, source: franchise.run_step(step, *arguments, source=source),
            {"step": nothing, "arguments": range(2), "source": stream()},
        ),
        {
            "step": ["", "reseat", None, 5, b"reseat", ["reseat"]],
            "arguments": Anything("those of the step's kernel"),
            "source": [None, 0, "1", object(), np.random.default_rng(0)],
        },
    ),
    "Franchise.reserved": Row(
        lambda franchise: (lambda n: franchise.reserved(n).__enter__(), {"n": 1}),
        {"n": whole(0)},
        run=skipped("a block, which split-merge opens in every test of it"),
    ),
    # ------------------------------------------------------------------ views
    **{
        f"RestaurantView.{name}": Row(view(name, dish=0), {"dish": dishes})
        for name, dishes in (
            ("customers_of", whole(0, 6)), ("tables_of", whole(0, 6)), ("table_sizes", optional(whole(0, 6))),
            ("probability", optional(whole(0, 6))),
        )
    },
    "Franchise.proposal": Row(
        lambda franchise: (explicit().proposal, {"source": None}),
        {"source": [0, "1", object(), np.random.default_rng(0)]},
        run=skipped("a block: tests/franchise/test_taking_back.py opens it"),
    ),
    "Proposal.unseat": Row(proposal("unseat", customer=0), {"customer": whole(0, 6)}),
    "Proposal.seat": Row(
        proposal("seat", unseats=True, customer=0, table=None, dish=None),
        {"customer": [*whole(0, 6), 1], "table": optional(whole(0, 99)), "dish": optional([*whole(0), 99])},
    ),
    "Proposal.move_units": Row(
        proposal("move_units", which=[0], dish=None),
        {
            "units": [None, 5, [0], "units"],
            "which": [None, 5, "ab", [0.5], [-1], [99], [NAN], []],
            "dish": optional([*whole(0), 99]),
        },
    ),
    "Proposal.set_hyperparameters": Row(
        proposal("set_hyperparameters", name="root", concentration=2.0, discount=None),
        {"concentration": optional(POSITIVE), "discount": [*optional(REAL), -0.1, 1.0]},
    ),
    "Proposal.set_part": Row(
        proposal("set_part", name="root weights", frozen={"weights": [0.25] * 4}),
        {"frozen": [None, 5, "weights", [], {}, {"weights": [1.0, NAN]}]},
        run=skipped(
            "the number of dishes depends on the start: tests/franchise/test_taking_back.py sets parts"
        ),
    ),
    "RestaurantView.unseat": Row(view("unseat", customer=0, rng=1), {"customer": [*whole(0, 6), 5]}),
    "RestaurantView.seat": Row(
        lambda franchise: (
            unseated(franchise).restaurant("document", 0).seat,
            {"customer": 0, "dish": 0, "rng": 1},
        ),
        {"customer": [*whole(0, 6), 5, 1], "dish": optional(whole(0, 7))},
    ),
}  # fmt: skip
