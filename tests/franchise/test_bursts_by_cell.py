"""Terms that repeat, over counts by cell: states are copied, frozen and turned into states of customers."""

import numpy as np
import pytest
from hdpkit.stores._stirling import logs_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.measures.bursty_cells import BurstyCells, log_seatings
from hdpkit.posterior.fold_in import new_group_model
from hdpkit.random import Streams
from hdpkit.stores import KeepsCells

MEASURE = hk.DirichletMultinomial(0.5)
COUNTS = np.random.default_rng(0).poisson(2.0, size=(12, 9))
SCHEDULE = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]


def franchise(burst=20.0, discount=0.0, known=None, inner=MEASURE, **options):
    base = hk.Restaurant(base=hk.Bursty(inner, burst, discount), concentration=1.0)
    document = hk.Restaurant(base=base, concentration=hk.Gamma(1, 1), each="document")
    options = {"store": "counts", "root": "weights", **options}
    return hk.Franchise(document, hk.Corpus.from_counts(COUNTS), known=known, **options)


def run(fr, sweeps, **options):
    return hk.Scheduler(SCHEDULE).run(fr, sweeps=sweeps, **{"rng": 1, "audit_every": 1, **options})


def totals_of(fr):
    """Customers and tables of each document in each dish."""
    return sorted(zip(*map(np.ndarray.tolist, fr.totals_in_dishes()), strict=True))


def test_a_frozen_state_continues_bit_for_bit():
    fr = franchise()
    run(fr, 4, init=hk.init.Random(5))
    assert isinstance(fr.bank, BurstyCells)
    tables = fr.bank.tables
    assert len(tables) == len(fr.store.cell_runs()[1])
    assert np.any(tables > 1)
    other = fr.copy()
    run(fr, 3, init=None)
    run(other, 3, init=None)
    assert np.array_equal(fr.bank.tables, other.bank.tables)
    assert fr.log_joint() == other.log_joint()
    assert fr.dishes.tolist() == other.dishes.tolist()


def test_customers_have_the_tables_of_their_cells():
    fr = franchise()
    run(fr, 4, init=hk.init.Random(5))
    by_cell = fr.copy()
    totals = totals_of(fr)
    joint, frozen = fr.log_joint(), fr.freeze()
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


def test_tokens_are_counted_and_topics_are_those_of_tables():
    fr = franchise()
    run(fr, 4, init=hk.init.Random(5))
    assert fr.bank.counts(fr.slots.occupied_slots()).sum() == COUNTS.sum()
    assert fr.dish_parameters().sum(axis=1) == pytest.approx(1.0)
    assert fr.bank.tables.sum() < COUNTS.sum()


def test_the_parameters_of_repetition_are_drawn_over_cells():
    fr = franchise(burst=hk.Gamma(1.0, 0.01))
    trace = run(fr, 20, init=hk.init.Random(5))
    assert isinstance(fr.bank, BurstyCells)
    assert len(set(trace["concentration/bursts"])) > 10


def test_with_a_discount_customers_are_known_one_by_one():
    fr = franchise(discount=0.2)
    assert not isinstance(fr.bank, BurstyCells)
    run(fr, 3, init="one")


def test_a_document_is_held():
    fr = franchise()
    run(fr, 3, init=hk.init.Random(5))
    first = int(COUNTS[0].sum())
    before = fr.dishes[:first].copy()
    fr.hold([0])
    run(fr, 3, init=None)
    assert len(np.unique(fr.dishes[:first])) == len(np.unique(before))


def test_a_chain_does_not_depend_on_threads():
    ends = []
    for threads in (1, 2, 5):
        fr = franchise(burst=hk.Gamma(1.0, 0.01))
        hk.Scheduler(SCHEDULE, threads=threads).run(fr, sweeps=6, rng=3, init=hk.init.Random(8))
        ends.append((fr.dishes.tolist(), fr.bank.tables.tolist(), fr.log_joint()))
    assert ends[1:] == ends[:-1]


def test_damaged_tables_are_refused():
    fr = franchise()
    run(fr, 2, init=hk.init.Random(5))
    frozen = fr.freeze()
    frozen["bank"] = {"run_tables": frozen["bank"]["run_tables"] + 100}
    with pytest.raises(hk.errors.DataError, match="run_tables"):
        fr.thaw(frozen)


@pytest.mark.parametrize("keep", [None, "hyperparameters", "seating", "dishes"])
def test_data_are_drawn_with_their_tables(keep):
    fr = franchise(burst=hk.Gamma(2.0, 0.1))
    run(fr, 3, init=hk.init.Random(5))
    drawn = fr.simulate(1, keep=keep)
    drawn.audit()
    assert isinstance(drawn.bank, BurstyCells)
    assert drawn.data.n_tokens == COUNTS.sum()
    assert len(drawn.bank.tables) == len(drawn.store.cell_runs()[1])


