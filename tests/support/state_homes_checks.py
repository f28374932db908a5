"""Toy trees of which homes depend on the state, with every state and its exact probability."""

import copy
import itertools
import math

import numpy as np
from exact_points import check_balance, one_step_of_points
from exact_weights import ExactWeightModel
from marginals import dirichlet_multinomial_log_marginal
from one_sample import one_sample_p
from scipy import special, stats

import hdpkit as hk
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.data import Groups
from hdpkit.franchise.starts import start
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.testing.exact import TOLERANCE, check_exact
from hdpkit.testing.exact_models import HiddenMarkovModel

TERMS = [0, 1, 1, 0, 2]
ETA = 0.5


class OneFollower(StateHomes):
    """Customer 2 is in the restaurant of the dish of customer 0; all others are in one restaurant."""

    n_fixed = 1

    def home(self, customer, state):
        return state.row(state.dish_of(0)) if customer == 2 else state.fixed(0)

    def followers(self, customer):
        return [2] if customer == 0 else []


class TwoFollowers(StateHomes):
    """Customers 1 and 3 are in the restaurant of the dish of customer 0."""

    n_fixed = 2

    def home(self, customer, state):
        return state.row(state.dish_of(0)) if customer in (1, 3) else state.fixed(customer % 4 // 2)

    def followers(self, customer):
        return [1, 3] if customer == 0 else []


class BothDishes(StateHomes):
    """The home of customer 2 depends on whether two customers have the same dish, and on one dish."""

    n_fixed = 1

    def home(self, customer, state):
        if customer != 2 or state.dish_of(0) == state.dish_of(1):
            return state.fixed(0)
        return state.row(state.dish_of(1))

    def followers(self, customer):
        return [2] if customer < 2 else []


class ThroughAnother(StateHomes):
    """Customers 2 and 3 follow customer 0, and customer 3 also follows customer 2."""

    n_fixed = 2

    def home(self, customer, state):
        if customer == 2:
            return state.row(state.dish_of(0))
        return state.fixed(int(customer == 3 and state.dish_of(2) == state.dish_of(0)))

    def followers(self, customer):
        return {0: [2, 3], 2: [3]}.get(customer, [])


class Before(StateHomes):
    """A hidden Markov model: the restaurant of the dish of the customer before, in one or more sequences."""

    name = "before"
    n_fixed = 1

    def __init__(self, begins=(0,)):
        self.begins = begins

    def for_data(self, data):
        bound = copy.copy(self)
        bound.n = len(data)
        return bound

    def home(self, customer, state):
        return state.fixed(0) if customer in self.begins else state.row(state.dish_of(customer - 1))

    def followers(self, customer):
        after = customer + 1
        return [after] if after < self.n and after not in self.begins else []


def state_franchise(
    rule,
    n,
    *,
    store="explicit-reference",
    root="restaurant",
    theta=(0.9, 0.7),
    d=(0.0, 0.0),
    middle=None,
    measure=None,
    init="one",
    values=TERMS,
    kernel="auto",
    data=None,
    labels=None,
):
    """A franchise of n customers; with ``middle``, a concentration, there is a restaurant above the rows.

    ``labels`` are those of the customers by name, outermost first: each has copies of the rows.
    """
    measure = measure or DirichletMultinomialReference(ETA, n_terms=3)
    above = hk.Restaurant(measure, concentration=theta[0], discount=d[0])
    if middle is not None:
        above = hk.Restaurant(above, concentration=middle, discount=d[1], name="middle")
    rows = hk.Restaurant(above, concentration=theta[1], discount=d[1], each=rule)
    data = Groups.from_labels(values[:n], labels or {}) if data is None else data
    for name in labels or {}:
        rows = hk.Restaurant(rows, concentration=1.4, discount=d[1], each=name)
    franchise = hk.Franchise(rows, data, store=store, root=root, kernel=kernel)
    start(franchise, init, Streams(0).source(STARTS))
    return franchise


class StateHomesModel(HiddenMarkovModel):
    """Every state of a small franchise over a tree of which homes depend on the state, sticky ones too."""

    def __init__(self, franchise, log_marginal=None):
        self.kappa = franchise.topology.kappa
        super().__init__(franchise, log_marginal or dirichlet_multinomial_log_marginal(ETA, 3))

    def _ways(self, key, shape, dishes, sizes):
        """Numbers of override tables of the dishes, which are no customers of the root (Fox et al. 2008)."""
        if self.kappa == 0.0:
            yield from super()._ways(key, shape, dishes, sizes)
            return
        theta = self.franchise.hyperparameters.theta.tolist()
        own = [set() for _ in sizes]
        for i, dish in enumerate(dishes):
            if shape.home[i] == self._rows + dish:
                own[dish].add(key[i][0])
        log = 0.0
        for dish in range(len(sizes)):
            alpha = theta[self._rows + dish]
            for i in range(sum(home == self._rows + dish for home in shape.home)):
                log += math.log((alpha + i) / (alpha + self.kappa + i))
        for overrides in itertools.product(*(range(len(tables) + 1) for tables in own)):
            ways = sum(math.log(math.comb(len(own[k]), w)) for k, w in enumerate(overrides))
            share = math.log(self.kappa / theta[self._rows])
            left = [n - w for n, w in zip(sizes, overrides, strict=True)]
            yield overrides, log + ways + sum(overrides) * share, left

    def _frozen_state(self, template, key, shape, dishes, what):
        state = super()._frozen_state(template, key, shape, dishes, what)
        if self.kappa:
            state["components"]["sticky"] = {"kappa": self.kappa, "overrides": np.array(what, dtype=np.int32)}
        return state

    def _state(self):
        seating, slots = self._seating()
        if not self.kappa:
            return seating
        of_slots = self.franchise.parts["sticky"].freeze()["overrides"].tolist()
        assert len(of_slots) == len(slots), "override tables of other dishes than those there are"
        by_slot = dict(zip(sorted(slots), of_slots, strict=True))
        return seating, tuple(by_slot[slot] for slot in slots)


class WeightedStateHomesModel(ExactWeightModel, StateHomesModel):
    """The same with weights of the root, of which override tables are no customers."""

    def __init__(self, franchise, log_marginal=None):
        super().__init__(franchise, log_marginal)
        if self.kappa:
            for shapes, (_, overrides) in zip(self.shapes, self.states, strict=True):
                shapes[:-1] -= overrides


class SplitWeightsModel(WeightedStateHomesModel):
    """The same where the weight of a dish is divided, or those of two dishes are added."""

    def drawn(self, numbers, ends):
        """Share of the dish with the first customer, if two dishes became one."""
        gone = [w for w in numbers[:-1].tolist() if np.abs(ends[:-1] - w).min() > 1e-10]
        return gone[0] / sum(gone) if len(gone) == 2 else None

    def jacobian(self, drawn, after):
        """One over the weight of the dish that was divided, if the split was accepted."""
        pairs = itertools.combinations(after[:-1].tolist(), 2)
        return 1.0 / next((a + b for a, b in pairs if abs(a / (a + b) - drawn) < 1e-10), 1.0)


def exact_step(rule=None, n=4, **options):
    """The model, and the matrix of table Gibbs, of which every step leaves the posterior invariant."""
    model = StateHomesModel(state_franchise(rule or Before(), n, **options))
    for state in model._frozen:
        model.franchise.thaw(state)
        kept, rows = (one["components"]["rows"]["rows"] for one in (state, model.franchise.freeze()))
        assert np.array_equal(kept, rows), "a thawed state has other restaurants"
    return model, check_exact(model, hk.moves.TableGibbs())


def weights_balance(rule=None, n=3, **options):
    """Detailed balance of seating and weights of the root, births and deaths of dishes among them."""
    franchise = state_franchise(rule or Before(), n, root="weights", **options)
    return check_balance(WeightedStateHomesModel(franchise), hk.moves.TableGibbs())


def check_state_homes():
    """Table Gibbs over a hidden Markov model of four customers, with discounts."""
    exact_step(theta=(0.9, 0.6), d=(0.3, 0.4))


def check_state_homes_of_two_followers():
    """The same where homes of two customers depend on one dish, or one on two dishes."""
    for rule in (TwoFollowers(), ThroughAnother()):
        exact_step(rule, 4, theta=(0.9, 0.6), d=(0.3, 0.4))


SIDES = {"side": ["a", "b", "a", None]}


def check_state_homes_of_labels():
    """The same where labels have copies of the restaurants of dishes, and one customer has no label."""
    exact_step(labels=SIDES, theta=(0.9, 0.6), d=(0.3, 0.4))


def check_state_homes_over_counts():
    """The same over counts with fixed weights, where tables are drawn given the customers."""
    exact_step(store="counts", root=hk.FixedWeights(3))
    exact_step(OneFollower(), 4, store="counts", root=hk.FixedWeights(3))


def check_state_homes_and_root_weights():
    """The same with weights of the root in the state."""
    weights_balance(OneFollower(), 3)


def check_state_homes_of_the_prior():
    """All customers leave and enter again: without data, the seating is then drawn from the prior."""
    flat = DirichletMultinomialReference(ETA, n_terms=1)
    franchise = state_franchise(Before(), 4, measure=flat, values=[0] * 4, theta=(0.9, 0.6), d=(0.3, 0.4))
    model = StateHomesModel(franchise, lambda values: 0.0)

    def leave_and_enter(franchise, source):
        franchise.leave(0, 4, source)
        franchise.enter(0, 4, source)

    model.states, model._frozen = model.states[-2:], model._frozen[-2:]  # any states to begin with
    ends = np.zeros(len(model.pi))
    for _, after, probability in model.branches(leave_and_enter):
        ends[after] += probability / 2
    assert np.max(np.abs(ends - model.pi)) <= TOLERANCE


TWO_SEQUENCES = hk.Sequences.from_arrays([[0, 1, 1], [0]])


def sticky_franchise(root=None, kappa=1.2, data=TWO_SEQUENCES, store="counts", begin=None, **options):
    """A hidden Markov model, sticky unless kappa is 0; ``begin`` is the concentration of the start row."""
    rule, root = hk.PreviousDish(sticky=kappa, start_concentration=begin), root or hk.FixedWeights(3)
    return state_franchise(rule, len(data), data=data, root=root, store=store, **options)


def check_sticky():
    """Table Gibbs over two sequences of a sticky model, tables and override tables in the state."""
    check_exact(StateHomesModel(sticky_franchise()), hk.moves.TableGibbs())


def check_sticky_births():
    """A sequence of which dishes die and are born while another has the same rows."""
    data = hk.Sequences.from_arrays([[0, 1, 1]])
    franchise = sticky_franchise(data=data)
    check_exact(StateHomesModel(franchise), hk.moves.TableGibbs())
    for seed in range(20):
        hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, sweeps=3, rng=seed, audit_every=1)


