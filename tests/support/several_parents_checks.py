"""Checks of restaurants with several parents against enumerated seatings, in the readable code."""

import numpy as np
from marginals import dirichlet_multinomial_log_marginal

from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import ParentWeights, TableGibbs
from hdpkit.testing.cases import tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact

ROOT = "a parent and the root"


def _model(graph, store):
    measure = DirichletMultinomial(0.5, n_terms=3)
    franchise = tiny_franchise(graph, measure, store=store, kernel="reference", corner="discounts")
    return ExactModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


def check_choices_of_parents():
    for store in ("explicit-reference", "histogram-reference"):
        check_exact(_model(ROOT, store), TableGibbs())
    check_exact(_model("a grandparent on two ways", "histogram-reference"), TableGibbs())


def check_choices_over_counts():
    for graph in (ROOT, "two parents"):
        check_exact(_model(graph, "counts"), TableGibbs())


def check_log_joint_of_choices():
    model = _model("two parents", "explicit-reference")
    joint = [model.enter(state).log_joint() for state in range(len(model.states))]
    assert np.ptp(np.array(joint) - np.log(model.pi)) < 1e-12


def check_sums_over_arms():
    model = _model("two parents", "explicit-reference")
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
    model = _model("a grandparent on two ways", "explicit-reference")  # of c there is a prior
    for state in range(0, len(model.states), 5):
        franchise, source = model.enter(state), Recorded()
        chosen = list(franchise.restaurant("c").tables_by_parent.values())
        ParentWeights().apply(franchise, source)
        assert source.shapes.tolist() == [1.0 + t for t in chosen]
        drawn = franchise.topology.weights_of(3)
        np.testing.assert_allclose(drawn, [(1.0 + t) / (2.0 + sum(chosen)) for t in chosen], rtol=1e-14)
        assert [franchise.topology.weight(arm) for arm in franchise.topology.arms(3)] == drawn.tolist()
