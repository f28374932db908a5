"""Samples of runs: which sweeps, in memory, over chains, on disk, resumed and damaged."""

import os
import re
import zipfile

import pytest
from fit_command import call
from npz_files import reseal, write_members

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.verification import verify_run
from hdpkit.errors import CorruptRunError, InterruptedRunWarning
from hdpkit.files import npz_of
from hdpkit.run.samples import _packed

SCHEDULE = [moves.TableGibbs(), moves.DishGibbs(), moves.Concentration()]


def franchise():
    documents = [[0, 0, 1], [1, 2, 2], [2, 3], [0, 3, 3], [4, 4, 1]] * 3
    root = hk.Restaurant(base=hk.DirichletMultinomial(0.3), concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root, concentration=1.0, each="document")
    return hk.Franchise(
        document, hk.Corpus.from_documents(documents, names=[f"d{i}" for i in range(len(documents))])
    )


def run(sweeps, state=None, rng=0, init="sequential", **options):
    return hk.Scheduler(SCHEDULE).run(state or franchise(), sweeps, rng=rng, init=init, **options)


def equal(one, other):
    return [npz_of("", _packed(a)) for a in one] == [npz_of("", _packed(b)) for b in other]


def sweeps(samples):
    return [sample.sweep for sample in samples]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 12 sweeps in one go, in a folder."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    return path, run(12, samples=3, folder=path)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, []),
        (3, [6, 7, 8, 9, 10]),  # every (10 - 5) // 3 = 1: at least 3
        (2, [7, 9]),
        (5, [6, 7, 8, 9, 10]),
        (50, [6, 7, 8, 9, 10]),
        (1, [10]),
        (hk.Samples(after=4, every=3), [7, 10]),
        (hk.Samples(after=0), list(range(1, 11))),
        (hk.Samples(after=10), []),
        (hk.Samples(after=2, at=[9, 3, 12]), [3, 9]),
    ],
)
def test_which_sweeps(given, wanted):
    assert sweeps(run(10, samples=given).samples) == wanted


def test_a_folder_keeps_them(whole):
    path, trace = whole
    assert sweeps(trace.samples) == [8, 10, 12]
    assert equal(trace.samples, run(12, samples=3).samples)
    opened = hk.open_run(path)
    assert equal(opened.samples, trace.samples)
    assert equal(opened.trace.samples, trace.samples)
    assert sweeps(opened.samples[1:]) == [10, 12]
    assert "3 samples of 1 chain" in repr(opened.samples)
    assert sorted(os.listdir(path / "chain-000"))[1:4] == [f"sample-{s:08d}.npz" for s in (8, 10, 12)]
    assert trace.samples[0].names == tuple(f"d{i}" for i in range(15))
    checks = {check.name: check for check in verify_run(path)}
    assert checks["chain-000/samples"].passed
    assert "3 samples" in checks["chain-000/samples"].detail


def test_resuming_goes_on_bit_for_bit(whole, tmp_path):
    """Ctrl-C after sweep 9; more sweeps than were planned go on by the same rule."""

    def stop(draw):
        if draw.sweep == 9:
            raise KeyboardInterrupt

    path = tmp_path / "run"
    with pytest.warns(InterruptedRunWarning):
        run(12, samples=3, folder=path, callbacks=[stop])
    assert equal(hk.open_run(path).resume().samples, whole[1].samples)
    longer = hk.open_run(path).resume(sweeps=5)
    assert sweeps(longer.samples) == [8, 10, 12, 14, 16]
    assert equal(longer.samples, run(17, samples=hk.Samples(after=6, every=2)).samples)
    with_chains = run(4, samples=1, folder=tmp_path / "two", chains=2)
    opened = hk.open_run(tmp_path / "two")
    assert [(s.chain, s.sweep) for s in opened.samples] == [(0, 4), (1, 4)]
    assert equal(opened.samples, with_chains.samples)
    assert equal(opened.resume(sweeps=2).samples, run(6, samples=hk.Samples(2, 2), chains=2).samples)


def test_what_a_kill_leaves(tmp_path):
    """A sample after the checkpoint is left out and written again; a missing one of it is taken again."""
    path = tmp_path / "run"
    trace = run(8, samples=2, folder=path)
    file, late = (path / "chain-000" / f"sample-{sweep:08d}.npz" for sweep in (8, 10))
    late.write_bytes(file.read_bytes())
    file.unlink()
    with pytest.warns(UserWarning, match="1 samples that the run took"):
        assert sweeps(hk.open_run(path).samples) == [6]
    failed = [check for check in verify_run(path) if not check.passed]
    assert [check.name for check in failed] == ["chain-000/samples"]
    assert "8" in failed[0].detail
    assert equal(hk.open_run(path).resume().samples, trace.samples)
    assert all(check.passed for check in verify_run(path))
    again = hk.open_run(path).resume(sweeps=2)
    assert equal(again.samples, run(10, samples=hk.Samples(4, 2)).samples)


def test_forged_members_are_refused(tmp_path):
    run(4, samples=1, folder=tmp_path / "run")
    file = tmp_path / "run" / "chain-000" / "sample-00000004.npz"
    with zipfile.ZipFile(file) as archive:
        good = [(name, archive.read(name)) for name in archive.namelist()]
    tree, array = (dict(good)[name] for name in ("tree.json", "0.npy"))
    others = [(name, content) for name, content in good if name not in ("tree.json", "0.npy")]
    header = array[: array.index(b"\n") + 1]
    huge = header.replace(b"(", b"(10000000000, 10000, ")[: len(header) - 1] + b"\n"
    for content in (
        huge + array[len(header) :], array + b"\0", array[:-1], array[len(header) :], b"",
        re.sub(rb"'[<|]..'", b"'|O8'", array),
    ):  # fmt: skip
        write_members(file, [("tree.json", tree), ("0.npy", content), *others], compress=True)
        with pytest.raises(CorruptRunError):
            print(content, hk.open_run(tmp_path / "run").samples[0])
    write_members(file, [*good, ("more.npy", bytes(1 << 30))], compress=True)
    with pytest.raises(CorruptRunError):
        print(hk.open_run(tmp_path / "run").samples[0])
    write_members(file, good, compress=True)
    assert hk.open_run(tmp_path / "run").samples[0].sweep == 4
    whole = bytearray(file.read_bytes())
    for size in (whole.rindex(b"PK\1\2") + 20, whole.rindex(b"PK\1\2") + 24):  # in the directory
        forged = bytearray(whole)
        forged[size : size + 4] = (2**31).to_bytes(4, "little")
        file.write_bytes(forged)
        reseal(file)
        with pytest.raises(CorruptRunError):
            print(size, hk.open_run(tmp_path / "run").samples[0])


def test_samples_that_were_deleted_are_an_error(tmp_path):
    path = tmp_path / "run"
    run(8, samples=3, folder=path)
    kept = sorted((path / "chain-000").glob("sample-*.npz"))
    kept[0].unlink()
    with pytest.raises(CorruptRunError, match=r"no samples of the sweeps \[.*Restore copies"):
        hk.summaries.components(path)
    assert "Restore copies" in call("topics", path, code=1)
