"""Fixed weights of the root: exact kernels on every store, the law of the number of dishes, errors."""

import math
from collections import Counter
from itertools import product

import pytest
from exact_points import spread_of_log_joint
from marginals import dirichlet_multinomial_log_marginal

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible

WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)
MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
PLAIN, DISCOUNT = Corner(1.5, 1.5), Corner(1.5, 0.4, 0.0, 0.6)
STORES = [
    ("explicit", "generic"),
    ("histogram", "generic"),
    ("explicit", "fused"),
    ("histogram", "fused"),
    ("explicit", "reference"),
    ("histogram-reference", "reference"),
]
COUNTS = [("counts", "generic"), ("counts", "fused"), ("counts", "reference")]
DOCUMENTS = [[0, 0, 1], [1, 2]]
LAW = [0.03487, 0.49886, 0.46628]  # P(1, 2, 3 topics used), K = 3, a = b = 0.5


def fixed(shape="2+2", store="histogram", kernel="auto", corner=PLAIN, n_dishes=3, **options):
    root = hk.FixedWeights(n_dishes)
    return tiny_franchise(shape, MEASURE, store=store, kernel=kernel, corner=corner, root=root, **options)


def of_documents(store="counts", n_dishes=3, **options):
    corpus = hk.Corpus.from_documents(DOCUMENTS, n_terms=3)
    G0 = hk.Restaurant(hk.DirichletMultinomial(0.5))
    Gj = hk.Restaurant(G0, concentration=1.5, each="document")
    return hk.Franchise(Gj, corpus, store=store, root=hk.FixedWeights(n_dishes), **options)


def rising(a, n):
    return math.prod(a + i for i in range(n))


def law_of_allocations(documents, n_terms, n_dishes, a, b):
    """p(z | data) of finite Dirichlet allocation, every z of K^n, from Dirichlet-multinomials alone."""
    home = [j for j, document in enumerate(documents) for _ in document]
    words = [v for document in documents for v in document]
    law = {}
    for z in product(range(n_dishes), repeat=len(words)):
        p = 1.0
        for j, document in enumerate(documents):
            p /= rising(n_dishes * a, len(document))
            for k in range(n_dishes):
                p *= rising(a, sum(1 for i in range(len(z)) if home[i] == j and z[i] == k))
        for k in range(n_dishes):
            seen = Counter(words[i] for i in range(len(z)) if z[i] == k)
            p *= math.prod(rising(b, n) for n in seen.values()) / rising(n_terms * b, sum(seen.values()))
        law[z] = p
    total = math.fsum(law.values())
    return {z: p / total for z, p in law.items()}


def test_the_enumeration_is_that_of_finite_dirichlet_allocation():
    law = law_of_allocations(DOCUMENTS, 3, 3, 0.5, 0.5)
    used = [math.fsum(p for z, p in law.items() if len(set(z)) == n) for n in (1, 2, 3)]
    assert used == pytest.approx(LAW, abs=5e-6)
    model = ExactModel(_placed(of_documents("histogram")), WITNESS)
    partitions = Counter()
    for z, p in law.items():
        partitions[tuple(z.index(k) for k in z)] += p
    found = Counter()
    for (dishes, _), p in zip(model.states, model.pi.tolist(), strict=True):
        found[tuple(dishes.index(k) for k in dishes)] += p
    assert found.keys() == partitions.keys()
    assert max(abs(found[z] - p) for z, p in partitions.items()) <= 1e-12


def _placed(franchise):
    start(franchise, "one", RandomStream((1, 1)))
    return franchise


@pytest.mark.parametrize(
    "shape", ["flat 3", "2+1", "2+1 with one at the root", "three levels of three", "2+2"]
)
@pytest.mark.parametrize("n_dishes", [1, 2, 3, 7])
@pytest.mark.parametrize(("store", "kernel"), STORES[:2])
def test_gibbs_moves_leave_the_posterior_alone(store, kernel, n_dishes, shape):
    model = ExactModel(fixed(shape, store, kernel, n_dishes=n_dishes), WITNESS)
    whole = check_exact(model, moves.TableGibbs(), reversible=True)
    if n_dishes > 1:
        check_irreducible(model, whole, "TableGibbs")
    if not shape.startswith("flat"):
        check_exact(model, moves.DishGibbs(), reversible=True)


