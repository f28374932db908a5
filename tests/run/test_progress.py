"""The progress bar: one line on a terminal, plain lines elsewhere, and no remains."""

import contextlib
import io

import attrs
import pytest

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
