"""Runs over shards: starts, checkpoints, invalid arguments, and errors that name the shard."""

import shutil
import signal

import numpy as np
import pytest
from npz_files import tree_of
from shard_cases import BURSTY, SCHEDULE, corpus, restaurant, run_shards, same, same_numbers

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.cli.verification import verify_run
from hdpkit.run.shards import files
from hdpkit.run.shards import state as sources

DATA = corpus()


MODEL = {"bursty": False}


@pytest.fixture(params=[False, True], ids=["plain", "bursty"])
def both(request, monkeypatch):
    """Both kinds of topics: the same in all documents, and those that differ by document."""
    monkeypatch.setitem(MODEL, "bursty", request.param)


def schedule():
    return BURSTY if MODEL["bursty"] else SCHEDULE


def franchise_of(root="weights"):
    found = hk.Franchise(restaurant(**MODEL), DATA, store="counts", root=root)
    found.expand_cells()
    return found


def run(source, sweeps=3, workers=1, **options):
    options = {"rng": 11, "init": hk.init.Random(4), "moves": schedule(), **options}
    return run_shards(
        restaurant(**MODEL), source, options.pop("moves"), sweeps=sweeps, backend=shards.Local(workers),
        **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "shards"
    hk.ShardedCorpus.write(DATA, path, 4)
    return path


@pytest.mark.usefixtures("both")
def test_a_start_goes_on_as_in_one_process():
    begun = run(shards.cut(DATA, 3), sweeps=0, workers=2)
    franchise = franchise_of()
    franchise.thaw(begun.state())
    hk.Scheduler(schedule()).run(franchise, sweeps=3, rng=11, init=None)
    ended = run(shards.cut(DATA, 3), workers=3)
    same(ended.state(), franchise.freeze())
    np.testing.assert_array_equal(ended.franchise.dish_counts(), franchise.dish_counts)
    rows = ended.franchise.document_counts()
    counts = np.zeros((DATA.n_documents, franchise.n_dishes), dtype=np.int64)
    np.add.at(counts, (DATA.document, franchise.dishes), 1)
    found = np.zeros_like(counts)
    found[rows[:, 0], rows[:, 1]] = rows[:, 2]
    np.testing.assert_array_equal(found, counts)


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize(("workers", "threads"), [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("root", ["weights", "restaurant"])
def test_a_state_as_start_is_that_of_a_scheduler(root, workers, threads):
    """Sweeps count from 1 and hyperparameters are reset; without weights in the state they are drawn."""
    chosen = moves.TableGibbs() if root == "restaurant" else moves.SliceGibbs()
    other = franchise_of(root)
    hk.Scheduler([chosen, *schedule()[2:]]).run(other, sweeps=3, rng=5, init=hk.init.Random(6))
    given = other.freeze()
    for init in (given, other):
        for sweeps in (0, 3):
            franchise = franchise_of()
            if sweeps:
                trace = hk.Scheduler(schedule()).run(franchise, sweeps=sweeps, rng=11, init=init)
            begun = run(shards.cut(DATA, 4), sweeps=sweeps, workers=workers, threads=threads, init=init)
            assert begun.franchise.sweep == begun.made == sweeps
            if sweeps:
                same(begun.state(), franchise.freeze())
                same_numbers(begun.trace, trace)
            else:
                state = begun.state()
                bursts = {"concentration/bursts": 10.0, "discount/bursts": 1.0 / 3.0}
                assert state["measure"] == {"eta": 0.5, **(bursts if MODEL["bursty"] else {})}
                assert set(state["concentration"].tolist()) == {1.0}


def forged(state):
    """Changed states: what they lack or contain, and the state."""
    seating, n = state["seating"], DATA.n_tokens
    for key in state.keys() & {"seating", "slots", "held"}:
        yield f"no {key}", {name: value for name, value in state.items() if name != key}
    for key, values in {
        "slots": ([0, 0], [-1], [2**31], "0", None, state["slots"][:-1]),
        "dish_ids": ([], [0] * len(state["slots"])),
        "births": (0, None),
        "held": ([77], None),
        "held_groups": (np.array([1], dtype=np.int32),),
        "components": (5, {"root weights": 5}),
        "seating": (5, {}),
    }.items():
        for value in values:
            yield f"{key} = {value}", {**state, key: value}
    column = seating["count_tables"].copy()
    for key, value in {
        "dish": np.full(n, 10**6), "count_tables": column * 0, "count_customers": column,
        "count_node": seating["count_node"][::-1].copy(), "count_dish": seating["count_dish"] + 1,
    }.items():  # fmt: skip
        for bad in (value, value.astype(float), value[:-1], -value - 1, None, "x", [[1], 2]):
            yield f"{key} = {bad}", {**state, "seating": {**seating, key: bad}}
    for key, value in (state["bank"] or {}).items():
        for bad in (value * 0, 1 - value, value[:-1], -value, value * 2, value + 0.5, None, "x", [[1], 2]):
            yield f"{key} = {bad}", {**state, "bank": {key: bad}}


def test_a_state_of_plain_topics_is_a_start_of_topics_that_differ_by_document(monkeypatch):
    """Each word of a dish in a document then has one table, as in one process."""
    given = run(shards.cut(DATA, 2), sweeps=1).state()
    monkeypatch.setitem(MODEL, "bursty", True)
    franchise = franchise_of()
    hk.Scheduler(schedule()).run(franchise, sweeps=2, rng=11, init={**given, "bank": None})
    same(run(shards.cut(DATA, 3), sweeps=2, workers=2, init=given).state(), franchise.freeze())


@pytest.mark.usefixtures("both")
def test_states_that_do_not_fit_are_refused():
    given = run(shards.cut(DATA, 2), sweeps=1).state()
    run(shards.cut(DATA, 2), sweeps=1, init=given)
    for what, state in forged(given):
        for workers in (1, 2):
            with pytest.raises(hk.errors.DataError):
                pytest.fail(what + repr(run(shards.cut(DATA, 2), workers=workers, sweeps=1, init=state)))


def newest(folder):
    """The file of the newest state of a run, and its content."""
    file = folder / "chain-000" / "state.npz"
    return file, tree_of(file)[1]


def place_of(folder, number):
    """The file of a shard of the newest state."""
    sweep = newest(folder)[1]["sweep"]
    return folder / "chain-000" / f"sweep-{sweep:08d}" / f"shard-{number:04d}.npz"


@pytest.mark.usefixtures("both")
@pytest.mark.parametrize("cells", [True, False])
def test_tokens_in_a_file_give_the_same_chain(tmp_path, monkeypatch, cells):
    data = hk.Corpus.from_counts(DATA.to_counts()) if cells else DATA
    source = hk.ShardedCorpus.write(data, tmp_path / "corpus", 4)
    monkeypatch.setattr(sources, "CHUNK", 100)
    spooled = run(source, workers=2, spool=tmp_path / "spool", folder=tmp_path / "run")
    same(spooled.state(), run(source).state())
    assert list((tmp_path / "spool").iterdir()) == []  # files without names
    for worker in spooled.franchise._backend._workers:
        franchise = worker.franchise
        for array in (franchise.data.values, franchise.topology.home):
            assert isinstance(array.base, np.memmap) or isinstance(array, np.memmap)
    same(run(source, sweeps=5, folder=tmp_path / "run").state(), run(source, sweeps=5).state())


@pytest.mark.usefixtures("both")
def test_a_full_disk_is_an_error_that_names_the_shard_and_loses_nothing(tmp_path):
    """A limit on the size of files, which the state of a shard is above, or what all have in common."""
    resource = pytest.importorskip("resource")
    hk.ShardedCorpus.write(DATA, tmp_path / "shards", 8)  # each smaller than what all have in common
    source, kept = hk.ShardedCorpus.open(tmp_path / "shards"), tmp_path / "run"
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limited(limit):
        def callback(draw):
            if draw.sweep == 1:  # after its checkpoint
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))

        return callback

    whole = run(source, sweeps=4)
    run(source, sweeps=2, folder=kept)
    states = [path.stat().st_size for path in kept.glob("chain-000/sweep-*/shard-*")]
    assert newest(kept)[0].stat().st_size > max(states)
    for limit, what in ((min(states) - 1, r"shard [0-7] = "), (max(states), r"(state|trace-000000)\.npz")):
        shutil.rmtree(kept, ignore_errors=True)
        try:
            told = what + r".*\(File too large\).*(run again|goes on from)"
            with pytest.raises(hk.errors.StorageError, match=told):
                run(source, sweeps=4, workers=2, folder=kept, checkpoint=1, callback=limited(limit))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        again = run(source, sweeps=4, workers=3, folder=kept)
        assert again.made == 3
        same(again.state(), whole.state())
        assert files.stored_sweeps(kept / "chain-000") == {4}
        assert all(check.passed for check in verify_run(kept))


def test_a_second_run_in_a_folder_that_is_in_use_is_refused(folder, tmp_path):
    """Also from the process of the first, whose chain is as if there had been no other."""
    source, kept, told = hk.ShardedCorpus.open(folder), tmp_path / "run", []

    def second(draw):
        with pytest.raises(hk.errors.LockedRunError, match="no other process is using") as caught:
            run(source, sweeps=9, workers=2, folder=kept, checkpoint=1)
        told.append(str(caught.value))

    first = run(source, sweeps=5, folder=kept, checkpoint=1, callback=second)
    assert len(told) == 5
    assert "space" not in told[0]
    same(first.state(), run(source, sweeps=5).state())
    assert run(source, sweeps=6, folder=kept).franchise.sweep == 6  # it is free again
    with pytest.raises(hk.errors.RunError, match="holds no run"):
        hk.Scheduler(SCHEDULE).run(first.franchise, 6, folder=kept)
    assert run(source, sweeps=7, folder=kept).franchise.sweep == 7  # after an error too


def test_a_franchise_over_another_corpus_is_refused(folder, tmp_path):
    source, kept = hk.ShardedCorpus.open(folder), tmp_path / "run"
    run(source, sweeps=1, folder=kept)
    with pytest.raises(hk.errors.ParameterError, match="corpus"):
        run(shards.cut(DATA, 4), folder=kept)


def test_a_damaged_state_is_an_error_that_names_the_shard(folder, tmp_path):
    source, kept = hk.ShardedCorpus.open(folder), tmp_path / "run"
    run(source, sweeps=1, folder=kept)
    path = place_of(kept, 2)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(hk.errors.ShardError, match="shard 2") as caught:
        run(source, workers=2, folder=kept)
    assert caught.value.shard == 2


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_a_run_after_its_sweep_with_a_checkpoint(folder, tmp_path, times):
    source, kept = hk.ShardedCorpus.open(folder), tmp_path / "run"
    franchise, given = shards.ShardedFranchise(restaurant(), source), {"rng": 11, "init": hk.init.Random(4)}

    def press(draw):
        if draw.sweep == 3:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)

    with pytest.warns(hk.errors.InterruptedRunWarning, match="after sweep 3"):
        trace = hk.Scheduler(SCHEDULE).run(
            franchise, 6, folder=kept, backend=shards.Local(2), callbacks=[press], **given
        )
    assert trace.interrupted
    assert trace.n_draws == franchise.sweep == 3
    assert hk.open_run(kept).sweeps == [3]
    whole = run(source, sweeps=6)
    same_numbers(hk.open_run(kept).resume(), whole.trace)
    same(hk.open_run(kept).franchise().freeze(), whole.state())


