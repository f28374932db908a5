"""Common code of tests of observed dishes, and the checks that planted bugs must fail."""

import functools
import itertools
import math

import numpy as np
from audited_steps import audited_steps
from franchise_machine import Watcher

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import DataError
from hdpkit.stores import Detail, FrozenSeating, detail_of
from hdpkit.testing.cases import SHAPES, Corner, TinyShape, tiny_franchise
from hdpkit.testing.enumeration import Shape, log_likelihood, log_prior, n_tables, seatings
from hdpkit.testing.exact import TOLERANCE, ExactModel, check_exact
from hdpkit.testing.exact import law_of as exact_law
from hdpkit.testing.measure_contract import atomic_log_marginal, check_contract
from hdpkit.testing.states import frozen_key, to_histograms

H = [0.5, 0.2, 0.3]
ATOMS = hk.Categorical(H)
MIDDLE = Corner(0.8, 0.4, 0.3, 0.6)
STORES = ("explicit", "histogram", "explicit-reference", "histogram-reference")


class Open(hk.AtomicMeasure):
    """Two values with numbers, and others without."""

    n_terms = 2
    remainder = 0.25

    def log_probabilities(self):
        return np.log([0.5, 0.25])


def atoms_of(measure):
    """H of each atom."""
    return np.exp(measure.log_probabilities()).tolist()


def observed(shape, values, corner=MIDDLE, store="explicit", kernel="auto", measure=ATOMS):
    """A tiny franchise whose dishes are its values."""
    return tiny_franchise(shape, measure, values=values, corner=corner, store=store, kernel=kernel)


def model_of(*arguments, measure=ATOMS, **options):
    """Every seating of it, with the posterior by a likelihood that doesn't know the measure's code."""
    franchise = observed(*arguments, measure=measure, **options)
    return ExactModel(franchise, atomic_log_marginal(atoms_of(measure)))


BLUNSOM = TinyShape({"context": [*"aaabb"]}, 5)
PREDICTIVES = {
    "two contexts": (BLUNSOM, [0, 0, 1, 1, 1], Corner(1.0, 0.5, 0.3, 0.6), hk.Uniform(3)),
    "without discounts": (BLUNSOM, [0, 0, 1, 1, 1], Corner(1.0, 0.5), hk.Categorical([0.6, 0.3, 0.1])),
    "negative concentrations": (BLUNSOM, [0, 0, 0, 1, 0], Corner(-0.2, -0.5, 0.3, 0.9), hk.Uniform(2)),
    "one restaurant": (SHAPES["flat 5"], [0, 0, 2, 2, 2], Corner(-0.1, 0.0, 0.4), ATOMS),
    "three levels": (SHAPES["three levels"], [1, 1, 0, 1], Corner(2.0, 0.3, 0.5, 0.2), ATOMS),
    "customers at the root": (
        TinyShape({"context": [None, "a", None, "a", "b"]}, 5),
        [0, 0, 0, 0, 1], Corner(0.7, 5.0, 0.8, 0.1), ATOMS,
    ),
    "customers at inner restaurants": (
        SHAPES["three levels, inner customers"],
        [0, 0, 0, 0], Corner(-0.3, 0.0, 0.6, 0.7), hk.Categorical([0.9, 0.1]),
    ),
    "other values": (SHAPES["2+2"], [0, 0, 1, 0], MIDDLE, Open()),
}  # fmt: skip


@functools.cache  # the same for every store and kernel
def evidence(shape, values, theta, d, probabilities):
    """Probability of the values: the sum over all seatings, written down without the package's stores."""
    witness = atomic_log_marginal(probabilities)
    return math.fsum(
        math.exp(log_prior(key, shape, theta, d) + log_likelihood(key, values, witness))
        for key in seatings(shape)
    )


def exact_predictive(model, node, probabilities):
    """P(next value in a restaurant | data) as a ratio of probabilities of data: one customer more, or not."""
    numbers = model.franchise.hyperparameters
    given = tuple(numbers.theta.tolist()), tuple(numbers.d.tolist()), tuple(probabilities)
    grown, values = Shape(model.shape.parent, (*model.shape.home, node)), tuple(map(int, model.values))
    before = evidence(model.shape, values, *given)
    return [evidence(grown, (*values, w), *given) / before for w in range(len(probabilities))]


