"""What a run tells while it is at work: its progress, and too many topics."""

import contextlib
import io

import attrs
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
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


N_TOKENS = 2_500  # 51 topics are too many, 50 are not
MANY = np.arange(N_TOKENS) % 51
KEPT = [moves.Concentration()]  # dishes stay as they start


@pytest.mark.parametrize(("eta", "advice"), [(0.5, "A larger eta"), (hk.Gamma(1.0, 1.0), "eta = 0.1")])
def test_a_run_warns_once_of_too_many_topics(eta, advice):
    terms = np.random.default_rng(0).integers(0, 40, size=N_TOKENS)
    corpus = hk.Corpus.from_documents(terms.reshape(-1, 50).tolist(), n_terms=40)
    root = hk.Restaurant(hk.DirichletMultinomial(eta), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    with pytest.warns(errors.ManyTopicsWarning, match=r"^51 topics for 2,500 tokens, 49 tokens each") as told:
        hk.Scheduler(KEPT).run(franchise, sweeps=3, rng=0, init=MANY)
    (warning,) = [warning for warning in told if warning.category is errors.ManyTopicsWarning]
    assert warning.filename == __file__
    assert advice in str(warning.message)
