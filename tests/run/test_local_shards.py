"""A chain over shards equals that of one process to the last bit; with a planted bug it doesn't."""

import attrs
import pytest
from shard_cases import (
    BURSTY,
    SCHEDULE,
    case_corpus,
    case_in_one_process,
    cases,
    corpus,
    in_one_process,
    restaurant,
    run_shards,
    same,
    same_case,
    same_numbers,
)

from hdpkit import shards
from hdpkit.franchise.whole_corpus import Changes, CountedBursts, WholeCorpus
from hdpkit.moves import document_sweeps
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.run.shards import state, worker
from hdpkit.run.shards.state import OPENS
from hdpkit.run.shards.worker import Opening, Worker

DATA = corpus()


@pytest.fixture(scope="module")
def chain():
    return in_one_process(6, DATA)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("n_shards", "workers", "threads"), [(1, 1, 1), (3, 1, 2), (3, 3, 1), (7, 2, 2), (7, 5, 1)]
)
def test_any_number_of_shards_parts_and_threads_gives_the_chain_of_one_process(
    chain, n_shards, workers, threads
):
    begun, ended, trace = chain
    run = run_shards(
        restaurant(), shards.cut(DATA, n_shards), SCHEDULE, sweeps=6, rng=11, init=begun, threads=threads,
        backend=shards.Local(workers),
    )  # fmt: skip
    same(run.state(), ended)
    assert run.trace["largest_shares"].shape == (6, 5)
    same_numbers(run.trace, trace)


@pytest.mark.parametrize("name", cases())
def test_a_prior_on_every_hyperparameter(name, tmp_path):
    case, source = cases()[name], shards.cut(case_corpus(), 4)
    begun, ended, trace = case_in_one_process(case, 6)
    for workers, threads, steps in ((1, 1, [6]), (2, 2, [6]), (3, 1, [6]), (2, 1, [1, 3, 6])):
        for sweeps in steps:  # it goes on from its checkpoint
            run = run_shards(
                case.restaurant, source, case.schedule, sweeps=sweeps, rng=11, init=begun, root=case.root,
                backend=shards.Local(workers), threads=threads,
                folder=tmp_path / "run" if len(steps) > 1 else None,
            )  # fmt: skip
        same_case(case, run.state(), run.trace, ended, trace)


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
def chains():
    plain, bursty = in_one_process(3, DATA), in_one_process(3, DATA, schedule=BURSTY, bursty=True)
    return {False: (SCHEDULE, *plain), True: (BURSTY, *bursty)}


@pytest.mark.parametrize(
    ("bug", "bursty"), [*((bug, False) for bug in BUGS), *((bug, True) for bug in BURSTY_BUGS)]
)
def test_planted_bugs_are_caught(bug, bursty, chains, monkeypatch):
    schedule, begun, ended, trace = chains[bursty]

    def run():
        done = run_shards(
            restaurant(bursty=bursty), shards.cut(DATA, 2), schedule, sweeps=3, rng=11, init=begun,
            backend=shards.Local(2),
        )  # fmt: skip
        same(done.state(), ended)
        same_numbers(done.trace, trace)

    run()
    bug(monkeypatch)
    with pytest.raises((AssertionError, ArithmeticError, ValueError)):  # or a chain that can't go on
        run()
