"""The exact-kernel test for everything that is registered: without seeds and statistical tolerances."""

import contextlib
import functools

import numpy as np
import pytest
from marginals import (
    beta_bernoulli_log_marginal,
    dirichlet_multinomial_log_marginal,
    gamma_poisson_log_marginal,
    normal_gamma_log_marginal,
    normal_inverse_wishart_log_marginal,
    normal_log_marginal,
    sparse_dirichlet_multinomial_log_marginal,
    von_mises_fisher_log_marginal,
)
from montecarlo import lump_matrix, swept

import hdpkit as hk
from hdpkit.errors import ScheduleError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.known import Known
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import DishGibbs, Move, MoveInfo, ReseatGroups, SplitMerge, TableCounts, TableGibbs
from hdpkit.moves.protocol import EVERYWHERE, accepts, models_of
from hdpkit.run.combinators import Mixture
from hdpkit.run.runs import Scheduler
from hdpkit.stores import Detail
from hdpkit.testing import check_move
from hdpkit.testing.cases import (
    CORNERS,
    Corner,
    TinyShape,
    example_measures,
    example_moves,
    fewer_units,
    served_franchises,
    serves,
    stores_and_kernels,
    tiny_franchise,
)
from hdpkit.testing.exact import (
    TOLERANCE,
    ExactFailure,
    ExactModel,
    check_exact,
    check_irreducible,
    step_matrices,
)
from hdpkit.testing.exact_models import ExactParameterModel, exact_model
from hdpkit.testing.measure_contract import atomic_log_marginal
from hdpkit.testing.move_contract import check_further
from hdpkit.testing.states import to_counts, to_histograms

DISCRETE = example_moves(continuous=False)
# TableCounts uses no statistics of dishes: see test_counts_weights.py.
OF_MEASURES = [move for move in DISCRETE if not isinstance(move, TableCounts)]
MEASURES = example_measures()
DEPTHS = ["flat 4", "3+2", "2+1 with one at the root", "three levels", "three levels, inner customers"]
SYMMETRIC = DirichletMultinomial(0.5, n_terms=3)
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)


def is_reversible(move):
    return not isinstance(move, (TableGibbs, DishGibbs))


def witness_for(measure):
    """A marginal likelihood written down independently of the measure's own code."""
    plain = {
        hk.BetaBernoulli: beta_bernoulli_log_marginal,
        hk.GammaPoisson: gamma_poisson_log_marginal,
        hk.NormalGamma: normal_gamma_log_marginal,
        hk.NormalInverseWishart: normal_inverse_wishart_log_marginal,
        hk.VonMisesFisher: von_mises_fisher_log_marginal,
    }
    if isinstance(measure, DirichletMultinomial):
        return dirichlet_multinomial_log_marginal(measure.eta, 3)
    if isinstance(measure, hk.SparseDirichletMultinomial):
        shapes, given = measure.law_numbers()
        proportion = None if given is None else np.exp(given[0])
        return sparse_dirichlet_multinomial_log_marginal(measure.smoothing, 3, shapes, proportion)
    if measure.atomic:
        return atomic_log_marginal(np.exp(measure.log_probabilities()).tolist())
    if not measure.conjugate:
        return None  # enumerated with its parameters
    for reference, log_marginal in plain.items():
        if isinstance(measure, reference):
            return log_marginal(**measure.parameters)
    return normal_log_marginal(measure.mean, measure.spread**2, measure.noise**2)


@functools.cache
def fitted(measure):
    """Three terms also where the values at hand use fewer."""
    return type(measure)(measure.eta, n_terms=3) if hasattr(measure, "eta") else measure


@functools.lru_cache(maxsize=16)
def model_of(shape, corner, measure, store, kernel):
    """The tests of all moves, which follow each other, share a model."""
    return exact_model(
        tiny_franchise(shape, measure, store=store, kernel=kernel, corner=corner), witness_for(measure)
    )


@pytest.fixture(autouse=True)
def failures_stay_alone(request):
    """A model that a test has failed over is not used again."""
    before = request.session.testsfailed
    yield
    if request.session.testsfailed > before:
        model_of.cache_clear()


COMPILED, READABLE = ("fused", "generic"), ("reference",)
READABLE_STORES = ("explicit-reference", "histogram-reference", "counts")


