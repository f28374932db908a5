"""Output in notebooks: tables of franchises and traces, and progress bars."""

import html
import io
import sys
import types

import numpy as np
import pytest
from report_cases import HOSTILE, hostile_corpus

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.run.progress import NotebookBars, format_tick, notebook_bars


def franchise(corpus=None):
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, each="document"), corpus or hostile_corpus())


@pytest.fixture(scope="module")
def fitted():
    one = franchise()
    schedule = hk.Scheduler([moves.TableGibbs(), moves.Concentration()])
    return one, schedule.run(one, sweeps=4, rng=0, init=np.arange(1200) % 6, samples=2)


def test_a_franchise_shows_its_largest_dishes_escaped(fitted):
    shown = fitted[0]._repr_html_()
    assert shown.count("<tr>") == min(fitted[0].n_dishes, 10) + 1
    words = [text for text in HOSTILE if "<" in text and html.escape(text) in shown]
    assert words
    assert "<img" not in shown
    assert "<script" not in shown
    assert f"{fitted[0].dish_counts.sum(axis=1).max():,}" in shown


def test_traces_and_samples_show_tables(fitted):
    _, trace = fitted
    shown = trace._repr_html_()
    assert "log_joint" in shown
    assert f"{trace['log_joint'][-1]:,.4g}" in shown
    assert "chain 0" in hk.ChainTrace([trace, trace])._repr_html_()
    assert "<table>" in hk.Trace()._repr_html_()
    assert "<table>" in trace.samples[0]._repr_html_()


def test_progress_is_one_argument(monkeypatch, capsys):
    one, schedule = franchise(), hk.Scheduler([moves.TableGibbs()])
    schedule.run(one, sweeps=2, rng=0, init="one", progress=True)
    assert "sweep 2/2" in capsys.readouterr().err
    schedule.run(one, sweeps=2, rng=0, init=None, progress=False)
    assert capsys.readouterr().err == ""
    told = []
    schedule.run(one, sweeps=2, rng=0, init="one", progress=told.append)
    assert told[-1].finished
    with pytest.raises(errors.ParameterError, match="progress"):
        schedule.run(one, sweeps=2, rng=0, init="one", progress=5)
    for _ in schedule.sample(one, 1, rng=0, init="one", progress=True):
        pass
    assert "sweep 1/1" in capsys.readouterr().err


def test_a_notebook_has_bars_of_tqdm(monkeypatch):
    tqdm = pytest.importorskip("tqdm")
    assert notebook_bars(format_tick) is None
    shell = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert isinstance(notebook_bars(format_tick), NotebookBars)
    out = io.StringIO()
    bars = NotebookBars(lambda **options: tqdm.tqdm(**options, file=out), format_tick)
    hk.Scheduler([moves.TableGibbs()]).run(franchise(), sweeps=3, rng=0, init="one", progress=bars.show)
    bars.close()
    assert "100%" in out.getvalue()
    assert "sweep 3/3" in out.getvalue()
