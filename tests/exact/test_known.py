"""Known components: moves by enumeration, one frozen and one with pseudo-counts."""

import numpy as np
import pytest
from exact_bursts import ExactBurstyModel
from exact_points import check_balance, spread_of_log_joint
from exact_weights import ExactWeightModel
from known_checks import KNOWN, MEASURE, ONE_EACH, READABLE, TOPICS, WITNESS, known

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures import NormalGammaReference, SparseDirichletMultinomialReference
from hdpkit.testing.cases import Corner, TinyShape, serves, stores_and_kernels, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible

MOVES = [
    moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.SplitMerge(scans=0),
    moves.SplitMerge(candidates=9), moves.ReseatGroups(scans=None),
]  # fmt: skip
GIBBS = (moves.TableGibbs, moves.DishGibbs)
PRIOR = hk.Known(TOPICS, counts=[2, 4])
CELLS = [cell for cell in stores_and_kernels(MEASURE, shape="2+1") if cell[1] != "fused"]


def check(franchise, only=MOVES):
    model, checked = ExactModel(franchise, WITNESS), 0
    for move in only:
        if serves(franchise, move):
            check_exact(model, move, reversible=not isinstance(move, GIBBS))
            checked += 1
    assert checked


@pytest.mark.parametrize(("store", "kernel"), CELLS)
def test_moves_leave_the_posterior_invariant(store, kernel):
    shape = "2+1" if (store, kernel) == ("explicit", "generic") else ONE_EACH
    check(known(shape, store=store, kernel=kernel))


@pytest.mark.parametrize("store", ["explicit", "counts"])
def test_they_do_at_three_levels(store):
    check(known("three levels of three", store=store), MOVES[:2] if store == "counts" else MOVES[:3])


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_fused_sweeps_serve_components_with_pseudo_counts(store):
    franchise = known("2+1", PRIOR, store=store)
    assert franchise.kernel("resample_dish") == "fused"
    assert (franchise.kernel("reseat") == "fused") == (store != "counts")
    check(franchise, MOVES[:3])


@pytest.mark.parametrize("measure", [READABLE, hk.SparseDirichletMultinomial(0.5, n_terms=3)], ids=str)
def test_statistics_of_other_banks_serve_them(measure):
    franchise = known(ONE_EACH, measure=measure, store="explicit")
    if measure is READABLE:
        check(franchise)
        return
    model = ExactModel(franchise)  # the measure's own chain rule
    for move in MOVES[:3]:
        check_exact(model, move)


VALUES = {
    "numbers": (hk.NormalGamma(), [[0.3, 1.2], [-2.0]]),
    "numbers in Python": (NormalGammaReference(), [[0.3, 1.2], [-2.0]]),
    "vectors": (
        hk.NormalInverseWishart([0.0, 1.0], 2.0, 4.0, np.eye(2)),
        [[[0.3, 1.0]], [[2.0, 2.0], [1.5, 1.0]]],
    ),
    "counts": (hk.GammaPoisson(1.0, 1.0), [[3, 4], [0]]),
    "bits": (hk.BetaBernoulli(1.0, 1.0), [[1, 1], [0, 1]]),
}


@pytest.mark.parametrize("name", VALUES)
def test_components_over_other_measures_begin_with_observations(name):
    measure, values = VALUES[name]
    tiny = tiny_franchise("flat 3", measure)
    components = hk.KnownValues(values)
    franchise = tiny_franchise(ONE_EACH, tiny.measure, corner="discounts", known=components, store="explicit")
    franchise.audit()
    model = ExactModel(franchise)
    for move in MOVES[:3]:
        check_exact(model, move)


PLAIN = Corner(1.5, 0.7)
FINITE = [
    *(("three levels of three", *cell) for cell in (
        ("explicit", "generic"), ("histogram", "generic"), ("counts", "generic"), ("explicit", "reference"),
        ("counts", "reference"),
    )),
    ("2+1", "counts", "generic"), ("2+1", "counts", "fused"), ("2+1", "counts", "reference"),
]  # fmt: skip


@pytest.mark.parametrize("n_dishes", [3, 4])
@pytest.mark.parametrize("components", [KNOWN, PRIOR], ids=["one frozen", "pseudo-counts"])
@pytest.mark.parametrize(("shape", "store", "kernel"), FINITE)
def test_they_are_among_the_dishes_of_a_finite_model_at_any_depth(shape, store, kernel, components, n_dishes):
    if kernel == "reference" and (n_dishes == 3 or components is PRIOR):
        return
    root = hk.FixedWeights(n_dishes)
    options = {"corner": PLAIN, "known": components, "store": store, "kernel": kernel, "root": root}
    check(tiny_franchise(shape, MEASURE, **options), MOVES[:1] if kernel == "reference" else MOVES[:3])


