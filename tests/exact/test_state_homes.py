"""Trees of which homes depend on the state, defined here: table Gibbs, enumerated; runs; what is refused."""

import numpy as np
import pytest
from state_homes_checks import (
    SIDES,
    Before,
    BothDishes,
    OneFollower,
    ThroughAnother,
    TwoFollowers,
    exact_step,
    state_franchise,
    weights_balance,
)

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.data import Groups
from hdpkit.testing.exact import check_irreducible

STORES = ["explicit", "histogram", "counts", "explicit-reference", "histogram-reference"]
DISCOUNTS = {"theta": (0.9, 0.6), "d": (0.3, 0.4)}
SETTINGS = {
    "no discounts": {},
    "discounts": DISCOUNTS,
    "small concentrations": {"theta": (0.2, -0.2), "d": (0.1, 0.5)},
    "three dishes": {"root": hk.FixedWeights(3)},
    "two dishes": {"root": hk.FixedWeights(2)},
}
COMPILED = hk.DirichletMultinomial(0.5, n_terms=3)
LONGER = Groups.from_labels([0, 1, 2, 1, 0, 2, 2, 1, 0, 1], {})


FOLLOWED = (OneFollower(), TwoFollowers(), ThroughAnother(), BothDishes())
LABELS = {
    "one label": {"side": ["a"] * 5},
    "a label that some lack": {"side": ["a", "b", "a", None, "b"]},
    "labels within labels": {"town": ["x", "x", "x", "y", "y"], "side": ["a", "b", "a", None, "c"]},
}
# The rule, the number of customers, and options of the franchise; labels have copies of the rows.
CASES = [
    *((Before(), 4, {"store": store, **SETTINGS[setting]}) for store in STORES for setting in SETTINGS),
    *((rule, 4, {"store": store, **DISCOUNTS}) for store in STORES for rule in (*FOLLOWED, Before((0, 2)))),
    # A restaurant between the rows and the root.
    *((Before(), 4, {"store": store, "middle": 1.3, **DISCOUNTS})
      for store in ("explicit", "histogram-reference", "counts")),
    *((Before(), 5, {"store": store, "measure": COMPILED, **SETTINGS[setting]})
      for store in ("explicit", "counts") for setting in ("discounts", "three dishes")),
    *((Before(), 4, {"store": store, "labels": {name: own[:4] for name, own in labels.items()}, **DISCOUNTS})
      for labels in LABELS.values() for store in STORES),
    *((rule, 4, {"store": "counts", "labels": SIDES, "root": root})
      for rule in FOLLOWED for root in ("restaurant", hk.FixedWeights(3))),
    *((rule, 4, {"store": "explicit", "labels": SIDES, "middle": 1.3}) for rule in FOLLOWED),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "n", "options"), CASES)
def test_table_gibbs_leaves_the_posterior_invariant(rule, n, options):
    model, P = exact_step(rule, n, **options)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("rule", [Before(), OneFollower()])
@pytest.mark.parametrize("store", ["explicit-reference", "histogram", "counts"])
def test_seating_and_root_weights_are_in_balance(store, rule):
    assert weights_balance(rule, 3, store=store) > 30


def test_copies_and_root_weights_are_in_balance():
    assert weights_balance(Before(), 3, store="explicit", labels={"side": ["a", "b", "a"]}) > 3


def long_franchise(store="counts", root="weights", n=60, **options):
    data = Groups.from_labels(np.arange(n) * np.arange(n) % 5, {})
    above = hk.Restaurant(hk.DirichletMultinomial(0.5, n_terms=5), concentration=hk.Gamma(2.0, 1.0))
    rows = hk.Restaurant(above, concentration=hk.Gamma(2.0, 1.0), each=Before((0, 30)))
    return hk.Franchise(rows, data, store=store, root=root, **options)


def schedule(root):
    drawn = [moves.RootWeights()] if root == "weights" else []
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration(), *drawn])


def test_views_and_simulated_data():
    franchise = long_franchise("histogram", "restaurant")
    schedule("restaurant").run(franchise, sweeps=1, rng=0, init="sequential")
    z = franchise.dishes
    begins = franchise.restaurant("before", 0)
    assert begins.customers.tolist() == [0, 30]
    rows = [franchise.restaurant("before", key) for key in franchise.keys("before")[1:]]
    members = {tuple(view.customers.tolist()) for view in rows} - {()}
    after = [i for i in range(60) if i not in (0, 30)]
    assert members == {tuple(i for i in after if z[i - 1] == k) for k in set(z[:29]) | set(z[30:59])}
    simulated = franchise.simulate(3)
    simulated.audit()
    assert len(simulated.data) == 60


