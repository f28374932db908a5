"""A predictive that depends on the customer's restaurant: dishes that differ by document, enumerated.

The measure of this file is written here, over the interface `ByRestaurant` alone. Its posterior is enumerated
with a marginal likelihood that is no code of the measure's.
"""

import collections
import functools
import itertools
import math

import attrs
import numpy as np
import pytest
from lumping import lump_matrix
from marginals import dirichlet_multinomial_log_marginal
from planted import PlantedBug, planted
from state_homes_checks import Before

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import ByRestaurant, Placed
from hdpkit.errors import AuditError, DeclarationError, HdpkitError, KernelError, ScheduleError, StateError
from hdpkit.measures.by_restaurant import RestaurantBank
from hdpkit.stores import Detail
from hdpkit.testing import check_base_measure
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import TOLERANCE, ExactFailure, ExactModel, check_exact, check_irreducible
from hdpkit.testing.states import to_histograms

ONE = ((1.2, 0.5, 0.8),)
TWO = ((1.2, 0.5, 0.8), (0.3, 2.1, 1.1))
SHARES = (0.4, 0.6)
CORNER = Corner(0.9, 0.7, 0.3, 0.6)
TERMS = [0, 0, 1, 0, 1]


@attrs.frozen(eq=False)
class Own(ByRestaurant):
    """phi_jk ~ Dirichlet(psi_k) for each restaurant j and dish k; psi_k is one of a few vectors.

    Given one vector, restaurants tell nothing of each other's phi_jk; given two, they share psi_k. Statistics
    are the counts of the three terms in each restaurant that has some.
    """

    vectors: tuple = TWO
    differ_by: str = "document"

    exact_statistics = True
    n_terms = 3

    def make(self):
        return {}

    def add(self, statistics, value):
        counts = statistics.setdefault(value.restaurant, np.zeros(3))
        counts[value.value] += 1

    def remove(self, statistics, value):
        counts = statistics.setdefault(value.restaurant, np.zeros(3))
        counts[value.value] -= 1
        if not counts.any():
            del statistics[value.restaurant]

    def _of_vectors(self, statistics):
        """Log probability of each vector and of the counts given it."""
        logs = np.log(SHARES if len(self.vectors) == 2 else (1.0,))
        for g, vector in enumerate(self.vectors):
            for counts in statistics.values():
                logs[g] += rising(sum(vector), counts.sum(), -1)
                logs[g] += sum(rising(a, n, 1) for a, n in zip(vector, counts, strict=True))
        return logs

    def _predictive(self, statistics, value):
        counts = statistics.get(value.restaurant, np.zeros(3))
        logs = self._of_vectors(statistics)
        weights = np.exp(logs - logs.max())
        vectors = np.array(self.vectors)
        f = (vectors[:, value.value] + counts[value.value]) / (vectors.sum(axis=1) + counts.sum())
        return float(weights @ f / weights.sum())

    def log_predictive(self, value, many):
        return np.log([self._predictive(statistics, value) for statistics in many])

    def simulate_in(self, statistics, restaurant, generator):
        p = [self._predictive(statistics, Placed(v, restaurant)) for v in range(3)]
        return int(generator.choice(3, p=np.array(p) / sum(p)))


class WithMarginal(Own):
    """The same with the closed form of the marginal."""

    def log_marginal(self, statistics):
        return float(np.logaddexp.reduce(self._of_vectors(statistics)))


def rising(a, n, sign):
    """Sign times log of a (a + 1) .. (a + n - 1)."""
    return sign * sum(math.log(a + i) for i in range(round(n)))


def witness(vectors):
    """Log marginal of placed values, from the log-gamma functions of a Dirichlet-multinomial each."""

    @functools.cache
    def of_terms(vector, terms):
        total = math.lgamma(sum(vector)) - math.lgamma(sum(vector) + len(terms))
        for v, a in enumerate(vector):
            total += math.lgamma(a + terms.count(v)) - math.lgamma(a)
        return total

    def log_marginal(values):
        by_restaurant = collections.defaultdict(list)
        for value, restaurant in values:
            by_restaurant[restaurant].append(int(value))
        shares = SHARES if len(vectors) == 2 else (1.0,)
        return math.log(
            math.fsum(
                share * math.exp(sum(of_terms(vector, tuple(terms)) for terms in by_restaurant.values()))
                for share, vector in zip(shares, vectors, strict=True)
            )
        )

    return log_marginal


