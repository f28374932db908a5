"""Terms that repeat, over counts by cell: states are copied, frozen and turned into states of customers."""

import numpy as np
import pytest
from hdpkit._compiled.stores.stirling import logs_of

import hdpkit as hk
from hdpkit import moves
from hdpkit.base_measures.bursty_cells import BurstyCells, log_seatings
from hdpkit.random import Streams

COUNTS = np.random.default_rng(0).poisson(2.0, size=(12, 9))
SCHEDULE = [moves.CountGibbs(), moves.TableCounts(), moves.RootWeights(), moves.Concentration()]


def franchise(burst=20.0, discount=0.0, threads=1):
    base = hk.Restaurant(base=hk.Bursty(hk.DirichletMultinomial(0.5), burst, discount), concentration=1.0)
    document = hk.Restaurant(base=base, concentration=hk.Gamma(1, 1), each="document")
    return hk.Franchise(document, hk.Corpus.from_counts(COUNTS), store="counts", root="weights")


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
