"""Franchises and declarations: names, shapes, numbers and errors."""

import gc
import threading
import weakref

import numpy as np
import pytest
from states import same_state

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import DirichletMultinomial, DirichletMultinomialReference
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.stores import Detail, at_least
from hdpkit.testing.cases import stores_and_kernels

MEASURE = DirichletMultinomial(0.5, n_terms=3)
STORES_AND_KERNELS = list(stores_and_kernels(MEASURE))


def corpus(**more):
    return hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2]], n_terms=3, **more)


def two_levels(eta=0.5, **more):
    root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=hk.Gamma(2.0, 4.0))
    return hk.Restaurant(root, concentration=0.7, each="document", **more)


def started(restaurant, data, init="sequential", **more):
    franchise = hk.Franchise(restaurant, data, **more)
    start(franchise, init, Streams(1).source(STARTS))
    franchise.audit()
    return franchise


def stirred(franchise, sweeps=3):
    source = RandomStream((9, 9))
    for _ in range(sweeps):
        moves.TableGibbs().apply(franchise, source)
    return franchise


def typed(error):
    """All four facts are there."""
    assert isinstance(error, errors.HdpkitError)
    assert isinstance(error.parameter, str)
    assert error.parameter
    assert isinstance(error.allowed, str)
    assert error.allowed
    assert isinstance(error.remedy, str)
    assert error.parameter in str(error)
    return True


def test_each_gives_every_restaurant_its_own():
    root = hk.Restaurant(hk.DirichletMultinomial(0.5))
    lower = hk.Restaurant(root, concentration=hk.Each(hk.Gamma(3.0, 1.0)), each="document")
    franchise = started(lower, corpus())
    assert franchise.concentration("document").tolist() == [3.0, 3.0, 3.0]
    trace = hk.Scheduler([moves.Concentration()]).run(franchise, sweeps=4, rng=0, init=None)
    assert trace["concentration/document"].shape == (4, 3)
    assert len(set(trace["concentration/document"][-1])) == 3
    assert trace["concentration/root"].shape == (4,)
    theta = franchise.concentration("document")
    assert franchise.restaurant("document", 1).concentration == theta[1]
    theta[:] = 0.0  # a copy
    assert franchise.concentration("document")[0] > 0.0
    assert franchise.log_prior() == pytest.approx(
        sum(hk.Gamma(3.0, 1.0).log_density(value) for value in franchise.concentration("document"))
    )


def test_an_inner_label_must_be_a_function_of_the_outer():
    data = hk.Groups.from_labels([0, 1, 2, 0], {"author": ["a", "a", "b", "b"], "document": [0, 0, 1, 0]})
    authors = hk.Restaurant(hk.Restaurant(MEASURE), each="author")
    with pytest.raises(errors.DataError) as caught:
        hk.Franchise(hk.Restaurant(authors, each="document"), data)
    assert "document 0" in str(caught.value)
    assert typed(caught.value)


def test_a_missing_inner_label_seats_at_the_deepest_restaurant():
    data = hk.Groups.from_labels(
        [0, 1, 2, 0, 1],
        {"author": ["a", "a", None, None, "b"], "document": [0, None, 1, None, 2]},
    )
    authors = hk.Restaurant(hk.Restaurant(MEASURE), each="author")
    franchise = started(hk.Restaurant(authors, each="document"), data)
    assert franchise.restaurant("document", 0).customers.tolist() == [0]
    assert franchise.restaurant("author", "a").customers.tolist() == [1]
    assert franchise.restaurant("document", 1).customers.tolist() == [2]
    assert franchise.restaurant("root").customers.tolist() == [3]
    # A document without an author hangs on the root.
    t = franchise.topology
    assert t.parent[franchise.restaurant("document", 1).node] == 0
    assert t.parent[franchise.restaurant("document", 0).node] == franchise.restaurant("author", "a").node
    stirred(franchise).audit()


