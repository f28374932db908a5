"""Folders of killed runs, cut off, damaged, forged, with links: the right result or a typed error."""

import json
import os
import random
import shutil
import zipfile
from pathlib import Path

import kill_trials
import numpy as np
import pytest
from npz_files import write_members, write_tree
from programs import TRIALS, python

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.cli.verification import verify_run
from hdpkit.files import read_npz
from hdpkit.run import trace as of_trace

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills, forks and links are of Unix")


def kill(trials, seed, place):
    done = python(kill_trials.__file__, trials, seed, place)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("trials", [12, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_random_moments_a_run_ends_as_if_it_had_not_been(trials, tmp_path):
    report = kill(trials, 1, tmp_path)
    assert report["wrong"] == []
    assert report["trials"] == trials
    assert report["begun"] >= trials // 2  # the kills must fall into the run for this to say anything
    assert report["kills"] >= trials // 2


def begun(folder, sweeps, callbacks):
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(2.0, 4.0))
    state = hk.Franchise(hk.Restaurant(root, concentration=0.7, each="document"), corpus)
    scheduler, each = hk.Scheduler([moves.TableGibbs(), moves.Concentration()]), hk.Checkpoint(sweeps=1)
    return scheduler.run(state, sweeps, rng=0, folder=folder, checkpoint=each, callbacks=callbacks)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run on a tiny corpus, and what is right of it."""
    folder, frozen = tmp_path_factory.mktemp("damage") / "run", {}

    def keep(draw):
        frozen[draw.sweep] = draw.franchise.freeze()

    return folder, begun(folder, 4, [keep]), frozen


def alike(one, other):
    left, right = dict(kill_trials.leaves(one)), dict(kill_trials.leaves(other))
    return left.keys() == right.keys() and all(np.array_equal(left[path], right[path]) for path in left)


def outcome(folder, small):
    """What opening the folder comes to: "error", or "right"; anything else is raised."""
    _, trace, frozen = small
    try:
        run = hk.open_run(folder)
        found, franchise = run.trace, run.franchise()
    except errors.HdpkitError as error:
        return "error" if str(error) else "an error without a word"
    n = found.n_draws
    assert franchise.sweep <= n <= trace.n_draws
    assert all(np.array_equal(found[key], trace[key][:n]) for key in found)
    assert found["sweep"][-1] >= franchise.sweep
    assert alike(franchise.freeze(), frozen[franchise.sweep])
    return "right"


def files(folder):
    return [folder / "run.json", folder / "data.npz", *sorted((folder / "chain-000").glob("[st]*"))]


@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.long), 7], ids=["every byte", "every seventh"]
)
@pytest.mark.parametrize("number", range(4), ids=["run.json", "data.npz", "state.npz", "trace.npz"])
def test_cut_off_at_every_byte(number, step, small, tmp_path):
    """Every length, or every seventh and the 64 shortest and longest."""
    folder = tmp_path / "run"
    shutil.copytree(small[0], folder)
    file = files(folder)[number]
    whole = file.read_bytes()
    results = []
    lengths = [n for n in range(len(whole)) if n % step == 0 or n < 64 or n >= len(whole) - 64]
    for length in lengths:
        file.write_bytes(whole[:length])
        results.append(outcome(folder, small))
    assert set(results) == {"error"}
    file.write_bytes(whole)
    assert outcome(folder, small) == "right"


@pytest.mark.parametrize("count", [600, pytest.param(5000, marks=pytest.mark.long)])
def test_random_bits(small, tmp_path, count):
    folder = tmp_path / "run"
    shutil.copytree(small[0], folder)
    draw = random.Random(7)
    places = [(file, file.read_bytes()) for file in files(folder)]
    weights = [len(whole) for _, whole in places]
    seen = []
    for _ in range(count):
        file, whole = draw.choices(places, weights)[0]
        bit = draw.randrange(8 * len(whole))
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        seen.append((file.name, outcome(folder, small)))
        file.write_bytes(whole)
    assert ("run.json", "error") in seen
    assert {result for name, result in seen if name != "run.json"} == {"error"}


@pytest.mark.parametrize(("per_file", "thin"), [(1, 1), (2, 2), (3, 5), (500, 1)])
def test_a_trace_ahead_of_the_state_is_cut_at_its_sweep(per_file, thin, tmp_path, monkeypatch):
    """So is what a kill leaves between the trace and the state, whichever checkpoint it comes in."""
    monkeypatch.setattr(of_trace, "_SWEEPS", per_file)

    def run(**options):
        corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
        state = hk.Franchise(
            hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1, 1)), corpus
        )
        schedule = hk.Scheduler([moves.TableGibbs(), moves.Concentration()])
        return schedule.run(state, 9, rng=0, thin=thin, **options)

    folder, states = tmp_path / "run", tmp_path / "states"
    states.mkdir()
    file = folder / "chain-000" / "state.npz"
    trace = run(
        folder=folder, checkpoint=hk.Checkpoint(sweeps=1),
        callbacks=[lambda draw: shutil.copy(file, states / str(draw.sweep))],
    )  # fmt: skip
    end = hk.open_run(folder).franchise().freeze()
    assert len(list(file.parent.glob("trace-*"))) == -(-9 // per_file)
    for sweep in (1, 3, 8):
        shutil.copytree(folder, tmp_path / str(sweep))
        shutil.copy(states / str(sweep), tmp_path / str(sweep) / "chain-000" / "state.npz")
        again = hk.open_run(tmp_path / str(sweep))
        assert again.trace.n_draws == sweep // thin
        assert again.trace.moves["sweep"].tolist() == sorted([*range(1, sweep + 1)] * 2)
        resumed = again.resume()
        assert not kill_trials.differences(resumed, again.franchise(), (trace, end))
        assert all(check.passed for check in verify_run(tmp_path / str(sweep)))
    for gone in file.parent.glob("trace-*"):
        content = gone.read_bytes()
        gone.unlink()
        with pytest.raises(errors.CorruptRunError, match="trace"):
            hk.open_run(folder).resume()
        gone.write_bytes(content)


@pytest.mark.parametrize(
    "content",
    ['{"$array":0}', '{"$array":1}', '{"$array":-1}', '{"$array":"0"}', '{"$array":null}', '{"$bytes":[]}',
     '{"$scalar":"AAAA"}', '{"$what":1}', "[" * 10**5, "{"],
)  # fmt: skip
def test_sizes_are_checked_before_anything_is_allocated(content, tmp_path):
    file = tmp_path / "file.npz"
    tree = f'{{"format": "hdpkit some", "version": 3, "content": {content}}}'
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n"
    array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    write_members(file, [("tree.json", tree), ("0.npy", array + bytes(8))])
    with pytest.raises(errors.CorruptRunError):
        read_npz(file, "hdpkit some")


def outside(place):
    """Files that nobody may write to, and what is in them."""
    folder = place / "outside"
    folder.mkdir()
    victim = folder / "victim"
    victim.write_bytes(b"precious")
    return victim


NAMES = ["run.json", "data.npz", "lock", "chain-000/state.npz", "chain-000/trace-000000.npz",
         "chain-000/lock"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_link_in_place_of_a_file_is_refused_and_named(small, tmp_path, name):
    shutil.copytree(small[0], tmp_path / "run")
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


def test_a_link_in_place_of_a_folder_is_refused(tmp_path):
    text = [["a", "b"], ["b"]]
    hk.NGramModel(2).fit(text, sweeps=3, burn_in=1, samples=2, rng=0, folder=tmp_path / "run")
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


@pytest.mark.parametrize("name", NAMES)
def test_a_pipe_or_a_folder_is_no_file(small, tmp_path, name):
    for number, make in enumerate((os.mkfifo, os.mkdir)):
        folder = tmp_path / f"run-{number}"
        shutil.copytree(small[0], folder)
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
        begun(folder, 9, [swap])
    assert {file.name: file.read_bytes() for file in there.glob("*.npz")} == swap.before


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.long)])
def test_forged_folders_are_errors_or_healthy(count, tmp_path):
    done = python(TRIALS / "forge_trials.py", count, 1, tmp_path)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["wrong"] == []
    assert report["trials"] == count
    assert report["error"] > count // 3
    assert report["healthy"] > count // 20


def test_arrays_that_share_bytes_are_refused(tmp_path):
    """A small file could otherwise ask for a thousand times its size."""
    file = tmp_path / "file.npz"
    write_tree(file, "hdpkit some", {"a": np.zeros(4096)})
    assert len(read_npz(file, "hdpkit some")["a"]) == 4096
    with zipfile.ZipFile(file) as archive:
        array, tree = archive.read("0.npy"), json.loads(archive.read("tree.json"))
    tree["content"] = {"many": [{"$array": 0}] * 50}
    write_members(file, [("tree.json", json.dumps(tree)), ("0.npy", array)])
    with pytest.raises(errors.CorruptRunError):
        read_npz(file, "hdpkit some")
