"""Restaurants with several parents: against every labelled seating with every choice of parents."""

import math

import numpy as np
import pytest
from hdpkit.stores._labelled_seating import seat_out
from marginals import dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit.franchise.scores import log_joint_of_counts
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import DishGibbs, ParentWeights, TableGibbs
from hdpkit.random import ScriptedSource
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.enumeration import Shape, listed, log_likelihood, log_prior, table_sizes
from hdpkit.testing.exact import (
    TOLERANCE,
    ExactModel,
    check_exact,
    check_irreducible,
    step_matrices,
)
from hdpkit.testing.geweke import check_together
from hdpkit.testing.measure_contract import atomic_log_marginal
from hdpkit.testing.states import to_counts

MEASURE, WITNESS = DirichletMultinomial(0.5, n_terms=3), dirichlet_multinomial_log_marginal(0.5, 3)
STORES = {
    "explicit": ("generic", "reference"), "explicit-reference": ("reference",),
    "histogram": ("generic", "reference"), "histogram-reference": ("reference",),
}  # fmt: skip
GRAPHS = ("a parent and the root", "two parents", "a grandparent on two ways")  # the fastest first
COMBINATIONS = [(store, kernel) for store, kernels in STORES.items() for kernel in kernels]
COUNTED = [("counts", kernel) for kernel in ("generic", "reference")]
FOUR = Shape((-1, 0, 0, 1, 2), (1, 2, 3, 3), lead=(0, 1, 2, 3, 3), weight=(1.0, 1.0, 1.0, 0.3, 0.7))


def test_a_value_computed_elsewhere():
    """Four nodes, two observed dishes under a uniform base: all theta 0.6, all d 0.35."""
    values, total, tables = [0, 1, 0, 1], 0.0, 0.0
    for key in listed(FOUR):
        log_p = log_prior(key, FOUR, [0.6] * 5, [0.35] * 5)
        log_p += log_likelihood(
            key, values, lambda these: -math.log(2) if len(set(these)) == 1 else -math.inf
        )
        total += math.exp(log_p)
        tables += math.exp(log_p) * sum(map(len, table_sizes(key, FOUR)))
    assert math.log(total) == pytest.approx(-4.089224906105869, abs=1e-12)
    assert tables / total == pytest.approx(7.734002743, abs=1e-9)


def test_prior_sums_to_one():
    for d in (0.0, 0.35):
        total = math.fsum(math.exp(log_prior(key, FOUR, [0.6] * 5, [d] * 5)) for key in listed(FOUR))
        assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("corner", ["middle", "discounts"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=lambda move: move.name)
def test_latent_dishes(graph, corner, move):
    laws = {}
    # Seats are drawn by the same code for readable walks over counts and over sizes.
    for store, kernel in COMBINATIONS + (COUNTED if isinstance(move, TableGibbs) else COUNTED[:1]):
        franchise = tiny_franchise(graph, MEASURE, store=store, kernel=kernel, corner=corner)
        assert franchise.kernel("reseat") == kernel
        model = ExactModel(franchise, WITNESS)
        matrices = step_matrices(model, move)
        whole = check_exact(model, move, matrices=matrices)
        if isinstance(move, TableGibbs):
            check_irreducible(model, whole, move.name)
        for P, Q in zip(matrices, laws.setdefault(model.detail, matrices), strict=True):
            assert np.abs(P - Q).max() <= TOLERANCE


@pytest.mark.parametrize("corner", ["middle", "discounts"])
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=lambda move: move.name)
def test_observed_dishes(graph, corner, move):
    measure, values = hk.Uniform(2), [0, 1, 0, 1]
    values = values[: 4 if graph == "two parents" else 3]
    for store, kernel in COMBINATIONS:
        franchise = tiny_franchise(graph, measure, store=store, kernel=kernel, corner=corner, values=values)
        check_exact(ExactModel(franchise, atomic_log_marginal([0.5, 0.5])), move)


@pytest.mark.parametrize("root", ["weights", "fixed"])
def test_other_roots(root):
    """With fixed weights of the root by enumeration; with drawn ones the audit, over each kernel."""
    for store, kernel in COMBINATIONS:
        declared = hk.FixedWeights(3) if root == "fixed" else root
        franchise = tiny_franchise("two parents", MEASURE, store=store, kernel=kernel, root=declared)
        if root == "fixed":
            check_exact(ExactModel(franchise, WITNESS), TableGibbs())
        else:
            moves = [TableGibbs(), DishGibbs(), hk.moves.RootWeights()]
            hk.Scheduler(moves).run(franchise, sweeps=20, rng=0, audit_every=1)


def check_log_joint_of_choices():
    """It is that of the enumeration on every store of seats or sizes, up to the constant of the data."""
    for graph in GRAPHS:
        franchise = tiny_franchise(graph, MEASURE, store="explicit", corner="discounts")
        model = ExactModel(franchise, WITNESS)
        joint = np.array([model.enter(state).log_joint() for state in range(len(model.states))])
        assert np.ptp(joint - np.log(model.pi)) < 1e-12
        for store in STORES:
            other = tiny_franchise(graph, MEASURE, store=store, corner="discounts")
            for state in range(0, len(model.states), 7):
                frozen = model.enter(state).freeze()
                other.thaw(frozen)
                other.audit()
                assert other.log_joint() == pytest.approx(joint[state], abs=1e-12)


