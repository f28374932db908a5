"""Observed dishes: exact kernels at every depth, exact predictives, simulated data, and what is refused."""

import itertools
import math

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.errors import DataError, DeclarationError, ParameterError, ScheduleError, StateError
from hdpkit.moves import DishGibbs, TableGibbs
from hdpkit.random import ScriptedSource
from hdpkit.testing.cases import SHAPES, Corner, TinyShape, tiny_franchise
from hdpkit.testing.combinations import example_moves, serves, stores_and_kernels
from hdpkit.testing.enumeration import (
    Shape,
    log_likelihood,
    log_prior,
    lump_to_histograms,
    n_tables,
    seatings,
)
from hdpkit.testing.exact import (
    TOLERANCE,
    ExactModel,
    check_exact,
    check_irreducible,
    histograms_of,
    labelled_key,
    step_matrices,
)
from hdpkit.testing.franchise_machine import Watcher
from hdpkit.testing.marginals import atomic_log_marginal
from hdpkit.testing.transitions import lump_matrix

H = [0.5, 0.2, 0.3]
ATOMS = hk.Categorical(H)
WITNESS = atomic_log_marginal(H)
DISCRETE = [move for move in example_moves(continuous=False) if not isinstance(move, hk.moves.SplitMerge)]

# theta, d: every theta of -0.2, 0.5, 50 that lies above -d, for every d of 0, 0.3, 0.9.
PAIRS = [(0.5, 0.0), (50.0, 0.0), (-0.2, 0.3), (0.5, 0.3), (50.0, 0.3), (-0.2, 0.9), (0.5, 0.9), (50.0, 0.9)]
# Each pair in the root once and once below it, next to pairs that differ in both.
CORNERS = [
    Corner(root[0], below[0], root[1], below[1])
    for root, below in zip(PAIRS, PAIRS[3:] + PAIRS[:3], strict=True)
]
MIDDLE = Corner(0.8, 0.4, 0.3, 0.6)
MANY = {  # many customers who eat one dish: many seatings
    "flat 4": [0, 0, 0, 0],
    "2+2": [0, 0, 1, 0],
    "2+1 with one at the root": [0, 0, 0, 0],
    "three levels": [0, 0, 0, 0],
    "three levels, inner customers": [0, 0, 0, 0],
}


def case(shape, values, corner=MIDDLE, store="explicit", kernel="auto", measure=ATOMS):
    return tiny_franchise(shape, measure, values=values, corner=corner, store=store, kernel=kernel)


# ---------------------------------------------------------------------- kernels


def check(move, shape, values, corner, measure=ATOMS, stores=None):
    """Exact steps in detailed balance over stores and kernels, and one law for all of the same states."""
    law = {}
    for store, kernel in stores_and_kernels(measure):
        if stores and (store, kernel) not in stores:
            continue
        franchise = case(shape, values, corner, store, kernel, measure)
        if not serves(franchise, move):
            return False
        model = ExactModel(franchise, atomic_log_marginal(np.exp(measure.log_probabilities()).tolist()))
        matrices = step_matrices(model, move)
        whole = check_exact(model, move, reversible=True, matrices=matrices)
        if isinstance(move, TableGibbs):
            check_irreducible(model, whole, "a sweep of table Gibbs")
        for P, Q in zip(matrices, law.setdefault(model.labelled, matrices), strict=True):
            assert np.abs(P - Q).max() <= TOLERANCE
    return bool(law)


@pytest.mark.parametrize("move", DISCRETE, ids=repr)
@pytest.mark.parametrize(
    "corner", CORNERS, ids=lambda c: f"{c.root}, {c.root_discount}; {c.below}, {c.discount}"
)
@pytest.mark.parametrize("shape", MANY)
def test_every_move_store_kernel_and_depth(move, corner, shape):
    few = isinstance(move, DishGibbs) and shape == "three levels"  # there histograms take long
    served = check(move, shape, [0, 0, 0, 1] if few else MANY[shape], corner)
    assert served == (isinstance(move, TableGibbs) or (isinstance(move, DishGibbs) and shape != "flat 4"))


