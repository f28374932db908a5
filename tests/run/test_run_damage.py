"""Folders of killed runs, truncated or damaged folders: the right result or a typed error."""

import json
import os
import random
import shutil
import subprocess
import sys

import kill_trials
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves

# ------------------------------------------------------------------------- kill -9


def kill(trials, seed, place):
    command = [sys.executable, kill_trials.__file__, str(trials), str(seed), str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is of Unix")
@pytest.mark.parametrize("trials", [12, pytest.param(200, marks=pytest.mark.long)])
def test_killed_at_random_moments_a_run_ends_as_if_it_had_not_been(trials, tmp_path):
    report = kill(trials, 1, tmp_path)
    assert report["wrong"] == []
    assert report["trials"] == trials
    assert report["begun"] >= trials // 2  # the kills must fall into the run for this to say anything
    assert report["kills"] >= trials // 2


# ------------------------------------------------------------------------- cut off, flipped


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run on a tiny corpus: two generations of state, several blocks; and what is right of it."""
    folder = tmp_path_factory.mktemp("damage") / "run"
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(2.0, 4.0))
    state = hk.Franchise(hk.Restaurant(root, concentration=0.7, each="document"), corpus)
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.Concentration()])
    frozen = {}
    trace = scheduler.run(
        state, 4, rng=0, folder=folder, checkpoint=hk.Checkpoint(sweeps=1),
        callbacks=[lambda draw: frozen.__setitem__(draw.sweep, draw.franchise.freeze())],
    )  # fmt: skip
    end = scheduler.run(state, 2, init=None)
    return folder, trace, frozen, end


def alike(one, other):
    left, right = dict(kill_trials.leaves(one)), dict(kill_trials.leaves(other))
    return left.keys() == right.keys() and all(np.array_equal(left[path], right[path]) for path in left)


def outcome(folder, small):
    """What opening the folder comes to: "error", or "right"; anything else is raised."""
    _, trace, frozen, _ = small
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
    return [folder / "run.json", folder / "data.bin", *sorted((folder / "chain-000").glob("[st]*"))]


@pytest.mark.parametrize(
    "step", [pytest.param(1, marks=pytest.mark.long), 7], ids=["every byte", "every seventh"]
)
@pytest.mark.parametrize("number", range(5), ids=["run.json", "data.bin", "state-0", "state-1", "trace.bin"])
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
    assert results == sorted(results)  # errors first: what is enough stays enough with more
    right = results.count("right")
    if file.name == "trace.bin":
        assert 0 < right < len(lengths)  # enough up to the older generation
    else:
        assert right == {"run.json": 0, "data.bin": 0}.get(file.name, len(lengths))
    file.write_bytes(whole)
    assert outcome(folder, small) == "right"


def test_both_generations_cut_off_name_the_file(small, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(small[0], folder)
    for name in ("state-0", "state-1"):
        file = folder / "chain-000" / name
        file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(errors.CorruptRunError, match="state-"):
        hk.open_run(folder).resume()
    with pytest.raises(errors.CorruptRunError, match="state-"):
        _ = hk.open_run(folder).trace


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
    assert ("trace.bin", "error") in seen
    assert ("data.bin", "right") not in seen  # one checksum over everything
    assert {result for name, result in seen if name.startswith("state")} == {"right"}


def test_resumed_after_damage_the_end_is_the_same(small, tmp_path):
    """Flipped bits anywhere in a state or in the trace's last blocks: resume is right or refuses."""
    draw = random.Random(8)
    results = []
    for trial in range(60):
        folder = tmp_path / f"run-{trial}"
        shutil.copytree(small[0], folder)
        file = draw.choice(files(folder)[2:])
        whole = bytearray(file.read_bytes())
        bit = draw.randrange(8 * len(whole))
        whole[bit // 8] ^= 1 << bit % 8
        file.write_bytes(whole)
        try:
            trace = hk.open_run(folder).resume()
            trace = hk.open_run(folder).resume(sweeps=6 - trace.n_draws)
        except errors.HdpkitError:
            results.append("error")
            continue
        results.append("right")
        for key in trace:
            expected = np.concatenate([small[1][key], small[3][key]])
            assert np.array_equal(trace[key], expected), (file.name, bit, key)
    assert results.count("right") >= 20
    assert "error" in results


def test_another_version_is_said_to_be_one(small, tmp_path):
    from hdpkit import files as module

    folder = tmp_path / "run"
    shutil.copytree(small[0], folder)
    text = (folder / "run.json").read_text()
    (folder / "run.json").write_text(text.replace('"version": 2', '"version": 1', 1))
    with pytest.raises(errors.RunVersionError, match="version 2"):
        hk.open_run(folder)
    (folder / "run.json").write_text(text)
    for name in ("state-0", "state-1"):
        file = folder / "chain-000" / name
        whole = bytearray(file.read_bytes())
        whole[8] = 1
        file.write_bytes(whole)
    with pytest.raises(errors.RunVersionError):
        hk.open_run(folder).resume()
    assert module.FORMAT_VERSION == 2


def test_other_data_are_noticed(small, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(small[0], folder)
    other = tmp_path / "other"
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 1]], n_terms=3)
    state = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), corpus)
    hk.Scheduler([moves.TableGibbs()]).run(state, 1, rng=0, folder=other)
    shutil.copy(other / "data.bin", folder / "data.bin")
    with pytest.raises(errors.CorruptRunError, match=r"data\.bin"):
        hk.open_run(folder)
    shutil.copy(other / "chain-000" / "trace.bin", folder / "chain-000" / "trace.bin")
    shutil.copy(small[0] / "data.bin", folder / "data.bin")
    with pytest.raises(errors.CorruptRunError, match="trace"):
        _ = hk.open_run(folder).trace


def test_lengths_are_checked_before_anything_is_allocated(small, tmp_path):
    from hdpkit.files import pack, unpack

    whole = bytearray(pack({"a": np.arange(3)}))
    with pytest.raises(errors.CorruptRunError):
        unpack((2**62).to_bytes(8, "little") + bytes(whole[8:]), "x")
    text = b'{"$array":["<f8",[1000000000000],0]}'
    with pytest.raises(errors.CorruptRunError):
        unpack(len(text).to_bytes(8, "little") + text, "x")
    for bad in (b'{"$array":["|O",[1],0]}', b'{"$array":["<f8",[-1],0]}', b'{"$what":1}', b"[" * 10**5, b"{"):
        with pytest.raises(errors.CorruptRunError):
            unpack(len(bad).to_bytes(8, "little") + bad, "x")
