"""One concentration per dish where topics differ by document: seatings, tables, concentrations,
enumerated.
"""

import functools
import math

import numpy as np
import pytest
from exact_bursts import ExactBurstyModel
from exact_points import distribution, p_values_of_updates, spread_of_log_joint
from marginals import dirichlet_multinomial_log_marginal
from parameter_cases import Grid
from planted import PlantedBug, planted

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference, SparseDirichletMultinomialReference
from hdpkit.errors import HdpkitError
from hdpkit.franchise.starts import start
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactFailure, check_exact, check_irreducible
from hdpkit.testing.pvalues import SampledTests

GRID = Grid([0.3, 8.0], [1.0, 2.0])
CORNER = Corner(0.9, 0.7, 0.3, 0.6)
REPEATED = TinyShape({"document": [0, 0, 1]}, 3)
READABLE = DirichletMultinomialReference
GIBBS = [moves.TableGibbs(), moves.DishGibbs()]


@functools.lru_cache(maxsize=16)
def model_of(
    shape=REPEATED, a=0.3, inner=hk.DirichletMultinomial, store="explicit", terms=(0, 0, 1), **options
):
    root = options.get("root", "restaurant")
    corner = CORNER if root == "restaurant" else Corner(0.9, 0.7)
    measure = hk.Bursty(inner(0.5, n_terms=3), hk.Each(GRID), a)
    franchise = tiny_franchise(shape, measure, corner=corner, values=list(terms), store=store, **options)
    witness = None if "Sparse" in inner.__name__ else dirichlet_multinomial_log_marginal(0.5, 3)
    return ExactBurstyModel(franchise, witness)


CASES = [
    ("explicit", hk.DirichletMultinomial, "restaurant"),
    ("explicit", READABLE, "restaurant"),
    ("histogram", hk.DirichletMultinomial, "restaurant"),
    ("explicit-reference", READABLE, "restaurant"),
    ("explicit", hk.SparseDirichletMultinomial, "restaurant"),
    ("explicit", SparseDirichletMultinomialReference, "restaurant"),
    ("histogram", hk.DirichletMultinomial, hk.FixedWeights(3)),
    ("counts", hk.DirichletMultinomial, hk.FixedWeights(3)),
]


@pytest.mark.parametrize("a", [0.0, 0.3])
@pytest.mark.parametrize(("store", "inner", "root"), CASES)
def test_gibbs_moves_are_exact(store, inner, root, a):
    model = model_of(a=a, inner=inner, store=store, root=root)
    for move in GIBBS:
        whole = check_exact(model, move)
        if isinstance(move, moves.TableGibbs):
            check_irreducible(model, whole, "a sweep of table Gibbs")


@pytest.mark.parametrize("move", [moves.Concentration(), moves.DishParameters()])
def test_proposals_of_concentrations_from_the_prior_are_exact(move):
    model = model_of(terms=(0, 0, 0))
    P = model.matrix(move.apply)
    assert np.abs(P.sum(axis=1) - 1.0).max() < 1e-12
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12
    assert np.any(P[P > 0.0] < 1.0)


def test_a_whole_sweep_is_exact():
    """Dishes die and are born within it: no concentration of a dish that is gone is there for another one."""
    model = model_of(terms=(0, 0, 0))
    P = model.matrix(moves.TableGibbs().apply)
    assert np.abs(model.pi @ P - model.pi).max() < 1e-12


def test_the_log_joint_is_that_of_the_enumeration():
    assert spread_of_log_joint(model_of()) < 1e-9


FAMILY = SampledTests()
PRIOR = hk.Gamma(1.5, 0.4)
UPDATES = {
    "slice": moves.Concentration(),
    "auxiliary": moves.Concentration("auxiliary"),
    "dish parameters": moves.DishParameters(),
}
STEPS = {f"{update}, discount {a}": (move, a) for update, move in UPDATES.items() for a in (0.0, 0.3)}
for name_ in STEPS:
    FAMILY.register(name_, ["first", "second"])
DOCUMENTS, VALUES = [0] * 6 + [1] * 5 + [2] * 3, [0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 1, 1, 1, 1]
DISHES = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1])


def larger(concentration=None, discount=0.0, inner=hk.DirichletMultinomial, **options):
    """Two dishes, with one table for each term of a document in each."""
    concentration = hk.Each(PRIOR) if concentration is None else concentration
    root = hk.Restaurant(hk.Bursty(inner(0.5, n_terms=3), concentration, discount), concentration=0.8)
    data = hk.Groups.from_labels(VALUES, {"document": DOCUMENTS})
    below = hk.Restaurant(root, each="document", concentration=0.7)
    franchise = hk.Franchise(below, data, store="explicit", **options)
    start(franchise, DISHES, hk.random.RandomStream((1, 1)))
    frozen = franchise.freeze()
    franchise.thaw({**frozen, "bank": {**frozen["bank"], "opens": np.zeros(len(VALUES), dtype=np.int8)}})
    return franchise


def log_conditional(b, a, pairs):
    """Log density of the concentration of a dish given customers and tables in its restaurants."""
    logs = PRIOR.log_density(b)
    for n, t in pairs:
        logs += math.fsum(math.log(b + a * i) for i in range(t))
        logs -= math.fsum(math.log(b + i) for i in range(n))
    return logs


@pytest.mark.parametrize("name", STEPS)
def test_one_update_from_exact_draws_of_the_concentrations(name):
    move, a = STEPS[name]
    franchise = larger(discount=a)
    grid = np.linspace(math.log(1e-4), math.log(60.0), 2000)  # of the logarithm; the law is flat in between
    laws = []
    for one in franchise.bank.statistics([0, 1], franchise.dishes):
        pairs = list(one.totals.values())
        assert sum(t for _, t in pairs) < sum(n for n, _ in pairs)
        laws.append(distribution(lambda b, pairs=pairs: log_conditional(b, a, pairs), grid))
    assert np.abs(laws[0] - laws[1]).max() > 0.02
    bank = franchise.bank

    def run(more, seed):
        return p_values_of_updates(
            franchise, move, laws, grid, 600 * more, seed, bank.set_parameter, bank.parameter
        )

    FAMILY.check(name, run)


BUGS = [
    ("the old concentration of a block's dish", "hdpkit.measures.bursty",
     "self.measure.begun(self._next)", "self.measure.begun(1.0)", moves.DishGibbs()),
    ("a fresh draw for the dish a block left", "hdpkit.measures.kept_parameters",
     "self.kept.left(slot, int(customers[0]))", "pass", moves.DishGibbs()),
    ("b of the dish", "hdpkit.measures.bursty",
     "return 1.0 if statistics.concentration is None else statistics.concentration", "return 1.0",
     moves.TableGibbs()),
]  # fmt: skip


@pytest.mark.parametrize(("name", "module", "old", "new", "move"), BUGS, ids=[bug[0] for bug in BUGS])
def test_planted_bugs_are_caught(name, module, old, new, move):
    model = model_of(inner=READABLE)
    with (
        planted(PlantedBug(name, "see its name", module, old, new, "check_exact")),
        pytest.raises((ExactFailure, HdpkitError, KeyError)),
    ):
        check_exact(model, move)
