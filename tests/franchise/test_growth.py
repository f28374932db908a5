"""Restaurants of contexts: created as contexts appear, freed when they become empty."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from remembered import Remembered

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.freezing import Snapshot
from hdpkit.franchise.starts import start
from hdpkit.franchise.steps import Steps
from hdpkit.franchise.topology import ContextTopology
from hdpkit.random import STARTS, ScriptedSource, Streams
from hdpkit.stores import Detail, at_least
from hdpkit.testing import ExactModel, check_exact
from hdpkit.testing.measure_contract import atomic_log_marginal

TINY = [["a", "b", "a"], ["a", "b"]]


def chain(order, theta=0.5, d=0.6, base=None):
    restaurant = hk.Restaurant(base or hk.Uniform(), concentration=1.0, discount=0.3)
    for level in range(1, order):
        restaurant = hk.Restaurant(restaurant, each=f"context {level}", concentration=theta, discount=d)
    return restaurant


def ngrams(sentences=TINY, order=3, **options):
    return hk.NGrams.from_sentences(sentences, order=order, **options)


def franchise_over(data, store="histogram", **options):
    franchise = hk.Franchise(chain(data.order, **options), data, store=store)
    start(franchise, "sequential", Streams(0).source(STARTS))
    return franchise


def text(seed, n, n_words=6, longest=7):
    generator = np.random.default_rng(seed)
    return [generator.integers(0, n_words, size=generator.integers(0, longest)).tolist() for _ in range(n)]


def same_tree(franchise):
    """The tree is that of its data, whatever came and went before."""
    fresh = ContextTopology(franchise.topology.n_levels, franchise.data)
    for name in ("parent", "level", "home"):
        assert np.array_equal(getattr(franchise.topology, name), getattr(fresh, name))
    for level in range(franchise.topology.n_levels):
        assert franchise.topology.keys_of(level) == fresh.keys_of(level)


@pytest.mark.parametrize("order", [1, 2, 3, 5, 12])
def test_restaurants_are_the_suffixes_that_occur(order):
    sentences = text(1, 30)
    data = ngrams(sentences, order)
    topology = hk.Franchise(chain(order), data).topology
    expected = {()}
    for sentence in sentences:
        padded = ["<s>", *sentence, "</s>"]
        for i in range(1, len(padded)):
            expected |= {tuple(padded[j:i]) for j in range(max(0, i - order + 1), i + 1)}
    found = [key for level in range(1, order) for key in topology.keys_of(level)]
    assert len(found) == len(set(found)) == topology.n_nodes - 1
    assert set(found) | {()} == expected
    assert (topology.parent[1:] < np.arange(1, topology.n_nodes)).all()


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("sentences", [[["a", "a", "a"]], [["a", "b", "a"], ["a"]]], ids=["aaa", "aba, a"])
def test_moves_over_trees_are_exact(store, order, sentences):
    data = ngrams(sentences, order)
    franchise = franchise_over(data, store)
    witness = atomic_log_marginal([1.0 / data.n_terms] * data.n_terms)
    model = ExactModel(franchise, witness)
    check_exact(model, moves.TableGibbs())
    if order > 1:
        check_exact(model, moves.DishGibbs())


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
def test_moves_are_exact_after_growth(store):
    franchise = franchise_over(ngrams([["a", "a"], ["b"]], 3), store)
    franchise.extend(franchise.data.plus([["a"]]), rng=1)
    franchise.discard(1, 2, rng=2)
    check_exact(ExactModel(franchise), moves.TableGibbs())
    fresh = ExactModel(franchise_over(ngrams([["a", "a"], ["a"]], 3, vocabulary=["a", "</s>", "b"]), store))
    law = dict(zip(fresh.states, fresh.pi, strict=True))
    grown = ExactModel(franchise)
    assert all(abs(law[state] - p) < 1e-12 for state, p in zip(grown.states, grown.pi, strict=True))


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
def test_new_customers_enter_by_their_predictive(store):
    data = ngrams([["a", "a"]], 2, end=None)
    law, source = {}, ScriptedSource()
    while True:
        franchise = franchise_over(data, store)
        before = franchise.n_tables
        view = franchise.restaurant("context 1", ("<s>",))
        share = 1.0 - view.discount
        fresh = (view.concentration + view.discount) * franchise.walk().probability(0, 0)
        franchise.extend(data.plus([["a"]]), rng=source)
        opened = franchise.n_tables - before
        law[opened] = law.get(opened, 0.0) + source.probability
        if not source.advance():
            break
    assert law == pytest.approx({0: share / (share + fresh), 1: fresh / (share + fresh)}, abs=1e-12)


BASES = {
    "observed": None,
    "words": hk.DirichletMultinomial(hk.Gamma(1.0, 1.0)),
    "parameters of their own": hk.NonConjugate(
        lambda value, mean: -0.5 * (value - mean) ** 2, lambda generator: float(generator.normal()),
        examples=(0.0, 1.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
@pytest.mark.parametrize("base", BASES)
@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1))
def test_sentences_come_and_go(store, base, seed):
    generator = np.random.default_rng(seed)
    order = int(generator.integers(1, 5))
    franchise = franchise_over(ngrams(text(seed, 5), order), store, base=BASES[base])
    gibbs = moves.TableGibbs()
    for step in range(6):
        n, dishes = franchise.data.n_sentences, franchise.dishes
        if generator.random() < 0.5 or n < 2:
            franchise.extend(franchise.data.plus(text(seed + step, 3, n_words=8)), rng=step)
            if base != "observed":
                assert np.array_equal(franchise.dishes[: len(dishes)], dishes)
        else:
            first, last = sorted(generator.integers(0, n, size=2).tolist())
            franchise.discard(first, last, rng=step)
        franchise.audit()
        same_tree(franchise)
        hk.Scheduler([gibbs]).run(franchise, sweeps=1, rng=step, init=None)
        franchise.audit()


def test_hyperparameters_of_new_restaurants():
    root = hk.Restaurant(hk.Uniform(), concentration=hk.Gamma(2.0, 1.0))
    each = hk.Restaurant(root, each="context 1", concentration=hk.Each(hk.Gamma(3.0, 1.0)), discount=0.5)
    franchise = hk.Franchise(
        hk.Restaurant(each, each="context 2", concentration=hk.Gamma(5.0, 1.0)), ngrams([["a", "b"]], 3)
    )
    start(franchise, "sequential", Streams(0).source(STARTS))
    n = len(franchise.keys("context 1"))
    franchise.set_concentration("context 1", np.arange(1.0, n + 1.0))
    franchise.set_concentration("context 2", 7.0)
    franchise.extend(franchise.data.plus([["c", "b"]]), rng=1)
    assert franchise.concentration("context 1").tolist() == [*np.arange(1.0, n + 1.0), 3.0]
    assert franchise.concentration("context 2") == 7.0
    franchise.discard(0, 1, rng=1)
    assert dict(zip(franchise.keys("context 1"), franchise.concentration("context 1"), strict=True)) == {
        ("<s>",): 1.0, ("b",): 3.0, ("c",): 3.0
    }  # fmt: skip


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
@pytest.mark.parametrize("latent", [False, True])
def test_snapshots_stay_while_the_franchise_goes_on(store, latent):
    data = ngrams(text(7, 15), 3)
    base = hk.DirichletMultinomial(0.5) if latent else None
    franchise = franchise_over(data, store, base=base)
    rows = np.array([franchise.walk().prior_row(node) for node in range(franchise.topology.n_nodes)])
    snapshot = franchise.snapshot()
    again = Snapshot(franchise, snapshot.arrays())
    with pytest.raises(ValueError, match="other restaurants"):
        Snapshot(franchise, {**snapshot.arrays(), "discount": np.zeros(1)})
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=1, init=None)
    franchise.set_concentration("root", 9.0)
    for node, row in enumerate(rows):
        assert snapshot.row(node) == pytest.approx(row, abs=1e-14)
    nodes = np.arange(len(rows), dtype=np.int32)
    if not latent:
        franchise.extend(data.plus([[1, 1]]), rng=1)
        above = np.full(len(nodes), 1.0 / data.n_terms)
        for kept in (snapshot, again):
            found = kept.probabilities(nodes, np.ones(len(nodes), np.int32), above)
            assert found == pytest.approx(rows[:, 1], abs=1e-14)
        unseen = snapshot.probabilities(nodes, np.full(len(nodes), 10**6, np.int32), above)
        assert (unseen > 0).all()
    assert snapshot.memory_bytes() > 0


@pytest.mark.parametrize("root", ["restaurant", "weights"])
@pytest.mark.parametrize("store", ["explicit", "histogram", "histogram-reference"])
def test_parts_go_along_with_data_that_come_and_go(store, root):
    declared = chain(2, base=hk.DirichletMultinomial(0.5))
    franchise = hk.Franchise(declared, ngrams(text(1, 30), 2), store=store, root=root)
    part = Remembered()
    franchise.register("numbers", part)
    schedule = [moves.TableGibbs(), *([moves.RootWeights()] if root == "weights" else [])]
    hk.Scheduler(schedule).run(franchise, sweeps=3, rng=1)
    before, dishes = dict(part.of), franchise.dishes
    remainder = franchise.root_weights()[1]
    franchise.extend(franchise.data.plus(text(2, 20)), rng=2)
    franchise.audit()
    assert before.items() <= part.of.items()  # dishes that were there have kept their numbers
    assert np.array_equal(franchise.dishes[: len(dishes)], dishes)
    if root == "weights":
        assert franchise.root_weights()[1] <= remainder  # births alone take from it
    now = set(part.of.values())
    franchise.discard(0, 25, rng=3)
    franchise.audit()
    assert set(part.of.values()) <= now
    assert len(part.of) == franchise.n_dishes
    hk.Scheduler(schedule).run(franchise, sweeps=2, rng=4, init=None)
    franchise.audit()


@pytest.mark.parametrize("root", ["restaurant", "weights"])
def test_parts_come_back_where_an_extension_fails(monkeypatch, root):
    declared = chain(2, base=hk.DirichletMultinomial(0.5))
    franchise = hk.Franchise(declared, ngrams(text(1, 30), 2), root=root)
    part = Remembered()
    franchise.register("numbers", part)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=3, rng=1)
    before, weights = dict(part.of), franchise.root_weights()
    enter = Steps.enter

    def fails(self, first, last, source):
        enter(self, first, last - 1, source)
        raise ValueError("no more")

    monkeypatch.setattr(Steps, "enter", fails)
    with pytest.raises(ValueError, match="no more"):
        franchise.extend(franchise.data.plus(text(2, 20)), rng=2)
    assert part.of == before
    assert np.array_equal(franchise.root_weights()[0], weights[0])
    franchise.audit()


@pytest.mark.parametrize("method", ["auto", "slice"])
def test_levels_without_restaurants_keep_their_starting_values(method):
    restaurant = hk.Restaurant(hk.Uniform(), concentration=hk.Gamma(2.0, 1.0), discount=hk.Beta(1.0, 1.0))
    for level in (1, 2, 3):
        restaurant = hk.Restaurant(
            restaurant, each=f"context {level}", concentration=hk.Gamma(2.0, 1.0), discount=hk.Beta(1.0, 3.0)
        )
    franchise = hk.Franchise(restaurant, ngrams([["a"], []], 4))
    schedule = [moves.TableGibbs(), moves.Discount(method), moves.Concentration(method)]
    trace = hk.Scheduler(schedule).run(franchise, sweeps=5, rng=1)
    assert set(trace["discount/context 3"]) == {0.25}
    assert set(trace["concentration/context 3"]) == {2.0}
    assert len(set(trace["discount/context 1"])) == 5
