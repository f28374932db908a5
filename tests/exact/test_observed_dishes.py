"""Observed dishes: exact kernels at every depth, exact predictives, simulated data, and errors."""

import numpy as np
import pytest
from observed_checks import (
    ATOMS,
    PREDICTIVES,
    SIMULATED,
    STORES,
    Open,
    atoms_of,
    check_predictive,
    check_scored,
    check_simulated,
    check_simulated_given_seating,
    model_of,
    observed,
)

from hdpkit.errors import DeclarationError
from hdpkit.franchise.starts import start
from hdpkit.moves import DishGibbs, TableCounts, TableGibbs
from hdpkit.stores import Detail
from hdpkit.testing.cases import Corner, example_moves, serves, stores_and_kernels
from hdpkit.testing.exact import (
    TOLERANCE,
    ExactModel,
    check_exact,
    check_irreducible,
    outcomes,
    step_matrices,
)
from hdpkit.testing.measure_contract import atomic_log_marginal
from hdpkit.testing.states import to_histograms

DISCRETE = example_moves(continuous=False)

# theta, d: every theta of -0.2, 0.5, 50 that lies above -d, for every d of 0, 0.3, 0.9.
PAIRS = [(0.5, 0.0), (50.0, 0.0), (-0.2, 0.3), (0.5, 0.3), (50.0, 0.3), (-0.2, 0.9), (0.5, 0.9), (50.0, 0.9)]
# Each pair in the root once and once below it, next to pairs that differ in both.
CORNERS = [
    Corner(root[0], below[0], root[1], below[1])
    for root, below in zip(PAIRS, PAIRS[3:] + PAIRS[:3], strict=True)
]
MANY = {  # many customers who eat one dish: many seatings
    "flat 4": [0, 0, 0, 0],
    "2+2": [0, 0, 1, 0],
    "2+1 with one at the root": [0, 0, 0, 0],
    "three levels": [0, 0, 0, 0],
    "three levels, inner customers": [0, 0, 0, 0],
}


def check(move, shape, values, corner, measure=ATOMS, stores=None, kernels=None):
    """Exact steps in detailed balance over stores and kernels, and one law for all of the same states."""
    law = {}
    for store, kernel in stores_and_kernels(measure, shape=shape):
        if (stores and (store, kernel) not in stores) or (kernels and kernel not in kernels):
            continue
        franchise = observed(shape, values, corner, store, kernel, measure)
        if not serves(franchise, move):
            return False
        model = ExactModel(franchise, atomic_log_marginal(atoms_of(measure)))
        matrices = step_matrices(model, move)
        whole = check_exact(model, move, reversible=True, matrices=matrices)
        if isinstance(move, TableGibbs):
            check_irreducible(model, whole, "a sweep of table Gibbs")
        for P, Q in zip(matrices, law.setdefault(model.detail, matrices), strict=True):
            assert np.abs(P - Q).max() <= TOLERANCE
    return bool(law)


EVERY_CASE = [
    pytest.param(shape, c, move, id=f"{shape}-{c.root}, {c.root_discount}; {c.below}, {c.discount}-{move!r}")
    for shape in MANY
    for c in CORNERS
    for move in DISCRETE
]


def check_case(shape, corner, move, kernels=None):
    few = isinstance(move, DishGibbs) and shape == "three levels"  # there histograms take long
    served = check(move, shape, [0, 0, 0, 1] if few else MANY[shape], corner, kernels=kernels)
    # TableCounts has nothing to draw over stores that keep tables, and leaves everything as it is.
    assert served == (
        isinstance(move, TableGibbs | TableCounts) or (isinstance(move, DishGibbs) and shape != "flat 4")
    )


def locked(case):
    """Each shape at every other corner and where readable kernels run; the others with -m long."""
    shape, corner, _ = case.values
    place, number = list(MANY).index(shape), CORNERS.index(corner)
    ordinary = number == 2 or (place + number) % 2 == 0
    return pytest.param(*case.values, id=case.id, marks=[] if ordinary else pytest.mark.long)


