"""Held groups: moves by enumeration of the conditional posterior, sweeps, runs."""

import attrs
import numpy as np
import pytest
from exact_points import check_balance
from exact_weights import ExactWeightModel
from known_checks import HELD, MEASURE, WITNESS, check_tables_of_held_documents, held
from slice_model import WEIGHTS, holding
from slice_model import Model as SliceModel
from test_levels import SHAPES, Given

from hdpkit import moves
from hdpkit.testing.cases import serves, stores_and_kernels
from hdpkit.testing.exact import ExactModel, check_exact

MOVES = [
    moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.SplitMerge(scans=1),
    moves.SplitMerge(candidates=9), moves.ReseatGroups(scans=None),
]  # fmt: skip
GIBBS = (moves.TableGibbs, moves.DishGibbs)


def cells(shape):
    """Stores and kernels: all of them where a shape has few states."""
    found = list(stores_and_kernels(MEASURE, shape=shape))
    if shape in ("2+2", "three levels of three"):
        return found
    return [("explicit", "generic"), ("counts", "generic")][: 2 if shape.startswith("2") else 1]


ALL = [(shape, *cell) for shape in HELD for cell in cells(shape)]


@pytest.mark.parametrize(("shape", "store", "kernel"), ALL)
def test_moves_leave_the_posterior_given_what_is_held_invariant(shape, store, kernel):
    several = [0] + [1] * (len(HELD[shape][1]) - 1)
    for dishes in (None, several) if (store, kernel) == ("explicit", "generic") else (several,):
        franchise = held(shape, dishes, store=store, kernel=kernel)
        model = ExactModel(franchise, WITNESS)
        eaten = franchise.dishes[HELD[shape][1]].tolist()
        assert len(set(eaten)) == (1 if dishes is None else len({*dishes}))
        for move in MOVES:
            many = isinstance(move, (moves.ReseatGroups, moves.SplitMerge)) and shape == "three levels"
            many |= isinstance(move, moves.ReseatGroups) and kernel == "reference"
            if many or (getattr(move, "scans", None) and kernel == "reference"):
                continue
            if serves(franchise, move):
                check_exact(model, move, reversible=not isinstance(move, GIBBS))


@pytest.mark.parametrize("shape", ["2+1 with one at the root", "three levels of three"])
@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_the_same_under_weights(store, shape):
    model = ExactWeightModel(held(shape, store=store, root="weights"), WITNESS)
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        assert check_balance(model, move)


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
def test_a_sweep_over_documents_leaves_held_ones_alone(integrated, kernel):
    model = holding(SliceModel([[0], [2]], kernel, integrated), 0)
    P = model.matrix()
    same = np.array([[a[0] == b[0] for b in model.states] for a in model.states])
    assert np.all(P[~same] == 0.0)
    for k in range(len(WEIGHTS)):
        pi = np.where([z[0] == k for z in model.states], model.pi, 0.0)
        assert np.abs(pi @ P - pi).max() < 1e-12


@pytest.mark.parametrize("kernel", ["fused", "reference"])
@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
def test_a_sweep_draws_the_tables_of_all_documents(integrated, kernel):
    check_tables_of_held_documents(kernel, integrated)


class HeldGiven(Given):
    """The same with a document whose cells stay."""

    def law_of(self, plan, label, enter=lambda: None):
        def entered():
            self.franchise.release()
            enter()
            self.franchise.hold([0])

        with self.franchise.lock():
            entered()
        return super().law_of(attrs.evolve(plan, held=self.franchise.held.mask), label, entered)

    def law_from(self, state, few):
        self.franchise.release()
        return super().law_from(state, few)

    def law_of_cell(self, cell, document, term):
        return {cell: 1.0} if document == 0 else super().law_of_cell(cell, document, term)


@pytest.mark.parametrize("shape", [*SHAPES, "two levels"])
def test_tables_of_all_levels_have_their_law_beside_a_held_document(shape):
    model = HeldGiven(shape)
    states = model.states()
    for state in states[:: max(1, len(states) // 4)]:
        assert model.distance(state, 0) < 1e-12
        model.franchise.audit()
