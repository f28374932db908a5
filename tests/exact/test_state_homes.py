"""Trees of which homes depend on the state, defined here: table Gibbs, enumerated; runs; what is refused."""

import math

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal
from state_homes_checks import (
    SIDES,
    Before,
    BothDishes,
    OneFollower,
    StateHomesModel,
    ThroughAnother,
    TwoFollowers,
    exact_step,
    state_franchise,
    weights_balance,
)

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.data import Groups
from hdpkit.errors import HdpkitError
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.random import RandomStream
from hdpkit.testing.exact import check_irreducible
from hdpkit.testing.exact_models import numbered

STORES = ["explicit", "histogram", "counts", "explicit-reference", "histogram-reference", "counts-reference"]
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


# ---------------------------------------------------------------------- exact kernels


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("store", STORES)
def test_a_hidden_markov_model_is_left_invariant(store, setting):
    model, P = exact_step(Before(), 4, store=store, **SETTINGS[setting])
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(
    "rule", [OneFollower(), BothDishes(), TwoFollowers(), ThroughAnother(), Before((0, 2))]
)
def test_homes_of_several_kinds(rule, store):
    model, P = exact_step(rule, 4, store=store, **DISCOUNTS)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("store", ["explicit", "histogram-reference", "counts"])
def test_a_restaurant_between_the_rows_and_the_root(store):
    model, P = exact_step(Before(), 4, store=store, middle=1.3, **DISCOUNTS)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("setting", ["discounts", "three dishes"])
@pytest.mark.parametrize("store", ["explicit", "counts"])
def test_five_customers_and_a_compiled_measure(store, setting):
    model, P = exact_step(Before(), 5, store=store, measure=COMPILED, **SETTINGS[setting])
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("rule", [Before(), OneFollower()])
@pytest.mark.parametrize("store", ["explicit-reference", "histogram", "counts", "counts-reference"])
def test_seating_and_root_weights_are_in_balance(store, rule):
    assert weights_balance(rule, 3, store=store) > 30


def test_four_customers_and_root_weights():
    assert weights_balance(Before(), 4, store="counts") > 200


LABELS = {
    "one label": {"side": ["a"] * 5},
    "a label that some lack": {"side": ["a", "b", "a", None, "b"]},
    "labels within labels": {"town": ["x", "x", "x", "y", "y"], "side": ["a", "b", "a", None, "c"]},
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("store", STORES)
def test_labels_below_have_copies_of_the_rows(store, labels):
    n = 5 if labels == "one label" and store in ("explicit", "counts") else 4
    cut = {name: values[:n] for name, values in LABELS[labels].items()}
    model, P = exact_step(Before(), n, store=store, labels=cut, **DISCOUNTS)
    check_irreducible(model, P, "table Gibbs")


@pytest.mark.parametrize("rule", [OneFollower(), TwoFollowers(), ThroughAnother(), BothDishes()])
@pytest.mark.parametrize("root", ["restaurant", hk.FixedWeights(3)])
def test_copies_for_homes_of_several_kinds(rule, root):
    exact_step(rule, 4, store="counts", labels=SIDES, root=root)
    if root == "restaurant":
        exact_step(rule, 4, store="explicit", labels=SIDES, middle=1.3)


def test_copies_and_root_weights_are_in_balance():
    assert weights_balance(Before(), 3, store="explicit", labels={"side": ["a", "b", "a"]}) > 3


# ---------------------------------------------------------------------- the enumeration itself


def stirling(n, m):
    """Unsigned Stirling numbers of the first kind."""
    if n == m == 0:
        return 1
    return 0 if m == 0 or n == 0 else stirling(n - 1, m - 1) + (n - 1) * stirling(n - 1, m)


def log_sequence(z, alpha, gamma):
    """log p(z) of dishes of a sequence: the sum over numbers of tables (Teh et al. 2006, section 7)."""
    n_dishes = max(z) + 1
    counts = {}
    for row, dish in zip([-1, *z[:-1]], z, strict=True):
        counts[row, dish] = counts.get((row, dish), 0) + 1
    totals = {}  # weight by the number of tables of each dish
    totals[(0,) * n_dishes] = 1.0
    for (_, dish), n in counts.items():
        grown = {}
        for tables, weight in totals.items():
            for m in range(1, n + 1):
                more = tuple(t + m * (k == dish) for k, t in enumerate(tables))
                grown[more] = grown.get(more, 0.0) + weight * stirling(n, m) * alpha**m
        totals = grown
    of_root = math.fsum(
        weight * math.prod(math.gamma(t) for t in tables) / math.gamma(gamma + sum(tables))
        for tables, weight in totals.items()
    )
    rows = {row for row, _ in counts}
    lengths = [sum(n for (r, _), n in counts.items() if r == row) for row in rows]
    rising = math.prod(math.prod(alpha + i for i in range(length)) for length in lengths)
    return math.log(of_root) + n_dishes * math.log(gamma) + math.lgamma(gamma) - math.log(rising)


def test_the_enumerated_posterior_is_that_of_the_sequence():
    franchise = state_franchise(Before(), 5)
    model, marginal = StateHomesModel(franchise), dirichlet_multinomial_log_marginal(0.5, 3)
    values = list(franchise.data.values)
    found = {}
    for key, p in zip(model.states, model.pi.tolist(), strict=True):
        z = tuple(numbered([tables[-1] for tables in key]))
        found[z] = found.get(z, 0.0) + p
    expected = {}
    for z in found:
        dishes = [[x for x, k in zip(values, z, strict=True) if k == j] for j in range(max(z) + 1)]
        expected[z] = math.exp(log_sequence(z, 0.7, 0.9) + sum(map(marginal, dishes)))
    total = math.fsum(expected.values())
    assert len(found) == 52
    assert max(abs(found[z] - expected[z] / total) for z in found) <= 1e-14


# ---------------------------------------------------------------------- runs


def long_franchise(store="counts", root="weights", n=60, **options):
    data = Groups.from_labels(np.arange(n) * np.arange(n) % 5, {})
    above = hk.Restaurant(hk.DirichletMultinomial(0.5, n_terms=5), concentration=hk.Gamma(2.0, 1.0))
    rows = hk.Restaurant(above, concentration=hk.Gamma(2.0, 1.0), each=Before((0, 30)))
    return hk.Franchise(rows, data, store=store, root=root, **options)


def schedule(root):
    drawn = [moves.RootWeights()] if root == "weights" else []
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration(), *drawn])