# Two dishes without discounts and three with them; the other way round with -m long.
@pytest.mark.parametrize(
    ("n_dishes", "corner"),
    [
        pytest.param(
            n, corner, id=f"{n}-{name}", marks=[] if (n == 3) == (name == "discount") else pytest.mark.long
        )
        for n in (2, 3)
        for name, corner in (("plain", PLAIN), ("discount", DISCOUNT))
    ],
)
@pytest.mark.parametrize(("store", "kernel"), STORES)
def test_every_move_leaves_the_posterior_alone(store, kernel, n_dishes, corner):
    franchise = fixed("2+2", store, kernel, corner, n_dishes)
    model = ExactModel(franchise, WITNESS)
    assert franchise.kernel("reseat") == kernel
    check_exact(model, moves.TableGibbs(), reversible=True)
    check_exact(model, moves.DishGibbs(), reversible=True)
    for move in (
        moves.SplitMerge(),
        moves.SplitMerge(scans=0),
        moves.SplitMerge(candidates=9),
        moves.ReseatGroups(scans=None),
    ):
        check_exact(model, move)


@pytest.mark.parametrize("n_dishes", [2, 3])
@pytest.mark.parametrize(("store", "kernel"), COUNTS)
def test_moves_over_counts_leave_the_posterior_alone(store, kernel, n_dishes):
    model = ExactModel(fixed("2+2", store, kernel, n_dishes=n_dishes), WITNESS)
    assert model.franchise.kernel("reseat") == kernel
    for move in (
        moves.TableGibbs(),
        moves.TableCounts(),
        moves.TableCounts("binomial"),
        moves.DishGibbs(),
        moves.SplitMerge(),
    ):
        check_exact(model, move)


@pytest.mark.parametrize("scans", [0, 1])
def test_groups_that_are_seated_anew_by_scans(scans):
    model = ExactModel(fixed("2+1", "explicit", n_dishes=2), WITNESS)
    check_exact(model, moves.ReseatGroups(scans=scans))


def check_score_under_fixed_weights():
    """The log joint is that of the enumeration of labelled seatings; over sizes it is the same."""
    labelled = ExactModel(fixed("2+1 with one at the root", "explicit"), WITNESS)
    assert spread_of_log_joint(labelled) < 1e-9
    twin = fixed("2+1 with one at the root", "histogram")
    for state in range(len(labelled.states)):
        one = labelled.enter(state)
        twin.thaw(one.freeze())
        assert twin.log_joint() == pytest.approx(one.log_joint(), abs=1e-10)


def test_rare_words_open_no_dish_when_all_have_customers():
    """A block that a new dish would explain far better than any other must not lose all its weights."""
    rare = [[9] * 900, [*range(8)] * 60, [*range(8)] * 60]
    corpus = hk.Corpus.from_documents(rare, n_terms=10)
    G0 = hk.Restaurant(hk.DirichletMultinomial(1e-6))
    Gj = hk.Restaurant(G0, concentration=0.5, each="document")
    for kernel in ("fused", "generic"):
        franchise = hk.Franchise(Gj, corpus, root=hk.FixedWeights(1), kernel=kernel)
        schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.ReseatGroups()]
        hk.Scheduler(schedule).run(franchise, sweeps=3, rng=1, init="one")
        franchise.audit()
        assert franchise.n_dishes == 1


def check_fixed_weights():
    """Exact kernels under fixed weights, compiled and readable."""
    for store, kernel in (
        ("explicit", "generic"),
        ("histogram", "fused"),
        ("explicit-reference", "reference"),
    ):
        model = ExactModel(fixed("2+1 with one at the root", store, kernel), WITNESS)
        for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
            check_exact(model, move)


def check_fixed_weights_of_slots():
    """A slot has the weight 1/K while it is that of a dish, and else none."""
    model = ExactModel(fixed("2+1 with one at the root", "histogram", "generic"), WITNESS)
    franchise = model.enter(next(i for i in range(len(model.states)) if model.enter(i).n_dishes == 1))
    table, source = franchise.root.weights.table, RandomStream((1, 1))
    before = table.remainder
    slot = franchise.open_dish(source)
    assert table.get(slot) == 1 / 3
    franchise.slots.close(slot)
    assert table.get(slot) == 0.0
    assert table.remainder == before
