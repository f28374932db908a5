"""Runs over shards of files: their results equal those of one process over the entire corpus."""

import tracemalloc

import numpy as np
import pytest
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, run_shards, same

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.cli.verification import verify_run
from hdpkit.data.files.corpora import convert_shards, read_corpus

DATA, NEW = corpus(), corpus(30, seed=8)


@pytest.mark.parametrize("cells", [True, False])
def test_a_chain_over_a_converted_file_is_that_over_the_file(tmp_path, cells):
    rows = DATA.to_counts().toarray()
    lines = [[f"{v}:{n}" for v, n in enumerate(row) if n] for row in rows.tolist()]
    source = tmp_path / "a.ldac"
    source.write_text("".join(" ".join([str(len(line)), *line]) + "\n" for line in lines))
    if not cells:
        hk.Corpus.convert(source, tmp_path / "converted")
        source = tmp_path / "converted"
    sharded, whole = convert_shards(source, tmp_path / "shards", 3), read_corpus(source)
    assert (whole.cells is not None) == cells
    franchise = hk.Franchise(restaurant(), whole, store="counts", root="weights")
    franchise.expand_cells()
    scheduler = hk.Scheduler(SCHEDULE)
    scheduler.run(franchise, sweeps=1, rng=5, init=hk.init.Random(6))
    begun = franchise.freeze()
    scheduler.run(franchise, sweeps=4, rng=11, init=begun)
    run = run_shards(restaurant(), sharded, SCHEDULE, sweeps=4, rng=11, init=begun, backend=shards.Local(2))
    same(run.state(), franchise.freeze())


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


@pytest.mark.filterwarnings("ignore::hdpkit.errors.ManyTopicsWarning")
def test_many_topics_are_read_without_an_array_of_topics_by_terms(tmp_path):
    documents = [np.random.default_rng(d).integers(0, 20_000, 10) for d in range(200)]
    data = hk.Corpus.from_documents(documents, n_terms=20_000)
    run = tmp_path / "run"
    run_shards(
        restaurant(), shards.cut(data, 2), [moves.Concentration()], sweeps=1, rng=0,
        init=hk.init.Random(1000), folder=run,
    )  # fmt: skip
    tracemalloc.start()
    try:
        state = hk.open_run(run).state()
        counts = [block.counts for block in state.documents()]
        checks = list(verify_run(run))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert state.sample.n_dishes * 20_000 * 8 > 130e6
    assert most < 60e6
    assert [part.sum() for part in counts] == [place.n_tokens for place in state.data.shards]
    assert all(check.passed for check in checks), checks


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
