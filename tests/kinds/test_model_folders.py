"""Language models in run folders: opening, resuming bit for bit, errors about damage."""

import shutil
import textwrap
from pathlib import Path

import numpy as np
import pytest
from programs import python

import hdpkit as hk
from hdpkit import errors, files, moves, summaries
from hdpkit.cli.verification import verify_run

TEXT = [["a", "b", "a"], ["c", "a"], ["b", "b", "c", "a"], []]
SETTINGS = {
    "concentrations": [hk.Gamma(1, 1), 0.5, hk.Each(hk.Gamma(2, 2))],
    "discounts": [0.3, hk.Beta(2, 1), 0.6],
}
PLAN = {"sweeps": 12, "burn_in": 2, "samples": 5, "rng": 1}


def fitted(folder=None, **options):
    return hk.NGramModel(3, **SETTINGS).fit(TEXT, **PLAN, folder=folder, **options)


@pytest.fixture(scope="module")
def whole():
    return fitted()


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "run"
    fitted(folder)
    return folder


@pytest.fixture
def folder(kept, tmp_path):
    return Path(shutil.copytree(kept, tmp_path / "run"))


def same_model(one, other):
    assert set(one.trace) == set(other.trace)
    for key in one.trace:
        assert np.array_equal(one.trace[key], other.trace[key])
    assert len(one.samples) == len(other.samples)
    for a, b in zip(one.samples, other.samples, strict=True):
        for name, array in a.arrays().items():
            assert np.array_equal(array, b.arrays()[name])
            assert array.dtype == b.arrays()[name].dtype
    assert np.array_equal(one.score(TEXT).log_probability, other.score(TEXT).log_probability)
    assert one.franchise.log_joint() == other.franchise.log_joint()
    assert one.vocabulary == other.vocabulary


@pytest.mark.quick
def test_a_model_is_what_it_was(whole, folder):
    model = hk.NGramModel.open(folder)
    same_model(model, whole)
    assert model.folder == folder
    assert whole.folder is None
    assert repr(model) == repr(whole)
    assert model.settings.as_data() == whole.settings.as_data()
    assert model.sample(3, rng=0) == whole.sample(3, rng=0)
    model.franchise.audit()
    same_model(hk.NGramModel.open(str(folder)).resume(), whole)


def test_the_folder_is_a_run_of_the_one_kind(folder):
    """Its samples, its lock and its list of files are those of every run."""
    names = {path.name for path in folder.iterdir()}
    assert names == {"run.json", "data.npz", "lock", "chain-000"}
    run = hk.open_run(folder)
    assert run.about["model"]["kind"] == "language model"
    assert [file.sweep for file in run.samples.files] == [4, 6, 8, 10, 12]
    model = hk.NGramModel.open(folder)
    for kept, sample in zip(run.samples, model.samples, strict=True):
        assert all(np.array_equal(kept.arrays[name], array) for name, array in sample.arrays().items())
    checks = {check.name: check for check in verify_run(folder)}
    assert all(check.passed for check in checks.values())
    assert "5 samples" in checks["chain-000/samples"].detail
    with pytest.raises(errors.StateError, match="observed"):
        summaries.components(run)
    with pytest.raises(errors.StateError, match="observed"):
        run.state()


def test_more_sweeps_are_planned_in_the_checkpoint(folder, tmp_path):
    """A kill in later sweeps: whoever goes on takes the samples of these sweeps."""
    on = fitted().sweep(6, samples=2)
    child = f"""
    import os
    import hdpkit as hk
    reseat, calls = hk.Franchise.reseat, []
    def ends(franchise, *arguments):
        calls.append(1)
        return os._exit(9) if len(calls) == 4 else reseat(franchise, *arguments)
    hk.Franchise.reseat = ends
    hk.NGramModel.open({str(folder)!r}).sweep(6, samples=2)
    """
    assert python("-c", textwrap.dedent(child)).returncode == 9
    shutil.copytree(folder, tmp_path / "copy")
    same_model(hk.NGramModel.open(folder).resume(), on)
    hk.open_run(tmp_path / "copy").resume()
    same_model(hk.NGramModel.open(tmp_path / "copy"), on)
    assert sorted(path.name for path in (folder / "chain-000").glob("sample-*")) == [
        "sample-00000015.npz",
        "sample-00000018.npz",
    ]


