"""Mapped corpora whose files change, relative paths of folders, and counting of sweeps."""

import os
import shutil

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import BusyError, DataError, HdpkitError, RunError, StateError

DOCS = [[0, 1, 1, 2], [], [2, 2], [0, 3]]


@pytest.fixture
def folder(tmp_path):
    hk.Corpus.from_documents(DOCS, n_terms=4, groups={"year": [1, 2, 1, 2]}).save(tmp_path / "corpus")
    return tmp_path / "corpus"


def franchise_of(data, store="histogram"):
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    return hk.Franchise(hk.Restaurant(base=root, concentration=0.7, each="document"), data, store=store)


def scheduler():
    return hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])


def overwrite(path, back_to=-1, value=2**30):
    """Put another number in place, as an editor would that keeps the size of a file."""
    with open(path, "r+b") as file:
        file.seek(back_to * 4, os.SEEK_END)
        file.write(np.int32(value).tobytes())


DAMAGE = {
    "shortened": lambda folder: os.truncate(folder / "shard-0000" / "terms.npy", 130),
    "longer": lambda folder: (folder / "shard-0000" / "document.npy").open("ab").write(b"x"),
    "written over": lambda folder: overwrite(folder / "shard-0000" / "terms.npy"),
    "documents written over": lambda folder: overwrite(folder / "shard-0000" / "document.npy"),
    "lengths written over": lambda folder: overwrite(folder / "shard-0000" / "lengths.npy"),
    "a label written over": lambda folder: overwrite(folder / "shard-0000" / "label-0.npy"),
    "gone": lambda folder: (folder / "shard-0000" / "terms.npy").unlink(),
    "all gone": shutil.rmtree,
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_changed_file_stops_a_run_before_its_next_sweep(folder, tmp_path, damage):
    franchise = franchise_of(hk.Corpus.open(folder, verify=False))

    def change(draw):
        if draw.sweep == 2:
            DAMAGE[damage](folder)

    with pytest.raises(DataError, match="unchanged since the corpus was opened") as caught:
        scheduler().run(franchise, 5, rng=0, callbacks=[change], folder=tmp_path / "run")
    assert str(folder) in caught.value.parameter
    for _ in range(2):  # and every later one
        with pytest.raises(DataError, match="unchanged since"):
            scheduler().run(franchise, 1, rng=0)
    with pytest.raises(DataError, match="unchanged since"):
        franchise_of(franchise.data)
    with pytest.raises(RunError):
        hk.open_run(tmp_path / "run")


def test_a_file_with_the_same_content_is_the_same(folder):
    franchise = franchise_of(hk.Corpus.open(folder))

    def touch(draw):
        os.utime(folder / "shard-0000" / "terms.npy", ns=(1, draw.sweep))
        content = (folder / "shard-0000" / "document.npy").read_bytes()
        (folder / "shard-0000" / "document.npy").unlink()
        (folder / "shard-0000" / "document.npy").write_bytes(content)

    assert len(scheduler().run(franchise, 4, rng=0, callbacks=[touch])["n_dishes"]) == 4


@pytest.mark.parametrize("chains", [None, 2])
def test_a_run_stays_in_its_folder_when_the_process_changes_its_own(folder, tmp_path, monkeypatch, chains):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    franchise = franchise_of(hk.Corpus.open("corpus"))

    def move_away(draw):
        os.chdir(tmp_path / "elsewhere")

    options = {"callbacks": [move_away], "checkpoint": hk.Checkpoint(sweeps=1), "chains": chains}
    scheduler().run(franchise, 4, rng=0, folder="run", **options)
    os.chdir(tmp_path)
    run = hk.open_run("run")
    assert run.folder == tmp_path / "run"
    os.chdir(tmp_path / "elsewhere")
    assert run.sweeps == [4] * (chains or 1)
    run.resume(2, callbacks=[move_away])
    assert run.franchise().sweep == 6
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not list(tmp_path.glob("*.tmp"))


def test_a_folder_that_is_gone_is_a_typed_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(HdpkitError, match="folder"):
        scheduler().run(franchise_of(hk.Corpus.from_documents(DOCS)), 2, rng=0, folder="run")
    with pytest.raises(HdpkitError, match="folder"):
        hk.open_run("run")


def test_callbacks_that_take_the_franchise_elsewhere(tmp_path):
    franchise = franchise_of(hk.Corpus.from_documents(DOCS))
    scheduler().run(franchise, 2, rng=0)
    start = franchise.freeze()
    callbacks = {
        "thaw": (lambda draw: franchise.thaw(start), StateError),
        "clear": (lambda draw: franchise.clear(), StateError),
        "run": (lambda draw: scheduler().run(franchise, 1, rng=0), BusyError),
        "sweep": (lambda draw: setattr(franchise, "sweep", 10**9), StateError),
    }
    for name, (callback, expected) in callbacks.items():
        with pytest.raises(expected):
            scheduler().run(franchise, 5, rng=0, callbacks=[callback], folder=tmp_path / name)
        franchise.audit()
        assert hk.open_run(tmp_path / name).sweeps == [1]
        assert len(hk.open_run(tmp_path / name).resume()["n_dishes"]) == 5
