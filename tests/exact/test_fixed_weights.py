"""Fixed weights of the root: exact kernels on every store, the law of the number of dishes, errors."""

import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from long_cases import some_long
from marginals import dirichlet_multinomial_log_marginal
from montecarlo import swept

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream
from hdpkit.testing.cases import Corner, tiny_franchise
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible
from hdpkit.testing.pvalues import SampledTests, one_sample_p

FAMILY = SampledTests()
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
COUNTS = [("counts", "generic"), ("counts", "fused"), ("counts-reference", "reference")]
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


# ---------------------------------------------------------------------- the law itself, without hdpkit


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


# ---------------------------------------------------------------------- exact kernels


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


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_the_log_joint_is_that_of_the_enumeration(store):
    model = ExactModel(fixed("2+1 with one at the root", store, n_dishes=3), WITNESS)
    offset = set()
    for state, p in enumerate(model.pi.tolist()):
        franchise = model.enter(state)
        if store != "explicit":  # the score is that of one labelled seating
            continue
        offset.add(round(franchise.log_joint() - math.log(p), 9))
        assert franchise.parts.log_density(franchise) == 0.0
    assert len(offset) == (store == "explicit")
    labelled = ExactModel(fixed("2+1 with one at the root", "explicit", n_dishes=3), WITNESS)
    for state in range(len(labelled.states)):
        one = labelled.enter(state)
        twin = fixed("2+1 with one at the root", "histogram", n_dishes=3)
        twin.thaw(one.freeze())
        assert twin.log_joint() == pytest.approx(one.log_joint(), abs=1e-10)


# ---------------------------------------------------------------------- the law of the number of dishes

SCHEDULES = {
    "TableGibbs": [moves.TableGibbs()],
    "DishGibbs": [moves.TableGibbs(), moves.DishGibbs()],
    "SplitMerge": [moves.TableGibbs(), moves.SplitMerge()],
    "ReseatGroups": [moves.TableGibbs(), moves.ReseatGroups()],
}
CELLS = {
    f"{store}, {kernel}, {name}": (store, kernel, name)
    for store in ("explicit", "histogram", "counts")
    for kernel in ("auto", "generic")
    for name in SCHEDULES
}
for name_ in CELLS:
    FAMILY.register(name_)


# Steps are enumerated over every store and kernel, above. Here are whole runs: of table Gibbs over all
# stores, and of one other move over each, on one kernel each. The rest with -m long.


def is_long(name):
    store, kernel, schedule = CELLS[name]
    number = ("explicit", "histogram", "counts").index(store)
    locked = number == list(SCHEDULES).index(schedule) - 1 and kernel == ("auto", "generic")[number % 2]
    return (kernel, schedule) != ("auto", "TableGibbs") and not locked


@pytest.mark.parametrize("name", some_long(CELLS, is_long))
def test_the_number_of_dishes_has_its_law(name):
    store, kernel, schedule = CELLS[name]

    def run(more, seed):
        franchise = of_documents(store, kernel=kernel)
        chain = swept(SCHEDULES[schedule], franchise, 3000 * more, seed % 2**31)
        numbers = [state.n_dishes for state in chain]
        franchise.audit()
        return [one_sample_p(np.bincount(numbers[10::10], minlength=4)[1:4], np.array(LAW) / sum(LAW))]

    FAMILY.check(name, run)


# ---------------------------------------------------------------------- no dish beyond the last


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


def test_values_far_from_every_dish_open_no_dish():
    values = np.r_[np.zeros(5), 400.0, 401.0]
    groups = hk.Groups.from_labels(values, {"group": [0, 0, 0, 1, 1, 1, 1]})
    G0 = hk.Restaurant(hk.NormalGamma(mean=0.0, strength=1.0, shape=4000.0, rate=1.0))
    Gj = hk.Restaurant(G0, concentration=0.5, each="group")
    for kernel in ("generic", "reference"):
        franchise = hk.Franchise(Gj, groups, root=hk.FixedWeights(2), kernel=kernel)
        schedule = [moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()]
        hk.Scheduler(schedule).run(franchise, sweeps=5, rng=1, init="one")
        franchise.audit()
        assert franchise.n_dishes <= 2


def test_a_further_dish_is_refused():
    franchise = _placed(of_documents("histogram", 1))
    with pytest.raises(errors.StateError, match="at most 1"), franchise.transaction():
        franchise.open_dish(RandomStream((1, 2)))
    franchise.audit()
    assert franchise.n_dishes == 1


@pytest.mark.parametrize("init", [[0, 1, 2, 3, 4], hk.init.Random(4), hk.init.TermClusters(4)])
def test_starts_with_more_dishes_are_refused(init):
    franchise = of_documents("histogram")
    with pytest.raises(errors.ParameterError, match="at most 3"):
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, init=init)


