"""The progress bar: one line on a terminal, plain lines elsewhere, and no remains."""

import contextlib
import io

import attrs
import pytest

import hdpkit as hk
from hdpkit.run.progress import ProgressBar, Tick

TICK = Tick(
    sweep=3,
    sweeps=10,
    fraction=0.5,
    n_dishes=42,
    log_likelihood=-2345678.9,
    log_joint=-1234567.8,
    customers_per_second=650000.0,
    seconds_left=125.0,
    finished=False,
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_ticks_of_a_run_say_whether_dishes_are_observed_and_the_log_joint():
    data = hk.NGrams.from_sentences([["a", "b"], ["a"]], order=1)
    for base, observed in ((hk.Uniform(), True), (hk.DirichletMultinomial(0.5), False)):
        ticks = []
        trace = hk.Scheduler([hk.moves.TableGibbs()]).run(
            hk.Franchise(hk.Restaurant(base), data), 2, 0, progress=ticks.append
        )
        assert [tick.observed for tick in ticks] == [observed] * len(ticks)
        assert ticks[-1].log_joint == trace["log_joint"][-1]


def test_plain_lines_are_rare_but_the_last_is_written():
    file, now = io.StringIO(), [0.0]
    bar = ProgressBar(file, seconds_between_lines=5, clock=lambda: now[0])
    for sweep, moment in enumerate([0.0, 1.0, 4.9, 5.0, 6.0], start=1):
        now[0] = moment
        bar(attrs.evolve(TICK, sweep=sweep))
    bar(attrs.evolve(TICK, sweep=10, finished=True))
    lines = file.getvalue().splitlines()
    assert [line.split(",")[0] for line in lines] == ["sweep 1/10", "sweep 4/10", "sweep 10/10"]
    assert "\x1b" not in file.getvalue()


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    return Terminal()


@pytest.mark.parametrize("how", ["finished", "context", "error", "forgotten"])
def test_the_terminal_is_left_in_order(terminal, how):
    hide, show = "\x1b[?25l", "\x1b[?25h"
    bar = ProgressBar(terminal)
    if how == "finished":
        bar(TICK)
        bar(attrs.evolve(TICK, finished=True))
    elif how == "context":
        with bar:
            bar(TICK)
    elif how == "error":
        with contextlib.suppress(KeyboardInterrupt), bar:
            bar(TICK)
            raise KeyboardInterrupt
    else:
        bar(TICK)
        del bar
    text = terminal.getvalue()
    assert "K = 42" in text
    assert text.count(hide) == text.count(show) == 1
    assert text.index(hide) < text.index(show)
