"""Runs over shards of files: their results equal those of one process over the entire corpus."""

import csv
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, same

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.cli.verification import verify_run
from hdpkit.errors import DataError, ParameterError, RunError, ShardError
from hdpkit.evaluation import ShardedState
from hdpkit.evaluation.fixed_topics import FixedTopics, completion, halves, repeats_in
from hdpkit.io.corpora import read_corpus
from hdpkit.io.shard_shares import write_shares
from hdpkit.io.shards import convert_shards

DATA, NEW = corpus(), corpus(30, seed=8)


@pytest.mark.parametrize("cells", [True, False])
def test_a_chain_over_a_converted_file_is_that_over_the_file(tmp_path, cells):
    rows = DATA.to_counts().toarray()
    lines = [[f"{v}:{n}" for v, n in enumerate(row) if n] for row in rows.tolist()]
    source = tmp_path / "a.ldac"
    source.write_text("".join(" ".join([str(len(line)), *line]) + "\n" for line in lines))
    if not cells:
        hk.Corpus.convert(source, tmp_path / "arrays")
        source = tmp_path / "arrays"
    sharded, whole = convert_shards(source, tmp_path / "shards", 3), read_corpus(source)
    assert (whole.cells is not None) == cells
    franchise = hk.Franchise(restaurant(), whole, store="counts", root="weights")
    franchise.expand_cells()
    scheduler = hk.Scheduler(SCHEDULE)
    scheduler.run(franchise, sweeps=1, rng=5, init=hk.init.Random(6))
    begun = franchise.freeze()
    scheduler.run(franchise, sweeps=4, rng=11, init=begun)
    run = shards.run(restaurant(), sharded, SCHEDULE, sweeps=4, rng=11, init=begun, backend=shards.Local(2))
    same(run.state(), franchise.freeze())


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "bursty"])
def finished(request, tmp_path_factory):
    """A run's folder, its shards, and a franchise over all documents in its last state."""
    folder = tmp_path_factory.mktemp("run")
    names = [f"d{number}" for number in range(DATA.n_documents)]
    named = hk.Corpus.from_counts(DATA.to_counts(), names=names)
    sharded = hk.ShardedCorpus.write(named, folder / "shards", 3)
    declared, schedule = restaurant(bursty=request.param), BURSTY if request.param else SCHEDULE
    run = shards.run(declared, sharded, schedule, sweeps=5, rng=2, folder=folder / "run")
    franchise = hk.Franchise(declared, named, store="counts", root="weights")
    franchise.expand_cells()
    franchise.thaw(run.state())
    np.testing.assert_array_equal(run.dish_counts(), franchise.dish_counts)
    np.testing.assert_array_equal(run.topic_counts(), franchise.topic_counts)
    return folder / "run", sharded, franchise


def test_topics_and_shares_are_those_of_the_state(finished, tmp_path):
    folder, sharded, franchise = finished
    state = ShardedState.open(folder, franchise.declarations[-1], sharded)
    order = np.argsort(-franchise.dish_counts.sum(axis=1), kind="stable")
    assert state.sweep == 5
    np.testing.assert_array_equal(state.dish_counts, franchise.dish_counts[order])
    np.testing.assert_array_equal(state.topic_counts.toarray(), franchise.topic_counts[order])
    np.testing.assert_allclose(state.topics(), franchise.dish_parameters()[order], rtol=1e-12)
    weights, rest = franchise.root_weights()
    np.testing.assert_array_equal(state.weights, np.append(weights[order], rest))
    assert state.concentration == franchise.concentration("document")
    top = np.argsort(-state.topics()[0], kind="stable")[:3].tolist()
    assert state.top_terms(3)[0] == top
    wanted = franchise.group_weights("document")[:, [*order, -1]]
    lengths = franchise.data.document_lengths
    found = np.zeros_like(wanted)
    tokens = np.zeros(wanted.shape, int)
    for file in write_shares(state, tmp_path / "shares"):
        with open(file, newline="", encoding="utf-8") as text:
            for row in csv.DictReader(text):
                place = int(row["document"][1:]), int(row["topic"]) - 1
                found[place], tokens[place] = float(row["share"]), int(row["tokens"])
    np.testing.assert_array_equal(tokens.sum(axis=1), lengths)
    others = state.concentration * state.weights / (lengths[:, None] + state.concentration)
    np.testing.assert_allclose(np.where(tokens > 0, found, others), wanted, rtol=1e-6)
    # Two processes write to one folder.
    some = write_shares(state, tmp_path / "some", ".jsonl", [2])
    some += write_shares(state, tmp_path / "some", ".jsonl", (0, 1))
    assert [path.name for path in some] == [f"shares-000{i}.jsonl" for i in (2, 0, 1)]


