"""Links, pipes and second names in a run folder: no file outside of it is written or used."""

import os
import shutil
from pathlib import Path

import pytest

import hdpkit as hk
from hdpkit import errors, moves

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links by these rules are of Unix")


def scheduler():
    return hk.Scheduler([moves.TableGibbs()])


def franchise():
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    return hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), corpus)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run and a language model."""
    place = tmp_path_factory.mktemp("links")
    scheduler().run(franchise(), 3, rng=0, folder=place / "run", checkpoint=hk.Checkpoint(sweeps=1))
    hk.NGramModel(2).fit([["a", "b"], ["b"]], sweeps=3, burn_in=1, samples=2, rng=0, folder=place / "model")
    return place


def outside(place):
    """Files that nobody may write to, and what is in them."""
    folder = place / "outside"
    folder.mkdir()
    victim = folder / "victim"
    victim.write_bytes(b"precious")
    return victim


FILES = ["run.json", "data.npz", "lock", "chain-000/state.npz", "chain-000/trace-000000.npz",
         "chain-000/lock"]  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_link_in_place_of_a_file_is_refused_and_named(made, tmp_path, name):
    shutil.copytree(made / "run", tmp_path / "run")
    file, victim = tmp_path / "run" / name, outside(tmp_path)
    if name.endswith("lock"):
        content = b"precious"
    else:
        content = file.read_bytes()
        victim.write_bytes(content)  # what is behind the link is even right
    file.unlink()
    file.symlink_to(victim)
    with pytest.raises(errors.RunError, match=Path(name).name):
        hk.open_run(tmp_path / "run").resume(sweeps=3)
    assert victim.read_bytes() == content
    assert os.listdir(victim.parent) == ["victim"]


def test_a_link_in_place_of_a_folder_is_refused(made, tmp_path):
    shutil.copytree(made / "model", tmp_path / "run")
    name = "chain-000"
    there = tmp_path / "outside"
    (tmp_path / "run" / name).rename(there)
    (tmp_path / "run" / name).symlink_to(there)
    before = {file.name: file.read_bytes() for file in there.iterdir()}
    with pytest.raises(errors.RunError, match=name):
        hk.NGramModel.open(tmp_path / "run").sweep(2)
    with pytest.raises(errors.RunError, match=name):
        hk.open_run(tmp_path / "run").resume(sweeps=2)
    assert {file.name: file.read_bytes() for file in there.iterdir()} == before


@pytest.mark.parametrize("name", FILES)
def test_a_pipe_or_a_folder_is_no_file(made, tmp_path, name):
    for number, make in enumerate((os.mkfifo, os.mkdir)):
        folder = tmp_path / f"run-{number}"
        shutil.copytree(made / "run", folder)
        (folder / name).unlink()
        make(folder / name)
        with pytest.raises(errors.RunError):  # and does not wait for somebody to write
            hk.open_run(folder).resume(sweeps=3)


def test_a_folder_that_becomes_a_link_while_a_run_is_at_work(tmp_path):
    folder, there = tmp_path / "run", tmp_path / "outside"

    def swap(draw):
        if draw.sweep == 3:
            (folder / "chain-000").rename(there)
            (folder / "chain-000").symlink_to(there)
            swap.before = {file.name: file.read_bytes() for file in there.glob("*.npz")}

    with pytest.raises(errors.RunError, match="chain-000"):
        scheduler().run(
            franchise(), 9, rng=0, folder=folder, callbacks=[swap], checkpoint=hk.Checkpoint(sweeps=1)
        )
    assert {file.name: file.read_bytes() for file in there.glob("*.npz")} == swap.before