def check_predictive(name, store, kernel):
    """Rows of every restaurant and the number of tables, averaged over the states; returns both."""
    shape, values, corner, measure = PREDICTIVES[name]
    probabilities = atoms_of(measure)
    model = model_of(shape, values, corner, store, kernel, measure=measure)
    nodes = range(model.shape.n_nodes)
    rows, tables = np.zeros((len(nodes), len(probabilities) + 1)), 0.0
    for number, weight in enumerate(model.pi):
        franchise = model.enter(number)
        walk = franchise.walk()
        found = np.array([walk.prior_row(node) for node in nodes])
        assert np.abs(found.sum(axis=1) - 1.0).max() <= TOLERANCE
        for node, dish in itertools.product(nodes, range(len(probabilities))):
            assert abs(walk.probability(node, dish) - found[node, dish]) <= TOLERANCE
        by_name = [franchise.group_weights(one.name) for one in franchise.declarations]
        assert np.array_equal(np.concatenate(by_name), found)
        assert np.array_equal(np.append(*franchise.root_weights()), found[0])
        rows += weight * found
        tables += weight * franchise.n_tables
    for node in nodes:
        exact = exact_predictive(model, node, probabilities)
        assert np.abs(rows[node] - [*exact, 1.0 - sum(exact)]).max() <= TOLERANCE
    expected = sum(p * n_tables(key, model.shape) for key, p in model.posterior_of_seatings.items())
    assert abs(tables - expected) <= TOLERANCE
    return rows, tables


def check_observed_predictives():
    for name in ("two contexts", "customers at the root", "other values"):
        check_predictive(name, "explicit-reference", "reference")


def check_observed_rows():
    """Before anybody is seated every restaurant has H, and what remains; a state of theta = 0 < d too."""
    for measure, corner in itertools.product((ATOMS, Open()), (MIDDLE, Corner(0.0, 0.0, 0.3, 0.6))):
        franchise = observed("three levels", [0, 0, 1, 0], corner, "explicit-reference", measure=measure)
        franchise.clear()
        expected = [*atoms_of(measure), measure.remainder]
        for node in range(franchise.topology.n_nodes):
            assert np.abs(franchise.walk().prior_row(node) - expected).max() <= TOLERANCE


def enumerate_steps(model, move):
    """The exact-kernel test of every step, every branch of it audited."""
    check_exact(model, move, matrices=audited_steps(model, move, True), reversible=True)


def check_observed_table_gibbs():
    cases = [
        ("flat 4", [0, 0, 0, 0]),
        ("2+1 with one at the root", [0, 0, 0, 0]),
        ("three levels", [0, 0, 1, 0]),
    ]
    for shape, values in cases:
        enumerate_steps(model_of(shape, values, store="explicit-reference"), moves.TableGibbs())


def check_observed_values_below_zero():
    for below in (0.0, -0.2):
        model = model_of(
            "2+1 with one at the root", [0, 0, 1, 0], Corner(-0.1, below, 0.3, 0.6), "explicit-reference"
        )
        enumerate_steps(model, moves.TableGibbs())


def check_observed_histograms():
    for shape in ("flat 4", "2+1 with one at the root"):
        enumerate_steps(model_of(shape, [0, 0, 0, 0], store="histogram-reference"), moves.TableGibbs())


def check_observed_dish_gibbs():
    for shape in ("2+2", "three levels"):
        enumerate_steps(model_of(shape, [0, 0, 1, 0], store="explicit-reference"), moves.DishGibbs())


SIMULATED = {
    "flat 3": TinyShape({}, 3),
    "two levels": TinyShape({"document": [0, 0, None]}, 3),
    "three levels": TinyShape({"author": ["a", "a", None], "document": [0, 1, None]}, 3),
}
TWO = [0.7, 0.3]


def law_of(franchise, keep):
    """Exact law of what is simulated: (values, seating) -> probability; and the shape."""
    shape = Shape(tuple(franchise.topology.parent.tolist()), tuple(franchise.topology.home.tolist()))

    def run(source):
        drawn = franchise.simulate(source, keep=keep)
        drawn.audit()
        return tuple(drawn.data.values.tolist()), frozen_key(drawn.store.freeze(), shape)

    return exact_law(run), shape


def joint_law(shape, theta, d, probabilities, is_labelled):
    """The model's: prior of the seating, and an atom from H for each table of the root."""
    law = {}
    for key in seatings(shape):
        prior = math.exp(log_prior(key, shape, theta, d))
        roots = sorted({tables[-1] for tables in key})
        for atoms in itertools.product(range(len(probabilities)), repeat=len(roots)):
            dish = dict(zip(roots, atoms, strict=True))
            values = [dish[tables[-1]] for tables in key]
            state = tuple(values), (key if is_labelled else to_histograms(key, shape, values))
            law[state] = law.get(state, 0.0) + prior * math.prod(probabilities[atom] for atom in atoms)
    return law


