"""Counts by cell: which franchises use them, which operations keep them, and which distinguish customers."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.data.corpus import Cells
from hdpkit.franchise.topology import Topology
from hdpkit.random import Streams
from hdpkit.stores import CountsStore, KeepsCells

COUNTS = np.random.default_rng(5).poisson(np.random.default_rng(6).gamma(0.4, 12.0, size=(40, 15)))
COUNTS[7] = 0  # a document without a customer
SCHEDULE = [
    moves.CountGibbs(),
    moves.TableCounts(),
    moves.RootWeights(),
    moves.Concentration(),
    moves.BaseMeasureParameters(),
    moves.DrawTopics(),
    moves.DrawProportions(),
]


def franchise(corpus=None, store="counts", root="weights", kernel="auto"):
    base = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(2.0, 4.0)), concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base, each="document", concentration=hk.Gamma(1.0, 1.0))
    corpus = hk.Corpus.from_counts(COUNTS) if corpus is None else corpus
    return hk.Franchise(document, corpus, store=store, root=root, kernel=kernel)


def by_cell(fr):
    return isinstance(fr.store, KeepsCells)


def state(fr):
    weights, rest = fr.root_weights()
    return fr.dishes.tolist(), weights.tolist(), rest, fr.totals()[1].tolist(), fr.concentration("document")


@pytest.fixture
def no_tokens(monkeypatch):
    """Whatever makes an array of the customers fails."""

    def fail(self):
        raise AssertionError("an array as large as the customers are many")

    monkeypatch.setattr(Cells, "tokens", fail)
    monkeypatch.setattr(Topology, "home", property(fail))


@pytest.mark.parametrize(
    "init", ["one", hk.init.Random(8), hk.init.TermClusters(6), hk.init.Factors(6)], ids=str
)
def test_a_run_by_cell_makes_nothing_as_large_as_the_customers(init, no_tokens, tmp_path):
    fr = franchise()
    assert by_cell(fr)
    read = {"sum": lambda f: float(np.sum(f.drawn_topics()) + np.sum(f.drawn_proportions()))}
    trace = hk.Scheduler(SCHEDULE, threads=2).run(
        fr, sweeps=4, rng=1, init=init, record=read, audit_every=1, folder=tmp_path / "run"
    )
    assert by_cell(fr)
    assert trace["sum"] == pytest.approx(trace["n_dishes"] + 40)
    resumed = hk.open_run(tmp_path / "run").resume(4, record=read)
    assert len(resumed["n_dishes"]) == 8
    hk.Scheduler(SCHEDULE).run(fr, sweeps=1, rng=1, init=None)
    assert fr.dish_counts.sum() == COUNTS.sum()
    assert np.array_equal(fr.dish_counts.sum(axis=0), COUNTS.sum(axis=0))
    assert fr.dish_parameters().shape == fr.dish_counts.shape
    assert fr.memory_bytes() > 0


def test_a_resumed_run_is_the_unbroken_one(tmp_path):
    unbroken = franchise()
    hk.Scheduler(SCHEDULE).run(unbroken, sweeps=9, rng=1, init=hk.init.Random(8))
    hk.Scheduler(SCHEDULE).run(franchise(), sweeps=4, rng=1, init=hk.init.Random(8), folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    run.resume(5)
    assert state(run.franchise()) == state(unbroken)
    assert by_cell(run.franchise())
    again = franchise()
    again.thaw(unbroken.freeze())
    assert by_cell(again)
    assert state(again) == state(unbroken)
    again.audit()


def test_customers_are_told_apart_once_as_the_state_shows_them():
    fr = franchise()
    hk.Scheduler(SCHEDULE).run(fr, sweeps=3, rng=1, init=hk.init.Random(8))
    before, log_joint = state(fr), fr.log_joint()
    fr.expand_cells()
    assert type(fr.store) is CountsStore
    assert state(fr) == before
    assert fr.log_joint() == pytest.approx(log_joint, rel=1e-12)
    fr.audit()
    for move in (moves.TableGibbs(), moves.SliceGibbs(), moves.CountGibbs(), moves.DishGibbs()):
        move.apply(fr, Streams(1).source(1))
        fr.audit()
    assert type(fr.store) is CountsStore


@pytest.mark.parametrize(
    "use",
    [
        lambda fr: moves.TableGibbs().apply(fr, Streams(1).source(1)),
        lambda fr: moves.SliceGibbs().apply(fr, Streams(1).source(1)),
        lambda fr: moves.DishGibbs().apply(fr, Streams(1).source(1)),
        lambda fr: moves.SplitMerge().apply(fr, Streams(1).source(1)),
        lambda fr: fr.restaurant("document", 0).unseat(0, rng=1),
        lambda fr: fr.reseat(0, 5, Streams(1).source(1)),
    ],
)
def test_what_is_about_single_customers_tells_them_apart(use):
    fr = franchise()
    hk.Scheduler([moves.CountGibbs(), moves.RootWeights()]).run(fr, sweeps=2, rng=1, init="one")
    assert by_cell(fr)
    use(fr)
    assert not by_cell(fr)
    fr.audit()


def test_an_order_of_customers_is_no_order_of_dishes():
    """A cell's customers stand in a uniform order, which each sweep over cells draws anew."""
    fr = franchise(hk.Corpus.from_counts(np.full((1, 2), 3000)))
    hk.Scheduler([moves.CountGibbs(), moves.RootWeights()]).run(fr, sweeps=2, rng=1, init=hk.init.Random(2))
    for first in (0, 3000):
        dishes = fr.dishes[first : first + 3000]
        assert np.count_nonzero(np.diff(dishes)) > 500
        halves = [np.bincount(half, minlength=9) / 1500 for half in (dishes[:1500], dishes[1500:])]
        assert np.abs(halves[0] - halves[1]).max() < 0.1


