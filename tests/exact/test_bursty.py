"""Topics that differ by document: every state with its numbers of tables, enumerated.

Posterior and states come from `ExactBurstyModel`, which seats terms one by one, with no code of the measure.
"""

import functools

import pytest
from marginals import dirichlet_multinomial_log_marginal
from planted import PlantedBug, planted

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.base_measures.bursty import BurstyBank
from hdpkit.errors import HdpkitError, ScheduleError
from hdpkit.testing.cases import SHAPES, Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactFailure, check_exact, check_irreducible
from hdpkit.testing.exact_bursts import ExactBurstyModel

CORNER = Corner(0.9, 0.7, 0.3, 0.6)
TERMS = [0, 0, 1, 0, 1]
# Three words of one term in a document, so that a block's tables change the probability of its later words.
REPEATED = TinyShape({"document": [0, 0, 0, 1]}, 4)
LAWS = [(0.1, 0.0), (1.0, 0.3), (100.0, 0.0), (0.4, 0.3)]
READABLE = DirichletMultinomialReference


def tiny(shape, b, a, each="document", inner=READABLE, terms=TERMS, **options):
    measure = hk.Bursty(inner(0.5, n_terms=3), b, a, each=each)
    n = shape.n_customers if isinstance(shape, TinyShape) else SHAPES[shape].n_customers
    restaurant = options.get("root", "restaurant") == "restaurant"
    corner = CORNER if restaurant else Corner(0.9, 0.7)
    return tiny_franchise(shape, measure, corner=corner, values=terms[:n], **options)


@functools.lru_cache(maxsize=16)
def repeated(b, a, store="explicit", terms=(0, 0, 0, 0)):
    """A document of three words, of one term if ``terms`` say so, and one of one word."""
    franchise = tiny(REPEATED, b, a, terms=list(terms), store=store)
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


@functools.lru_cache(maxsize=16)
def model_of(
    shape, b, a, each="document", inner=READABLE, store="explicit", root="restaurant", terms=tuple(TERMS)
):
    franchise = tiny(shape, b, a, each, inner, list(terms), store=store, root=root)
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
@pytest.mark.parametrize(("b", "a"), LAWS)
@pytest.mark.parametrize(
    ("shape", "each"), [("2+2", "document"), ("three levels", "document"), ("three levels", "author")]
)
def test_moves_leave_the_posterior_invariant(shape, each, b, a, move, store):
    model = model_of(shape, b, a, each, store=store)
    whole = check_exact(model, move)
    if isinstance(move, moves.TableGibbs):
        check_irreducible(model, whole, "a sweep of table Gibbs")


@pytest.mark.parametrize("root", ["restaurant", hk.FixedWeights(3)], ids=["restaurant", "weights"])
@pytest.mark.parametrize("store", ["explicit-reference", "histogram-reference", "counts", "counts-reference"])
@pytest.mark.parametrize("shape", ["2+2", "three levels of three"])
def test_every_store_and_root(shape, store, root):
    model = model_of(shape, 1.0, 0.3, store=store, root=root)
    for move in (moves.TableGibbs(), moves.DishGibbs()):
        if move.n_steps(model.franchise):
            check_exact(model, move)


@pytest.mark.parametrize(("b", "a"), LAWS)
@pytest.mark.parametrize("shape", ["2+2", "2+1", "three levels of three"])
@pytest.mark.parametrize("move", [moves.SplitMerge(), moves.ReseatGroups(scans=None)], ids=repr)
def test_proposals_leave_the_posterior_invariant(move, shape, b, a):
    check_exact(model_of(shape, b, a), move)


OFTEN = [LAWS[1], *(pytest.param(*law, marks=pytest.mark.long) for law in (LAWS[0], LAWS[2], LAWS[3]))]


@pytest.mark.parametrize("terms", [(0, 0, 0, 0), (0, 0, 0, 1)])
@pytest.mark.parametrize(("b", "a"), LAWS)
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
def test_words_that_repeat_within_a_block(move, b, a, terms):
    for store in ("explicit", "histogram"):
        check_exact(repeated(b, a, store, terms), move)