def check_sticky_scores(kappa=1.2):
    """log p(dishes, tables, overrides) and the density of the root's weights, against the enumeration."""
    for root in (hk.FixedWeights(3), "weights"):
        model = WeightedStateHomesModel if root == "weights" else StateHomesModel
        exact = model(sticky_franchise(root, kappa))
        differences = []
        for number in range(len(exact.states)):
            franchise = (
                exact.enter(number, *([exact.generic_numbers(number)] if root == "weights" else []))
                or exact.franchise
            )
            franchise.audit()
            log_p = math.log(float(exact.pi[number]))
            if root == "weights":
                weights = franchise.root.weights.table.many(franchise.slots.occupied_slots())
                order = np.argsort(list(dict.fromkeys(franchise.dishes.tolist())))
                given = np.append(weights[:-1][np.argsort(order)], weights[-1])
                found = franchise.root.weights.log_density(franchise)
                assert abs(found - math.log(exact.density(number, given)) + log_p) <= TOLERANCE * 10
            differences.append(franchise.log_seating() + franchise.log_likelihood() - log_p)
        assert np.ptp(differences) <= TOLERANCE * 10


def check_sequences():
    """States, tables, overrides and weights after one sweep of the beam from exact draws."""
    franchise = sticky_franchise("weights", 5.0, store="counts", kernel="reference", theta=(1.5, 0.9))
    for _ in range(40):  # that it runs at all
        hk.moves.BeamSampler().apply(franchise, Streams(1).source(STARTS))
        franchise.audit()
    one_sweep(WeightedStateHomesModel(franchise))