def tiny(shape, vectors=TWO, differ_by="document", kind=Own, store="explicit", **options):
    measure = kind(vectors, differ_by)
    values = TERMS[: 5 if shape == "3+2" else 4] if isinstance(shape, str) else TERMS[: shape.n_customers]
    if shape == "three levels of three":
        values = TERMS[:3]
    if shape == "2+1":
        values = TERMS[:3]
    return tiny_franchise(shape, measure, store=store, corner=CORNER, values=values, **options)


@functools.lru_cache(maxsize=32)
def model_of(shape, vectors=TWO, differ_by="document", kind=Own, store="explicit", root="restaurant"):
    return ExactModel(tiny(shape, vectors, differ_by, kind, store, root=root), witness(vectors))


MOVES = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()]
REVERSIBLE = (moves.SplitMerge, moves.ReseatGroups)
INNER = "2+1 with one at the root"
# Two customers of author a in one document and one in another: blocks of an author's table span documents.
CASES = [
    ("2+2", "document", ONE),
    ("2+2", "document", TWO),
    ("2+2", "root", TWO),
    (INNER, "document", TWO),
    ("three levels", "document", TWO),
    ("three levels", "author", TWO),
    ("three levels", "document", ONE),
    ("three levels, inner customers", "document", TWO),
]


@pytest.mark.parametrize(("shape", "differ_by"), [("2+2", "document"), ("three levels", "document")])
def test_scans_leave_the_posterior_invariant(shape, differ_by):
    check_exact(model_of(shape, TWO, differ_by), moves.SplitMerge(scans=0), reversible=True)


# The second store, which sees no measure, with one case.
OVER_STORES = [
    pytest.param(*case, store, marks=[] if store == "explicit" or case == CASES[1] else pytest.mark.long)
    for case in CASES
    for store in ("explicit", "histogram")
]


@pytest.mark.parametrize("move", MOVES, ids=repr)
@pytest.mark.parametrize(("shape", "differ_by", "vectors", "store"), OVER_STORES)
def test_moves_leave_the_posterior_invariant(shape, differ_by, vectors, move, store):
    model = model_of(shape, vectors, differ_by, store=store)
    whole = check_exact(model, move, reversible=isinstance(move, REVERSIBLE))
    if isinstance(move, moves.TableGibbs):
        check_irreducible(model, whole, "a sweep of table Gibbs")


@pytest.mark.parametrize("store", ["explicit-reference", "histogram-reference", "counts", "counts-reference"])
@pytest.mark.parametrize("shape", ["2+2", "three levels of three"])
def test_every_other_store_serves_it(shape, store):
    model = model_of(shape, store=store)
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_exact(model, move)


@pytest.mark.parametrize(("shape", "scans"), [("2+2", None), ("2+1", 0)])
def test_groups_are_reseated(shape, scans):
    check_exact(model_of(shape), moves.ReseatGroups(scans=scans), reversible=True)


def test_five_customers():
    check_exact(model_of("3+2"), moves.TableGibbs())
    check_exact(model_of("3+2", store="histogram"), moves.DishGibbs())


@pytest.mark.parametrize("shape", ["2+2", "three levels"])
def test_stores_have_one_law(shape):
    labelled, sizes = model_of(shape), model_of(shape, store="histogram")
    assert labelled.detail is Detail.SEATS
    classes = [to_histograms(key, labelled.shape, labelled.observed) for key in labelled.states]
    for step in range(4):
        P, Q = (
            model.matrix(lambda f, rng, step=step: moves.TableGibbs().apply(f, rng, (step, step + 1)))
            for model in (labelled, sizes)
        )
        lumped = lump_matrix(P, classes, labelled.pi)
        order = [lumped.classes.index(state) for state in sizes.states]
        assert np.abs(lumped.matrix[np.ix_(order, order)] - Q).max() <= TOLERANCE