class Fails(hk.DirichletMultinomial):
    """Raises an error at one of the calls within a sweep."""

    calls_left = -1

    def log_predictive(self, value, statistics):
        type(self).calls_left -= 1
        if type(self).calls_left == 0:
            raise ZeroDivisionError("on purpose")
        return super().log_predictive(value, statistics)


@pytest.mark.parametrize("calls", [1, 4, 9])
@pytest.mark.parametrize("store", STORES)
def test_a_step_that_fails_is_undone(store, calls):
    above = hk.Restaurant(Fails(0.5, n_terms=3))
    franchise = hk.Franchise(hk.Restaurant(above, each=Before((0, 5))), LONGER, store=store)
    kept = hk.Scheduler([moves.TableGibbs()])
    kept.run(franchise, sweeps=2, rng=0)
    before, log_joint = franchise.dishes.tolist(), franchise.log_joint()
    Fails.calls_left = calls
    with pytest.raises(ZeroDivisionError):
        kept.run(franchise, sweeps=1, init=None)
    assert Fails.calls_left <= 0
    Fails.calls_left = -1
    franchise.audit()
    assert (franchise.dishes.tolist(), franchise.log_joint()) == (before, log_joint)
    kept.run(franchise, sweeps=1, init=None)


def declared(**options):
    root = hk.Restaurant(options.pop("base", COMPILED))
    return hk.Restaurant(options.pop("above", root), **{"each": Before(), **options})


def sticky():
    rule = Before()
    rule.sticky = 2.0
    return rule


def own_start():
    rule = Before()
    rule.start_concentration = 2.0
    return rule


DATA = Groups.from_labels([0, 1, 2], {"author": [0, 0, 1]})


@pytest.mark.parametrize(
    ("restaurant", "parameter"),
    [
        (lambda: declared(above=hk.Restaurant(hk.Restaurant(COMPILED), each="author")), "each of 'author'"),
        (lambda: hk.Restaurant(declared(), each=Before(), name="again"), "each of 'again'"),
        (
            lambda: hk.Restaurant(declared(), each="author", discount=hk.Each(hk.Beta(1, 1))),
            "discount of 'author'",
        ),
        (lambda: hk.Restaurant(declared(each=sticky()), each="author"), "sticky"),
        (lambda: hk.Restaurant(declared(each=own_start()), each="author"), "start_concentration"),
        (lambda: hk.Restaurant(declared(), each="nobody"), "each"),
        (lambda: declared(base=hk.Uniform(3)), "base"),
        (lambda: declared(concentration=hk.Each(hk.Gamma(1, 1))), "concentration of 'before'"),
        (lambda: declared(discount=hk.Each(hk.Beta(1, 1))), "discount of 'before'"),
        (lambda: hk.Restaurant(COMPILED, each=Before()), "each"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(restaurant, parameter):
    with pytest.raises(errors.DeclarationError) as caught:
        hk.Franchise(restaurant(), DATA)
    assert caught.value.parameter == parameter


class Wrong(Before):
    """Returns what it is given."""

    name = "wrong"

    def __init__(self, method, value):
        super().__init__()
        self.method, self.value = method, value

    def home(self, customer, state):
        return self.value if self.method == "home" else super().home(customer, state)

    def followers(self, customer):
        return self.value if self.method == "followers" else super().followers(customer)


@pytest.mark.parametrize(
    ("method", "value"),
    [("home", 0), ("home", 99), ("home", None), ("home", 1.0), ("followers", [3]), ("followers", [1, 1]),
     ("followers", [0]), ("followers", [-1]), ("followers", None), ("followers", ["a"])],
)  # fmt: skip
def test_a_rule_that_returns_nonsense_is_named(method, value):
    rows = declared(each=Wrong(method, value))
    with pytest.raises(errors.ReturnValueError, match=rf"Wrong\.{method}"):
        hk.Scheduler([moves.TableGibbs()]).run(hk.Franchise(rows, DATA), sweeps=1, rng=0)


def test_states_without_rows_or_with_wrong_ones_are_refused():
    franchise = state_franchise(Before(), 4, init=[0, 1, 1, 2])
    state = franchise.freeze()
    rows = state["components"]["rows"]["rows"]
    for wrong in (rows[:-1], rows + 4, rows - 1, rows * 0, rows * 1.0, None, "abc"):
        with pytest.raises(errors.DataError):
            franchise.thaw({**state, "components": {"rows": {"rows": wrong}}})
    for components in ({}, None, {"rows": None}):
        with pytest.raises(errors.DataError):
            franchise.thaw({**state, "components": components})
    with pytest.raises(errors.DataError):  # seated in other rows than the part has
        franchise.thaw({**state, "components": {"rows": {"rows": rows[::-1].copy()}}})
    franchise.thaw(state)
    franchise.audit()