def one_sweep(model):
    """The beam leaves the posterior invariant; most mistakes show with few draws already."""
    for draws in (1200, 3000):
        p_values = one_step_of_points(model, hk.moves.BeamSampler(), draws, 5)
        assert min(p_values.values()) > 1e-5, p_values


GRID, PRIOR = np.array([0.1, 0.6, 0.9]), np.array([1.0, 2.0, 1.0])


def step_with_parameters(root, kappa, data, move, kernel="reference", draws=3000, least=1e-4):
    """States, and the parameter of the last observation's one, after one move from exact draws."""
    prior = hk.Finite(GRID.tolist(), PRIOR.tolist())
    measure = hk.NonConjugate(lambda x, p: math.log(p if x else 1.0 - p), prior)
    values = [None if absent else x for x, absent in zip(data.values, data.missing, strict=True)]

    def weights(values):
        ones = sum(int(x == 1) for x in values if x is not None)
        zeros = sum(int(x == 0) for x in values if x is not None)
        return PRIOR / PRIOR.sum() * GRID**ones * (1.0 - GRID) ** zeros

    franchise = sticky_franchise(root, kappa, data, "counts", measure=measure, kernel=kernel)
    model = StateHomesModel(franchise, lambda values: math.log(weights(values).sum()))
    bank, generator = model.franchise.bank, np.random.default_rng(8)
    bank.prepare(RandomStream((21, 0)))  # states are entered with any parameters, which are drawn then

    def law(slot):
        """Of the parameter of a dish given its data."""
        given = weights([x for x, k in zip(values, model.franchise.dishes, strict=True) if k == slot])
        return given / given.sum()

    n, last = len(model.pi), len(values) - 1
    ends, expected = np.zeros((n, len(GRID))), np.zeros((n, len(GRID)))
    pi = model.pi / model.pi.sum()
    for number, begin in enumerate(generator.choice(n, size=draws, p=pi).tolist()):
        model.enter(begin)
        for slot in model.franchise.slots.occupied_slots().tolist():
            bank.set_parameter(slot, float(generator.choice(GRID, p=law(slot))))
        move.apply(model.franchise, RandomStream((21, number)))
        slot = int(model.franchise.seating.dishes()[last])
        ends[model.read(), int(np.argmin(np.abs(GRID - bank.parameter(slot))))] += 1
    for number in range(n):
        model.enter(number)
        expected[number] = pi[number] * law(int(model.franchise.seating.dishes()[last]))
    model.franchise.audit()
    p = one_sample_p(ends.ravel().astype(np.int64), expected.ravel() / expected.sum())
    assert p > least, p