def test_a_marginal_in_closed_form_changes_nothing():
    for one, other in zip(
        (model_of("2+2"), model_of("three levels")),
        (model_of("2+2", kind=WithMarginal), model_of("three levels", kind=WithMarginal)),
        strict=True,
    ):
        for state in range(0, len(one.states), 7):
            a, b = one.enter(state).log_joint(), other.enter(state).log_joint()
            assert a == pytest.approx(b, abs=1e-12)


def test_all_in_one_restaurant_is_the_plain_measure():
    """Where dishes differ by the root's restaurant and there is one vector, they don't differ."""
    vector = 0.5
    own = ExactModel(tiny("2+2", ((vector,) * 3,), "root"))
    plain = ExactModel(
        tiny_franchise(
            "2+2",
            hk.DirichletMultinomial(vector, n_terms=3),
            store="explicit",
            corner=CORNER,
            values=TERMS[:4],
        ),
        dirichlet_multinomial_log_marginal(vector, 3),
    )
    assert own.states == plain.states
    assert np.abs(own.pi - plain.pi).max() <= TOLERANCE
    for step in range(4):
        P, Q = (
            model.matrix(lambda f, rng, step=step: moves.TableGibbs().apply(f, rng, (step, step + 1)))
            for model in (own, plain)
        )
        assert np.abs(P - Q).max() <= TOLERANCE


def test_levels_differ():
    """The three declarations give three posteriors, so that the wrong one would be seen."""
    laws = [model_of("three levels", TWO, name).pi for name in ("root", "author", "document")]
    assert min(np.abs(a - b).max() for a, b in zip(laws, laws[1:] + laws[:1], strict=True)) > 1e-3


# ------------------------------------------------------------------ planted bugs

IN_BANK = "hdpkit.measures.by_restaurant"
IGNORED = PlantedBug(
    "restaurant ignored",
    "every customer is in the same restaurant for its dish",
    IN_BANK,
    "return Placed(self.values[customer], int(self.restaurants[customer]))",
    "return Placed(self.values[customer], 0)",
    "test_planted_bugs_are_caught",
)
LEVEL = PlantedBug(
    "wrong level",
    "the restaurant one level above the declared one",
    "hdpkit.franchise.topology",
    "while np.any(deeper := tree.declaration[nodes] > declaration):",
    "while np.any(deeper := tree.declaration[nodes] > max(declaration - 1, 0)):",
    "test_planted_bugs_are_caught",
)
HOME = PlantedBug(
    "the home always",
    "the restaurant where the customer sits, at any level",
    "hdpkit.franchise.topology",
    "while np.any(deeper := tree.declaration[nodes] > declaration):",
    "while np.any(deeper := tree.declaration[nodes] > declaration + 9):",
    "test_planted_bugs_are_caught",
)


def rebuilt(shape, differ_by="document"):
    """A model of the franchise as it is with the bug, compared with a posterior that knows nothing of it."""
    right = model_of(shape, TWO, differ_by)
    model = ExactModel(tiny(shape, TWO, differ_by), witness(TWO))
    assert model.states == right.states
    model.pi = right.pi
    return model


def caught(model, move):
    with pytest.raises((ExactFailure, FloatingPointError)):
        check_exact(model, move)


@pytest.mark.parametrize("move", MOVES, ids=repr)
@pytest.mark.parametrize(
    ("bug", "shape", "differ_by"),
    [
        (IGNORED, "2+2", "document"),
        (IGNORED, "three levels", "author"),
        (LEVEL, "three levels", "document"),
        (LEVEL, "2+2", "document"),
        (HOME, "three levels", "author"),
    ],
    ids=lambda part: getattr(part, "name", part),
)
def test_planted_bugs_are_caught(bug, shape, differ_by, move):
    model_of(shape, TWO, differ_by)  # before the bug is there
    with planted(bug):
        caught(rebuilt(shape, differ_by), move)
    check_exact(rebuilt(shape, differ_by), move)


