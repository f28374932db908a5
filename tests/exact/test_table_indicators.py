"""Table indicators: counts under a root restaurant, by enumeration and compared with the other stores."""

import numpy as np
import pytest
from indicator_checks import (
    TWINS,
    check_formulas_of_indicators,
    check_leaving_counts,
    check_seats_drawn_from_discounted_counts,
    model_of,
)
from marginals import dirichlet_multinomial_log_marginal
from montecarlo import swept

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.stores import CountsReference
from hdpkit.stores.frozen import COMPILED, READABLE
from hdpkit.testing.cases import Corner, TinyShape, tiny_franchise
from hdpkit.testing.enumeration import n_dishes, n_tables
from hdpkit.testing.exact import ExactModel, check_exact, check_irreducible, step_matrices
from hdpkit.testing.states import pushforward, to_counts

MEASURE = hk.DirichletMultinomial(0.5, n_terms=3)
WITNESS = dirichlet_multinomial_log_marginal(0.5, 3)


@pytest.mark.parametrize("twin", TWINS)
def test_a_step_has_the_law_of_the_formulas(twin):
    check_formulas_of_indicators(twin)


@pytest.mark.parametrize("twin", TWINS)
def test_who_leaves_and_enters_leaves_the_posterior_alone(twin):
    check_leaving_counts(twin)


@pytest.mark.parametrize("draws", [COMPILED, READABLE], ids=["compiled", "readable"])
def test_seats_drawn_from_counts_have_their_law_with_discounts(draws):
    check_seats_drawn_from_discounted_counts(draws)


# A document whose only customer leaves, a franchise of one customer; theta below zero, 0 beside a discount.
EDGES = {
    "one customer": (TinyShape({"document": [0]}, 1), Corner(1.5, 0.7)),
    "one customer each": (TinyShape({"document": [0, 1, 2]}, 3), Corner(1.5, 0.7)),
    "one customer each, theta 0": (TinyShape({"document": [0, 1, 2]}, 3), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta 0": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(0.0, 0.0, 0.4, 0.5)),
    "theta below 0": (
        TinyShape({"author": [0, 0, 0], "document": [0, 0, 1]}, 3),
        Corner(-0.2, -0.1, 0.3, 0.6),
    ),
    "large discounts": (TinyShape({"document": [0, 0, 0, 1]}, 4), Corner(50.0, -0.8, 0.9, 0.95)),
    "four levels": (
        TinyShape({"country": [0, 0, 0], "author": [0, 0, 1], "document": [0, 1, 2]}, 3),
        Corner(0.8, 0.4, 0.3, 0.6),
    ),
}


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("edge", EDGES)
def test_edges(edge, twin):
    shape, corner = EDGES[edge]
    model = model_of(shape, corner, twin)
    whole = check_exact(model, moves.TableGibbs())
    check_irreducible(model, whole, "a sweep of table Gibbs")


@pytest.mark.parametrize("shape", ["3+2", "2+1 with one at the root", "three levels"])
@pytest.mark.parametrize("corner", ["middle", "discounts"])
def test_the_law_is_that_of_the_other_stores(shape, corner):
    # K, numbers of tables and who shares a dish: a sweep's law has them as labelled seatings do.
    model = ExactModel(tiny_franchise(shape, MEASURE, store="counts", corner=corner), WITNESS)
    labelled = model.posterior_of_seatings
    whole = np.linalg.multi_dot([np.linalg.multi_dot(list(step_matrices(model, moves.TableGibbs())))] * 2)
    reached = np.linalg.matrix_power(whole, 2000)[0]
    assert np.abs(reached - model.pi).max() <= 1e-10
    first = model.states.index(to_counts(next(iter(labelled)), model.shape))
    model.enter(first)
    n = model.franchise.topology.n_customers
    for statistic in (
        n_dishes,
        lambda key: n_tables(key, model.shape),
        lambda key: tuple(key[i][-1] == key[j][-1] for i in range(n) for j in range(i)),
    ):
        expected, found = pushforward(labelled, statistic), {}
        of_state = {to_counts(key, model.shape): statistic(key) for key in labelled}
        for state, p in zip(model.states, reached, strict=True):
            found[of_state[state]] = found.get(of_state[state], 0.0) + p
        assert found.keys() == expected.keys()
        assert all(abs(found[value] - p) <= 1e-10 for value, p in expected.items())


def documents(root="restaurant", store="counts", **options):
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3)
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.5)
    restaurant = hk.Restaurant(restaurant, each="document", concentration=0.7, **options)
    return hk.Franchise(restaurant, corpus, store=store, root=root)


@pytest.mark.parametrize("schedule", [[moves.TableGibbs()], [moves.TableGibbs(), moves.DishGibbs()]])
def test_the_number_of_dishes_has_its_posterior(schedule):
    expected = np.array([0.03815, 0.31058, 0.43317, 0.18609, 0.03011])
    franchise, found = documents(), np.zeros(8)
    for state in swept(schedule, franchise, 6000, 11):
        found[state.n_dishes] += 1
    assert 0.5 * np.abs(found[1:6] / 6000 - expected).sum() < 0.05


