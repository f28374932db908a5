"""Topics that differ by document: every state with its numbers of tables, enumerated."""

import functools

import numpy as np
import pytest
from choice_sources import AskedSource
from exact_bursts import ExactBurstyModel
from marginals import dirichlet_multinomial_log_marginal
from planted import PlantedBug, planted

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import DirichletMultinomialReference, SparseDirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.measures import bursty
from hdpkit.measures.bursty import BurstyReferenceBank
from hdpkit.random import RandomStream
from hdpkit.testing.cases import SHAPES, Corner, TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactFailure, check_exact, check_irreducible, step_matrices

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
def repeated(b, a, store="explicit", terms=(0, 0, 0, 0), inner=READABLE):
    """A document of three words, of one term if ``terms`` say so, and one of one word."""
    franchise = tiny(REPEATED, b, a, inner=inner, terms=list(terms), store=store)
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


@functools.lru_cache(maxsize=16)
def model_of(
    shape, b, a, each="document", inner=READABLE, store="explicit", root="restaurant", terms=tuple(TERMS)
):
    franchise = tiny(shape, b, a, each, inner, list(terms), store=store, root=root)
    return ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))


UNSORTED = [1, 0, 0, 1, 0]
PLACES = [("2+2", "document"), ("three levels", "document"), ("three levels", "author")]
STORES = ("explicit", "histogram")
SERVED = [
    *((store, "restaurant") for store in STORES),
    *((store, hk.FixedWeights(3)) for store in (*STORES, "counts")),
]
# Two levels have each law, by readable code here and by compiled code below over each store and root; three
# levels have one.
CASES = [
    *((*PLACES[0], law, READABLE, *served) for law in LAWS for served in SERVED[:2]),
    *((*place, LAWS[3], READABLE, *served) for place in PLACES[1:] for served in SERVED[:2]),
    *((*place, LAWS[3], hk.DirichletMultinomial, *served) for place in PLACES[1:] for served in SERVED),
]


@pytest.mark.parametrize(("shape", "each", "law", "inner", "store", "root"), CASES)
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
def test_moves_leave_the_posterior_invariant(move, shape, each, law, inner, store, root):
    model = model_of(shape, *law, each, inner, store, root)
    whole = check_exact(model, move)
    if isinstance(move, moves.TableGibbs):
        check_irreducible(model, whole, "a sweep of table Gibbs")


# Each law over the smallest, and the larger ones with one.
PROPOSED = [*(("2+1", *law) for law in LAWS), ("2+2", *LAWS[3]), ("three levels of three", *LAWS[3])]


@pytest.mark.parametrize(("shape", "b", "a"), PROPOSED)
@pytest.mark.parametrize("move", [moves.SplitMerge(), moves.ReseatGroups(scans=None)], ids=repr)
def test_proposals_leave_the_posterior_invariant(move, shape, b, a):
    for inner in (READABLE, hk.DirichletMultinomial):
        check_exact(model_of(shape, b, a, inner=inner), move)


# Each bank with one law and one document: what a proposal does with tables of a block is not the bank's. The
# others with -m long.
SHORT = {(READABLE, LAWS[1], (0, 0, 0, 1)), (hk.DirichletMultinomial, LAWS[1], (0, 0, 0, 0))}
OF_PROPOSALS = [
    pytest.param(inner, law, terms, marks=() if (inner, law, terms) in SHORT else pytest.mark.long)
    for inner in (READABLE, hk.DirichletMultinomial)
    for law in LAWS
    for terms in ((0, 0, 0, 0), (0, 0, 0, 1))
]


@pytest.mark.parametrize("terms", [(0, 0, 0, 0), (0, 0, 0, 1)])
@pytest.mark.parametrize(("b", "a"), LAWS)
@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
def test_words_that_repeat_within_a_block(move, b, a, terms):
    """The readable bank: the compiled one has the same words, laws and stores below."""
    for store in STORES if (b, a) == LAWS[3] else STORES[:1]:
        check_exact(repeated(b, a, store, terms), move)


@pytest.mark.parametrize(("inner", "law", "terms"), OF_PROPOSALS)
@pytest.mark.parametrize("move", [moves.SplitMerge(), moves.ReseatGroups(scans=None)], ids=repr)
def test_words_that_repeat_within_a_proposal(move, inner, law, terms):
    check_exact(repeated(*law, terms=terms, inner=inner), move)


def listed(monkeypatch, **kept):
    """Compiled banks list the cells of all restaurants that they use, or keep their numbers as given."""
    kept = kept or {"scanned": 0}
    monkeypatch.setattr(bursty, "BurstyBank", functools.partial(bursty.BurstyBank, **kept))


KEPT = {"counted": {}, "listed by the sweep": {"unlisted": 0}, "listed": {"scanned": 0}}
# Each law over each store and root, counted. How numbers are kept is the bank's own: the other ways have one
# law over each of them, and one without a discount over some.
OF_FUSED = [
    (*served, law, kept)
    for served in SERVED
    for law in LAWS
    for kept in KEPT
    if kept == "counted" or law == LAWS[3] or (law == LAWS[0] and served in (SERVED[1], SERVED[4]))
]


@pytest.mark.parametrize(("store", "root", "law", "kept"), OF_FUSED)
def test_the_fused_sweeps_leave_the_posterior_invariant(store, root, law, kept, monkeypatch):
    b, a = law
    if KEPT[kept]:
        listed(monkeypatch, **KEPT[kept])
    documents = [("2+2", UNSORTED), (REPEATED, (0, 0, 0, 1))]
    if law == LAWS[3]:
        documents += [("2+2", TERMS), (REPEATED, (0, 0, 0, 0)), (REPEATED, (0, 1, 0, 1))]
    for shape, terms in documents:
        options = {"store": store, "root": root, "kernel": "fused"}
        franchise = tiny(shape, b, a, inner=hk.DirichletMultinomial, terms=list(terms), **options)
        for step in ("reseat", "resample_dish"):
            assert franchise.kernel(step) == "fused"
        model = ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))
        check_irreducible(model, check_exact(model, moves.TableGibbs()), "a sweep of table Gibbs")
        check_exact(model, moves.DishGibbs())