def removed_elsewhere(self, slot, customers):
    """The statistics of another restaurant, that of the first customer, are changed."""
    for i in customers:
        self.measure.remove(self._of[slot], Placed(self.values[i].value, self.values[0].restaurant))


def added_elsewhere(self, slot, customers):
    for i in customers:
        self.measure.add(self._of[slot], Placed(self.values[i].value, self.values[0].restaurant))


def block_in_one_restaurant(self, customers, slots):
    """A block is scored as if all of it were in the restaurant of its first customer."""
    where = self.values[int(customers[0])].restaurant
    values = [Placed(self.values[i].value, where) for i in customers]
    return np.asarray(self.measure.log_block(values, self._many(slots)))


def scored_elsewhere(self, customer, slots):
    value = Placed(self.values[customer].value, self.values[0].restaurant)
    return np.asarray(self.measure.log_predictive(value, self._many(slots)))


@pytest.mark.parametrize(
    ("name", "fault", "shape", "move"),
    [
        ("remove", removed_elsewhere, "2+2", moves.TableGibbs()),
        ("remove", removed_elsewhere, "2+2", moves.DishGibbs()),
        ("remove", removed_elsewhere, "three levels", moves.TableGibbs()),
        ("add", added_elsewhere, "2+2", moves.SplitMerge()),
        ("log_predictive", scored_elsewhere, "2+2", moves.TableGibbs()),
        ("log_predictive", scored_elsewhere, "three levels", moves.TableGibbs()),
        ("log_block", block_in_one_restaurant, "three levels", moves.DishGibbs()),
        ("log_block", block_in_one_restaurant, "2+2", moves.SplitMerge()),
    ],
)
def test_faults_of_a_bank_are_caught(name, fault, shape, move, monkeypatch):
    model = model_of(shape)
    check_exact(model, move)
    monkeypatch.setattr(RestaurantBank, name, fault)
    caught(model, move)


# ------------------------------------------------------------------ the state

THREE = TinyShape({"author": list("aaaabbbbb"), "document": [0, 0, 1, 1, 2, 2, 2, 3, None]}, 9)
WORDS = [0, 0, 1, 1, 2, 0, 0, 2, 1]
SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()]


def larger(store, differ_by="document"):
    return tiny_franchise(
        THREE, Own(TWO, differ_by), store=store, values=WORDS, concentration=(hk.Gamma(1, 1), 0.8)
    )


def log_data(franchise):
    """log p(data | dishes) from the dishes and labels alone."""
    labels = THREE.labels[franchise.measure.differ_by]
    where = [
        f"author {THREE.labels['author'][i]}" if label is None else label for i, label in enumerate(labels)
    ]
    of_dish = collections.defaultdict(list)
    for i, dish in enumerate(franchise.dishes.tolist()):
        of_dish[dish].append((WORDS[i], where[i]))
    return sum(witness(TWO)(values) for values in of_dish.values())


@pytest.mark.parametrize("differ_by", ["author", "document"])
@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_a_run_keeps_statistics_and_scores(store, differ_by):
    franchise = larger(store, differ_by)
    seen = []

    def look(state):
        state.audit()
        assert state.log_likelihood() == pytest.approx(log_data(state), abs=1e-10)
        assert state.log_joint() == pytest.approx(
            state.log_seating() + log_data(state) + state.log_prior(), abs=1e-10
        )
        seen.append(state.n_dishes)
        return state.n_dishes

    hk.Scheduler(SCHEDULE).run(franchise, sweeps=30, rng=3, record={"seen": look})
    assert len(set(seen)) > 1


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_states_are_frozen_and_copied(store):
    scheduler = hk.Scheduler(SCHEDULE)
    straight, stopped = larger(store), larger(store)
    whole = scheduler.run(straight, sweeps=20, rng=5)
    scheduler.run(stopped, sweeps=8, rng=5)
    frozen, joint = stopped.freeze(), stopped.log_joint()
    copy, thawed = stopped.copy(), larger(store)
    thawed.thaw(frozen)
    for one in (copy, thawed):
        one.audit()
        assert one.log_joint() == joint
        assert one.dishes.tolist() == stopped.dishes.tolist()
        rest = scheduler.run(one, sweeps=12, rng=None, init=None)
        assert rest["log_joint"].tolist() == whole["log_joint"][8:].tolist()
        assert one.dishes.tolist() == straight.dishes.tolist()
    assert stopped.log_joint() == joint  # what the copy did is its own
    stopped.audit()


