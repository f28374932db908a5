"""``hdpkit verify``: a good run passes, and damage is named."""

import re
import shutil

import pytest
from fit_command import FIT, done, hdpkit
from shard_cases import run_shards

import hdpkit as hk
from hdpkit import moves, shards
from hdpkit.cli.verification import verify_run
from hdpkit.errors import CorruptRunError, RunError

FILES = ["run.json", "data.npz", "chain-000/state.npz", "chain-000/trace-"]


def make_run(folder, sweeps=6, **options):
    corpus = hk.Corpus.from_documents([["bread", "salt"], ["bread", "wine"], ["ship", "sail", "salt"]])
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=hk.Gamma(1, 1)), concentration=hk.Gamma(1, 1))
    franchise = hk.Franchise(hk.Restaurant(base=root, each="document"), corpus)
    schedule = [moves.TableGibbs(), moves.Concentration(), moves.BaseMeasureParameters()]
    hk.Scheduler(schedule).run(franchise, sweeps, 0, folder=folder, **options)
    return folder


def verify(folder):
    result = hdpkit("verify", folder)
    return result.exit_code, result.stdout


@pytest.mark.parametrize(
    "options", [{}, {"chains": 2}, {"thin": 4}, {"thin": 100}, {"init": [0, 1, 0, 1, 2, 2, 3]}],
    ids=["plain", "chains", "thin", "no draw", "dishes"],
)  # fmt: skip
def test_a_good_run_passes_and_is_left_as_it_is(options, tmp_path):
    folder = make_run(tmp_path / "run", **options)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, output = verify(folder)
    assert code == 0, output
    assert "all is well" in output
    assert output.count("passes its audit") == options.get("chains", 1)
    for name in FILES:
        assert name in output
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_state_of_another_run_is_found(tmp_path):
    one, other = make_run(tmp_path / "one"), make_run(tmp_path / "other")
    (one / "chain-000/state.npz").write_bytes((other / "chain-000/state.npz").read_bytes())
    code, output = verify(one)
    assert code == 1
    assert "FAILED  chain-000/state.npz" in output


@pytest.mark.parametrize("shards", [None, 2])
def test_a_converted_corpus_is_verified(tmp_path, shards):
    (tmp_path / "corpus.ldac").write_text("2 0:2 1:1\n2 1:1 2:1\n2 0:3 2:2\n")
    folder = tmp_path / "folder"
    done("convert", tmp_path / "corpus.ldac", folder, *(["--shards", shards] if shards else []))
    assert verify(folder)[0] == 0
    corpus = folder / "shard-0000"
    code, output = verify(corpus)
    assert code == 0, output
    assert "documents" in output
    assert "all is well" in output
    for path in sorted(corpus.iterdir()):
        whole = path.read_bytes()
        for bad in (whole[:-1], whole[:-1] + bytes([whole[-1] ^ 4]), None):
            path.unlink() if bad is None else path.write_bytes(bad)
            code, output = verify(corpus)
            assert code == 1, (path.name, output)
            assert path.name in output
        path.write_bytes(whole)
    assert verify(corpus)[0] == 0
    if shards:
        (folder / "shard-0001").rename(tmp_path / "away")
        code, output = verify(folder)
        assert code == 0
        assert "--      shard-0001: not on this disk" in output


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"run\.json"):
        list(verify_run(tmp_path))
    assert verify(tmp_path)[0] == 2
    assert verify(tmp_path / "absent")[0] == 2


def every_kind(place):
    """A folder of each kind with all files that it can have."""
    make_run(place / "run", samples=2, init=[0, 1, 0, 1, 2, 2, 3], checkpoint=hk.Checkpoint(sweeps=1))
    text = [["a", "b", "c", "a"], ["b", "a"], ["c"]]
    hk.NGramModel(2).fit(text, sweeps=4, burn_in=1, samples=2, rng=0, folder=place / "words")
    model = hk.TopicModel(purpose="prediction", sweeps=4, samples=2, chains=2, random_state=0)
    model.fit(["salt bread wine", "ship sail salt", "bread wine salt"]).save(place / "model")
    (place / "texts.txt").write_text("salt bread wine\nship sail salt\nbread wine salt\n")
    options = ("--sweeps", 4, "--samples", 2, "--min-documents", 1, "--quiet")
    done(*FIT, place / "texts.txt", "--out", place / "fit", *options)
    corpus = hk.Corpus.from_documents([["bread", "salt"], ["bread", "wine"], ["ship", "sail", "salt"]])
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    documents = hk.Restaurant(root, concentration=1.0, each="document")
    run_shards(
        documents, shards.cut(corpus, 2), [moves.SliceGibbs(), moves.RootWeights()], sweeps=2, rng=0,
        folder=place / "shards",
    )  # fmt: skip
    return ["run", "words", "model", "fit", "shards"]


def test_every_file_of_every_kind_of_folder_is_covered(tmp_path):
    """Each file missing, emptied, cut off by a byte, with another byte or one more: verify fails."""
    for kind in every_kind(tmp_path):
        folder = tmp_path / kind
        code, output = verify(folder)
        assert code == 0, output
        files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock"]
        for path in files:
            content = path.read_bytes()
            middle = bytearray(content)
            middle[len(content) // 2] ^= 4
            for number, bad in enumerate([None, b"", content[:-1], content + b"\n", bytes(middle)]):
                path.unlink()
                if bad is not None:
                    path.write_bytes(bad)
                code, output = verify(folder)
                told = f"{path.relative_to(tmp_path)}, damage {number}: {output}"
                assert code in (1, 2), told
                path.write_bytes(content)
        assert verify(folder)[0] == 0


def test_strangers_that_a_reader_would_read_are_found(tmp_path):
    kinds = every_kind(tmp_path)
    for kind in kinds[:-1]:
        for other in kinds[:-1]:
            there, here = tmp_path / other / "init.npz", tmp_path / kind / "init.npz"
            if here.exists() or not there.exists():
                continue
            shutil.copy(there, here)
            code, output = verify(tmp_path / kind)
            assert code == 1, (kind, output)
            assert re.search(r"FAILED  start: .*init\.npz", output)
            here.unlink()


def test_states_without_their_beginning_or_their_samples_are_found(tmp_path):
    folder = make_run(tmp_path / "run", samples=2, checkpoint=hk.Checkpoint(sweeps=1))
    chain = folder / "chain-000"
    kept = {path: path.read_bytes() for path in chain.iterdir() if path.name != "lock"}
    for gone in ("state.npz", "sample-00000006.npz", "trace-000000.npz"):
        (chain / gone).unlink()
        assert verify(folder)[0] == 1, gone
        for path, content in kept.items():
            path.write_bytes(content)
    (chain / "state.npz").unlink()
    with pytest.raises(CorruptRunError, match=r"state\.npz"):  # and begins nothing anew over the trace
        hk.open_run(folder).resume()