@pytest.mark.parametrize("measure", [hk.Uniform(1), hk.Uniform(3), hk.Categorical([0.0, 0.9, 0.1])], ids=repr)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_other_atoms(move, measure):
    likeliest = int(np.argmax(measure.log_probabilities()))
    assert check(move, "2+2", [likeliest, likeliest, measure.n_terms - 1, likeliest], MIDDLE, measure)


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize(
    ("move", "shape", "values"),
    [
        (TableGibbs(), "3+3", [0, 0, 0, 0, 0, 0]),  # 712 seatings, 48 histograms
        (DishGibbs(), "3+2", [0, 0, 0, 0, 0]),
        (DishGibbs(), "three levels", [0, 0, 0, 0]),
        (DishGibbs(), "3+3", [0, 0, 1, 1, 1, 0]),
        (TableGibbs(), "2+2+2", [0, 0, 0, 1, 0, 1]),
    ],
    ids=repr,
)
def test_larger_franchises(move, shape, values, store):
    assert check(move, shape, values, CORNERS[2], stores=[(store, "generic")])


@pytest.mark.parametrize(("store", "kernel"), list(stores_and_kernels(ATOMS)), ids=str)
@pytest.mark.parametrize("values", [[0, 0, 0, 0], [0, 1, 1, 0]], ids=str)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_a_whole_sweep_is_the_product_of_its_steps(move, values, store, kernel):
    model = ExactModel(case("2+2", values, store=store, kernel=kernel), WITNESS)
    if not model.labelled and isinstance(move, DishGibbs):  # customers are seated out once a sweep
        labelled = ExactModel(case("2+2", values), WITNESS)
        product = lumped(np.linalg.multi_dot(step_matrices(labelled, move)), labelled, model)
    else:
        product = np.linalg.multi_dot(step_matrices(model, move))
    sweep = model.matrix(lambda state, source: move.apply(state, source))
    assert np.abs(sweep - product).max() <= TOLERANCE


def lumped(matrix, labelled, model):
    """A matrix over labelled seatings as one over the histograms of a model."""
    classes = [lump_to_histograms(key, labelled.shape, labelled.values) for key in labelled.states]
    found = lump_matrix(matrix, classes, labelled.pi)
    order = [found.classes.index(state) for state in model.states]
    return found.matrix[np.ix_(order, order)]


@pytest.mark.parametrize("shape", [shape for shape in MANY if shape != "flat 4"])
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_two_stores_have_one_lumped_law(move, shape):
    labelled, model = (
        ExactModel(case(shape, MANY[shape], store=s), WITNESS) for s in ("explicit", "histogram")
    )
    for P, Q in zip(step_matrices(labelled, move), step_matrices(model, move), strict=True):
        assert np.abs(lumped(P, labelled, model) - Q).max() <= TOLERANCE


# ---------------------------------------------------------------------- predictives and scores


def evidence(shape, values, theta, d, probabilities):
    """Probability of the values: the sum over all seatings, written down without the package's stores."""
    witness = atomic_log_marginal(probabilities)
    return math.fsum(
        math.exp(log_prior(key, shape, theta, d) + log_likelihood(key, values, witness))
        for key in seatings(shape)
    )


def exact_predictive(model, node, probabilities):
    """P(next value in a restaurant | data) as a ratio of probabilities of data: one customer more, or not."""
    theta, d = model.franchise._concentration.tolist(), model.franchise._discount.tolist()
    grown = Shape(model.shape.parent, (*model.shape.home, node))
    before = evidence(model.shape, model.values, theta, d, probabilities)
    return np.array(
        [
            evidence(grown, [*model.values, w], theta, d, probabilities) / before
            for w in range(len(probabilities))
        ]
    )