@pytest.mark.parametrize("terms", [(0, 0, 0, 0), (0, 0, 0, 1)])
@pytest.mark.parametrize(("b", "a"), OFTEN)
@pytest.mark.parametrize("move", [moves.SplitMerge(), moves.ReseatGroups(scans=None)], ids=repr)
def test_words_that_repeat_within_a_proposal(move, b, a, terms):
    check_exact(repeated(b, a, terms=terms), move)


# ------------------------------------------------------------------ mistakes that are caught

TABLE, DISH = moves.TableGibbs(), moves.DishGibbs()
SPLIT, GROUPS = moves.SplitMerge(), moves.ReseatGroups(scans=None)
BUGS = [
    ("the words of its document", "return np.array([path.log_p for path in offered.values()])",
     "return np.asarray(self.inner.log_block(customers, slots))", [DISH]),
    ("b left out of a new table", "(self.concentration + self.discount * opened) * topic",
     "(1.0 + self.discount * opened) * topic", [TABLE, DISH, GROUPS]),
    ("the discount of tables", "return customers - self.discount * tables,", "return 1.0 * customers,",
     [TABLE, DISH]),
    ("the discount of opened tables", "self.discount * opened) * topic", "0.0 * opened) * topic",
     [TABLE, DISH]),
    ("who sat alone", "self._bernoulli(one_alone(n, t, float(self.measure.discount)))",
     "self._bernoulli(t / n)", [TABLE, GROUPS]),
    ("a fresh draw for the slot left", "if left is not None and left.customers == block:",
     "if left is None and False:", [DISH]),
    ("tables drawn again for a dish", "self._offered.get(slot, self._offered.get(_NEW))", "None", [DISH]),
    ("the tables of the present split", "known = trial.known(block, slot) or known", "pass", [SPLIT]),
    ("the density of drawn tables", "return trial.log_current - path.log_p", "return trial.log_current",
     [SPLIT]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "caught_by"), BUGS, ids=[bug[0] for bug in BUGS])
def test_planted_bugs_are_caught(name, old, new, caught_by):
    model = repeated(2.0, 0.3, terms=(0, 0, 0, 1))
    with planted(PlantedBug(name, "see its name", "hdpkit.base_measures.bursty", old, new, "check_exact")):
        for move in caught_by:
            with pytest.raises((ExactFailure, FloatingPointError)):
                check_exact(model, move)


def test_counts_in_place_of_tables_are_caught(monkeypatch):
    """Every word as an observation of its topic, as if no table were shared."""

    def sit(self, customer, slot, opens=None):
        found = healthy_sit(self, customer, slot, opens)
        if not found[0]:
            self.inner.add(slot, [customer])
        return found

    def rise(self, customer, slot, alone=None):
        found = healthy_rise(self, customer, slot, alone)
        if not found:
            self.inner.remove(slot, [customer])
        return found

    model = repeated(2.0, 0.3)
    healthy_sit, healthy_rise = BurstyBank._sit, BurstyBank._rise
    monkeypatch.setattr(BurstyBank, "_sit", sit)
    monkeypatch.setattr(BurstyBank, "_rise", rise)
    for move in (TABLE, DISH):
        # Recounted tables may be fewer than those that the mistake removes.
        with pytest.raises((ExactFailure, FloatingPointError, RuntimeWarning)):
            check_exact(model, move)


# ------------------------------------------------------------------ what can't be


@pytest.mark.parametrize(
    "move", [moves.SplitMerge(scans=0), moves.SplitMerge(scans=2), moves.ReseatGroups()], ids=repr
)
def test_restricted_scans_are_refused(move):
    with pytest.raises(ScheduleError, match="scans") as told:
        hk.Scheduler([move]).run(tiny("2+2", 1.0, 0.0), sweeps=1, rng=0)
    assert isinstance(told.value, HdpkitError)
    assert told.value.remedy