@pytest.mark.parametrize("kind", [Own, WithMarginal])
@pytest.mark.parametrize("vectors", [ONE, TWO])
def test_an_audit_finds_statistics_in_the_wrong_restaurant(kind, vectors):
    """In every pair of restaurants; with one vector they tell nothing of each other."""
    franchise = tiny_franchise(THREE, kind(vectors), values=WORDS)
    hk.Scheduler(SCHEDULE[:3]).run(franchise, sweeps=5, rng=1)
    found, homes, frozen = 0, franchise.topology.home.tolist(), franchise.freeze()
    for i, j in itertools.product(range(9), range(9)):
        if homes[i] == homes[j]:
            continue
        franchise.thaw(frozen)
        franchise.audit()
        slot = int(franchise.slots.occupied_slots()[franchise.dishes[i]])
        statistics = franchise.bank.statistics([slot], franchise.population.dishes())[0]
        franchise.measure.remove(statistics, Placed(WORDS[i], homes[i]))
        franchise.measure.add(statistics, Placed(WORDS[i], homes[j]))
        with pytest.raises(AuditError, match=r"log marginals|predictives"):
            franchise.audit()
        found += 1
    assert found > 40


def test_data_are_simulated_by_restaurant():
    """With a base vector of hardly any weight a dish repeats itself in a document, and only there."""
    measure = Own(((1e-3, 1e-3, 1e-3),))
    franchise = tiny_franchise("4+3", measure, values=[0] * 7, concentration=(1e-6, 1.0))
    assert franchise.n_dishes == 1
    drawn = [franchise.simulate(seed, keep="seating").data.values for seed in range(200)]
    same = [len(set(values[:4].tolist())) == 1 and len(set(values[4:].tolist())) == 1 for values in drawn]
    assert np.mean(same) > 0.95
    assert 0.5 < np.mean([values[0] != values[-1] for values in drawn]) < 0.8  # two of three
    drawn = franchise.simulate(0)
    drawn.audit()


def test_the_harness_checks_such_a_measure():
    report = check_base_measure(WithMarginal(), values=[0, 1, 0, 2, 1], shapes=["2+1"])
    assert any("simulate draws from the predictive" in line for line in report)
    assert any("log_marginal" in line for line in report)
    assert any("SplitMerge" in line for line in report)


class Forgets(Own):
    """Removes from whichever restaurant comes first."""

    def remove(self, statistics, value):
        super().remove(statistics, Placed(value.value, next(iter(statistics))))


def test_the_harness_finds_a_wrong_removal():
    with pytest.raises(AssertionError):
        check_base_measure(Forgets(), values=[0, 1, 0, 2, 1], shapes=["2+1"])


# ------------------------------------------------------------------ what can't serve it


def refused(error, match, make):
    with pytest.raises(error, match=match) as told:
        make()
    assert isinstance(told.value, HdpkitError)
    assert told.value.remedy


def test_a_declaration_that_does_not_exist():
    refused(DeclarationError, "differ_by of Own", lambda: tiny("2+2", differ_by="patient"))
    refused(DeclarationError, r"\['root', 'document'\]", lambda: tiny("2+2", differ_by="author"))


def test_fused_kernels_are_not_for_it():
    refused(KernelError, "kernel", lambda: tiny("2+2", kernel="fused"))
    for step in ("reseat", "enter", "resample_dish", "scan_units", "move_units", "reseat_groups"):
        assert tiny("2+2").kernel(step) == "generic"


