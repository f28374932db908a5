"""Several chains in processes of their own: equal to single ones, reported one by one, resumed one by one."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from test_run_folders import assert_same, assert_same_state

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.run.worker import work


def franchise(**more):
    documents = np.random.default_rng(5).integers(0, 12, size=(20, 12)).tolist()
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(
        hk.Restaurant(root, concentration=hk.Gamma(1.0, 1.0), each="document"),
        hk.Corpus.from_documents(documents, n_terms=12),
        **more,
    )


def schedule():
    return hk.Scheduler(
        [moves.TableGibbs(), moves.SplitMerge().until(8), moves.DishGibbs().every(2), moves.Concentration()]
    )


def assert_same_chains(one, other):
    assert list(one) == list(other)
    assert one.numbers == other.numbers
    for left, right in zip(one.chains, other.chains, strict=True):
        assert_same(left, right)
    for key in one:
        assert np.array_equal(one[key], other[key])


class Misbehaving(moves.Move):
    """Does something in one chain, which it knows by the seed of its streams."""

    def __init__(self, what, chains=(1,), sweep=3):
        self.what = what
        self.chains = chains
        self.sweep = sweep

    def apply(self, state, rng, steps=None):
        if state.streams.chain in self.chains and state.sweep + 1 == self.sweep:
            if self.what == "raise":
                raise ZeroDivisionError("one over nought")
            if self.what == "raise what can't be sent":
                error = ZeroDivisionError("with a lock")
                error.lock = threading.Lock()
                raise error
            if self.what == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.what == "exit":
                sys.exit("out")
            if self.what == "print":
                print("printed by a move")
        return moves.MoveInfo()


def test_chains_have_streams_of_their_own_and_leave_the_franchise():
    given = franchise()
    trace = schedule().run(given, 12, rng=7, chains=3)
    assert given.sweep == 0
    assert given.streams is None
    assert (given.dishes == -1).all()
    assert trace["n_dishes"].shape == trace["log_joint"].shape == (3, 12)
    assert len(trace.chains) == len(trace.franchises) == 3
    assert trace.failures == {}
    assert trace.seed == 7
    assert trace.n_draws == 12
    assert not np.array_equal(trace["log_joint"][0], trace["log_joint"][1])
    single = franchise()
    assert_same(trace.chains[0], schedule().run(single, 12, rng=7))
    assert_same_state(trace.franchises[0], single)
    again = schedule().run(franchise(), 12, rng=7, chains=3, processes=1)
    assert_same_chains(trace, again)
    for state, log_joint in zip(trace.franchises, trace["log_joint"][:, -1], strict=True):
        assert state.log_joint() == pytest.approx(log_joint, rel=1e-12)
    records = trace.moves
    assert set(records["chain"]) == {0, 1, 2}
    assert len(records) == sum(len(chain.moves) for chain in trace.chains)
    # A final state goes on by itself, with its own chain's streams.
    more = schedule().run(trace.franchises[2], 3, init=None)
    assert np.array_equal(
        more["log_joint"], schedule().run(franchise(), 15, rng=7, chains=3)["log_joint"][2, 12:]
    )


def test_a_script_needs_no_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import hdpkit as hk
            from hdpkit import moves

            class Mine(moves.Move):
                def apply(self, state, rng, steps=None):
                    state.reseat(0, 2, rng)
                    return moves.MoveInfo()

            corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2]], n_terms=3)
            state = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), corpus)
            print(hk.Scheduler([Mine()]).run(state, 3, rng=0, chains=2)["n_dishes"].shape)
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "(2, 3)\n"
    assert done.stderr == ""


@pytest.fixture(scope="module")
def whole():
    """Three chains of which none fails."""
    return hk.Scheduler([moves.TableGibbs(), Misbehaving("nothing")]).run(franchise(), 6, rng=0, chains=3)


@pytest.mark.parametrize("what", ["raise", "raise what can't be sent", "die", "exit"])
def test_a_chain_that_fails_does_not_take_the_others_along(what, whole):
    scheduler = hk.Scheduler([moves.TableGibbs(), Misbehaving(what)])
    trace = scheduler.run(franchise(), 6, rng=0, chains=3)
    assert list(trace.failures) == [1]
    assert trace.numbers == (0, 2)
    assert trace["n_dishes"].shape == (2, 6)
    error = trace.failures[1]
    assert isinstance(error, errors.ChainError)
    assert "chain 1" in str(error)
    if what == "die":
        assert "-9" in str(error)
    else:
        assert "in apply" in error.remote_traceback
    if what == "raise":
        assert isinstance(error.original, ZeroDivisionError)
        assert "one over nought" in str(error)
    assert np.array_equal(trace["log_joint"], whole["log_joint"][[0, 2]])


def test_if_all_fail_the_first_error_is_raised():
    with pytest.raises(errors.ChainError, match="chain 0") as caught:
        hk.Scheduler([Misbehaving("raise", (0, 1))]).run(franchise(), 6, rng=0, chains=2)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Slow(moves.Move):
    def apply(self, state, rng, steps=None):
        time.sleep(0.05)
        return moves.MoveInfo()


def test_ctrl_c_ends_the_chains_after_their_sweeps(tmp_path):
    under_way = set()

    def progress(tick):
        """Press Ctrl-C once, when both chains are under way."""
        if tick.sweep > 1 and len(under_way) < 2:
            under_way.add(tick.chain)
            if len(under_way) == 2:
                os.kill(os.getpid(), signal.SIGINT)

    scheduler = hk.Scheduler([moves.TableGibbs(), Slow()])
    options = {"chains": 2, "processes": 2, "progress": progress, "folder": tmp_path / "run"}
    trace = scheduler.run(franchise(), 200, rng=0, **options)
    assert trace.interrupted
    assert trace.failures == {}
    assert all(1 < chain.n_draws < 200 for chain in trace.chains)
    on_disk = hk.open_run(tmp_path / "run").trace
    assert on_disk.interrupted
    assert_same_chains(on_disk, trace)
    furthest = max(chain.n_draws for chain in trace.chains)
    resumed = hk.open_run(tmp_path / "run", allow=[__name__]).resume(sweeps=2)
    assert [chain.n_draws for chain in resumed.chains] == [furthest + 2] * 2
    whole = hk.Scheduler([moves.TableGibbs(), moves.TableGibbs().until(0)]).run(
        franchise(), furthest + 2, rng=0, chains=2
    )
    assert np.array_equal(resumed["log_joint"], whole["log_joint"])


def test_no_orphan_stays(tmp_path):
    """The parent is killed: its chains end at once, and the folder can be resumed."""
    code = (
        "import sys, hdpkit as hk\nfrom hdpkit import moves\n"
        "from test_chains import franchise, Slow\n"
        "record = {'process': __import__('test_chains').process}\n"
        "hk.Scheduler([moves.TableGibbs(), Slow()]).run(franchise(), 400, rng=0, chains=2, processes=2,\n"
        "    folder=sys.argv[1], checkpoint=hk.Checkpoint(sweeps=1), record=record)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    run = None
    for _ in range(600):
        time.sleep(0.05)
        if (tmp_path / "run" / "run.json").exists():
            run = hk.open_run(tmp_path / "run", allow=[__name__])
            if min(chain.n_draws for chain in run.trace.chains) > 1:
                break
    processes = {int(chain["process"][0]) for chain in run.trace.chains}
    assert len(processes) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10.0
    while any(alive(number) for number in processes) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(number) for number in processes)
    n = max(run.franchise(chain).sweep for chain in (0, 1))
    resumed = run.resume(sweeps=1)
    whole = hk.Scheduler([moves.TableGibbs(), moves.TableGibbs().until(0)]).run(
        franchise(), n + 1, rng=0, chains=2
    )
    assert np.array_equal(resumed["log_joint"], whole["log_joint"])


def process(state):
    return os.getpid()


def alive(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_four_chains_resumed_twice_are_the_unbroken_run(tmp_path):
    whole = schedule().run(franchise(), 12, rng=5, chains=4)
    schedule().run(franchise(), 3, rng=5, chains=4, folder=tmp_path / "run")
    run = hk.open_run(tmp_path / "run")
    assert_same_chains(run.resume(sweeps=4), run.trace)
    resumed = run.resume(sweeps=5, processes=1)
    assert_same_chains(resumed, whole)
    assert_same_chains(run.trace, whole)
    for one, other, third in zip(run.franchises(), whole.franchises, resumed.franchises, strict=True):
        assert_same_state(one, other)
        assert_same_state(third, other)
    with pytest.raises(errors.ParameterError):
        run.franchise(4)


def test_the_worker_does_a_job_in_this_process_too():
    from hdpkit.franchise.freezing import maker
    from hdpkit.run.collect import Plan

    state = franchise()
    job = {"make": maker(state, state.data), "plan": Plan(), "moves": schedule().moves,
           "frozen": None, "init": "one", "seed": 3, "sweeps": 4, "threads": 1}  # fmt: skip
    trace, frozen = work(job, 0)
    assert_same(trace, schedule().run(franchise(), 4, rng=3, init="one"))
    assert frozen["sweep"] == 4
