"""The law of a sweep over the shards of a corpus, by enumeration, equals that of a sweep over the corpus."""

from collections import Counter, defaultdict

import attrs
import numpy as np
import pytest
from slice_model import BurstyModel, Model, franchise

from hdpkit.franchise.whole_corpus import WholeCorpus
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.random import Streams
from hdpkit.run.shards.state import (
    OPENS,
    begin_shards,
    one_table_each,
    seat_bursts,
    shard_counts,
    shard_seating,
)


class OverShards:
    """Sweeps of a model, each document in a shard of its own."""

    def seat(self, documents, bursts=None):
        self.documents = documents
        self.workers = [franchise([document], "fused", bursts=bursts) for document in documents]

    def over_shards(self, z, opens, source):
        """A sweep from these labels; returns the slot of each label and the customers' slots afterwards."""
        ends = np.cumsum([len(document) for document in self.documents]).tolist()
        used = sorted(set(z))
        slot = {k: i for i, k in enumerate([*used, *sorted(set(self.labels) - set(used))])}
        slots = np.arange(len(used), dtype=np.int32)
        seatings = [
            {"dish": dish, **one_table_each(dish, np.array([len(dish)]), len(used))}
            for dish in np.split(np.array([slot[k] for k in z], dtype=np.int32), ends[:-1])
        ]
        if opens is not None:
            for seating, own in zip(seatings, np.split(opens, ends[:-1]), strict=True):
                seating[OPENS] = own
        counts = [
            shard_counts(worker.data.values, 3, seating, len(used), seat_bursts(worker, seating))
            for worker, seating in zip(self.workers, seatings, strict=True)
        ]
        common = {"slots": slots, "dish_ids": slots, "births": len(used), "sweep": 0}
        total = self.sum(counts)
        plan = self.plan(slot)
        changes, plans = [], []
        for before, (worker, seating) in enumerate(zip(self.workers, seatings, strict=True)):
            lengths = [len(document) for document in self.documents]
            whole = WholeCorpus(before, np.unique(lengths, return_counts=True))
            begin_shards(worker, dict(seating), total, common, whole, Streams(1).source(1))
            rows = None if plan.proportions is None else plan.proportions[[0, before + 1]]
            own = attrs.evolve(plan, values=worker.data.values, proportions=rows, before=before)
            plans.append(own)
            with worker.lock():
                DocumentSweeps.of(worker).draw_topics(own, source)
            changes.append(DocumentSweeps.of(worker).sweep_by(own, source))
        for worker, own in zip(self.workers, plans, strict=True):
            with worker.lock():
                DocumentSweeps.of(worker).settle(own, self.sum(changes))
        return slot, [dish for worker in self.workers for dish in worker.store.dishes().tolist()]

    def sum(self, changes):
        total = changes[0]
        for one in changes[1:]:
            total = total.plus(one)
        return total

    def check(self):
        """Workers have the same dishes, weights and counts, which are those of all customers."""
        slots = [worker.slots.occupied_slots().tolist() for worker in self.workers]
        assert all(one == slots[0] for one in slots)
        counts = [worker.bank.counts(worker.slots.occupied_slots()) for worker in self.workers]
        for one in counts:
            np.testing.assert_array_equal(one, counts[0])
        assert counts[0].sum() == self.observations()
        weights = [worker.root_weights() for worker in self.workers]
        assert all(np.array_equal(row, weights[0][0]) and rest == weights[0][1] for row, rest in weights)


class Workers(OverShards, Model):
    """Topics that are the same in all documents."""

    def __init__(self, documents, integrated):
        Model.__init__(self, documents, "fused", integrated)
        self.seat(documents)

    def swept(self, z, source):
        return self.over_shards(z, None, source)

    def observations(self):
        return len(self.terms)


class BurstyWorkers(OverShards, BurstyModel):
    """Topics that differ by document."""

    def __init__(self, documents, bursts):
        BurstyModel.__init__(self, documents, "fused", True, bursts)
        self.seat(documents, bursts)

    def swept(self, state, source):
        return self.over_shards(state[0], self.opens(state), source)

    def tables(self):
        return np.concatenate([shard_seating(worker)[OPENS] for worker in self.workers])

    def observations(self):
        return int(self.tables().sum())

    def check(self):
        """Also the numbers of customers and tables are those of all documents, in every worker."""
        super().check()
        totals, cells = Counter(), Counter()
        for worker in self.workers:
            seated, own = shard_seating(worker), defaultdict(lambda: np.zeros(2, dtype=np.int64))
            for term, dish, opens in zip(worker.data.values, seated["dish"], seated[OPENS], strict=True):
                for key in (int(dish), -1), (int(dish), int(term)):
                    own[key] += np.array([1, opens], dtype=np.int64)
            totals.update(tuple(n) for (_, term), n in own.items() if term < 0)
            cells.update(tuple(n) for (_, term), n in own.items() if term >= 0)
        for worker in self.workers:
            for wanted, found in ((totals, worker.bank.whole[1]), (cells, worker.bank.whole[2])):
                assert {(c, t): n for c, t, n in found.tolist()} == dict(wanted)


@pytest.mark.parametrize("integrated", [True, False], ids=["integrated", "drawn"])
@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([[0], [2]], id="two shards"),
        pytest.param([[0], [2], [1]], id="three shards", marks=pytest.mark.long),
    ],
)
def test_a_sweep_over_parts_has_the_law_of_one_over_all(documents, integrated):
    over_workers, over_all = Workers(documents, integrated), Model(documents, "fused", integrated)
    P = over_workers.matrix()
    assert np.abs(P - over_all.matrix()).max() < 1e-12
    assert np.abs(over_workers.pi @ P - over_workers.pi).max() < 1e-12


@pytest.mark.parametrize("bursts", [(2.0, 0.0), (1.5, 0.3)], ids=["no discount", "discount"])
@pytest.mark.parametrize("documents", [[[0], [2]], [[0, 0], [0]]], ids=["other words", "the same word"])
def test_a_sweep_over_parts_has_the_law_of_one_over_all_where_topics_differ(documents, bursts):
    over_workers = BurstyWorkers(documents, bursts)
    over_all = BurstyModel(documents, "fused", True, bursts)
    P = over_workers.matrix()
    assert np.abs(P - over_all.matrix()).max() < 1e-12
    assert np.abs(over_workers.pi @ P - over_workers.pi).max() < 1e-12


def test_a_part_left_out_of_the_sum_is_caught(monkeypatch):
    model = Workers([[0], [2]], True)
    monkeypatch.setattr(model, "sum", lambda changes: changes[0])
    with pytest.raises(AssertionError):
        model.matrix()