BLUNSOM = TinyShape({"context": [*"aaabb"]}, 5)
PREDICTIVES = {
    "two contexts": (BLUNSOM, [0, 0, 1, 1, 1], Corner(1.0, 0.5, 0.3, 0.6), [1 / 3] * 3),
    "without discounts": (BLUNSOM, [0, 0, 1, 1, 1], Corner(1.0, 0.5), [0.6, 0.3, 0.1]),
    "negative concentrations": (BLUNSOM, [0, 0, 0, 1, 0], Corner(-0.2, -0.5, 0.3, 0.9), [0.5, 0.5]),
    "one restaurant": (SHAPES["flat 5"], [0, 0, 2, 2, 2], Corner(-0.1, 0.0, 0.4), [0.2, 0.2, 0.6]),
    "three levels": (SHAPES["three levels"], [1, 1, 0, 1], Corner(2.0, 0.3, 0.5, 0.2), [0.1, 0.6, 0.3]),
    "customers at the root": (
        TinyShape({"context": [None, "a", None, "a", "b"]}, 5), [0, 0, 0, 0, 1], Corner(0.7, 5.0, 0.8, 0.1), H
    ),
    "customers at inner restaurants": (
        SHAPES["three levels, inner customers"], [0, 0, 0, 0], Corner(-0.3, 0.0, 0.6, 0.7), H
    ),
}  # fmt: skip


@pytest.mark.parametrize(("store", "kernel"), list(stores_and_kernels(ATOMS)), ids=str)
@pytest.mark.parametrize("name", PREDICTIVES)
def test_predictives_are_exact(name, store, kernel):
    shape, values, corner, probabilities = PREDICTIVES[name]
    measure = hk.Categorical(probabilities)
    model = ExactModel(
        case(shape, values, corner, store, kernel, measure), atomic_log_marginal(probabilities)
    )
    nodes = range(model.shape.n_nodes)
    rows, tables = np.zeros((len(nodes), len(probabilities) + 1)), 0.0
    for number, weight in enumerate(model.pi):
        franchise = model.enter(number)
        found = np.array([franchise.walk().prior_row(node) for node in nodes])
        assert np.abs(found.sum(axis=1) - 1.0).max() <= TOLERANCE
        for node, dish in itertools.product(nodes, range(len(probabilities))):
            assert abs(franchise.walk().probability(node, dish) - found[node, dish]) <= TOLERANCE
        by_name = [franchise.group_weights(one.name) for one in franchise.declarations]
        assert np.array_equal(np.concatenate(by_name), found)
        assert np.array_equal(np.append(*franchise.root_weights()), found[0])
        rows += weight * found
        tables += weight * franchise.n_tables
    assert np.all(rows[:, -1] == 0.0)
    for node in nodes:
        assert np.abs(rows[node, :-1] - exact_predictive(model, node, probabilities)).max() <= TOLERANCE
    expected = sum(p * n_tables(key, model.shape) for key, p in model.posterior_of_seatings.items())
    assert abs(tables - expected) <= TOLERANCE
    if name == "two contexts":  # worked out elsewhere, to five digits
        assert rows[1, :-1] == pytest.approx([0.51251, 0.41726, 0.07023], abs=5e-6)
        assert rows[2, :-1] == pytest.approx([0.19618, 0.73447, 0.06935], abs=5e-6)
        assert tables == pytest.approx(4.1157, abs=5e-5)


@pytest.mark.parametrize("shape", MANY)
def test_scores_are_those_of_the_enumeration(shape):
    for store in ("explicit", "histogram", "explicit-reference", "histogram-reference"):
        model = ExactModel(case(shape, MANY[shape], store=store), WITNESS)
        theta, d = model.franchise._concentration.tolist(), model.franchise._discount.tolist()
        scores = {}
        for key in model.posterior_of_seatings:
            state = key if model.labelled else lump_to_histograms(key, model.shape, model.values)
            scores[state] = log_prior(key, model.shape, theta, d), log_likelihood(key, model.values, WITNESS)
        for number, state in enumerate(model.states):
            franchise = model.enter(number)
            assert abs(franchise.log_seating() - scores[state][0]) <= TOLERANCE
            assert abs(franchise.log_likelihood() - scores[state][1]) <= TOLERANCE
            assert abs(franchise.log_joint() - sum(scores[state])) <= TOLERANCE
            assert franchise.n_dishes == len(set(MANY[shape]))
            franchise.audit()


# ---------------------------------------------------------------------- simulated data