def test_a_state_of_customers_makes_a_franchise_one_of_customers():
    fr = franchise()
    hk.Scheduler([moves.TableGibbs(), moves.RootWeights()]).run(fr, sweeps=2, rng=1, init="one")
    assert not by_cell(fr)
    other = franchise()
    other.thaw(fr.freeze())
    assert not by_cell(other)
    assert state(other) == state(fr)


def test_a_state_by_cell_goes_to_other_stores():
    fr = franchise()
    hk.Scheduler(SCHEDULE).run(fr, sweeps=2, rng=1, init="one")
    other = franchise(store="histogram", root="restaurant")
    other.thaw(fr.freeze(), Streams(1).source(1))
    other.audit()
    assert other.dishes.tolist() == fr.dishes.tolist()


@pytest.mark.parametrize(
    ("options", "corpus"),
    [
        ({"root": "restaurant"}, None),
        ({"store": "histogram"}, None),
        ({"kernel": "generic"}, None),
        ({"kernel": "reference"}, None),
        ({}, hk.Corpus.from_documents([[0, 1], [1]])),
    ],
)
def test_everything_else_tells_customers_apart_from_the_start(options, corpus):
    assert not by_cell(franchise(corpus, **options))


def test_runs_that_need_customers_do_not_depend_on_how_a_corpus_was_made():
    tokens = hk.Corpus.from_documents([np.repeat(np.arange(15), row) for row in COUNTS], n_terms=15)
    ends = []
    for corpus in (tokens, hk.Corpus.from_counts(COUNTS)):
        fr = franchise(corpus)
        hk.Scheduler([moves.TableGibbs(), moves.CountGibbs(), moves.RootWeights()]).run(fr, sweeps=3, rng=1)
        ends.append(state(fr))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("cell_runs", lambda a: a + 1),
        ("run_dish", lambda a: a[:-1]),
        ("run_dish", lambda a: np.full_like(a, 99)),
        ("run_count", lambda a: a + 1),
        ("run_count", lambda a: np.zeros_like(a)),
        ("cell_key", lambda a: a[:3]),
        ("count_customers", lambda a: a + 1),
    ],
)
def test_a_frozen_state_that_contradicts_itself_is_refused(key, change):
    fr = franchise()
    hk.Scheduler(SCHEDULE).run(fr, sweeps=2, rng=1, init=hk.init.Random(4))
    before, frozen = state(fr), fr.freeze()
    with pytest.raises(hk.errors.DataError):
        fr.thaw({**frozen, "seating": {**frozen["seating"], key: change(frozen["seating"][key])}})
    assert state(fr) == before
