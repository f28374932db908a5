"""Counts by cell with levels above the documents: runs, what is kept, and what tells customers apart."""

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
TYPES = [None, *(f"t{i // 8}" for i in range(1, 40))]
ORGANS = [None, *("xy"[i // 24] for i in range(1, 40))]
SCHEDULE = [
    moves.CountGibbs(),
    moves.RootWeights(),
    moves.Concentration(),
    moves.BaseMeasureParameters(),
    moves.DrawTopics(),
    moves.DrawProportions(),
]
KNOWN = hk.Known(np.random.default_rng(7).dirichlet(np.ones(15), size=2), counts=50, frozen=[True, False])


def franchise(labels=("type",), corpus=None, store="counts", root="weights", **options):
    one = hk.Gamma(1.0, 1.0)
    fixed = isinstance(root, hk.FixedWeights)
    above = hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(2.0, 4.0)), concentration=1.0 if fixed else one)
    for label in labels:
        above = hk.Restaurant(above, each=label, concentration=one)
    document = hk.Restaurant(above, each="document", concentration=one)
    groups = {"type": TYPES, "organ": ORGANS}
    corpus = hk.Corpus.from_counts(COUNTS, groups=groups) if corpus is None else corpus
    return hk.Franchise(document, corpus, store=store, root=root, **options)


def by_cell(fr):
    return isinstance(fr.store, KeepsCells)


def state(fr):
    weights, rest = fr.root_weights()
    return fr.dishes.tolist(), weights.tolist(), rest, fr.totals()[1].tolist(), fr.concentration("document")


def tokens():
    """The same documents as tokens."""
    documents = [np.repeat(np.arange(15), row) for row in COUNTS]
    return hk.Corpus.from_documents(documents, n_terms=15, groups={"type": TYPES, "organ": ORGANS})


@pytest.mark.parametrize("labels", [("type",), ("organ", "type")])
def test_restaurants_are_those_of_the_tokens(labels):
    cells, customers = franchise(labels), franchise(labels, tokens())
    assert by_cell(cells)
    assert not by_cell(customers)
    for name in ("parent", "level", "declaration", "home", "first"):
        assert np.array_equal(getattr(cells.topology, name), getattr(customers.topology, name))
    assert np.array_equal(cells.topology.sizes(), customers.topology.sizes())


def test_labels_that_cross_are_refused():
    corpus = hk.Corpus.from_counts(COUNTS, groups={"type": ["a", "b"] * 20, "organ": ["x"] * 20 + ["y"] * 20})
    with pytest.raises(hk.errors.DataError, match="label with pairs"):
        franchise(("organ", "type"), corpus)


@pytest.mark.parametrize(
    "init", ["one", hk.init.Random(8), hk.init.TermClusters(6), hk.init.Factors(6)], ids=str
)
def test_a_run_makes_nothing_as_large_as_the_customers(init, monkeypatch, tmp_path):
    def fail(self):
        raise AssertionError("an array as large as the customers are many")

    monkeypatch.setattr(Cells, "tokens", fail)
    monkeypatch.setattr(Topology, "home", property(fail))
    fr = franchise(("organ", "type"))
    read = {"sum": lambda f: float(np.sum(f.drawn_topics()) + np.sum(f.drawn_proportions()))}
    trace = hk.Scheduler(SCHEDULE, threads=2).run(
        fr, sweeps=4, rng=1, init=init, record=read, audit_every=1, folder=tmp_path / "run"
    )
    assert by_cell(fr)
    assert trace["sum"] == pytest.approx(trace["n_dishes"] + fr.topology.n_nodes - 1)
    assert len(hk.open_run(tmp_path / "run").resume(4, record=read)["n_dishes"]) == 8
    assert np.array_equal(fr.dish_counts.sum(axis=0), COUNTS.sum(axis=0))


def test_a_resumed_run_is_the_unbroken_one(tmp_path):
    unbroken = franchise(("organ", "type"))
    hk.Scheduler(SCHEDULE).run(unbroken, sweeps=9, rng=1, init=hk.init.Random(8))
    begun = franchise(("organ", "type"))
    hk.Scheduler(SCHEDULE).run(begun, sweeps=4, rng=1, init=hk.init.Random(8), folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    run.resume(5)
    assert state(run.franchise()) == state(unbroken)
    again = franchise(("organ", "type"))
    again.thaw(unbroken.freeze())
    assert by_cell(again)
    assert state(again) == state(unbroken)
    again.audit()


@pytest.mark.parametrize("move", [moves.CountGibbs, moves.SliceGibbs])
def test_a_chain_does_not_depend_on_threads(move):
    ends = []
    for threads in (1, 2, 5):
        fr = franchise(("organ", "type"))
        schedule = hk.Scheduler([move(), moves.RootWeights(), moves.Concentration()], threads=threads)
        schedule.run(fr, sweeps=6, rng=3, init=hk.init.Random(20), audit_every=1)
        ends.append(state(fr))
    assert ends[1:] == ends[:-1]


@pytest.mark.parametrize("root", ["weights", hk.FixedWeights(6)], ids=str)
@pytest.mark.parametrize("known", [None, KNOWN], ids=["unknown", "known"])
def test_a_franchise_goes_through_everything(root, known):
    fr = franchise(root=root, known=known)
    more = [moves.RootWeights()] if root == "weights" else []
    hk.Scheduler([moves.CountGibbs(), *more]).run(fr, sweeps=3, rng=1, audit_every=1)
    assert by_cell(fr)
    before, log_joint = fr.dishes.tolist(), fr.log_joint()
    fr.expand_cells()
    assert type(fr.store) is CountsStore
    assert fr.dishes.tolist() == before
    assert fr.log_joint() == pytest.approx(log_joint, rel=1e-12)
    for move in (
        moves.TableGibbs(),
        moves.SliceGibbs(),
        moves.CountGibbs(),
        moves.DishGibbs(),
        moves.SplitMerge(),
    ):
        move.apply(fr, Streams(1).source(1))
        fr.audit()
    other = franchise(root=root, known=known, store="histogram")
    other.thaw(fr.freeze(), Streams(1).source(1))
    other.audit()
    assert other.dishes.tolist() == fr.dishes.tolist()
    view = fr.restaurant("document", 1)
    view.unseat(int(view.customers[0]), rng=1)
    view.seat(int(view.customers[0]), rng=1)
    fr.audit()


def test_documents_that_are_held_stay():
    fr = franchise(known=KNOWN)
    hk.Scheduler(SCHEDULE).run(fr, sweeps=3, rng=1)
    fr.hold([3, 4])
    begin = np.append(0, np.cumsum(fr.data.document_lengths))
    held = [np.bincount(fr.dishes[begin[d] : begin[d + 1]], minlength=50).tolist() for d in (3, 4, 9)]
    ids = fr.dish_ids
    hk.Scheduler(SCHEDULE[:2]).run(fr, sweeps=5, rng=2, init=None, audit_every=1)
    assert fr.held_groups() == [3, 4]
    assert fr.dish_ids[:2].tolist() == ids[:2].tolist()
    after = [np.bincount(fr.dishes[begin[d] : begin[d + 1]], minlength=50).tolist() for d in (3, 4, 9)]
    assert [sorted(one) for one in after[:2]] == [sorted(one) for one in held[:2]]
    assert after[2] != held[2]


def test_what_has_no_compiled_sweep_is_refused():
    for options in ({"kernel": "reference"}, {"store": "counts-reference"}):
        with pytest.raises(hk.errors.ScheduleError, match="compiled code only"):
            moves.CountGibbs().check(franchise(**options))
    with pytest.raises(hk.errors.ScheduleError, match="part of the state"):
        moves.TableCounts().check(franchise())
    with pytest.raises(hk.errors.ScheduleError, match="weights"):
        moves.CountGibbs().check(franchise(root="restaurant"))


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("cell_runs", lambda a: a + 1),
        ("run_dish", lambda a: np.full_like(a, 99)),
        ("run_count", lambda a: a + 1),
        ("count_customers", lambda a: a + 1),
        ("count_tables", lambda a: np.ones_like(a)),
    ],
)
def test_a_frozen_state_that_contradicts_itself_is_refused(key, change):
    fr = franchise()
    hk.Scheduler(SCHEDULE).run(fr, sweeps=2, rng=1, init=hk.init.Random(4))
    before, frozen = state(fr), fr.freeze()
    with pytest.raises(hk.errors.DataError):
        fr.thaw({**frozen, "seating": {**frozen["seating"], key: change(frozen["seating"][key])}})
    assert state(fr) == before