def check(move, shape, corner, measure, stores=None, kernels=None, readable=None):
    """Exactness of every step over stores and kernels, and one law for all kernels of the same states."""
    law, models = {}, {}
    for store, kernel in stores_and_kernels(measure, shape=shape):
        if (stores and store not in stores) or (kernels and kernel not in kernels):
            continue
        if readable and kernel in READABLE and store not in readable:
            continue
        if kernel == "fused" and store in ("histogram", "counts") and has_many_branches(move, shape):
            continue  # their states are lent to the explicit store, which has the same fused steps
        # A shape without a name holds a dict and is no key.
        built = model_of if isinstance(shape, str) else model_of.__wrapped__
        model = built(shape, corner, measure, store, kernel)
        if kernel == "fused" and isinstance(move, ReseatGroups):
            # The one step that it calls has no fused code: what the generic kernel does is this one's, too.
            assert model.franchise.kernel("reseat_groups") == "generic"
            continue
        if not serves(model.franchise, move):
            if isinstance(move, TableCounts) and model.detail is Detail.COUNTS:
                continue  # tables are part of the state, which TableGibbs draws
            nothing = "flat" in str(shape) or not measure.conjugate or measure.atomic
            assert nothing, "only these leave a move nothing to do"
            return
        matrices = step_matrices(model, move)
        whole = check_exact(model, move, reversible=is_reversible(move), matrices=matrices)
        if isinstance(move, TableGibbs):
            check_irreducible(model, whole, "a sweep of table Gibbs")
        models.setdefault(model.detail, model)
        for P, Q in zip(matrices, law.setdefault(model.detail, matrices), strict=True):
            assert np.abs(P - Q).max() <= TOLERANCE
    assert law
    if {Detail.SEATS, Detail.SIZES} <= law.keys():
        labelled, histogram = models[Detail.SEATS], models[Detail.SIZES]
        classes = [histograms_of(labelled, state) for state in labelled.states]
        for P, Q in zip(law[Detail.SEATS], law[Detail.SIZES], strict=True):
            assert np.abs(reorder(lump_matrix(P, classes, labelled.pi), histogram) - Q).max() <= TOLERANCE


def histograms_of(model, state):
    """A state of seats as a store of sizes has it; dishes with parameters keep their order."""
    if isinstance(model, ExactParameterModel):
        seating, parameters = state
        return to_histograms(seating, model.shape, model.observed), parameters
    return to_histograms(state, model.shape, model.observed)


def smaller(shape, move):
    return fewer_units(shape, move) if shape == "3+2" else shape


def has_many_branches(move, shape):
    """Launches of scans, drawn candidates, and five customers that are dealt out in every order."""
    drawn = getattr(move, "candidates", None) == 2
    return bool(getattr(move, "scans", None)) or drawn or (isinstance(move, SplitMerge) and shape == "3+2")


WITH_INNER = ("2+1 with one at the root", "three levels, inner customers")


def kernels_at(shape, corner, move):
    """Compiled kernels everywhere; readable ones, which are slow, where inner restaurants have customers."""
    readable = corner == "discounts" and shape in WITH_INNER and not has_many_branches(move, shape)
    return None if readable else COMPILED


LENT_TO = ("explicit", "explicit-reference")


def is_lent(move):
    """Whether other stores lend their states for this move to an explicit one."""
    return bool(move.needs_tables) and not isinstance(move, DishGibbs)


def stores_at(shape, move):
    """Of four and five customers explicit stores alone for moves that all others lend their states for."""
    if has_many_branches(move, shape) and shape == "3+2":
        return ["explicit"]
    return LENT_TO if is_lent(move) or (move.needs_tables and shape == "3+2") else None


# Every shape has the corner with discounts. The other corners have one shape each, and all have the small
# shapes of `test_every_move_with_every_discount_and_concentration`.
OTHER_CORNERS = {
    "many dishes, few tables": "flat 4",
    "few dishes, many tables": "2+1 with one at the root",
    "middle": "three levels, inner customers",
}
# Two units beside the pair; with three customers, one beside it, launches are at all depths and corners.
LAUNCHES = {0: ("flat 4",), 1: ("3+2",)}


def is_long(shape, corner, move):
    """What proves little that the others don't, and takes long: see OTHER_CORNERS and LAUNCHES."""
    scans = getattr(move, "scans", None)
    if scans is not None:
        return corner != "discounts" or shape not in LAUNCHES[scans]
    if getattr(move, "candidates", None) == 2:
        return corner != "discounts" or shape not in ("flat 4", "2+1 with one at the root")
    if isinstance(move, SplitMerge) and shape == "3+2":
        return True
    return corner != "discounts" and OTHER_CORNERS[corner] != shape


EVERY_CORNER = [
    pytest.param(
        shape, corner, move, id=f"{shape}-{corner}-{move!r}",
        marks=[pytest.mark.long] if is_long(shape, corner, move) else [],
    )
    for shape in DEPTHS
    for corner in CORNERS
    for move in DISCRETE
]  # fmt: skip


