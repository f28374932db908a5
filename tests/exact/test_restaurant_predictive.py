"""A predictive that depends on the customer's restaurant: dishes that differ by document, enumerated."""

import collections
import functools
import math

import attrs
import numpy as np
import pytest
from planted import PlantedBug, planted

from hdpkit import moves
from hdpkit.base_measures import ByRestaurant, Placed
from hdpkit.measures.by_restaurant import RestaurantBank
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactFailure, ExactModel, check_exact, check_irreducible

ONE = ((1.2, 0.5, 0.8),)
TWO = ((1.2, 0.5, 0.8), (0.3, 2.1, 1.1))
SHARES = (0.4, 0.6)
CORNER = Corner(0.9, 0.7, 0.3, 0.6)
TERMS = [0, 0, 1, 0, 1]


@attrs.frozen(eq=False)
class Own(ByRestaurant):
    """phi_jk ~ Dirichlet(psi_k) for each restaurant j and dish k; psi_k is one of a few vectors."""

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


@pytest.mark.parametrize("store", ["explicit-reference", "histogram-reference", "counts"])
@pytest.mark.parametrize("shape", ["2+2", "three levels of three"])
def test_every_other_store_serves_it(shape, store):
    model = model_of(shape, store=store)
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        check_exact(model, move)


@pytest.mark.parametrize(("shape", "scans"), [("2+2", None), ("2+1", 0)])
def test_groups_are_reseated(shape, scans):
    check_exact(model_of(shape), moves.ReseatGroups(scans=scans), reversible=True)


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
    "while np.any(deeper := self.declaration[nodes] > declaration):",
    "while np.any(deeper := self.declaration[nodes] > max(declaration - 1, 0)):",
    "test_planted_bugs_are_caught",
)
HOME = PlantedBug(
    "the home always",
    "the restaurant where the customer sits, at any level",
    "hdpkit.franchise.topology",
    "while np.any(deeper := self.declaration[nodes] > declaration):",
    "while np.any(deeper := self.declaration[nodes] > declaration + 9):",
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