@pytest.mark.parametrize(("shape", "corner", "move"), [locked(case) for case in EVERY_CASE])
def test_every_move_store_kernel_and_depth(shape, corner, move):
    # Compiled kernels at every corner; readable ones, which are slow, at one with discounts at all levels.
    check_case(shape, corner, move, None if corner is CORNERS[2] else ("fused", "generic"))


@pytest.mark.long
@pytest.mark.parametrize(("shape", "corner", "move"), EVERY_CASE)
def test_every_readable_kernel_at_every_corner(shape, corner, move):
    check_case(shape, corner, move, ("reference",))


@pytest.mark.parametrize("shape", MANY)
def test_customers_enter_and_leave_by_one_law(shape):
    """Every kernel has one law of the sequential start, and of customers who leave and come back, lumped."""
    laws = {}
    for store, kernel in stores_and_kernels(ATOMS, shape=shape):
        model = model_of(shape, MANY[shape], store=store, kernel=kernel)
        for what, apply in STEPS.items():
            law = np.zeros(len(model.states))

            def run(source, model=model, apply=apply):
                model.enter(len(model.states) - 1)
                apply(model.franchise, source)
                return model.read()

            for state, probability in outcomes(run):
                law[state] += probability
            assert abs(law.sum() - 1.0) <= TOLERANCE
            if model.detail is Detail.SEATS:
                lumping = [to_histograms(key, model.shape, model.values) for key in model.states]
            else:
                lumping = model.states
            found = {state: law[[one == state for one in lumping]].sum() for state in lumping}
            expected = laws.setdefault(what, found)
            assert max(abs(found[state] - p) for state, p in expected.items()) <= TOLERANCE


def come_back(franchise, source):
    last = franchise.topology.n_customers  # all but one leave: what stays is one state, whatever was before
    franchise.leave(1, last, source)
    franchise.enter(1, last, source)


STEPS = {"start": lambda franchise, source: start(franchise, "sequential", source), "leave": come_back}


@pytest.mark.parametrize(("store", "kernel"), list(stores_and_kernels(ATOMS)), ids=str)
@pytest.mark.parametrize("name", PREDICTIVES)
def test_predictives_are_exact(name, store, kernel):
    rows, tables = check_predictive(name, store, kernel)
    if name == "two contexts":  # worked out elsewhere, to five digits
        assert rows[1, :-1] == pytest.approx([0.51251, 0.41726, 0.07023], abs=5e-6)
        assert rows[2, :-1] == pytest.approx([0.19618, 0.73447, 0.06935], abs=5e-6)
        assert tables == pytest.approx(4.1157, abs=5e-5)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("shape", MANY)
def test_scores_are_those_of_the_enumeration(shape, store):
    check_scored(shape, MANY[shape], store)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_data_have_the_law_of_the_model(name, store):
    check_simulated(name, store)
    check_simulated_given_seating(name, store)


def test_a_remainder_has_its_share_everywhere_and_cannot_be_simulated():
    for store, kernel in stores_and_kernels(Open()):
        franchise = observed("2+2", [0, 0, 1, 0], store=store, kernel=kernel, measure=Open())
        for node in range(3):
            row = franchise.walk().prior_row(node)
            assert abs(row.sum() - 1.0) <= TOLERANCE
            above = 0.25 if node == 0 else franchise.walk().prior_row(0)[-1]
            restaurant = (
                franchise.restaurant("root") if node == 0 else franchise.restaurant("document", node - 1)
            )
            theta, d = restaurant.concentration, restaurant.discount
            share = (theta + d * restaurant.n_tables) / (theta + restaurant.n_customers)
            assert row[-1] == pytest.approx(share * above, rel=1e-13)
            assert restaurant.probability() == row[-1]
        for keep in (None, "hyperparameters", "seating"):
            with pytest.raises(DeclarationError, match="remainder of Open"):
                franchise.simulate(0, keep=keep)
