"""Planted bugs of a run over shards: each makes a chain that differs from that of one process."""

import attrs
import pytest
from shard_cases import BURSTY, SCHEDULE, corpus, in_one_process, restaurant, run_shards, same, same_numbers

from hdpkit import shards
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.moves import document_sweeps
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.run.shards import state, worker
from hdpkit.run.shards.state import OPENS
from hdpkit.run.shards.worker import Opening, Worker

DATA = corpus()
PLUS, TOTALS, PLAN, DUE = Changes.plus, WholeCorpus.totals, DocumentSweeps.plan, Worker._due_in
OPEN, COUNTED, COUNTS, FIRSTS = (
    Opening.plus, CountedBursts.plus, worker.shard_counts, state.firsts_of_cells
)  # fmt: skip


def documents_numbered_from_0(patch):
    patch.setattr(DocumentSweeps, "plan", lambda *a: attrs.evolve(PLAN(*a), before=0))


def customers_of_a_part_for_all(patch):
    def plan(self, *arguments):
        corpus, whole = self.state.whole_corpus, self.state.whole_corpus.n_customers
        corpus.n_customers = self.state.topology.n_customers
        found = PLAN(self, *arguments)
        corpus.n_customers = whole
        return found

    patch.setattr(DocumentSweeps, "plan", plan)


def counts_of_a_part_left_out(patch):
    patch.setattr(Changes, "plus", lambda one, other: attrs.evolve(PLUS(one, other), counts=one.counts))


def tables_of_a_part_left_out(patch):
    patch.setattr(Changes, "plus", lambda one, other: attrs.evolve(PLUS(one, other), tables=one.tables))


def documents_of_a_part_left_out(patch):
    patch.setattr(Changes, "plus", lambda one, other: attrs.evolve(PLUS(one, other), opened=one.opened))


def tokens_for_tables(patch):
    patch.setattr(WholeCorpus, "totals", lambda self: (TOTALS(self)[0], TOTALS(self)[0]))


def documents_of_a_part_not_counted(patch):
    patch.setattr(Opening, "plus", lambda one, other: attrs.evolve(OPEN(one, other), sizes=one.sizes))


def seed_of_the_sweep_before(patch):
    patch.setattr(Worker, "_due_in", lambda self, sweep: DUE(self, sweep - 1))


def topics_of_a_part_not_drawn(patch):
    share = DocumentSweeps.share
    patch.setattr(DocumentSweeps, "share", lambda self, memory, worker, n: share(self, memory, 1, n))


def topics_drawn_with_the_keys_of_others(patch):
    share = DocumentSweeps.share

    def keyed(self, memory, worker, n):
        self.state.whole_corpus.n_customers *= (
            1 + worker
        )  # another threshold, so that labels and keys are others
        share(self, memory, worker, n)

    patch.setattr(DocumentSweeps, "share", keyed)


BUGS = [
    topics_of_a_part_not_drawn,
    topics_drawn_with_the_keys_of_others,
    documents_numbered_from_0,
    customers_of_a_part_for_all,
    counts_of_a_part_left_out,
    tables_of_a_part_left_out,
    documents_of_a_part_left_out,
    tokens_for_tables,
    documents_of_a_part_not_counted,
    seed_of_the_sweep_before,
]


def tokens_for_tables_of_words(patch):
    def counts(terms, n_terms, seating, *others):
        return COUNTS(terms, n_terms, {k: v for k, v in seating.items() if k != OPENS}, *others)

    patch.setattr(worker, "shard_counts", counts)


def of_a_part_only(name):
    def bug(patch):
        def plus(one, other):
            return attrs.evolve(COUNTED(one, other), **{name: getattr(one, name)})

        patch.setattr(CountedBursts, "plus", plus)

    bug.__name__ = f"{name}_of_a_part_only"
    return bug


def numbers_of_the_start(patch):
    patch.setattr(document_sweeps, "take_bursts", lambda bank, bursts: None)


def one_table_for_each_word_of_a_document(patch):
    def seating(self, number, info, corpus):
        found = SEATING(self, number, info, corpus)
        return {**found, OPENS: FIRSTS(found["dish"], corpus)}

    patch.setattr(state.FromState, "seating", seating)


SEATING = state.FromState.seating
BURSTY_BUGS = [
    counts_of_a_part_left_out,
    tokens_for_tables_of_words,
    of_a_part_only("customers"),
    of_a_part_only("totals"),
    of_a_part_only("cells"),
    numbers_of_the_start,
    one_table_for_each_word_of_a_document,
]


@pytest.fixture(scope="module")
def bursty_chain():
    return in_one_process(3, DATA, schedule=BURSTY, bursty=True)


@pytest.mark.parametrize("bug", BURSTY_BUGS)
def test_planted_bugs_are_caught_where_topics_differ_by_document(bug, bursty_chain, monkeypatch):
    begun, ended, trace = bursty_chain

    def run():
        done = run_shards(
            restaurant(bursty=True), shards.cut(DATA, 2), BURSTY, sweeps=3, rng=11, init=begun,
            backend=shards.Local(2),
        )  # fmt: skip
        same(done.state(), ended)
        same_numbers(done.trace, trace)

    run()
    bug(monkeypatch)
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        run()


@pytest.fixture(scope="module")
def chain():
    return in_one_process(3, DATA)


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_caught(bug, chain, monkeypatch):
    begun, ended, _ = chain

    def run():
        same(
            run_shards(
                restaurant(),
                shards.cut(DATA, 2),
                SCHEDULE,
                sweeps=3,
                rng=11,
                init=begun,
                backend=shards.Local(2),
            ).state(),
            ended,
        )

    run()
    bug(monkeypatch)
    # Another chain, or one that can't go on.
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):
        run()
