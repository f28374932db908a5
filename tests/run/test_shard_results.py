"""Runs over shards of files: their results equal those of one process over the entire corpus."""

import numpy as np
import pytest
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, run_shards

import hdpkit as hk
from hdpkit import shards

DATA, NEW = corpus(), corpus(30, seed=8)


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "bursty"])
def finished(request, tmp_path_factory):
    """A run's folder, and a franchise over all documents in its last state."""
    folder = tmp_path_factory.mktemp("run")
    sharded = hk.ShardedCorpus.write(DATA, folder / "shards", 3)
    declared, schedule = restaurant(bursty=request.param), BURSTY if request.param else SCHEDULE
    run = run_shards(declared, sharded, schedule, sweeps=5, rng=2, folder=folder / "run")
    franchise = hk.Franchise(declared, DATA, store="counts", root="weights")
    franchise.expand_cells()
    franchise.thaw(run.state())
    np.testing.assert_array_equal(run.franchise.dish_counts(), franchise.dish_counts)
    np.testing.assert_array_equal(run.franchise.topic_counts(), franchise.topic_counts)
    return folder / "run", franchise


def test_new_documents_have_the_scores_of_one_process(finished):
    folder, franchise = finished
    state = hk.open_run(folder).state()
    observed, held_out = (NEW.to_counts().toarray() // 2, (NEW.to_counts().toarray() + 1) // 2)
    new, others = (shards.cut(hk.Corpus.from_counts(half), 3) for half in (observed, held_out))
    for number in range(3):
        two = new.shard(number), others.shard(number)
        scores = [hk.evaluate(one, two[0], held_out=two[1]) for one in (state.franchise, franchise)]
        np.testing.assert_allclose(*(score.perplexity for score in scores), rtol=1e-9)
        assert 1 < scores[0].perplexity < 80
