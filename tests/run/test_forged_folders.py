"""Forged run folders with right checksums: an immediate typed error, or a consistent run."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from npz_files import write_members, write_tree

from hdpkit import errors
from hdpkit.files import read_npz

TESTS = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the trials fork")


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.long)])
def test_forged_folders_are_errors_or_healthy(count, tmp_path):
    script = TESTS / "trials" / "forge_trials.py"
    done = subprocess.run(
        [sys.executable, str(script), str(count), "1", str(tmp_path)], capture_output=True, text=True,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
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