def check_kept_parameters_of_sequences():
    """The beam over dishes with parameters, in the readable code."""
    data = hk.Sequences.from_arrays([[0, 1], [1]])
    for draws in (1000, 4000, 10_000):  # most mistakes show with few already
        step_with_parameters(hk.FixedWeights(3), 1.2, data, hk.moves.BeamSampler(), draws=draws, least=1e-5)


def check_start_row_of_sequences():
    """The same where the start row has a concentration of its own, and the splits and merges of states."""
    options = {"store": "counts", "kernel": "reference", "begin": 9.0, "theta": (1.5, 0.3)}
    data = hk.Sequences.from_arrays([[0], [1], [1, 0]], n_terms=3)
    franchise = sticky_franchise("weights", 0.0, data, **options)
    one_sweep(WeightedStateHomesModel(franchise))
    finite = sticky_franchise(hk.FixedWeights(4), 0.0, data, **options)
    check_exact(StateHomesModel(finite), hk.moves.SplitMergeStates(scans=0), reversible=True)


def check_start_row(kappa=0.0):
    """Concentrations of the start row and of the rows, from draws of their law given the tables."""
    own = hk.Gamma(2.0, 1.0), hk.Gamma(3.0, 2.0)
    data = hk.Sequences.from_arrays([[0, 1, 0, 0], [0, 1], [0], [1]], n_terms=2)
    above = hk.Restaurant(hk.DirichletMultinomial(0.4), concentration=1.5)
    rule = hk.PreviousDish(sticky=kappa, start_concentration=own[1])
    rows = hk.Restaurant(above, concentration=own[0], each=rule, name="rows")
    franchise = hk.Franchise(rows, data, store="counts", root="weights")
    start(franchise, data.values.tolist(), Streams(0).source(STARTS))
    hk.Scheduler([hk.moves.TableCounts()]).run(franchise, sweeps=2, rng=3, init=None)
    _, n, m = franchise.totals_of(1)
    overrides = int(franchise.topology.overrides(franchise.slots.occupied_slots()).sum())
    line = np.linspace(-7.0, 5.0, 2000)
    a = np.exp(line)
    laws = {}
    for name, prior, nodes, favoured, w in (
        ("rows", own[0], slice(1, None), kappa, overrides),
        ("start", own[1], slice(1), 0.0, 0),
    ):
        log = (m[nodes].sum() - w) * line + prior.shape * line - prior.rate * a
        for size in n[nodes].tolist():
            log = log - special.gammaln(a + favoured + size) + special.gammaln(a + favoured)
        density = np.exp(log - log.max())
        laws[name] = density / density.sum()
    generator, ends = np.random.default_rng(6), {name: [] for name in laws}
    move = hk.moves.Concentration()
    for number in range(1500):
        for name, density in laws.items():
            franchise.set_concentration(name, float(np.exp(generator.choice(line, p=density))))
        move.apply(franchise, RandomStream((8, number)))
        for name, found in ends.items():
            found.append(float(franchise.concentration(name)))
    for name, density in laws.items():
        steps = np.cumsum(density) - density / 2
        p = stats.kstest(np.interp(np.log(ends[name]), line, steps), "uniform").pvalue
        assert p > 1e-4, (name, p)


def check_state_splits():
    """Splits and merges of one and of two states at a time, over fixed weights."""
    move = hk.moves.SplitMergeStates(scans=0)
    for kappa, arrays in ((1.2, [[0, 1], [1]]), (0.0, [[0, 1, 1, 0]]), (0.0, [[0, None], [1]])):
        data = hk.Sequences.from_arrays(arrays, n_terms=3)
        franchise = sticky_franchise(hk.FixedWeights(4), kappa, data, "counts", kernel="reference")
        check_exact(StateHomesModel(franchise), move, reversible=True)


def check_state_splits_and_root_weights():
    """The same, where the weight of a state is divided."""
    data = hk.Sequences.from_arrays([[0, 1, 1]], n_terms=3)
    franchise = sticky_franchise("weights", 1.2, data, "counts", kernel="reference")
    check_balance(SplitWeightsModel(franchise), hk.moves.SplitMergeStates(scans=0, length=1))