SIMULATED = {
    "flat 3": TinyShape({}, 3),
    "two levels": TinyShape({"document": [0, 0, None]}, 3),
    "three levels": TinyShape({"author": ["a", "a", None], "document": [0, 1, None]}, 3),
}


def law_of(franchise, keep):
    """Exact law of what is simulated: (values, seating) -> probability."""
    shape = Shape(tuple(franchise.topology.parent.tolist()), tuple(franchise.topology.home.tolist()))
    law, source = {}, ScriptedSource()
    while True:
        drawn = franchise.simulate(source, keep=keep)
        drawn.audit()
        arrays = drawn.store.freeze()
        seating = labelled_key(arrays, shape) if "seat" in arrays else histograms_of(arrays)
        key = tuple(drawn.data.values.tolist()), seating
        law[key] = law.get(key, 0.0) + source.probability
        if not source.advance():
            return law, shape


def joint_law(shape, theta, d, probabilities, is_labelled):
    """The model's: prior of the seating, and an atom from H for each table of the root."""
    law = {}
    for key in seatings(shape):
        prior = math.exp(log_prior(key, shape, theta, d))
        roots = sorted({tables[-1] for tables in key})
        for atoms in itertools.product(range(len(probabilities)), repeat=len(roots)):
            dish = dict(zip(roots, atoms, strict=True))
            values = [dish[tables[-1]] for tables in key]
            state = tuple(values), (key if is_labelled else lump_to_histograms(key, shape, values))
            law[state] = law.get(state, 0.0) + prior * math.prod(probabilities[atom] for atom in atoms)
    return law


@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference", "histogram-reference"])
@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_data_have_the_model_s_law(name, store):
    franchise = case(SIMULATED[name], [0, 0, 1], store=store, measure=hk.Categorical([0.7, 0.3]))
    theta, d = franchise._concentration.tolist(), franchise._discount.tolist()
    law, shape = law_of(franchise, "hyperparameters")
    expected = joint_law(shape, theta, d, [0.7, 0.3], "seat" in franchise.store.freeze())
    assert law.keys() == expected.keys()
    assert max(abs(law[state] - p) for state, p in expected.items()) <= TOLERANCE


@pytest.mark.parametrize("store", ["explicit", "histogram", "explicit-reference", "histogram-reference"])
@pytest.mark.parametrize("name", SIMULATED)
def test_new_data_given_the_seating_leave_the_model_s_law_alone(name, store):
    """The resampling step of Geweke's test, from every state of the joint law."""
    measure = hk.Categorical([0.7, 0.3])
    theta = d = None
    after, before = {}, {}
    for values in itertools.product([0, 1], repeat=3):
        model = ExactModel(case(SIMULATED[name], list(values), store=store, measure=measure))
        theta, d = model.franchise._concentration.tolist(), model.franchise._discount.tolist()
        weight = evidence(model.shape, list(values), theta, d, [0.7, 0.3])
        for number, p in enumerate(model.pi):
            before[values, model.states[number]] = weight * p
            for state, q in law_of(model.enter(number), "seating")[0].items():
                after[state] = after.get(state, 0.0) + weight * p * q
    assert after.keys() == before.keys()
    assert max(abs(after[state] - p) for state, p in before.items()) <= TOLERANCE


class Open(hk.AtomicMeasure):
    """Two values with numbers, and others without."""

    n_terms = 2
    remainder = 0.25

    def log_probabilities(self):
        return np.log([0.5, 0.25])


def test_a_remainder_has_its_share_everywhere_and_cannot_be_simulated():
    for store, kernel in stores_and_kernels(Open()):
        franchise = case("2+2", [0, 0, 1, 0], store=store, kernel=kernel, measure=Open())
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


# ---------------------------------------------------------------------- what is refused


def test_moves_that_propose_dishes_are_refused():
    franchise = case("2+2", [0, 0, 1, 0])
    refused = {type(move).__name__ for move in example_moves() if not serves(franchise, move)}
    assert refused >= {"SplitMerge", "ReseatGroups", "DishParameters", "BaseMeasureParameters", "AdoptDish"}
    for move in example_moves():
        if not serves(franchise, move):
            with pytest.raises(ScheduleError):
                hk.Scheduler([TableGibbs(), move]).run(franchise, sweeps=1, rng=0)