def test_mixing_is_checked():
    fr = franchise()
    run(fr, 3, init=hk.init.Random(5))
    found = hk.check_mixing(fr, sweeps=40, inits=["one"], copies=10, schedule=SCHEDULE)
    assert set(found.data.checks[0]) == {"distinct_cells", "count_variance"}


def test_logs_of_stirling_numbers_with_many_tables_are_nearly_exact():
    n, t = np.ascontiguousarray(
        np.array(
            [[3, 2], [900, 200], [300, 250], [1000, 700], [3000, 2900], [1500, 201], [201, 201], [400, 399]]
        ).T
    )
    gap = np.abs(log_seatings(n, t) - logs_of(n, t))
    assert gap[:-1].max() < 1e-5
    assert gap[-1] < 0.01  # the variance is about 1


TOPICS = np.random.default_rng(3).dirichlet(np.full(9, 0.5), size=2)
FROZEN = hk.Known(TOPICS, counts=50, frozen=[True, False])
EARLIER = hk.Known(TOPICS, counts=50)


@pytest.mark.parametrize("known", [FROZEN, EARLIER], ids=["one frozen", "pseudo-counts"])
@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_known_components_are_taught_by_tables(discount, known):
    """By cell if there is no discount, otherwise by customer."""
    fr = franchise(5.0, discount, known)
    by_cell = discount == 0.0
    schedule = SCHEDULE if by_cell else [moves.SliceGibbs(), *SCHEDULE[1:]]
    trace = hk.Scheduler(schedule).run(fr, sweeps=6, rng=1, samples=3, audit_every=1)
    assert isinstance(fr.bank, BurstyCells) == by_cell
    joint, rows = fr.log_joint(), fr.topic_counts
    assert rows.sum() == fr.totals_in_dishes()[1].sum()  # tables of the data
    assert np.all((rows >= 0) & (rows <= fr.dish_counts))
    assert fr.dish_counts.sum() == COUNTS.sum()
    counts = rows[:2] + known.pseudo_counts + 0.5
    means = np.where(known.is_frozen[:, None], TOPICS, counts / counts.sum(axis=1, keepdims=True))
    assert np.allclose(fr.dish_parameters()[:2], means, rtol=1e-12)
    assert np.allclose(trace.samples[-1].topics()[:2], means, rtol=1e-12)
    # New documents draw phi_k given the same tables, and states pass between stores.
    new = hk.Corpus.from_counts(np.ones((1, 9), dtype=int))
    assert np.allclose(new_group_model(fr, new).density[:, :2].T, means, rtol=1e-10)
    fr.expand_cells()
    assert np.allclose(new_group_model(fr, new).density[:, :2].T, means, rtol=1e-10)
    fr.audit()
    assert fr.log_joint() == pytest.approx(joint, rel=1e-12)
    for move in (moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge()):
        move.apply(fr, Streams(1).source(1))
        fr.audit()
    other = franchise(5.0, discount, known, store="histogram")
    other.thaw(fr.freeze(), Streams(1).source(1))
    other.audit()
    assert np.array_equal(other.topic_counts, fr.topic_counts)
    more = fr.with_documents(fr.data.plus(hk.Corpus.from_counts(COUNTS[:2])))
    more.audit()
    assert np.all(more.topic_counts[:2] >= fr.topic_counts[:2])


@pytest.mark.parametrize("bursts", [False, True], ids=["plain", "bursts"])
def test_sparse_topics_with_a_frozen_component_have_samples(bursts):
    sparse = hk.SparseDirichletMultinomial(0.5)
    options = {"known": FROZEN, "store": "histogram", "root": "restaurant", "inner": sparse}
    fr = franchise(5.0 if bursts else float("inf"), **options)
    trace = hk.Scheduler([moves.TableGibbs()]).run(fr, sweeps=2, rng=1, samples=1)
    found = trace.samples[-1].topics()
    assert np.array_equal(found[0], FROZEN.matrix[0])
    assert np.allclose(found, fr.dish_parameters())


@pytest.mark.parametrize("burst", [5.0, float("inf")], ids=["bursts", "plain"])
def test_new_documents_are_scored_by_cell_as_by_customer(burst):
    fr, new = franchise(burst), hk.Corpus.from_counts(COUNTS[:4])
    hk.Scheduler([moves.CountGibbs(), moves.RootWeights()]).run(fr, sweeps=4, rng=1, init=hk.init.Random(5))
    assert isinstance(fr.store, KeepsCells)
    other = fr.copy()
    other.expand_cells()
    assert np.allclose(new_group_model(fr, new).density, new_group_model(other, new).density, rtol=1e-12)
    assert fr.fold_in(new, rng=1).proportions == pytest.approx(other.fold_in(new, rng=1).proportions)
    assert hk.evaluate(fr, new, rng=1).perplexity == pytest.approx(hk.evaluate(other, new, rng=1).perplexity)
