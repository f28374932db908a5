"""Ctrl-C during a run, by default and with on_interrupt="raise": an early end is always reported."""

import signal
import warnings

import numpy as np
import pytest
from test_run_folders import franchise

import hdpkit as hk
from hdpkit import errors, moves, shards


class Press(moves.Move):
    """Ctrl-C in the middle of the n-th sweep, once."""

    armed = True

    def __init__(self, sweep=3):
        self.sweep = sweep
        Press.armed = True

    def apply(self, state, rng, steps=None):
        if state.sweep + 1 == self.sweep and Press.armed:
            Press.armed = False
            signal.raise_signal(signal.SIGINT)
        return moves.MoveInfo(1, 1)


def scheduler():
    return hk.Scheduler([moves.TableGibbs(), Press()])


def test_a_run_that_ctrl_c_ends_says_so():
    state = franchise()
    with pytest.warns(
        errors.InterruptedRunWarning, match="after sweep 2; 9 sweeps had been asked for"
    ) as caught:
        trace = scheduler().run(state, sweeps=9, rng=0)
    assert trace.interrupted
    assert caught[0].filename == __file__
    with pytest.warns(errors.InterruptedRunWarning, match="before a sweep was recorded"):
        hk.Scheduler([Press(1), moves.TableGibbs()]).run(franchise(), sweeps=9, rng=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=2, init=None)
        hk.Scheduler([moves.TableGibbs()]).run(state, 5, callbacks=[lambda draw: draw.sweep == 2])


@pytest.mark.parametrize("folder", [False, True])
def test_what_raises_leaves_all_whole(folder, tmp_path, monkeypatch):
    state, where = franchise(), tmp_path / "run" if folder else None
    with pytest.raises(KeyboardInterrupt):
        scheduler().run(state, sweeps=6, rng=4, folder=where, on_interrupt="raise")
    state.audit()
    Press.armed = False
    if not folder:
        hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=1, init=None, audit_every=1)
        return
    assert state.sweep == 2
    with monkeypatch.context() as patch:
        patch.setattr(Press, "apply", lambda self, *arguments: moves.MoveInfo(1, 1))
        trace = hk.open_run(where, allow=[Press]).resume()
    whole = hk.Scheduler([moves.TableGibbs(), Press(99)]).run(franchise(), sweeps=6, rng=4)
    assert np.array_equal(trace["log_joint"], whole["log_joint"])


@pytest.mark.parametrize("move", [moves.BaseMeasureParameters(), moves.BaseMeasureParameters("metropolis")])
def test_ctrl_c_while_a_parameter_of_the_measure_is_replaced(move, monkeypatch):
    """The franchise is closed at that moment: the move must not use it any more."""
    corpus = hk.Corpus.from_documents([[0, 0, 1], [1, 2, 2], [0, 2]])
    state = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(hk.Gamma(1.0, 1.0))), corpus)
    replace = hk.Franchise._adopt

    def pressed(self, measure):
        replace(self, measure)
        if self.sweep == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(hk.Franchise, "_adopt", pressed)
    with pytest.warns(errors.InterruptedRunWarning, match="after sweep 2"):
        trace = hk.Scheduler([moves.TableGibbs(), move]).run(state, sweeps=9, rng=0)
    assert trace["sweep"].tolist() == [1, 2]
    assert state.sweep == 2
    state.audit()


TEXT = hk.Corpus.from_documents([[0, 0, 1], [1, 2], [2, 2], [0, 1]], n_terms=3)
ROOT = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=hk.Gamma(1.0, 1.0))
OVER_DOCUMENTS = hk.Restaurant(ROOT, each="document", concentration=1.0)


class Raises(moves.Move):
    """Raises StopIteration in the third sweep, over a franchise and over shards."""

    by_cell = True
    over = "totals"

    def apply(self, state, rng, steps=None):
        if state.sweep == 2:
            raise StopIteration
        return moves.MoveInfo()


def ways():
    """Runs of every kind with such a move."""
    scheduler = hk.Scheduler([moves.SliceGibbs(), moves.RootWeights(), moves.Concentration(), Raises()])
    state = hk.Franchise(OVER_DOCUMENTS, TEXT, store="counts", root="weights")
    over_shards = shards.ShardedFranchise(OVER_DOCUMENTS, shards.cut(TEXT, 2))
    raising = {"rng": 0, "on_interrupt": "raise"}
    return {
        "one process": lambda: scheduler.run(state, 5, **raising),
        "draws": lambda: list(scheduler.sample(state, 5, rng=0)),
        "chains": lambda: scheduler.run(state, 5, chains=2, **raising),
        "two workers": lambda: scheduler.run(
            over_shards, 5, init=hk.init.Random(2), backend=shards.Local(2), **raising
        ),
    }


@pytest.mark.parametrize("way", ways())
def test_a_move_that_raises_stop_iteration(way):
    """It would end a generator or a loop somewhere: it is an error that names the move, everywhere."""
    with pytest.raises(errors.ChainError if way == "chains" else errors.ScheduleError) as caught:
        ways()[way]()
    error = caught.value.original if way == "chains" else caught.value
    assert isinstance(error, errors.ScheduleError)
    assert "Raises" in str(error)
    assert "StopIteration" in str(error)