@pytest.mark.parametrize("root", ["weights", "restaurant"])
@pytest.mark.parametrize("store", ["counts", "histogram", "explicit"])
@pytest.mark.parametrize("init", ["sequential", "one", hk.init.Random(4)])
def test_a_run_is_consistent_and_goes_on_from_a_frozen_state(store, root, init):
    franchise, kept = long_franchise(store, root), schedule(root)
    kept.run(franchise, sweeps=3, rng=1, init=init, audit_every=1)
    assert franchise.restaurant("root").dishes.tolist() == list(range(franchise.n_dishes))
    copy, thawed = franchise.copy(), long_franchise(store, root)
    thawed.thaw(franchise.freeze())
    ends = []
    for one in (franchise, copy, thawed):
        trace = kept.run(one, sweeps=2, rng=None, init=None)
        one.audit()
        ends.append(
            (one.dishes.tolist(), trace["log_joint"].tolist(), trace["concentration/before"].tolist())
        )
    assert ends[0] == ends[1] == ends[2]


def test_a_run_in_a_folder_resumes_bit_for_bit(tmp_path):
    kept = schedule("weights")
    whole = kept.run(long_franchise(), sweeps=4, rng=2)
    kept.run(long_franchise(), sweeps=2, rng=2, folder=tmp_path / "run")
    trace = hk.open_run(tmp_path / "run", allow=[Before]).resume(sweeps=2)
    assert trace["log_joint"].tolist() == whole["log_joint"].tolist()
    with pytest.raises(errors.RunError, match="allow"):
        hk.open_run(tmp_path / "run").franchise()


