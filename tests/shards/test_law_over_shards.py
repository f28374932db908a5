"""The law of a sweep over the shards of a corpus, by enumeration, equals that of a sweep over the corpus."""

import attrs
import numpy as np
import pytest
from slice_model import WEIGHTS, Model, franchise

from hdpkit.franchise.shard_state import begin_shards, shard_counts
from hdpkit.franchise.whole_corpus import WholeCorpus
from hdpkit.random import Streams
from hdpkit.shards.starts import one_table_each


class Workers(Model):
    """The same model, each document in a shard of its own."""

    def __init__(self, documents, integrated):
        super().__init__(documents, "fused", integrated)
        self.documents = documents
        self.workers = [franchise([document], "fused") for document in documents]

    def swept(self, z, source):
        ends = np.cumsum([len(document) for document in self.documents]).tolist()
        used = sorted(set(z))
        slot = {k: i for i, k in enumerate([*used, *sorted(set(range(len(WEIGHTS))) - set(used))])}
        slots = np.arange(len(used), dtype=np.int32)
        seatings = [
            {"dish": dish, **one_table_each(dish, np.array([len(dish)]), len(used))}
            for dish in np.split(np.array([slot[k] for k in z], dtype=np.int32), ends[:-1])
        ]
        counts = [
            shard_counts(worker.data.values, 3, seating, len(used))
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
            worker._within(worker._run_topics, own, source)
            changes.append(worker._within(worker._run_shards, own, source))
        for worker, own in zip(self.workers, plans, strict=True):
            worker._within(worker._settle_shards, own, self.sum(changes))
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
        assert counts[0].sum() == len(self.terms)
        weights = [worker.root_weights() for worker in self.workers]
        assert all(np.array_equal(row, weights[0][0]) and rest == weights[0][1] for row, rest in weights)


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


def test_a_part_left_out_of_the_sum_is_caught(monkeypatch):
    model = Workers([[0], [2]], True)
    monkeypatch.setattr(model, "sum", lambda changes: changes[0])
    with pytest.raises(AssertionError):
        model.matrix()