def test_a_default_start_has_no_more_dishes():
    rng = np.random.default_rng(0)
    corpus = hk.Corpus.from_documents([rng.integers(0, 50, 60).tolist() for _ in range(40)], n_terms=50)
    Gj = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.1)), each="document")
    franchise = hk.Franchise(Gj, corpus, root=hk.FixedWeights(4))
    assert franchise.kernel("reseat") == "fused"
    trace = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()]).run(franchise, sweeps=40, rng=0)
    assert trace["n_dishes"].max() == 4


def test_states_of_more_dishes_are_refused():
    franchise = of_documents("histogram", 5)
    start(franchise, [0, 1, 2, 3, 4], RandomStream((1, 1)))
    with pytest.raises(errors.DataError, match="at most 3"):
        of_documents("histogram").thaw(franchise.freeze())


# ---------------------------------------------------------------------- declarations and moves


def test_what_the_root_may_declare():
    corpus = hk.Corpus.from_documents(DOCUMENTS, n_terms=3)
    for options in ({"concentration": hk.Gamma(1, 1)}, {"discount": 0.3}, {"discount": hk.Beta(1, 1)}):
        G0 = hk.Restaurant(hk.DirichletMultinomial(0.5), **options)
        Gj = hk.Restaurant(G0, concentration=1.5, each="document")
        with pytest.raises(errors.DeclarationError, match="fixed weights"):
            hk.Franchise(Gj, corpus, root=hk.FixedWeights(3))
    for n_dishes in (0, -1, 1.5, "3", None, True):
        with pytest.raises(errors.ParameterError, match="n_dishes"):
            hk.FixedWeights(n_dishes)


def test_observed_dishes_have_no_fixed_weights():
    words = hk.Groups.from_labels([0, 1], {"document": [0, 0]})
    Gj = hk.Restaurant(hk.Restaurant(hk.Uniform(3)), each="document")
    with pytest.raises(errors.ParameterError, match=r"FixedWeights\(n_dishes=3\)"):
        hk.Franchise(Gj, words, root=hk.FixedWeights(3))


def test_root_weights_are_not_drawn():
    with pytest.raises(errors.ScheduleError, match="fixed"):
        hk.Scheduler([moves.TableGibbs(), moves.RootWeights()]).run(of_documents(), sweeps=1)


def test_concentrations_of_documents_are_resampled():
    corpus = hk.Corpus.from_documents(DOCUMENTS, n_terms=3)
    Gj = hk.Restaurant(
        hk.Restaurant(hk.DirichletMultinomial(0.5)), concentration=hk.Gamma(1, 1), each="document"
    )
    franchise = hk.Franchise(Gj, corpus, store="counts", root=hk.FixedWeights(3))
    trace = hk.Scheduler([moves.TableGibbs(), moves.Concentration()]).run(franchise, sweeps=20, rng=1)
    assert len(set(trace["concentration/document"].tolist())) > 10


# ---------------------------------------------------------------------- states that are kept


@pytest.mark.parametrize("store", ["explicit", "histogram", "counts"])
def test_a_run_is_saved_and_resumed(tmp_path, store):
    schedule = [moves.TableGibbs(), moves.DishGibbs()]
    whole = hk.Scheduler(schedule).run(of_documents(store), 6, rng=3, folder=tmp_path / "whole")
    hk.Scheduler(schedule).run(of_documents(store), 3, rng=3, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    run.resume(3)
    assert hk.open_run(tmp_path / "run").trace["log_joint"].tolist() == whole["log_joint"].tolist()


def test_chains_run_in_processes():
    trace = hk.Scheduler([moves.TableGibbs()]).run(of_documents(), sweeps=3, rng=3, chains=2)
    assert trace["n_dishes"].shape == (2, 3)


@pytest.mark.parametrize("other", ["explicit", "histogram", "counts"])
def test_states_go_from_store_to_store(other):
    franchise = _placed(of_documents("counts"))
    moves.TableGibbs().apply(franchise, RandomStream((5, 5)))
    there = of_documents(other)
    there.thaw(franchise.freeze(), RandomStream((5, 6)))
    there.audit()
    assert np.array_equal(there.dishes, franchise.dishes)
    weights, remainder = there.root_weights()
    assert weights.tolist() == [1 / 3] * there.n_dishes
    assert remainder == (3 - there.n_dishes) / 3
    twin = there.copy()
    moves.TableGibbs().apply(twin, RandomStream((5, 7)))
    twin.audit()


@pytest.mark.parametrize("keep", [None, "hyperparameters", "seating"])
def test_data_are_simulated(keep):
    franchise = _placed(of_documents("counts"))
    made = [franchise.simulate(seed, keep=keep) for seed in range(20)]
    for one in made:
        one.audit()
    assert {one.n_dishes for one in made} <= {1, 2, 3}
    assert keep == "seating" or max(one.n_dishes for one in made) == 3


def test_new_documents_are_folded_in():
    franchise = of_documents("histogram")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=20, rng=0)
    new = hk.Corpus.from_documents([[0, 1], [2]], n_terms=3)
    fold = franchise.fold_in(new, 20, rng=0)
    assert np.allclose(fold.proportions.sum(axis=1), 1.0)
    assert franchise.n_dishes < 3 or np.all(fold.proportions[:, -1] == 0.0)
