"""Workers on one machine share the memory of topics, and each draws some of them."""

import errno
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from shard_cases import SCHEDULE, corpus, in_one_process, restaurant, run_shards, same

import hdpkit as hk
from hdpkit import shards
from hdpkit.errors import StorageError
from hdpkit.moves.document_sweeps import DocumentSweeps
from hdpkit.run.shards import worker as memory
from hdpkit.run.shards.worker import Meeting

pytestmark = pytest.mark.skipif(not memory.FOLDER.is_dir(), reason="a file system in memory is Linux's")


@pytest.fixture(autouse=True)
def apart(monkeypatch):
    """A folder in the same file system, without files of other processes."""
    with tempfile.TemporaryDirectory(dir=memory.FOLDER, prefix="test-of-hdpkit-") as name:
        monkeypatch.setattr(memory, "FOLDER", Path(name))
        yield


def met(name, numbers):
    """What workers of these numbers have after their meeting."""
    meetings = [Meeting.at(name, number) for number in numbers]
    return [one.end() for one in meetings]


def there():
    return [path.name for path in memory.FOLDER.iterdir() if path.name.startswith("hdpkit-")]


def test_those_who_meet_have_one_memory_and_no_file_is_left():
    found = met("test-of-a-name", [4, 0, 9])
    assert [place for _, place, _ in found] == [1, 0, 2]
    assert {n for _, _, n in found} == {3}
    rooms = [common.room(1000) for common, _, _ in found]
    rooms[0][:] = 7
    assert all(np.all(room == 7) for room in rooms)
    wider = [common.room(100_000) for common, _, _ in found]
    wider[1][99_999] = 3
    assert wider[2][99_999] == 3
    assert wider[0][999] == 7  # it grows, and moves
    assert "hdpkit-test-of-a-name" not in there()


def test_a_part_alone_has_memory_of_its_own(monkeypatch, tmp_path):
    assert met("alone", [3]) == [None]
    monkeypatch.setattr(memory, "FOLDER", tmp_path / "none")
    assert Meeting.at("nowhere", 0) is None


def test_a_full_machine_is_a_typed_error(monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (common, _, _), _ = met("full", [0, 1])
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StorageError, match="room for the topics, 4,096 bytes"):
        common.room(4096)


@pytest.mark.parametrize("copied", [True, False])
def test_the_chain_does_not_depend_on_who_draws_which_topics(monkeypatch, copied):
    """Sixty dishes are four blocks of slots, drawn by up to three workers, with copies or without."""
    data, drawn = corpus(), []
    most = (1 << 20) * copied

    def share(sweeps, memory, worker, n_workers):
        drawn.append((worker, n_workers))
        sweeps.workspace.share_topics(memory, worker, n_workers, most)

    monkeypatch.setattr(DocumentSweeps, "share", share)

    def ended(workers):
        return run_shards(
            restaurant(), shards.cut(data, 4), SCHEDULE, sweeps=3, rng=3, init=hk.init.Random(60),
            backend=shards.Local(workers), threads=1 + workers % 2,
        )  # fmt: skip

    one = ended(1)
    assert drawn == []
    assert one.trace["n_dishes"][0] > 32
    for workers in (2, 3):
        same(ended(workers).state(), one.state())
    assert sorted(drawn, key=lambda place: place[::-1]) == [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    assert there() == []


def test_without_memory_in_common_each_part_draws_all_topics(monkeypatch, tmp_path):
    data = corpus()
    begun, ended, _ = in_one_process(2, data)
    monkeypatch.setattr(memory, "FOLDER", tmp_path / "none")
    run = run_shards(
        restaurant(), shards.cut(data, 3), SCHEDULE, sweeps=2, rng=11, init=begun, backend=shards.Local(2)
    )
    same(run.state(), ended)


PROGRAM = """
import os, signal, sys
from pathlib import Path
from hdpkit.run.shards import worker as memory
from hdpkit.run.shards.worker import Meeting
memory.FOLDER = Path(sys.argv[1])
if len(sys.argv) > 2:
    before = Meeting("of-workers-that-do-not-meet", 0)
    print(1, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
one, other = Meeting.at("of-a-killed-process", 0), Meeting.at("of-a-killed-process", 1)
(common, _, _), _ = one.end(), other.end()
common.room(1 << 20)[:] = 1
print(common.room(1)[0], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nothing_is_left_of_a_killed_process():
    for more, left in (((), []), (("meeting",), ["hdpkit-of-workers-that-do-not-meet"])):
        command = [sys.executable, "-c", PROGRAM, str(memory.FOLDER), *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (-signal.SIGKILL, "1\n")
        assert there() == left
    meeting = Meeting.at("of-the-next-run", 0)  # it removes what nobody has open, and nothing else
    assert there() == ["hdpkit-of-the-next-run"]
    other = Meeting.at("of-another-run", 0)
    assert sorted(there()) == ["hdpkit-of-another-run", "hdpkit-of-the-next-run"]
    for one in (meeting, other):
        one.end()
    assert there() == []
