"""Corpora of counts keep who eats what by cell: with levels above the documents, and with bursts of words."""

import math

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.data.corpus import Cells
from hdpkit.franchise.topology import Topology
from hdpkit.measures.bursty_cells import BurstyCells, log_seatings
from hdpkit.posterior.fold_in import new_group_model
from hdpkit.random import Streams
from hdpkit.stores import CellsStore, CountsStore

COUNTS = np.random.default_rng(5).poisson(np.random.default_rng(6).gamma(0.4, 12.0, size=(40, 15)))
COUNTS[7] = 0  # a document without a customer
GROUPS = {
    "type": [None, *(f"t{i // 8}" for i in range(1, 40))],
    "organ": [None, *("xy"[i // 24] for i in range(1, 40))],
}
DRAWS = [moves.BaseMeasureParameters(), moves.DrawTopics(), moves.DrawProportions()]
TABLES = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]
SCHEDULES = {
    "documents": [*TABLES, *DRAWS], "levels": [TABLES[0], *TABLES[2:], *DRAWS], "bursts": TABLES
}  # fmt: skip
TOPICS = np.random.default_rng(7).dirichlet(np.ones(15), size=2)
FROZEN, EARLIER = hk.Known(TOPICS, counts=50, frozen=[True, False]), hk.Known(TOPICS, counts=50)
ONE = hk.Gamma(1.0, 1.0)


def franchise(kind="documents", corpus=None, measure=None, **options):
    if measure is None:
        bursts = hk.Bursty(hk.DirichletMultinomial(0.5), 20.0)
        measure = bursts if kind == "bursts" else hk.DirichletMultinomial(hk.Gamma(2.0, 4.0))
    options = {"store": "counts", "root": "weights", **options}
    fixed = isinstance(options["root"], hk.FixedWeights)
    above = hk.Restaurant(measure, concentration=1.0 if fixed else ONE)
    for label in ("organ", "type") if kind == "levels" else ():
        above = hk.Restaurant(above, each=label, concentration=ONE)
    corpus = hk.Corpus.from_counts(COUNTS, groups=GROUPS) if corpus is None else corpus
    return hk.Franchise(hk.Restaurant(above, each="document", concentration=ONE), corpus, **options)


def run(fr, kind="documents", sweeps=3, **options):
    return hk.Scheduler(SCHEDULES[kind]).run(fr, sweeps, **{"rng": 1, "init": hk.init.Random(5), **options})


def tokens():
    """The same documents as tokens."""
    documents = [np.repeat(np.arange(15), row) for row in COUNTS]
    return hk.Corpus.from_documents(documents, n_terms=15, groups=GROUPS)


def by_cell(fr):
    return isinstance(fr.store, CellsStore)


def state(fr):
    weights, rest = fr.root_weights()
    return fr.dishes.tolist(), weights.tolist(), rest, fr.totals()[1].tolist(), fr.concentration("document")


def totals_of(fr):
    """Customers and tables of each document in each dish."""
    return sorted(zip(*map(np.ndarray.tolist, fr.totals_in_dishes()), strict=True))


STARTS = ["one", hk.init.Random(8), hk.init.TermClusters(6), hk.init.Factors(6)]


@pytest.mark.parametrize("init", STARTS, ids=str)
@pytest.mark.parametrize("kind", ["documents", "levels"])
def test_a_run_makes_nothing_as_large_as_the_customers(kind, init, monkeypatch, tmp_path):
    def fail(self):
        raise AssertionError("an array as large as the customers are many")

    monkeypatch.setattr(Cells, "tokens", fail)
    monkeypatch.setattr(Topology, "home", property(fail))
    fr = franchise(kind)
    read = {"sum": lambda f: float(np.sum(f.drawn_topics()) + np.sum(f.drawn_proportions()))}
    options = {"init": init, "record": read, "audit_every": 1, "folder": tmp_path / "run"}
    trace = run(fr, kind, 4, **options)
    assert by_cell(fr)
    assert trace["sum"] == pytest.approx(trace["n_dishes"] + fr.topology.n_nodes - 1)
    assert len(hk.open_run(tmp_path / "run").resume(4, record=read)["n_dishes"]) == 8
    assert np.array_equal(fr.dish_counts.sum(axis=0), COUNTS.sum(axis=0))
    assert fr.dish_parameters().shape == fr.dish_counts.shape


@pytest.mark.parametrize("root", ["weights", hk.FixedWeights(6)], ids=str)
@pytest.mark.parametrize("known", [None, FROZEN], ids=["unknown", "known"])
@pytest.mark.parametrize("kind", ["documents", "levels"])
def test_customers_are_told_apart_as_the_state_shows_them(kind, root, known):
    fr = franchise(kind, root=root, known=known)
    schedule = [moves.CountGibbs(), *([moves.RootWeights()] if root == "weights" else [])]
    hk.Scheduler(schedule).run(fr, sweeps=3, rng=1, audit_every=1)
    assert by_cell(fr)
    before, log_joint = state(fr), fr.log_joint()
    fr.expand_cells()
    assert type(fr.store) is CountsStore
    assert state(fr) == before
    assert fr.log_joint() == pytest.approx(log_joint, rel=1e-12)
    used = [moves.TableGibbs(), moves.SliceGibbs(), moves.CountGibbs(), moves.DishGibbs(), moves.SplitMerge()]
    for move in used:
        move.apply(fr, Streams(1).source(1))
        fr.audit()
    again = franchise(kind, root=root, known=known)
    again.thaw(fr.freeze())
    assert not by_cell(again)
    assert state(again) == state(fr)
    other = franchise(kind, root=root, known=known, store="histogram")
    other.thaw(fr.freeze(), Streams(1).source(1))
    other.audit()
    assert other.dishes.tolist() == fr.dishes.tolist()
    view = fr.restaurant("document", 1)
    view.unseat(int(view.customers[0]), rng=1)
    view.seat(int(view.customers[0]), rng=1)
    fr.audit()


def test_an_order_of_customers_is_no_order_of_dishes():
    """A cell's customers stand in a uniform order, which each sweep over cells draws anew."""
    fr = franchise(corpus=hk.Corpus.from_counts(np.full((1, 2), 3000)))
    hk.Scheduler([moves.CountGibbs(), moves.RootWeights()]).run(fr, sweeps=2, rng=1, init=hk.init.Random(2))
    for first in (0, 3000):
        dishes = fr.dishes[first : first + 3000]
        assert np.count_nonzero(np.diff(dishes)) > 500
        halves = [np.bincount(half, minlength=9) / 1500 for half in (dishes[:1500], dishes[1500:])]
        assert np.abs(halves[0] - halves[1]).max() < 0.1


CHANGES = [
    ("cell_runs", lambda a: a + 1),
    ("run_dish", lambda a: a[:-1]),
    ("run_dish", lambda a: np.full_like(a, 99)),
    ("run_count", lambda a: a + 1),
    ("run_count", lambda a: np.zeros_like(a)),
    ("cell_key", lambda a: a[:3]),
    ("count_customers", lambda a: a + 1),
]
WRONG = [(kind, "seating", *change) for kind in SCHEDULES for change in CHANGES]
WRONG.append(("levels", "seating", "count_tables", np.ones_like))
WRONG.append(("bursts", "bank", "run_tables", lambda a: a + 100))


@pytest.mark.parametrize(("kind", "place", "key", "change"), WRONG)
def test_a_frozen_state_that_contradicts_itself_is_refused(kind, place, key, change):
    fr = franchise(kind)
    run(fr, kind, 2)
    before, frozen = state(fr), fr.freeze()
    with pytest.raises(hk.errors.DataError):
        fr.thaw({**frozen, place: {**frozen[place], key: change(frozen[place][key])}})
    if place == "bank":
        fr.thaw(frozen)
    assert state(fr) == before


def test_customers_have_the_tables_of_their_cells():
    fr = franchise("bursts")
    run(fr, "bursts", 4)
    by_cell, totals, joint, frozen = fr.copy(), totals_of(fr), fr.log_joint(), fr.freeze()
    assert len(fr.bank.tables) == len(fr.store.cell_runs()[1])
    assert np.any(fr.bank.tables > 1)
    fr.expand_cells()
    assert not isinstance(fr.bank, BurstyCells)
    assert fr.dishes.tolist() == by_cell.dishes.tolist()
    assert totals_of(fr) == totals
    assert fr.log_joint() == pytest.approx(joint, rel=1e-12)
    fr.audit()
    # A state by cell thawed where customers are known one by one.
    moves.TableGibbs().apply(fr, Streams(1).source(1))
    fr.thaw(frozen)
    assert totals_of(fr) == totals
    fr.audit()


@pytest.mark.parametrize("keep", [None, "hyperparameters", "seating", "dishes"])
def test_data_are_drawn_with_their_tables(keep):
    fr = franchise("bursts", measure=hk.Bursty(hk.DirichletMultinomial(0.5), hk.Gamma(2.0, 0.1)))
    trace = run(fr, "bursts", 6)
    assert len(set(trace["concentration/bursts"])) == 6
    drawn = fr.simulate(1, keep=keep)
    drawn.audit()
    assert isinstance(drawn.bank, BurstyCells)
    assert drawn.data.n_tokens == COUNTS.sum()
    assert len(drawn.bank.tables) == len(drawn.store.cell_runs()[1])


@pytest.mark.parametrize("known", [FROZEN, EARLIER], ids=["one frozen", "pseudo-counts"])
@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_known_components_are_taught_by_tables(discount, known):
    """By cell if there is no discount, otherwise by customer."""
    options = {"measure": hk.Bursty(hk.DirichletMultinomial(0.5), 5.0, discount), "known": known}
    fr = franchise("bursts", **options)
    schedule = TABLES if discount == 0.0 else [moves.SliceGibbs(), *TABLES[1:]]
    trace = hk.Scheduler(schedule).run(fr, sweeps=6, rng=1, samples=3, audit_every=1)
    assert isinstance(fr.bank, BurstyCells) == (discount == 0.0)
    joint, rows = fr.log_joint(), fr.topic_counts
    assert rows.sum() == fr.totals_in_dishes()[1].sum()  # tables of the data
    assert np.all((rows >= 0) & (rows <= fr.dish_counts))
    counts = rows[:2] + known.pseudo_counts + 0.5
    means = np.where(known.is_frozen[:, None], TOPICS, counts / counts.sum(axis=1, keepdims=True))
    assert np.allclose(fr.dish_parameters()[:2], means, rtol=1e-12)
    assert np.allclose(trace.samples[-1].topics()[:2], means, rtol=1e-12)
    # New documents draw phi_k given the same tables, and states pass between stores.
    new = hk.Corpus.from_counts(np.ones((1, 15), dtype=int))
    assert np.allclose(new_group_model(fr, new).density[:, :2].T, means, rtol=1e-10)
    fr.expand_cells()
    assert np.allclose(new_group_model(fr, new).density[:, :2].T, means, rtol=1e-10)
    fr.audit()
    assert fr.log_joint() == pytest.approx(joint, rel=1e-12)
    for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
        move.apply(fr, Streams(1).source(1))
        fr.audit()
    other = franchise("bursts", store="histogram", **options)
    other.thaw(fr.freeze(), Streams(1).source(1))
    other.audit()
    assert np.array_equal(other.topic_counts, fr.topic_counts)
    groups = {name: labels[:2] for name, labels in GROUPS.items()}
    more = fr.with_documents(fr.data.plus(hk.Corpus.from_counts(COUNTS[:2], groups=groups)))
    more.audit()
    assert np.all(more.topic_counts[:2] >= fr.topic_counts[:2])


def test_seatings_at_many_tables_are_nearly_exact():
    """Unsigned Stirling numbers of the first kind, by integers of Python."""
    for n, t, bound in [(900, 220, 1e-5), (300, 250, 1e-5), (201, 201, 1e-12), (400, 399, 0.01)]:
        row = [1]
        for m in range(n):  # times (u + m)
            row = [m * a + b for a, b in zip([*row, 0], [0, *row], strict=True)]
        assert log_seatings(np.array([n]), np.array([t])) == pytest.approx(math.log(row[t]), abs=bound)