def test_predictives():
    """P_r of every restaurant by the formula, compiled and readable, with a table of each arm."""
    franchise = tiny_franchise("a grandparent on two ways", MEASURE, store="explicit", corner="discounts")
    hk.Scheduler([TableGibbs()]).run(franchise, sweeps=5, rng=3, init=None)
    tree, slots = franchise.topology, franchise.slots.occupied_slots().tolist()
    rows = {-1: np.append(np.zeros(len(slots)), 1.0)}
    for node in range(tree.n_restaurants):
        own = franchise.restaurant(franchise.declarations[node].name)
        n = np.append([own.customers_of(k) for k in range(len(slots))], 0.0)
        t = np.append([own.tables_of(k) for k in range(len(slots))], 0.0)
        theta, d = own.concentration, own.discount
        above = sum(tree.weight(arm) * rows[int(tree.parent[arm])] for arm in tree.arms(node))
        empty = own.n_customers == 0
        rows[node] = above if empty else (n - d * t + (theta + d * t.sum()) * above) / (theta + n.sum())
        for kernel in ("generic", "reference"):
            walk = franchise.walk(kernel)
            assert walk.prior_row(node) == pytest.approx(rows[node], abs=1e-14)
            given = [walk.probability(node, slot) for slot in slots]
            assert given == pytest.approx(rows[node][:-1], abs=1e-14)
    sample = franchise.sample()
    assert sample.group_weights() == pytest.approx(rows[tree.n_restaurants - 1][None], abs=1e-14)


def test_log_joint_of_counts_sums_over_seatings():
    for graph in GRAPHS:
        franchise = tiny_franchise(graph, MEASURE, store="explicit", corner="discounts")
        model = ExactModel(franchise, WITNESS)
        reduced = [to_counts(key, model.shape) for key in model.states]
        total = {}
        for state, p in zip(reduced, model.pi.tolist(), strict=True):
            total[state] = total.get(state, 0.0) + p
        joint = [log_joint_of_counts(model.enter(state)) for state in range(len(model.states))]
        of_states = np.log([total[state] for state in reduced])
        assert np.ptp(np.array(joint) - of_states) < 1e-12
        counted = tiny_franchise(graph, MEASURE, store="counts", corner="discounts")
        for state in range(0, len(model.states), 7):
            counted.thaw(model.enter(state).freeze())
            counted.audit()
            assert counted.log_joint() == pytest.approx(joint[state], abs=1e-12)


def test_sizes_of_nobody_are_refused():
    franchise = tiny_franchise(GRAPHS[0], MEASURE, store="histogram")
    frozen, tree = franchise.store.freeze(), franchise.topology
    nobody = {**frozen, "dish": np.full_like(frozen["dish"], -1)}
    with pytest.raises(hk.errors.StateError, match="freeze"):
        seat_out(nobody, tree.home, tree.parent, tree.level, ScriptedSource(), tree.lead)


def readable(graph, store):
    franchise = tiny_franchise(graph, MEASURE, store=store, kernel="reference", corner="discounts")
    return ExactModel(franchise, WITNESS)


def check_choices_of_parents():
    for store in ("explicit-reference", "histogram-reference"):
        check_exact(readable(GRAPHS[0], store), TableGibbs())
    check_exact(readable("a grandparent on two ways", "histogram-reference"), TableGibbs())


def check_choices_over_counts():
    for graph in GRAPHS[:2]:
        check_exact(readable(graph, "counts"), TableGibbs())


def check_sums_over_arms():
    model = readable("two parents", "explicit-reference")
    for state in range(len(model.states)):
        franchise = model.enter(state)
        (node,), customers, tables = franchise.totals_of(3)
        sizes, counts = franchise.size_counts([node])
        assert customers == (sizes * counts).sum() == 2
        assert tables == counts.sum() == sum(franchise.restaurant("c").tables_by_parent.values())


class Recorded:
    """A source that returns logs of the mean of a Dirichlet distribution, and records its parameters."""

    def log_dirichlet(self, shapes):
        self.shapes = shapes
        return np.log(shapes / shapes.sum())


def check_weights_given_choices():
    model = readable("a grandparent on two ways", "explicit-reference")  # of c there is a prior
    for state in range(0, len(model.states), 5):
        franchise, source = model.enter(state), Recorded()
        chosen = list(franchise.restaurant("c").tables_by_parent.values())
        ParentWeights().apply(franchise, source)
        assert source.shapes.tolist() == [1.0 + t for t in chosen]
        drawn = franchise.topology.weights_of(3)
        np.testing.assert_allclose(drawn, [(1.0 + t) / (2.0 + sum(chosen)) for t in chosen], rtol=1e-14)
        assert [franchise.topology.weight(arm) for arm in franchise.topology.arms(3)] == drawn.tolist()


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
def test_hyperparameters_and_weights(each):
    """Geweke's test."""
    gamma, beta = hk.Gamma(2.0, 1.0), hk.Beta(1.0, 2.0)
    below = (hk.Each(gamma), hk.Each(beta)) if each else (gamma, beta)
    cases = {
        store: tiny_franchise(
            "a grandparent on two ways", MEASURE, store=store,
            concentration=(gamma, below[0]), discount=(beta, below[1]),
        )
        for store in ("explicit", "histogram")
    }  # fmt: skip
    schedule = [
        TableGibbs(), DishGibbs(), hk.moves.Concentration(), hk.moves.Discount("slice"), ParentWeights(),
    ]  # fmt: skip
    assert len(check_together(cases, schedule, replicas=150, rounds=3, seed=11 + each)) == 2