def test_the_default_root_is_a_restaurant():
    restaurant, data = documents().declarations[-1], documents().data
    franchise = hk.Franchise(restaurant, data, store="counts")
    assert franchise.root.declared == "restaurant"
    assert franchise.kernel("reseat") == "generic"
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=5, rng=0)
    assert np.all(np.isfinite(trace["log_joint"]))


def larger(store="counts", levels=3, kernel="auto"):
    rng = np.random.default_rng(5)
    documents = [rng.integers(0, 12, rng.integers(0, 40)).tolist() for _ in range(18)]
    groups = {"author": [i // 3 for i in range(18)]}
    corpus = hk.Corpus.from_documents(documents, n_terms=12, groups=groups)
    prior = hk.Gamma(2.0, 1.0)
    restaurant = hk.Restaurant(
        hk.DirichletMultinomial(hk.Gamma(1.0, 2.0)), concentration=prior, discount=hk.Beta(1, 2)
    )
    for label in ("author", "document")[3 - levels :]:
        restaurant = hk.Restaurant(restaurant, each=label, concentration=prior, discount=hk.Beta(1, 2))
    return hk.Franchise(restaurant, corpus, store=store, kernel=kernel)


EVERYTHING = [
    moves.TableGibbs(),
    moves.DishGibbs(),
    moves.SplitMerge(),
    moves.Concentration(),
    moves.Discount(),
    moves.BaseMeasureParameters(),
]


@pytest.mark.parametrize("kernel", ["auto", "generic", "reference"])
@pytest.mark.parametrize("levels", [2, 3])
def test_a_franchise_goes_through_everything(levels, kernel):
    franchise = larger(levels=levels, kernel=kernel)
    for init in ("one", "sequential", hk.init.Random(4)):
        start(franchise, init, Streams(3).source(STARTS))
        franchise.audit()
    hk.Scheduler(EVERYTHING).run(franchise, sweeps=2 if kernel == "reference" else 8, rng=0)
    franchise.audit()
    assert np.isfinite(franchise.log_joint())
    franchise.simulate(5).audit()
    franchise.simulate(5, keep="seating").audit()
    view = franchise.restaurant("document", 1)
    if len(view.customers):
        view.unseat(view.customers[0], rng=1)
        franchise.audit()
        view.seat(view.customers[0], rng=1)
    franchise.audit()


@pytest.mark.parametrize("other", ["histogram", "explicit", "counts-reference"])
def test_states_go_from_store_to_store(other):
    franchise, there = larger(), larger(other)
    hk.Scheduler(EVERYTHING).run(franchise, sweeps=3, rng=0)
    frozen = franchise.freeze()
    if other != "counts-reference":
        with pytest.raises(errors.StateError, match="source"):
            there.thaw(frozen)
    there.thaw(frozen, RandomStream((5, 6)))
    there.audit()
    assert np.array_equal(there.dishes, franchise.dishes)
    assert there.n_tables == franchise.n_tables
    franchise.thaw(there.freeze())
    again = franchise.freeze()
    assert all(np.array_equal(again["seating"][name], a) for name, a in frozen["seating"].items())


def test_a_run_is_saved_and_resumed(tmp_path):
    whole = hk.Scheduler(EVERYTHING).run(larger(), 6, rng=3, folder=tmp_path / "whole")
    hk.Scheduler(EVERYTHING).run(larger(), 3, rng=3, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    run.resume(3)
    assert hk.open_run(tmp_path / "run").trace["log_joint"].tolist() == whole["log_joint"].tolist()
    assert type(run.franchise().store).__name__ == "CountsStore"


def test_the_chain_does_not_depend_on_how_large_the_ratios_have_grown():
    # A franchise that has seen larger counts has a larger table of ratios.
    ends = []
    for init in ("one", "sequential"):
        franchise = larger(levels=2)
        hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=1, init=init)
        frozen = larger(levels=2)
        hk.Scheduler([moves.TableGibbs()]).run(frozen, sweeps=1, rng=9, init="sequential")
        franchise.thaw(frozen.freeze())
        franchise.reseat(0, franchise.topology.n_customers, RandomStream((7, 7)))
        ends.append(franchise.freeze()["seating"])
    assert all(np.array_equal(ends[0][name], array) for name, array in ends[1].items())


def test_discounts_of_ones_own_are_refused():
    for store in ("counts", CountsReference):
        with pytest.raises(errors.DeclarationError, match="Each"):
            documents(store=store, discount=hk.Each(hk.Beta(1, 1)))
    documents(store="histogram", discount=hk.Each(hk.Beta(1, 1)))


def test_a_sweep_that_runs_in_pieces_is_one():
    pieces, whole = larger(), larger()
    for franchise in (pieces, whole):
        start(franchise, "one", Streams(3).source(STARTS))
    n, sources = whole.topology.n_customers, [RandomStream((1, 1)), RandomStream((1, 1))]
    whole.reseat(0, n, sources[0])
    for i in range(0, n, 7):
        pieces.reseat(i, min(i + 7, n), sources[1])
    assert all(
        np.array_equal(array, pieces.freeze()["seating"][name])
        for name, array in whole.freeze()["seating"].items()
    )


def test_the_ratios_are_counted_in_memory():
    franchise = larger(levels=2)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=1)
    parts = franchise.memory_parts()
    assert parts["ratios"] > 8
    assert franchise.memory_bytes() == sum(parts.values())