class Interrupts(moves.Concentration):
    """Raises a second Ctrl-C within the third sweep."""

    over = "totals"

    def apply(self, state, rng, steps=None):
        if state.sweep == 2:
            raise KeyboardInterrupt
        return super().apply(state, rng, steps)


def test_a_sweep_that_ctrl_c_ends_is_not_saved(folder, tmp_path):
    """The workers can't undo it: the folder has the last checkpoint, from which the run goes on."""
    franchise = shards.ShardedFranchise(restaurant(), hk.ShardedCorpus.open(folder))
    schedule = [moves.SliceGibbs(), moves.RootWeights(), Interrupts()]
    with pytest.warns(hk.errors.InterruptedRunWarning, match="after sweep 2"):
        trace = hk.Scheduler(schedule).run(franchise, 6, rng=11, folder=tmp_path / "run")
    assert trace.n_draws == 2
    assert hk.open_run(tmp_path / "run", [Interrupts]).sweeps == [0]
    with pytest.raises(hk.errors.StateError, match="open the folder of its run"):
        franchise.freeze()


@pytest.mark.parametrize(
    "option", [{"chains": 2}, {"processes": 2}, {"samples": 1}, {"audit_every": 1}, {"init": None}]
)
def test_what_needs_all_documents_in_one_process_is_refused(option):
    franchise = shards.ShardedFranchise(restaurant(), shards.cut(DATA, 2))
    with pytest.raises(hk.errors.HdpkitError, match=f"^{next(iter(option))} = "):
        hk.Scheduler(SCHEDULE).run(franchise, 2, rng=0, **option)