def check_simulated(name, store):
    """Everything anew has the model's law."""
    franchise = observed(SIMULATED[name], [0, 0, 1], store=store, measure=hk.Categorical(TWO))
    theta, d = franchise.hyperparameters.theta.tolist(), franchise.hyperparameters.d.tolist()
    law, shape = law_of(franchise, "hyperparameters")
    expected = joint_law(shape, theta, d, TWO, detail_of(franchise.store) is Detail.SEATS)
    assert law.keys() == expected.keys()
    assert max(abs(law[state] - p) for state, p in expected.items()) <= TOLERANCE


def check_simulated_given_seating(name, store):
    """The resampling step of Geweke's test, from every state of the joint law, leaves it alone."""
    after, before = {}, {}
    for values in itertools.product([0, 1], repeat=3):
        model = model_of(SIMULATED[name], list(values), store=store, measure=hk.Categorical(TWO))
        theta, d = model.franchise.hyperparameters.theta.tolist(), model.franchise.hyperparameters.d.tolist()
        weight = evidence(model.shape, values, tuple(theta), tuple(d), tuple(TWO))
        for number, p in enumerate(model.pi):
            before[values, model.states[number]] = weight * p
            for state, q in law_of(model.enter(number), "seating")[0].items():
                after[state] = after.get(state, 0.0) + weight * p * q
    assert after.keys() == before.keys()
    assert max(abs(after[state] - p) for state, p in before.items()) <= TOLERANCE


def check_observed_simulation():
    for store in ("explicit-reference", "histogram-reference", "histogram"):
        check_simulated("two levels", store)
    for store in ("explicit-reference", "histogram-reference"):
        check_simulated_given_seating("two levels", store)


def check_scored(shape, values, store):
    """Scores of every state against the enumeration."""
    model = model_of(shape, values, store=store)
    theta, d = model.franchise.hyperparameters.theta.tolist(), model.franchise.hyperparameters.d.tolist()
    witness, scores = atomic_log_marginal(H), {}
    for key in model.posterior_of_seatings:
        state = key if model.detail is Detail.SEATS else to_histograms(key, model.shape, model.values)
        scores[state] = log_prior(key, model.shape, theta, d), log_likelihood(key, model.values, witness)
    for number, state in enumerate(model.states):
        franchise = model.enter(number)
        assert abs(franchise.log_seating() - scores[state][0]) <= TOLERANCE
        assert abs(franchise.log_likelihood() - scores[state][1]) <= TOLERANCE
        assert abs(franchise.log_joint() - sum(scores[state])) <= TOLERANCE
        assert franchise.n_dishes == len(set(values))
        assert franchise.dishes.tolist() == list(values)
        franchise.audit()


def check_observed_scores():
    check_scored("2+2", [2, 2, 0, 2], "explicit-reference")


def check_observed_dishes_stay():
    """A value that nobody has any more is still a value."""
    franchise = observed("2+2", [0, 0, 1, 0], store="explicit-reference")
    view = franchise.restaurant("document", 1)
    view.unseat(2, 0)
    assert franchise.slots.occupied_slots().tolist() == [0, 1, 2]
    assert franchise.n_dishes == 1
    franchise.audit()
    view.seat(2, rng=0)
    franchise.audit()


def check_observed_components():
    """Components know all atoms at all times."""
    for store in STORES:
        franchise = observed("2+2", [0, 0, 1, 0], store=store)
        watcher = Watcher(franchise)
        franchise.register("watcher", watcher)
        frozen = franchise.freeze()
        for change in (franchise.clear, lambda f=franchise, state=frozen: f.thaw(state), franchise.settle):
            change()
            assert watcher.known == set(franchise.slots.occupied_slots().tolist()) == {0, 1, 2}
            franchise.audit()


def is_refused(franchise, state):
    """Whether a state is refused as what it is."""
    try:
        franchise.thaw(state)
    except DataError as error:
        return "in the frozen state" in error.parameter
    return False


def check_frozen_observed_dishes():
    """Frozen states of other data are refused before compiled code follows their numbers."""
    for store in STORES:
        franchise = observed("2+2", [0, 0, 1, 0], store=store)
        frozen = franchise.freeze()
        name = FrozenSeating.kind_of(frozen["seating"]).names()[2]
        column = np.where(frozen["seating"][name] == 1, 3, 0).astype(np.int32)
        beyond = {**frozen, "slots": np.arange(4), "seating": {**frozen["seating"], name: column}}
        bad = [
            observed("2+2", [0, 0, 2, 0], store=store).freeze(),
            beyond,
            {**frozen, "held": np.array([2])},
            {**frozen, "slots": np.arange(4)},
        ]
        for state in bad:
            assert is_refused(franchise, state)
        franchise.thaw(frozen)
        franchise.audit()


def check_contract_of_atoms():
    check_contract(ATOMS)
    check_contract(hk.Uniform(4))
