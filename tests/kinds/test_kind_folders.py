"""Kinds of models: what they say of themselves to files and commands, and what is refused."""

import shutil

import numpy as np
import pytest
from click.testing import CliRunner
from forged_runs import forge_about

import hdpkit as hk
from hdpkit import errors
from hdpkit.cli.main import main
from hdpkit.kinds.catalog import kind_of, kind_of_run
from hdpkit.kinds.numbers import KeptColumns
from hdpkit.kinds.points import Mixture
from hdpkit.signatures import CHANNELS

X = np.random.default_rng(0).normal(size=(12, 2)) + np.repeat([[0.0], [9.0]], 6, axis=0)


TEXT = hk.Corpus.from_documents([["a", "b"]])
DATA = {
    "signatures": hk.Corpus.from_documents([[0]], vocabulary=CHANNELS["SBS96"].names),
    "topics": TEXT, "sparse topics": TEXT, "hmm": hk.Sequences.from_arrays([[0.0, 1.0]]),
    "mixture": hk.Groups.from_labels(X),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds") / "model"
    wide = np.column_stack([X, np.full(len(X), 3.0)])
    with pytest.warns(errors.LeftOutColumnsWarning):
        hk.MixtureModel(sweeps=4, samples=2, random_state=0).fit(wide).save(folder)
    return folder


FORGED = {
    "kind": [5, "nothing", "os:system", "topics"],
    "settings": [5, {"more": 1}, {"measure": "cosine"},
                 {"measure": {"object": "os:system", "arguments": {}}}],
    "of_the_data": [5, {"kept": {}}, {},
                    {"kept": {"kept": [0, 5], "origin": [0.0] * 3, "slopes": [[0.0] * 2] * 3}},
                    {"kept": {"kept": [0], "origin": [0.0] * 3, "slopes": [[0.0]] * 3}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in FORGED.items() for value in values]
)
def test_a_forged_kind_is_a_typed_error(key, value, saved, tmp_path):
    shutil.copytree(saved, tmp_path / "model")
    forge_about(tmp_path / "model", lambda about: about["model"].update({key: value}))
    with pytest.raises((errors.RunError, errors.CorruptRunError)):
        hk.MixtureModel.load(tmp_path / "model")
    result = CliRunner().invoke(main, ["verify", str(tmp_path / "model")])
    assert isinstance(result.exception, SystemExit) or result.exit_code == 0
    if key == "of_the_data":
        assert result.exit_code in (0, 1), result.output
    else:
        assert result.exit_code == 1 or "model: not looked at: it needs" in result.output


def test_a_run_is_of_the_kind_that_began_it(saved):
    run = hk.open_run(saved)
    kind = kind_of_run(run)
    assert isinstance(kind, Mixture)
    assert isinstance(kind.kept, KeptColumns)
    assert kind.kept.kept.tolist() == [0, 1]
    for name, data in DATA.items():
        assert kind_of(data).name == name.removeprefix("sparse ")