@pytest.mark.parametrize(("shape", "corner", "move"), EVERY_CORNER)
def test_every_move_store_kernel_and_depth(shape, corner, move):
    small, kernels = smaller(shape, move), kernels_at(shape, corner, move)
    check(move, small, corner, SYMMETRIC, stores=stores_at(small, move), kernels=kernels)


# theta and d of a restaurant: no discount, a small one and a large one, theta from below zero to large.
PITMAN_YOR = [(0.5, 0.0), (50.0, 0.0), *((theta, d) for d in (0.3, 0.9) for theta in (-0.2, 0.5, 50.0))]


WITH_READABLE = 5  # a theta below zero and a large discount at the root, a small one below


def corner_of(root, below):
    return Corner(root[0], below[0], root[1], below[1])


def paired(number):
    return corner_of(PITMAN_YOR[number], PITMAN_YOR[(3 * number + 5) % 8])


WITH_LENT = (WITH_READABLE, 2)  # the latter without readable kernels: a theta below zero at the root


def stores_with(number, move):
    """Every store where states are lent (`is_lent`) at two of the corners, and else for dish Gibbs."""
    return LENT_TO if is_lent(move) and number not in WITH_LENT else None


def split_merge_in_turn(number, move):
    """Of split-merge at each corner one variant, and all of them where readable kernels run."""
    variants = [one for one in DISCRETE if isinstance(one, SplitMerge)]
    return number == WITH_READABLE or move not in variants or variants.index(move) == number % len(variants)


CORNERS_OF_THREE = [
    pytest.param(
        move,
        number,
        id=f"{number}-{move!r}",
        marks=(
            pytest.mark.long
            if not split_merge_in_turn(number, move)
            else pytest.mark.quick
            if number == WITH_LENT[1]
            else []
        ),
    )
    for number in range(8)
    for move in DISCRETE
]


@pytest.mark.parametrize(("move", "number"), CORNERS_OF_THREE)
@pytest.mark.parametrize("shape", ["flat 3", "2+1", "three levels of three"])
def test_every_move_with_every_discount_and_concentration(move, number, shape):
    # Each pair stands once at the root and once below, with another one.
    kernels = None if number == WITH_READABLE else COMPILED
    # Readable kernels over compiled stores: documents of two and one, and the shapes `WITH_INNER`.
    readable = None if shape == "2+1" else READABLE_STORES
    stores = stores_with(number, move)
    check(move, shape, paired(number), SYMMETRIC, stores=stores, kernels=kernels, readable=readable)


def is_compiled(measure):
    """Whether a compiled kernel serves a measure."""
    return any(kernel in COMPILED for _, kernel in stores_and_kernels(fitted(measure)))


def of_measures(measures):
    """Measures and moves; launches, which ask of a measure what split-merge does without them, over two."""
    return [
        pytest.param(
            move, measure, id=f"{measure!r}-{move!r}",
            marks=[pytest.mark.long] if launched and not isinstance(measure, HAVE_LAUNCHES) else [],
        )
        for measure in measures
        for move in OF_MEASURES
        for launched in [getattr(move, "scans", None) is not None]
    ]  # fmt: skip


HAVE_LAUNCHES = (DirichletMultinomial, hk.NormalGamma)  # and those derived from them


# Moves see a measure through its bank, and no store sees it: readable kernels over a readable store, compiled
# ones over one store at each of the other depths. Moves that states are lent for have explicit stores alone.
@pytest.mark.parametrize(("move", "measure"), of_measures(MEASURES))
def test_every_base_measure(move, measure):
    # Blocks of two customers are seen at documents of two and one; of the symmetric prior there are four.
    symmetric = type(measure) is DirichletMultinomial and np.ndim(measure.eta) == 0
    many = isinstance(move, ReseatGroups) or getattr(move, "candidates", None) == 2
    shape = fewer_units("2+2", move) if symmetric and not many else "2+1"
    both = isinstance(measure, DirichletMultinomial)
    readable = READABLE_STORES if both else READABLE_STORES[:1]
    stores = LENT_TO if is_lent(move) and not both else None
    check(move, shape, "middle", fitted(measure), stores=stores, readable=readable)


# Readable kernels see a measure through its bank, at any depth alike: the others of them are the next test's.
@pytest.mark.parametrize(
    ("move", "measure"), of_measures([measure for measure in MEASURES if is_compiled(measure)])
)
@pytest.mark.parametrize(("shape", "store"), [("flat 3", "explicit"), ("three levels of three", "histogram")])
def test_every_compiled_base_measure_at_other_depths(move, measure, shape, store):
    stores = LENT_TO if is_lent(move) else [store]
    check(move, shape, "middle", fitted(measure), stores=stores, kernels=COMPILED)