def test_dishes_are_neither_born_nor_exchanged():
    franchise = case("2+2", [0, 0, 1, 0])
    before = franchise.freeze()
    source = ScriptedSource()
    units = franchise.units(1)
    with pytest.raises(StateError, match="observed"):
        franchise.open_dish()
    with pytest.raises(StateError, match="observed"):
        franchise.move_units(units, np.array([0]), 1, source)
    with pytest.raises(StateError, match="observed"), franchise.reserved(1):
        pass
    with pytest.raises(ParameterError, match="values"):
        franchise.enter_given(np.ones(4, dtype=np.int32), 0, 4, source)
    view = franchise.restaurant("document", 0)
    view.unseat(0)
    for dish in (1, 2, 3, -1, 0.5):
        with pytest.raises(ParameterError, match="value"):
            view.seat(0, dish)
    view.seat(0, 0)
    for init in ("one", hk.init.Random(2), [0, 0, 1, 0]):
        with pytest.raises(ParameterError, match="observed"):
            hk.Scheduler([TableGibbs()]).run(franchise, sweeps=1, rng=0, init=init)
    franchise.audit()
    assert np.array_equal(franchise.freeze()["slots"], before["slots"])


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_frozen_states_of_other_dishes_are_refused(store):
    franchise = case("2+2", [0, 0, 1, 0], store=store)
    frozen = franchise.freeze()
    other = case("2+2", [0, 0, 2, 0], store=store).freeze()
    name = "table_dish" if store == "explicit" else "bin_dish"
    beyond = {**frozen, "slots": np.arange(4)}
    beyond["seating"] = {
        **frozen["seating"],
        name: np.where(frozen["seating"][name] == 1, 3, 0).astype(np.int32),
    }
    for bad in (other, beyond, {**frozen, "held": np.array([2])}, {**frozen, "slots": np.arange(4)}):
        with pytest.raises(DataError, match="in the frozen state"):
            franchise.thaw(bad)
    franchise.thaw(frozen)
    franchise.audit()


def test_components_know_all_atoms_at_all_times():
    franchise = case("2+2", [0, 0, 1, 0], store="histogram")
    watcher = Watcher(franchise)
    franchise.register("watcher", watcher)
    frozen = franchise.freeze()
    for change in (franchise.clear, lambda: franchise.thaw(frozen), franchise.settle):
        change()
        assert watcher.known == {0, 1, 2}
        franchise.audit()
    hk.Scheduler([TableGibbs(), DishGibbs()]).run(franchise, sweeps=5, rng=0, audit_every=1)
    assert watcher.known == {0, 1, 2}


@pytest.mark.parametrize("values", [[0, 3], [-1, 0], [0.5, 1.0], ["a", "b"], [[0, 1], [1, 0]], [True, False]])
def test_values_that_are_no_atoms(values):
    with pytest.raises(DataError, match="values"):
        hk.Franchise(hk.Restaurant(hk.Uniform(3)), hk.Groups.from_labels(values))
    with pytest.raises(DataError, match="positive probability"):
        hk.Franchise(hk.Restaurant(hk.Categorical([1.0, 0.0])), hk.Groups.from_labels([0, 1]))


def test_the_vocabulary_of_a_corpus_is_that_of_uniform():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1]], n_terms=5)
    root = hk.Restaurant(hk.Uniform())
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    assert franchise.measure.n_terms == 5
    hk.Scheduler([TableGibbs(), DishGibbs()]).run(franchise, sweeps=3, rng=0)
    assert franchise.dishes.tolist() == [0, 0, 1, 1]
    assert franchise.n_dishes == 2
    assert franchise.dish_parameters().tolist() == [0, 1, 2, 3, 4]
    assert franchise.simulate(1).measure.n_terms == 5
    with pytest.raises(DeclarationError, match="n_terms"):
        hk.Uniform().log_probabilities()
    with pytest.raises(DataError, match="latent"):
        _ = franchise.dish_counts