@pytest.mark.filterwarnings("ignore::hdpkit.errors.ManyTopicsWarning")
def test_many_topics_are_read_without_an_array_of_topics_by_terms(tmp_path):
    documents = [np.random.default_rng(d).integers(0, 20_000, 10) for d in range(200)]
    data = hk.Corpus.from_documents(documents, n_terms=20_000)
    run = tmp_path / "run"
    shards.run(
        restaurant(), shards.cut(data, 2), [moves.Concentration()], sweeps=1, rng=0,
        init=hk.init.Random(1000), folder=run,
    )  # fmt: skip
    tracemalloc.start()
    try:
        state = ShardedState.open(run)
        top, shares = state.top_terms(3), state.shares(1)
        checks = list(verify_run(run))
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert state.n_topics * 20_000 * 8 > 130e6
    assert most < 60e6
    assert len(top) == state.n_topics
    assert shares["tokens"].sum() == state.corpus.shards[1].n_tokens
    assert all(check.passed for check in checks), checks


@pytest.mark.parametrize("learn", [True, False])
def test_scores_are_those_of_all_documents_together(finished, learn):
    folder, sharded, franchise = finished
    state = ShardedState.open(folder, franchise.declarations[-1], sharded)
    order = np.argsort(-franchise.dish_counts.sum(axis=1), kind="stable")
    weights, rest = franchise.root_weights()
    eta = float(franchise.base_parameters["eta"])
    new = np.full(40, 1 / 40)
    mass = np.append(franchise.topic_counts[order].sum(axis=1), 0) + 40 * eta
    prior = franchise.concentration("document") * np.append(weights[order], rest)
    topics = FixedTopics.of(
        franchise.dish_parameters()[order], new, prior, mass if learn else None,
        repeats_in(franchise.sample()),
    )  # fmt: skip
    observed, held = halves(sparse.csr_array(NEW.to_counts()), 0)
    wanted = completion([topics], observed, held, 1e-8)
    for n in (1, 3):
        data = shards.cut(NEW, n)
        score = state.score(data, learn=learn, tolerance=1e-8)
        assert score.tokens.sum() == held.sum()
        np.testing.assert_allclose(np.log(score.perplexity), -wanted, rtol=1e-9)
        part = state.score(data, learn=learn, tolerance=1e-8, shards=[n - 1])
        assert part.shards.tolist() == [n - 1]
        np.testing.assert_array_equal(part.log_probability, score.log_probability[-1:])
    two = [shards.cut(hk.Corpus.from_counts(half), 1) for half in (observed, held)]
    given = state.score(two[0], two[1], learn=learn, tolerance=1e-8)
    np.testing.assert_allclose(np.log(given.perplexity), -wanted, rtol=1e-9)


def test_finite_models(tmp_path):
    root = hk.Restaurant(hk.DirichletMultinomial(0.3))
    finite = hk.Restaurant(root, each="document", concentration=0.7)
    data = shards.cut(DATA, 2)
    weights = hk.FixedWeights(5)
    run = shards.run(finite, data, [moves.SliceGibbs()], sweeps=2, rng=1, root=weights, folder=tmp_path)
    state = ShardedState.open(tmp_path, finite, data, root=weights)
    np.testing.assert_array_equal(
        np.sort(state.dish_counts.sum(axis=1)), np.sort(run.dish_counts().sum(axis=1))
    )
    assert state.weights.sum() == pytest.approx(1.0)
    assert state.weights[0] == 0.2
    assert 1 < state.score(shards.cut(NEW, 2)).perplexity < 40


def test_what_does_not_fit_is_refused(finished, tmp_path):
    folder, sharded, franchise = finished
    declared = franchise.declarations[-1]
    with pytest.raises(RunError, match=r"a folder with a run\.json"):
        ShardedState.open(tmp_path, declared, sharded)
    with pytest.raises(RunError, match="corpus, in"):
        ShardedState.open(folder, declared, shards.cut(DATA, 3))
    with pytest.raises(RunError, match="root, in"):
        ShardedState.open(folder, declared, sharded, root=hk.FixedWeights(5))
    other = hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each="document")
    with pytest.raises(RunError, match="restaurant, in"):
        ShardedState.open(folder, other, sharded)
    for bad in ((5, sharded), (declared, DATA)):
        with pytest.raises(ParameterError, match=r"Restaurant|in shards"):
            ShardedState.open(folder, *bad)
    state = ShardedState.open(folder, declared, sharded)
    for bad in (-1, 3, 1.0, "0"):
        with pytest.raises(ParameterError, match="number"):
            state.shares(bad)
        with pytest.raises(ParameterError, match="shards"):
            state.score(sharded, shards=[bad])
    for bad in ([], [0, 0], "0", 5):
        with pytest.raises(ParameterError, match="different numbers"):
            write_shares(state, tmp_path / "out", shards=bad)
    with pytest.raises(ParameterError, match="suffix"):
        write_shares(state, tmp_path / "out", ".xls")
    with pytest.raises(ParameterError, match="in shards"):
        state.score(DATA)
    with pytest.raises(DataError, match="39 terms"):
        state.score(shards.cut(corpus(n_terms=39), 2))
    with pytest.raises(DataError, match="same shards"):
        state.score(shards.cut(NEW, 2), shards.cut(NEW, 3))
    lost = next(folder.glob("chain-000/sweep-00000005/shard-0001"))
    content = lost.read_bytes()
    for damage in (lambda: lost.write_bytes(content[:-1]), lost.unlink):
        damage()
        try:
            with pytest.raises(ShardError, match="shard 1"):
                state.shares(1)
            state.shares(0)
        finally:
            lost.write_bytes(content)