@pytest.mark.parametrize(
    ("order", "options", "text"),
    [
        (1, {}, TEXT),
        (2, {"base": hk.Uniform(50), "start": None}, TEXT),
        (2, {"base": hk.Categorical([0.4, 0.3, 0.2, 0.1]), "end": None, "unknown": None}, TEXT),
        (3, {"base": hk.Spelling(2, sweeps=2, samples=1), "store": "explicit"}, TEXT),
        (2, {"kernel": "reference", "unknown": ("x", 1)}, [[1, ("x", 1)], [2.5, 1]]),
        (2, {}, hk.NGrams.from_pairs([0, 1, 1], ["k", "k", "m"])),
        (3, {}, hk.NGrams.from_sentences(TEXT, order=5, start="B", end="E")),
    ],
    ids=range(7),
)
def test_every_setting_comes_back(tmp_path, order, options, text):
    model = hk.NGramModel(order, discounts=0.4, **options)
    model.fit(text, sweeps=3, burn_in=1, samples=2, rng=0, folder=tmp_path / "run")
    back = hk.NGramModel.open(tmp_path / "run")
    context = model.data.context_of(model.data.contexts()[1])
    assert np.array_equal(back.distribution(context), model.distribution(context))
    assert back.remainder(context) == model.remainder(context)
    names = "order store kernel start end unknown vocabulary discounts concentrations"
    for name in names.split():
        assert getattr(back.settings, name) == getattr(model.settings, name), name
    assert type(back.settings.base) is type(model.settings.base)
    back.sweep(2)
    if back.data.is_sentences:
        back.add(TEXT[:1] if order != 2 or text is TEXT else [[1]], sweeps=1, burn_in=0, samples=1)


def test_text_that_is_added_goes_to_another_folder_or_none(tmp_path, folder):
    model = hk.NGramModel.open(folder)
    model.add([["q", "a"]], sweeps=3, burn_in=1, samples=2, folder=tmp_path / "more")
    assert model.folder == tmp_path / "more"
    back = hk.NGramModel.open(tmp_path / "more")
    assert back.vocabulary[-1] == "q"
    assert np.array_equal(back.score(TEXT).log_probability, model.score(TEXT).log_probability)
    assert model.trace["sweep"].tolist() == list(range(1, 16))
    assert back.trace["sweep"].tolist() == [13, 14, 15]
    again = fitted().add([["q", "a"]], sweeps=3, burn_in=1, samples=2)
    assert np.array_equal(again.score(TEXT).log_probability, back.score(TEXT).log_probability)
    for one in (back, again):
        one.sweep(2)
    assert np.array_equal(back.score(TEXT).log_probability, again.score(TEXT).log_probability)
    for one in (back, again):
        one.remove(0, 2).sweep(2)
        assert one.folder is None
    assert np.array_equal(back.score(TEXT).log_probability, again.score(TEXT).log_probability)
    with pytest.raises(errors.StateError, match="run was continued elsewhere"):
        model.sweep(2)
    assert hk.NGramModel.open(tmp_path / "more").franchise.sweep == 17
    same_model(hk.NGramModel.open(folder), fitted())


