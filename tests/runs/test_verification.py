"""``hdpkit verify``: a good run passes, and damage is named."""

import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.main import main
from hdpkit.errors import RunError
from hdpkit.io.verification import verify_run

FILES = ["run.json", "data.bin", "chain-000/state-0", "chain-000/state-1", "chain-000/trace.bin"]


def make_run(folder, sweeps=6, **options):
    corpus = hk.Corpus.from_documents([["bread", "salt"], ["bread", "wine"], ["ship", "sail", "salt"]])
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=hk.Gamma(1, 1)), concentration=hk.Gamma(1, 1))
    franchise = hk.Franchise(hk.Restaurant(base=root, each="document"), corpus)
    schedule = [moves.TableGibbs(), moves.Concentration(), moves.BaseMeasureParameters()]
    hk.Scheduler(schedule).run(franchise, sweeps, 0, folder=folder, **options)
    return folder


def verify(folder):
    result = CliRunner().invoke(main, ["verify", str(folder)])
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


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "replace"])
def test_a_damaged_file_is_named(name, damage, tmp_path):
    folder = make_run(tmp_path / "run")
    path = folder / name
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 4
    path.write_bytes(
        {"flip": content, "cut": content[: len(content) // 2], "empty": b"", "replace": b"{}" * 99}[damage]
    )
    code, output = verify(folder)
    assert code == 1
    failed = [line for line in output.splitlines() if line.startswith("FAILED")]
    assert any(name in line for line in failed), output


def test_every_flipped_bit_of_the_data_is_found(tmp_path):
    folder = make_run(tmp_path / "run")
    path = folder / "data.bin"
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        content = bytearray(whole)
        content[place] ^= 1 << (place % 8)
        path.write_bytes(content)
        assert any(not check.passed for check in verify_run(folder)), place


def test_data_of_another_run_are_found(tmp_path):
    one, other = make_run(tmp_path / "one"), tmp_path / "other"
    root = hk.Restaurant(base=hk.DirichletMultinomial(eta=0.5))
    data = hk.Corpus.from_documents([["a", "b"]])
    hk.Scheduler([moves.TableGibbs()]).run(hk.Franchise(root, data), 2, 0, folder=other)
    (one / "data.bin").write_bytes((other / "data.bin").read_bytes())
    code, output = verify(one)
    assert code == 1
    assert "FAILED  data.bin" in output


def test_a_state_of_another_run_is_found(tmp_path):
    one, other = make_run(tmp_path / "one"), make_run(tmp_path / "other")
    (one / "chain-000/state-0").write_bytes((other / "chain-000/state-0").read_bytes())
    code, output = verify(one)
    assert code == 1
    assert "FAILED  chain-000/state-0" in output


def test_what_a_kill_leaves_behind_the_last_checkpoint_is_no_damage(tmp_path):
    folder = make_run(tmp_path / "run")
    with open(folder / "chain-000/trace.bin", "ab") as file:
        file.write(b"\x10\0\0\0half a block")
    code, output = verify(folder)
    assert code == 0
    assert "unfinished block" in output


def test_a_run_without_a_checkpoint_is_whole(tmp_path):
    folder = make_run(tmp_path / "run")
    for path in (folder / "chain-000").iterdir():
        path.unlink()
    code, output = verify(folder)
    assert code == 0
    assert "no checkpoint yet" in output


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"run\.json"):
        list(verify_run(tmp_path))
    assert verify(tmp_path)[0] == 2
    assert verify(tmp_path / "absent")[0] == 2


def test_state_and_trace_that_disagree_are_found(tmp_path, monkeypatch):
    folder = make_run(tmp_path / "run")
    import hdpkit.io.verification as verification

    honest = verification.scalars
    monkeypatch.setattr(verification, "scalars", lambda franchise: honest(franchise) | {"log_joint": -1.0})
    assert any(not check.passed and "log_joint" in check.detail for check in verify_run(folder))