@pytest.mark.parametrize(
    ("shape", "store"), [("2+1", "explicit"), (ONE_EACH, "histogram"), ("three levels of three", "explicit")]
)
def test_the_same_under_weights(shape, store):
    model = ExactWeightModel(known(shape, store=store, root="weights"), WITNESS)
    for move in MOVES[:2]:
        assert check_balance(model, move)


def test_the_same_under_weights_over_counts_at_three_levels():
    shape = "three levels of three"
    tiny = tiny_franchise(shape, MEASURE, corner=PLAIN, known=KNOWN, store="counts", root="weights")
    assert check_balance(ExactWeightModel(tiny, WITNESS), moves.TableGibbs())


def test_held_groups_and_known_components_go_together():
    franchise = known("2+1", store="explicit")
    franchise.hold([0])
    check(franchise)


def test_the_log_joint_is_that_of_the_enumeration():
    assert spread_of_log_joint(ExactModel(known("2+1", store="explicit"), WITNESS)) < 1e-10


BURSTS = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.ReseatGroups(scans=None)]
REPEATED = TinyShape({"document": [0, 0, 1]}, 3)
WORDS = [0, 0, 1]


def bursty(components=KNOWN, inner=MEASURE, b=1.0, a=0.3, shape=REPEATED, corner="discounts", **options):
    measure = hk.Bursty(inner, b, a)
    return tiny_franchise(shape, measure, corner=corner, values=WORDS, known=components, **options)


def check_bursts(franchise, witness=WITNESS, only=BURSTS):
    model, checked = ExactBurstyModel(franchise, witness), 0
    franchise.audit()
    for move in only:
        if serves(franchise, move):
            whole = check_exact(model, move)
            checked += 1
            if isinstance(move, moves.TableGibbs) and franchise.topology.n_levels == 2:
                check_irreducible(model, whole, "a sweep of table Gibbs")
    assert checked
    return model


# Both banks, both kinds of components, both stores and laws; all combinations with -m long.
OF_BURSTS = {
    (MEASURE, KNOWN, "explicit", 0.4, 0.3),
    (MEASURE, PRIOR, "histogram", 0.4, 0.3),
    (READABLE, PRIOR, "explicit", 2.0, 0.0),
}


@pytest.mark.parametrize(
    ("inner", "components", "store", "b", "a"),
    [
        pytest.param(*case, marks=[] if case in OF_BURSTS else pytest.mark.long)
        for inner in (MEASURE, READABLE)
        for components in (KNOWN, PRIOR)
        for law in (("explicit", 0.4, 0.3), ("explicit", 2.0, 0.0), ("histogram", 0.4, 0.3))
        for case in [(inner, components, *law)]
    ],
)
def test_earlier_observations_are_tables_where_topics_differ_by_document(inner, components, store, b, a):
    check_bursts(bursty(components, inner, b, a, store=store))


@pytest.mark.parametrize(
    "inner",
    [
        pytest.param(hk.SparseDirichletMultinomial(0.5, n_terms=3), id="compiled"),
        pytest.param(
            SparseDirichletMultinomialReference(0.5, n_terms=3), id="readable", marks=pytest.mark.long
        ),
    ],
)
@pytest.mark.parametrize("components", [KNOWN, PRIOR], ids=["one frozen", "pseudo-counts"])
def test_they_are_over_sparse_topics(components, inner):
    model = check_bursts(bursty(components, inner, store="explicit"), None, BURSTS[:3])
    compiled = type(model.franchise.bank).__name__ == "BurstyBank"
    assert compiled == (components is PRIOR and isinstance(inner, hk.SparseDirichletMultinomial))


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_fused_sweeps_over_bursts_serve_components_with_pseudo_counts(store):
    for root in ("restaurant", hk.FixedWeights(3)):
        if store == "counts" and root == "restaurant":
            continue
        corner = "discounts" if root == "restaurant" else PLAIN
        franchise = bursty(PRIOR, store=store, root=root, corner=corner, kernel="fused")
        assert franchise.kernel("reseat") == "fused"
        check_bursts(franchise, only=BURSTS[:1])


@pytest.mark.parametrize("components", [KNOWN, PRIOR], ids=["one frozen", "pseudo-counts"])
def test_bursts_at_three_levels(components):
    check_bursts(bursty(components, shape="three levels of three", store="explicit"), only=BURSTS[:2])


@pytest.mark.parametrize("components", [KNOWN, PRIOR], ids=["one frozen", "pseudo-counts"])
def test_the_log_joint_of_bursts_is_that_of_the_enumeration(components):
    assert spread_of_log_joint(ExactBurstyModel(bursty(components, store="explicit"), WITNESS)) < 1e-10