@pytest.mark.parametrize("sweep", [1, 7])
def test_ctrl_c_in_a_folder(tmp_path, whole, monkeypatch, sweep):
    reseat, calls = hk.Franchise.reseat, []

    def interrupted(franchise, first, last, source):
        calls.append(1)
        if len(calls) == sweep:
            reseat(franchise, first, 5, source)
            raise KeyboardInterrupt
        reseat(franchise, first, last, source)

    monkeypatch.setattr(hk.Franchise, "reseat", interrupted)
    model = fitted(tmp_path / "run")
    assert model.trace.interrupted
    assert model.franchise.sweep == sweep - 1
    assert len(model.samples) == (2 if sweep == 7 else 0)
    monkeypatch.undo()
    if not model.samples:
        with pytest.raises(errors.StateError, match="resume"):
            model.probability("a")
        same_model(model.resume(), whole)
        return
    assert model.probability("a") == hk.NGramModel.open(tmp_path / "run").probability("a")
    other = hk.NGramModel.open(shutil.copytree(tmp_path / "run", tmp_path / "copy"))
    shutil.copytree(tmp_path / "run", tmp_path / "bare")
    same_model(model.resume(), whole)
    same_model(other.resume(), whole)
    assert not model.trace.interrupted
    hk.open_run(tmp_path / "bare").resume()  # without the model: the run takes its samples
    same_model(hk.NGramModel.open(tmp_path / "bare"), whole)


def test_a_full_disk_loses_nothing(tmp_path, whole, monkeypatch):
    write, calls = files.write_whole, []

    def full(path, data):
        if path.name.startswith("sample"):
            calls.append(1)
            if len(calls) == 3:
                raise errors.StorageError("folder", str(path), "one with space", "Free some space.")
        write(path, data)

    monkeypatch.setattr(files, "write_whole", full)
    model = hk.NGramModel(3, **SETTINGS)
    with pytest.raises(errors.StorageError):
        model.fit(TEXT, **PLAN, folder=tmp_path / "run")
    assert len(model.samples) == 2
    assert model.trace["sweep"].tolist() == list(range(1, 9))
    assert model.perplexity(TEXT) > 1
    monkeypatch.undo()
    same_model(model.resume(), whole)
    same_model(hk.NGramModel.open(tmp_path / "run"), whole)


def test_one_writer(tmp_path, folder):
    model = hk.NGramModel.open(folder)
    with hk.open_run(folder)._files.lock(), pytest.raises(errors.LockedRunError):
        model.sweep(1)
    same_model(hk.NGramModel.open(folder), fitted())


def test_a_sample_that_is_gone_is_missed(folder):
    (folder / "chain-000" / "sample-00000008.npz").unlink()
    with pytest.warns(UserWarning, match=r"\[8\]"):
        assert len(hk.NGramModel.open(folder).samples) == 4


def test_files_of_another_run_are_refused(tmp_path, folder):
    fitted(tmp_path / "other")
    samples = folder / "chain-000"
    own = shutil.copy(samples / "sample-00000008.npz", tmp_path / "own")
    shutil.copy(tmp_path / "other" / "chain-000" / "sample-00000008.npz", samples)
    with pytest.raises(errors.CorruptRunError, match="run or chain"):
        hk.NGramModel.open(folder)
    shutil.copy(samples / "sample-00000010.npz", samples / "sample-00000008.npz")
    with pytest.raises(errors.CorruptRunError, match="another sweep"):
        hk.NGramModel.open(folder)
    shutil.copy(own, samples / "sample-00000008.npz")
    shutil.copy(tmp_path / "other" / "data.npz", folder)
    hk.NGramModel(2, discounts=0.5).fit([*TEXT, ["a"]], **PLAN, folder=tmp_path / "bigrams")
    shutil.copy(tmp_path / "bigrams" / "data.npz", folder)
    with pytest.raises(errors.CorruptRunError, match="file of this run"):
        hk.NGramModel.open(folder)


def test_a_run_without_a_model_is_none(tmp_path):
    data = hk.NGrams.from_sentences(TEXT, order=1)
    franchise = hk.Franchise(hk.Restaurant(hk.Uniform()), data)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, folder=tmp_path / "run")
    with pytest.raises(errors.RunError, match="NGramModel"):
        hk.NGramModel.open(tmp_path / "run")
