"""Held groups: moves by enumeration of the conditional posterior, sweeps, runs."""

from collections import Counter

import attrs
import numpy as np
import pytest
from exact_points import check_balance
from exact_weights import ExactWeightModel
from known_checks import HELD, MEASURE, WITNESS, check_tables_of_held_documents, held
from slice_model import WEIGHTS, holding
from slice_model import Model as SliceModel
from test_cells import Model as CellModel
from test_levels import SHAPES, Given, Whole

import hdpkit as hk
from hdpkit import moves
from hdpkit.random import Streams
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


def test_groups_that_are_held_are_left_out_of_moves():
    franchise = held("2+2", [0, 1], store="explicit")
    assert franchise.held_groups() == [0]
    assert franchise.free_ranges(0, 4) == [(2, 4)]
    assert franchise.groups()[0].tolist() == [2]
    assert len(franchise.held_dishes()) == 2
    with pytest.raises(hk.errors.StateError, match="release"):
        franchise.reseat(1, 3, Streams(0).source(1))
    franchise.release([0])
    assert franchise.held_groups() == []
    assert franchise.free_ranges(0, 4) == [(0, 4)]


# ---------------------------------------------------------------------- documents in parallel


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


def test_cells_of_held_documents_stay():
    model = holding(CellModel([[1, 0, 1], [1, 0, 0]]), 0)
    state = model.states()[37]
    own = slice(0, 2)  # cells of the document that is held
    found, expected = Counter(), Counter()
    for after, p in model.law_from(state, 0).items():
        assert after[own] == state[own]
        found[after[2:]] += p
    for after, p in model.expected(state).items():
        expected[after[2:]] += p
    assert max(abs(found[key] - p) for key, p in expected.items()) < 1e-12


# ---------------------------------------------------------------------- their tables are drawn


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


class HeldWhole(Whole):
    """The posterior given the cells of a document, as they are at the start."""

    def __init__(self, shape, points=None):
        super().__init__(shape, points)
        self.franchise.hold([0])
        cells, _ = self.read({0: 0, 1: 1})
        own = self.cells.documents() == 0
        kept = [
            all(a == b for a, b, one in zip(key[0], cells, own, strict=True) if one) for key in self.states
        ]
        self.pi = np.where(kept, self.pi, 0.0) / self.pi[kept].sum()

    def plan(self, *arguments):
        return attrs.evolve(super().plan(*arguments), held=self.franchise.held.mask)


@pytest.mark.parametrize("shape", ["two levels", "three levels", "one document has no type"])
def test_a_move_leaves_the_posterior_given_held_customers_invariant(shape):
    model = HeldWhole(shape)
    before = model.read({0: 0, 1: 1})[0]
    reached, total = model.after()
    assert model.read({0: 0, 1: 1})[0][0] == before[0]
    assert np.abs(total - 1.0)[model.pi > 0.0].max() < 1e-12
    assert np.abs(reached - model.pi).max() < 1e-12
    model.franchise.audit()


# ---------------------------------------------------------------------- what is held belongs to the state


def corpus(n=6):
    generator = np.random.default_rng(3)
    return hk.Corpus.from_counts(generator.poisson(1.5, size=(n, 7)) + np.eye(n, 7, dtype=int))


def model_of(data, store="counts", root="weights"):
    base = hk.Restaurant(hk.DirichletMultinomial(0.3), concentration=hk.Gamma(1, 1))
    document = hk.Restaurant(base, concentration=hk.Gamma(1, 1), each="document")
    return hk.Franchise(document, data, store=store, root=root)


def test_more_documents_are_sampled_beside_held_ones():
    franchise = model_of(corpus(), "histogram", "restaurant")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=1)
    ids, n = franchise.dish_ids[franchise.dishes], len(franchise.data)
    franchise.hold([0, 1, 2, 3, 4])
    more = hk.Corpus.from_counts(np.eye(2, 7, dtype=int) + 1, names=None)
    grown = franchise.with_documents(franchise.data.plus(more), 1)
    assert len(grown.held_groups()) == 5
    grown.hold([5])
    hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()]).run(grown, sweeps=5, rng=2, init=None)
    assert grown.dish_ids[grown.dishes][:n].tolist() == ids.tolist()
