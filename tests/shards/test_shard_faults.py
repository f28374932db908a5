"""Planted bugs of a run over shards: each makes a chain that differs from that of one process."""

import attrs
import pytest
from shard_cases import SCHEDULE, corpus, in_one_process, restaurant, same

from hdpkit import shards
from hdpkit.franchise.slices import Slices
from hdpkit.franchise.whole_corpus import Changes, WholeCorpus
from hdpkit.shards.messages import Opening
from hdpkit.shards.worker import Worker

DATA = corpus()
PLUS, TOTALS, PLAN, DUE = Changes.plus, WholeCorpus.totals, Slices._plan, Worker._due_in
OPEN = Opening.plus


def documents_numbered_from_0(patch):
    patch.setattr(Slices, "_plan", lambda *a: attrs.evolve(PLAN(*a), before=0))


def customers_of_a_part_for_all(patch):
    def plan(self, *arguments):
        own = self.topology.n_customers
        return attrs.evolve(PLAN(self, *arguments), threshold=1.0 / own)

    patch.setattr(Slices, "_plan", plan)


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
    share = Slices._share_topics
    patch.setattr(Slices, "_share_topics", lambda self, memory, worker, n: share(self, memory, 1, n))


def topics_drawn_with_the_keys_of_others(patch):
    share = Slices._share_topics

    def keyed(self, memory, worker, n):
        self._whole_corpus.n_customers *= 1 + worker  # another threshold, so that labels and keys are others
        share(self, memory, worker, n)

    patch.setattr(Slices, "_share_topics", keyed)


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


@pytest.fixture(scope="module")
def chain():
    return in_one_process(3, DATA)


@pytest.mark.parametrize("bug", BUGS)
def test_planted_bugs_are_caught(bug, chain, monkeypatch):
    begun, ended, _ = chain

    def run():
        same(
            shards.run(
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