class Unnumbered(Own):
    """Over numbers, not terms."""

    n_terms = None


def test_known_components_have_no_restaurant():
    known = hk.KnownValues([[0, 0], [1]])
    refused(DeclarationError, "differ by restaurant", lambda: tiny("2+2", kind=Unnumbered, known=known))


class Elsewhere(Own):
    """A bank that can't read restaurants."""

    def bank(self, data):
        from hdpkit.measures.python_bank import PythonBank

        return PythonBank(self, data.values)


class Drawn(Own):
    """Draws parameters, given which observations of one restaurant are not independent."""

    def draw_parameters(self, statistics, source):
        return self.vectors[source.choose(np.ones(len(self.vectors)))]

    def log_likelihood(self, value, parameters):
        return math.log(parameters[value.value] / sum(parameters))


def test_a_bank_must_read_restaurants():
    refused(DeclarationError, "bank of Elsewhere", lambda: tiny("2+2", kind=Elsewhere))
    bank = Own().bank(hk.Groups.from_labels([0, 1], {"document": [0, 1]}))
    bank.born(0)
    refused(StateError, "restaurant", lambda: bank.add(0, [0]))
    refused(StateError, "restaurants", lambda: bank.read_restaurants(np.zeros(3, dtype=np.int32)))


@pytest.mark.parametrize("move", [moves.SliceGibbs(), moves.CountGibbs(), moves.DrawTopics()], ids=repr)
def test_moves_that_draw_parameters_are_refused(move):
    franchise = tiny("2+2", kind=Drawn, store="counts", root="weights", discount=(0.0, 0.0))
    refused(ScheduleError, "Drawn", lambda: hk.Scheduler([move]).run(franchise, sweeps=1, rng=0))


@pytest.mark.parametrize("move", [moves.DishParameters(), moves.ReplicaExchange(powers=(1.0, 0.5))], ids=repr)
def test_moves_for_other_measures_are_refused(move):
    franchise = tiny("2+2")
    refused(ScheduleError, "moves", lambda: hk.Scheduler([move]).run(franchise, sweeps=1, rng=0))


def test_new_groups_are_refused():
    franchise = tiny("2+2")
    new = hk.Groups.from_labels(np.array([0, 1]), {"document": ["x", "x"]})
    refused(DeclarationError, "the same in every restaurant", lambda: franchise.fold_in(new, rng=0))
    refused(DeclarationError, "the same in every restaurant", lambda: hk.evaluate(franchise, new, rng=0))


def test_homes_that_depend_on_the_state():
    rows = hk.Restaurant(hk.Restaurant(Own(differ_by="before")), each=Before())
    data = hk.Groups.from_labels([0, 1, 0], {})
    refused(DeclarationError, "where dishes differ by restaurant", lambda: hk.Franchise(rows, data))


def test_values_drawn_again_are_in_new_restaurants():
    """With one vector, restaurants tell nothing of each other: new values depend on no value of the data."""
    corpus = hk.Corpus.from_documents([[0, 0, 0, 0]], n_terms=3)
    root = hk.Restaurant(base=Own(ONE), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each="document"), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 1, rng=0, init="one")
    first = [franchise.simulate(seed, keep="dishes").data.values[0] for seed in range(400)]
    expected = 1.2 / sum(ONE[0])
    assert abs(np.mean(np.array(first) == 0) - expected) < 4 * math.sqrt(expected * (1 - expected) / 400)


def test_mixing_is_checked_over_a_measure_whose_dishes_differ_by_restaurant():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2, 0]], n_terms=3)
    root = hk.Restaurant(base=Own(TWO), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(base=root, concentration=1.0, each="document"), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 2, rng=0)
    found = hk.check_mixing(franchise, sweeps=40, inits=["one"], copies=10)
    assert found.verdict in ("converged", "slow")
    assert set(found.data.checks[0]) == {"distinct_cells", "count_variance"}