def test_empty_documents_are_legal():
    data = hk.Corpus.from_documents([[], [0, 1], [], [1]], n_terms=2, names=["a", "b", "c", "d"])
    franchise = stirred(started(two_levels(), data))
    keys = franchise.keys("document")
    assert len(keys) == 4
    view = franchise.restaurant("document", keys[0])
    assert (view.n_customers, view.n_tables, view.customers.tolist()) == (0, 0, [])
    assert view.table_sizes().tolist() == []
    # An empty restaurant passes its parent's row through.
    assert np.array_equal(franchise.group_weights("document")[0], franchise.group_weights("root")[0])
    trace = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]).run(
        franchise, sweeps=3, rng=0, audit_every=1
    )
    assert np.isfinite(trace["log_joint"]).all()


def test_weights_by_hand():
    franchise = started(two_levels(), corpus(), init=[0, 0, 1, 1, 1, 0, 0], store="explicit")
    root, theta = franchise.restaurant("root"), franchise.concentration("root")
    weights, remainder = franchise.root_weights()
    m = np.array([root.customers_of(k) for k in range(2)])
    assert np.allclose(weights, m / (theta + m.sum()))
    assert remainder == pytest.approx(theta / (theta + m.sum()))
    rows = franchise.group_weights("document")
    assert rows.shape == (3, 3)
    for j, view in enumerate(franchise.restaurant("document", key) for key in franchise.keys("document")):
        c = np.array([view.customers_of(k) for k in range(2)] + [0])
        by_hand = (c + 0.7 * np.append(weights, remainder)) / (view.n_customers + 0.7)
        assert np.allclose(rows[j], by_hand)
        assert np.allclose(view.probabilities(), by_hand)
        assert view.probability() == pytest.approx(by_hand[-1])
        assert view.probability(1) == pytest.approx(by_hand[1])
    assert np.allclose(rows.sum(axis=1), 1.0)


class InAnotherThread(moves.Move):
    """Uses the franchise from another thread while it is in use."""

    def __init__(self, use):
        self.use = use
        self.caught = []

    def apply(self, state, rng, steps=None):
        def run():
            try:
                self.use(state)
            except BaseException as error:
                self.caught.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        return moves.MoveInfo(1, 1)


@pytest.mark.parametrize(
    "use",
    [
        lambda f: f.audit(),
        lambda f: f.reseat(0, 7, RandomStream((1, 1))),
        lambda f: f.copy(),
        lambda f: f.settle(),
        lambda f: f.restaurant("document", 0).unseat(0, 1),
        lambda f: hk.Scheduler([moves.TableGibbs()]).run(f, sweeps=1, rng=1),
        lambda f: hk.Scheduler([moves.TableGibbs()]).run(f, sweeps=1, rng=1, init=None),
    ],
    ids=["audit", "reseat", "copy", "compact", "unseat", "run", "go on"],
)
def test_a_second_thread_is_busy(use):
    franchise = started(two_levels(), corpus())
    move = InAnotherThread(use)
    trace = hk.Scheduler([moves.TableGibbs(), move]).run(franchise, sweeps=2, rng=0, audit_every=1)
    assert [type(error) for error in move.caught] == [errors.BusyError, errors.BusyError]
    assert typed(move.caught[0])
    assert trace.seed == 0
    franchise.audit()
    again = started(two_levels(), corpus())
    hk.Scheduler([moves.TableGibbs(), InAnotherThread(lambda f: None)]).run(again, sweeps=2, rng=0)
    assert np.array_equal(again.dishes, franchise.dishes)


class Tripped(Exception):
    pass