@pytest.mark.parametrize("move", [moves.TableGibbs(), moves.DishGibbs()], ids=repr)
@pytest.mark.parametrize(("shape", "each"), PLACES)
@pytest.mark.parametrize(
    "kinds",
    [
        (READABLE, hk.DirichletMultinomial),
        (SparseDirichletMultinomialReference, hk.SparseDirichletMultinomial),
    ],
)
def test_both_banks_have_the_same_transitions(monkeypatch, kinds, shape, each, move):
    found = []
    for inner in (*kinds, kinds[1]):
        model = ExactBurstyModel(tiny(shape, 0.4, 0.3, each, inner, UNSORTED))
        found.append(step_matrices(model, move))
        listed(monkeypatch)  # only the last one
    assert type(model.franchise.bank).__name__ == "BurstyBank"
    for other in found[1:]:
        assert all(np.abs(P - Q).max() <= 1e-12 for P, Q in zip(found[0], other, strict=True))
    check_exact(model, move, matrices=found[0])


def corpus(n_documents=12, n_terms=7, seed=1):
    generator = np.random.default_rng(seed)
    documents = [generator.integers(n_terms, size=9).tolist() for _ in range(n_documents)]
    return hk.Corpus.from_documents(documents, n_terms=n_terms)


def franchise_over(data, inner, store="histogram", root="restaurant", a=0.2, kernel="auto"):
    top = hk.Restaurant(hk.Bursty(inner(0.3), 1.5, a), concentration=2.0)
    below = hk.Restaurant(top, concentration=1.3, each="document")
    franchise = hk.Franchise(below, data, store=store, root=root, kernel=kernel)
    start(franchise, "sequential", RandomStream((1, 1)))
    return franchise


class EndedError(Exception):
    """A source of choices has ended."""


@pytest.mark.parametrize("kept", [{"unlisted": 0}, {"scanned": 0}], ids=["listed by the sweep", "listed"])
@pytest.mark.parametrize(
    ("store", "root"), [("histogram", "restaurant"), ("explicit", "weights"), ("counts", "weights")]
)
def test_lists_of_cells_end_as_counts(monkeypatch, store, root, kept):
    """After sweeps over documents with lists, and after one that fails, numbers are those of a recount."""
    listed(monkeypatch, **kept)
    franchise = franchise_over(corpus(), hk.DirichletMultinomial, store, root, kernel="fused")
    for sweep in range(6):
        for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
            move.apply(franchise, RandomStream((sweep, 5)))
            franchise.settle()
            franchise.audit()
    twin = franchise_over(corpus(), READABLE, store, root, kernel="auto")
    twin.thaw(franchise.freeze())
    slots = franchise.slots.occupied_slots()
    wanted = twin.bank.log_marginals(twin.slots.occupied_slots(), None)
    assert franchise.bank.log_marginal_total(slots) == pytest.approx(wanted.sum(), rel=1e-12)
    asked = []

    def until_thirty(weights):
        asked.append(weights)
        if len(asked) > 30:
            raise EndedError
        return int(np.flatnonzero(weights)[-1])

    with pytest.raises(EndedError), franchise.transaction():
        franchise.reseat(0, len(franchise.data), AskedSource(until_thirty))
    franchise.audit()
    moves.TableGibbs().apply(franchise, RandomStream((7, 5)))
    franchise.settle()
    franchise.audit()


TABLE, DISH = moves.TableGibbs(), moves.DishGibbs()
SPLIT, GROUPS = moves.SplitMerge(), moves.ReseatGroups(scans=None)
BUGS = [
    ("the words of its document", "return np.array([path.log_p for path in offered.values()])",
     "return np.asarray(self.inner.log_block(customers, slots))", [DISH]),
    ("b left out of a new table", "(b + self.discount * opened) * topic",
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


CATCHES = [
    pytest.param(name, old, new, move, id=f"{name}, {type(move).__name__}")
    for name, old, new, caught_by in BUGS
    for move in caught_by
]


@pytest.mark.parametrize(("name", "old", "new", "move"), CATCHES)
def test_planted_bugs_are_caught(name, old, new, move):
    # A document of three words of one term, before another one: the larger model takes long.
    franchise = tiny(TinyShape({"document": [0, 0, 0]}, 3), 2.0, 0.3, terms=[0, 0, 0])
    alone = ExactBurstyModel(franchise, dirichlet_multinomial_log_marginal(0.5, 3))

    def check():
        check_exact(alone, move, reversible=move is GROUPS)
        check_exact(repeated(2.0, 0.3, terms=(0, 0, 0, 1)), move)

    with (
        planted(PlantedBug(name, "see its name", "hdpkit.measures.bursty", old, new, "check_exact")),
        pytest.raises((ExactFailure, FloatingPointError)),
    ):
        check()


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
    healthy_sit, healthy_rise = BurstyReferenceBank._sit, BurstyReferenceBank._rise
    monkeypatch.setattr(BurstyReferenceBank, "_sit", sit)
    monkeypatch.setattr(BurstyReferenceBank, "_rise", rise)
    for move in (TABLE, DISH):
        # Recounted tables may be fewer than those that the mistake removes.
        with pytest.raises((ExactFailure, FloatingPointError, RuntimeWarning)):
            check_exact(model, move)