@pytest.mark.parametrize(
    ("scans", "stores", "kernels", "readable"),
    [
        (0, LENT_TO, None, READABLE_STORES[:1]),
        pytest.param(0, None, None, None, marks=pytest.mark.long),
        (1, ["explicit"], COMPILED, None),
        pytest.param(1, ["explicit"], READABLE, None, marks=pytest.mark.long),
    ],
)
def test_groups_by_scans(scans, stores, kernels, readable):
    # Launches have many branches: two customers in a group are enough, and one who stays outside.
    three = TinyShape({"document": [0, 0, 1]}, 3)
    move = ReseatGroups(scans=scans)
    check(move, three, "discounts", SYMMETRIC, stores=stores, kernels=kernels, readable=readable)


@pytest.mark.parametrize(
    ("shape", "store"),
    [
        ("2+2+2", "histogram"),
        ("3+3", "explicit"),
        pytest.param("2+2+2", "explicit", marks=pytest.mark.long),
        pytest.param("3+3", "histogram", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_larger_franchises(move, shape, store):
    check(move, shape, "middle", SYMMETRIC, stores=[store], kernels=["generic"])


@pytest.mark.parametrize(
    ("store", "kernel"),
    [
        # Readable sweeps join their steps in the same way over every store.
        pytest.param(store, kernel, id=f"{store}-{kernel}", marks=[pytest.mark.long] if twice else [])
        for store, kernel in stores_and_kernels(SYMMETRIC)
        for twice in [kernel in READABLE and store not in READABLE_STORES]
    ],
)
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_a_whole_sweep_is_the_product_of_its_steps(move, store, kernel):
    shape = "2+1" if kernel in READABLE else "2+2"
    franchise = tiny_franchise(shape, SYMMETRIC, store=store, kernel=kernel)
    model = ExactModel(franchise, WITNESS)
    if model.detail is not Detail.SEATS and isinstance(move, DishGibbs):
        # Each step alone seats customers out anew; a sweep does so once. Both leave pi alone; the sweep's law
        # is that of the labelled sweep, lumped.
        labelled = ExactModel(tiny_franchise(shape, SYMMETRIC, store="explicit"), WITNESS)
        steps = np.linalg.multi_dot(step_matrices(labelled, move))
        reduce = to_counts if model.detail is Detail.COUNTS else to_histograms
        classes = [reduce(key, labelled.shape) for key in labelled.states]
        product = reorder(lump_matrix(steps, classes, labelled.pi), model)
    else:
        product = np.linalg.multi_dot(step_matrices(model, move))
    sweep = model.matrix(lambda state, source: move.apply(state, source))
    assert np.abs(sweep - product).max() <= TOLERANCE


def reorder(lumped, model):
    """A lumped matrix in the order of a model's states."""
    place = {state: i for i, state in enumerate(lumped.classes)}
    order = [place[state] for state in model.states]
    return lumped.matrix[np.ix_(order, order)]


def test_the_popular_mistake_is_what_we_measure_against():
    # Documents [0,0,1], [0,2]: the exact posterior has 3.349 expected tables; without the existing dishes in
    # a new table's mass a sampler gives 2.76.
    from hdpkit.data import Corpus
    from hdpkit.franchise.declarations import Restaurant
    from hdpkit.franchise.franchise import Franchise

    corpus = Corpus.from_documents([[0, 0, 1], [0, 2]], n_terms=3)
    root = Restaurant(base=DirichletMultinomial(0.4), concentration=1.3)
    document = Restaurant(base=root, concentration=0.8, each="document")
    chain = swept([TableGibbs()], Franchise(document, corpus), 6000, 3)
    assert abs(np.mean([state.n_tables for state in chain]) - 3.349) < 0.05  # some five standard errors


@pytest.mark.long
@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("shape", ["4+3", "3+3+2"])
@pytest.mark.parametrize("move", [TableGibbs(), DishGibbs()], ids=repr)
def test_thousands_of_states(move, shape, store):
    model = ExactModel(tiny_franchise(shape, SYMMETRIC, store=store), WITNESS)
    for number in range(move.n_steps(model.franchise)):
        rows, into = np.zeros(len(model.pi)), np.zeros(len(model.pi))  # the matrix is too large to keep
        step = functools.partial(move.apply, steps=(number, number + 1))
        for before, after, probability in model.branches(step):
            rows[before] += probability
            into[after] += model.pi[before] * probability
        assert np.abs(rows - 1.0).max() <= TOLERANCE
        assert np.abs(into - model.pi).max() <= TOLERANCE


class AdoptDish(Move):
    """The tutorial's: one customer of the root takes another one's dish, by the prior of a restaurant."""

    needs_tables = True

    def __init__(self, *serves):
        self.declared = serves

    @property
    def serves(self):
        return self.declared or super().serves

    def apply(self, state, rng, steps=None):
        with state.labelled_seating(rng):
            units = state.units(1, with_customers=True)
            dishes = state.unit_dishes(units)
            a = rng.index(len(units))
            b = (a + 1 + rng.index(max(len(units) - 1, 1))) % len(units)
            old, new = int(dishes[a]), int(dishes[b])
            m_from, m_to = np.sum(dishes == old), np.sum(dishes == new)
            if old == new or m_from == 1:
                return MoveInfo(1, 0)
            before, d = state.log_likelihood(), state.discount("root")
            state.move_units(units, np.array([a]), new, rng)
            ratio = np.log((m_to - d) / (m_from - 1 - d) * (m_from - 1) / m_to)
            if accepts(ratio + state.log_likelihood() - before, rng):
                return MoveInfo(1, 1)
            state.move_units(units, np.array([a]), old, rng)
            return MoveInfo(1, 0)


class HalfSweep(Move):
    """That of README."""

    def apply(self, state, rng, steps=None):
        for customer in range(rng.index(2), state.topology.n_customers, 2):
            state.reseat(customer, customer + 1, rng)
        return MoveInfo()


WHOLE = {
    "restaurant": {},
    "weights": {"root": "weights"},
    "fixed weights": {"root": FixedWeights(3)},
    "known": {"known": Known([[0.5, 0.25, 0.25]], frozen=True)},
}


def test_a_move_with_tables_serves_a_restaurant_unless_it_declares_more():
    report = check_move(AdoptDish(), shapes=["2+1"], corners=["middle"], reversible=True)
    assert len(report) == sum(1 for _ in stores_and_kernels(SYMMETRIC, shape="2+1"))
    for name, options in WHOLE.items():
        franchise = tiny_franchise("2+1", SYMMETRIC, **options)
        assert serves(franchise, AdoptDish()) == (name == "restaurant")
        assert serves(franchise, AdoptDish(*EVERYWHERE))
        if name != "restaurant":
            for move in (AdoptDish(), AdoptDish().repeat(2), Mixture([(AdoptDish(), 1), (TableGibbs(), 1)])):
                with pytest.raises(ScheduleError, match="serves"):
                    Scheduler([TableGibbs(), move]).run(franchise, sweeps=1, rng=0)


@pytest.mark.parametrize(
    ("serves", "error"),
    [
        (("weights",), "root weights: the posterior is invariant: off by 0.0004"),
        (("fixed weights",), r"root FixedWeights\(n_dishes=3\): the posterior is invariant: off by"),
        (("restaurant", "known"), "root restaurant: "),
        (("restaurant", "held"), "held"),
        (("restaurant", "state homes"), "state homes"),
    ],
)
def test_what_a_move_declares_falsely_is_found(serves, error):
    with pytest.raises(ExactFailure, match=error):
        check_move(AdoptDish(*serves), shapes=["2+2"], corners=["middle"])


def is_slow(move):
    return getattr(move, "scans", None) is not None or getattr(move, "candidates", None) is not None


@pytest.mark.parametrize(
    "move",
    [pytest.param(move, id=repr(move), marks=[pytest.mark.long] if is_slow(move) else [])
     for move in [*DISCRETE, HalfSweep()]],
)  # fmt: skip
def test_moves_are_right_wherever_they_say(move):
    found = set()
    for franchise in served_franchises(move, SYMMETRIC, ["2+2"]):
        if check_further(move, franchise, False):
            found |= set(models_of(franchise))
    assert found >= set(move.serves) - {"restaurant"}


def test_a_labelled_seating_may_have_transactions():
    """Also one that a repeated move shares (`needs_tables`)."""

    class Undone(Move):
        needs_tables = True

        def apply(self, state, rng, steps=None):
            with contextlib.suppress(ZeroDivisionError), state.transaction():
                state.resample_dish(state.units(1), 0, 1, rng)
                raise ZeroDivisionError
            with state.transaction():
                state.reseat(0, 1, rng)
            return MoveInfo(1, 1)

    for store in ("histogram", "counts"):
        check_exact(model_of("2+1", "discounts", SYMMETRIC, store, "generic"), Undone().repeat(2))