class Fragile(DirichletMultinomialReference):
    """Raises, or answers NaN, at the n-th call of a method."""

    def trip(self, method, calls, nan=False):
        object.__setattr__(self, "_trip", [method, calls, nan])

    def _call(self, method):
        trip = getattr(self, "_trip", None)
        if trip is None or trip[0] != method:
            return False
        trip[1] -= 1
        if trip[1] == 0:
            if not trip[2]:
                raise Tripped
            return True
        return False

    def make(self):
        self._call("make")
        return super().make()

    def add(self, statistics, value):
        self._call("add")
        super().add(statistics, value)

    def remove(self, statistics, value):
        self._call("remove")
        super().remove(statistics, value)

    def log_predictive(self, value, many):
        nan = self._call("log_predictive")
        logs = super().log_predictive(value, many)
        return logs * np.nan if nan else logs

    def log_block(self, values, many):
        nan = self._call("log_block")
        logs = super().log_block(values, many)
        return logs * np.nan if nan else logs


def outcome(act):
    """The error that an act ends with, if any."""
    try:
        act()
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
@pytest.mark.parametrize(
    ("method", "nan"),
    [
        ("log_predictive", False),
        ("log_predictive", True),
        ("log_block", False),
        ("log_block", True),
        ("make", False),
        ("add", False),
        ("remove", False),
    ],
)
def test_a_failing_measure_leaves_the_franchise_whole(store, method, nan):
    root = hk.Restaurant(Fragile(0.5, n_terms=3), concentration=4.0)
    lower = hk.Restaurant(root, concentration=2.0, each="document")
    block_moves = method in ("log_predictive", "log_block")
    used = [moves.TableGibbs()]
    if block_moves:
        used += [
            moves.DishGibbs(),
            moves.SplitMerge(),
            moves.SplitMerge(scans=1),
            moves.ReseatGroups(scans=0),
        ]
    scheduler = hk.Scheduler(used)
    failed = 0
    for calls in range(1, 25):
        franchise = started(lower, corpus(), store=store)
        franchise.measure.trip(method, calls, nan)
        caught = outcome(lambda f=franchise, n=calls: scheduler.run(f, sweeps=2, rng=n, init=None))
        if caught is not None:
            assert typed(caught) if nan else type(caught) is Tripped
            assert not nan or isinstance(caught, errors.StateError)
            failed += 1
        franchise.measure.trip(None, 0)
        franchise.audit()
        assert (franchise.dishes >= 0).all()
        scheduler.run(franchise, sweeps=1, rng=0, init=None, audit_every=1)
    assert failed >= 3


@pytest.mark.parametrize("store", at_least(Detail.SIZES))
@pytest.mark.parametrize("init", ["sequential", "one", [0, 1, 2, 0, 1, 2, 0]])
def test_a_start_that_fails_leaves_everybody_unseated(store, init):
    lower = hk.Restaurant(hk.Restaurant(Fragile(0.5, n_terms=3)), each="document")
    for calls in range(1, 7):
        franchise = hk.Franchise(lower, corpus(), store=store)
        franchise.measure.trip("add", calls)
        with pytest.raises(Tripped):
            start(franchise, init, Streams(0).source(STARTS))
        franchise.audit()
        assert (franchise.dishes == -1).all()
        assert franchise.n_dishes == 0


@pytest.mark.parametrize(("store", "kernel"), STORES_AND_KERNELS)
def test_weights_that_cannot_be_drawn_from(store, kernel):
    franchise = started(two_levels(), corpus(), store=store, kernel=kernel)
    for step in (
        lambda: franchise.reseat(2, 7, RandomStream((1, 1))),
        lambda: moves.DishGibbs().apply(franchise, RandomStream((1, 1))),
    ):
        before = franchise.freeze()
        with pytest.raises(errors.StateError) as caught, franchise.transaction():  # noqa: PT012
            franchise.hyperparameters.theta[:] = np.nan  # a broken move
            step()
        assert typed(caught.value)
        assert same_state(franchise.freeze(), before)
        franchise.audit()
        stirred(franchise).audit()


def test_a_franchise_is_released_without_a_collection_after_sweeps_over_documents():
    gc.disable()
    try:
        made = hk.Franchise(two_levels(), corpus(), store="counts", root="weights")
        hk.Scheduler([moves.SliceGibbs(), moves.RootWeights()]).run(made, 2, rng=0)
        there = weakref.ref(made)
        del made
        assert there() is None
    finally:
        gc.enable()