def of_people(n=60):
    """A hidden Markov model in which each of two people has transition probabilities of their own."""
    arrays = [[i * i % 5 for i in range(n // 3)], [i * i % 3 for i in range(2 * n // 3)]]
    data = hk.Sequences.from_arrays(arrays, n_terms=5, groups={"person": ["x", "y"]})
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(2.0, 1.0))
    rows = hk.Restaurant(root, concentration=hk.Gamma(2.0, 1.0), each=hk.PreviousDish())
    own = hk.Restaurant(rows, concentration=hk.Gamma(2.0, 1.0), each="person")
    return hk.Franchise(own, data, store="counts", root="weights")


def test_runs_over_copies_of_the_rows(tmp_path):
    kept = schedule("weights")
    whole = kept.run(of_people(), sweeps=4, rng=2, audit_every=1)
    kept.run(of_people(), sweeps=2, rng=2, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    franchise = run.franchise()
    trace = run.resume(sweeps=2)
    for key in ("log_joint", "concentration/state", "concentration/person"):
        assert trace[key].tolist() == whole[key].tolist()
    start = franchise.restaurant("person", ("x", 0)), franchise.restaurant("person", ("y", 0))
    assert [view.customers.tolist() for view in start] == [[0], [20]]
    franchise.simulate(3).audit()
    for move in (moves.BeamSampler(), moves.SplitMergeStates(), moves.DishGibbs(), moves.SplitMerge()):
        with pytest.raises(errors.ScheduleError, match="moves"):
            hk.Scheduler([move]).run(of_people(), sweeps=1, rng=0)


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


def test_customers_leave_from_the_last_to_the_first():
    franchise = long_franchise("explicit", "restaurant")
    schedule("restaurant").run(franchise, sweeps=1, rng=0)
    source = RandomStream((0, 1))
    franchise.leave(20, 30, source)
    franchise.audit()
    franchise.enter(20, 30, source)
    franchise.audit()


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


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "move", [moves.DishGibbs(), moves.SplitMerge(), moves.ReseatGroups(), moves.SplitMerge(scans=1).every(2)]
)
def test_moves_of_blocks_are_refused_when_the_run_begins(move):
    for store, root in (("counts", "weights"), ("explicit", "restaurant")):
        with pytest.raises(errors.ScheduleError, match="moves"):
            hk.Scheduler([move]).run(long_franchise(store, root), sweeps=1, rng=0)
        with pytest.raises(errors.ScheduleError, match="moves"):
            hk.Scheduler([hk.Mixture([(move, 1.0), (moves.TableGibbs(), 1.0)])]).run(
                long_franchise(store, root), sweeps=1, rng=0
            )


@pytest.mark.parametrize("move", [moves.SliceGibbs(), moves.CountGibbs()])
def test_moves_by_document_are_refused_when_the_run_begins(move):
    with pytest.raises(errors.ScheduleError, match="moves"):
        hk.Scheduler([move]).run(long_franchise(), sweeps=1, rng=0)


@pytest.mark.parametrize("kernel", ["generic", "fused"])
def test_compiled_kernels_are_refused_when_the_franchise_is_built(kernel):
    with pytest.raises(errors.KernelError, match="by state"):
        long_franchise(kernel=kernel)


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


def test_known_components_are_refused():
    known, corpus = hk.Known([[0.2, 0.3, 0.5]], frozen=True), hk.Corpus.from_documents([[0, 1, 2]], n_terms=3)
    with pytest.raises(errors.DeclarationError) as caught:
        hk.Franchise(declared(), corpus, known=known)
    assert caught.value.parameter == "known"


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


@pytest.mark.parametrize("value", [-1, 1.5, None, True])
def test_n_fixed_is_checked(value):
    rule = Before()
    rule.n_fixed = value
    with pytest.raises(errors.ParameterError, match="n_fixed"):
        hk.Franchise(declared(each=rule), DATA)


def test_a_rule_for_data_is_a_rule():
    class Lost(Before):
        def for_data(self, data):
            return None

    with pytest.raises(errors.ReturnValueError, match="for_data"):
        hk.Franchise(declared(each=Lost()), DATA)


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


OPERATIONS = {
    "leave": lambda f: f.leave(0, 1, RandomStream((0, 1))),
    "hold": lambda f: f.hold([0]),
    "units": lambda f: f.units(1),
    "groups": lambda f: f.groups(),
    "snapshot": lambda f: f.snapshot(),
    "labelled seating": lambda f: f.labelled_seating(RandomStream((0, 1))).__enter__(),
    "unseat": lambda f: f.restaurant("before", 0).unseat(0, RandomStream((0, 1))),
    "sizes": lambda f: f.topology.sizes(),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_for_fixed_homes_are_typed_errors(operation):
    franchise = long_franchise("histogram", "restaurant")
    schedule("restaurant").run(franchise, sweeps=1, rng=0)
    with pytest.raises(HdpkitError):
        OPERATIONS[operation](franchise)


def test_a_customer_enters_after_those_on_whom_its_home_depends():
    franchise = long_franchise("histogram", "restaurant")
    with pytest.raises(errors.StateError, match="customer = 6"):
        franchise.enter(7, 8, RandomStream((0, 1)))


def test_a_rule_is_abstract():
    with pytest.raises(TypeError):
        StateHomes()
