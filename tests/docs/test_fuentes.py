"""The statements of docs/fuentes.md about the paper, checked by transition matrices and enumeration."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fuentes.py"
ALPHAS = [(0.5, 0.5), (1.0, 1.0), (0.05, 2.0), (0.2,) * 5, (3.0, 3.0, 1.0, 1.0, 1.0), (1e-3, 5.0, 0.7)]


@pytest.fixture(scope="module")
def fuentes():
    return runpy.run_path(str(EXAMPLE))


def test_the_covariances_of_two_variables(fuentes):
    law, full, sweep, _ = fuentes["transition_matrices"](np.array([0.5, 0.5]))
    h = np.array([1.0, 1.0, 0.0, 0.0])
    assert fuentes["lag_one"](h, law, full) == pytest.approx(1 / 8, abs=1e-15)
    assert fuentes["lag_one"](h, law, sweep) == pytest.approx(1 / 16, abs=1e-15)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_theorem_1_is_false_and_reversed(fuentes, alpha):
    law, full, sweep, site = fuentes["transition_matrices"](np.array(alpha))
    for matrix in (full, sweep, site):
        assert np.abs(matrix.sum(axis=1) - 1.0).max() < 1e-14
        assert np.abs(law @ matrix - law).max() < 1e-14
    least, largest = fuentes["ratio_range"](law, sweep, full)
    total = sum(alpha)
    assert least > -1e-9
    assert largest == pytest.approx(((total + 2.0) / (2.0 * total + 2.0)) ** 2, abs=1e-9)  # below 1
    assert fuentes["ratio_range"](law, site, full)[1] > 1.0


def test_the_order_of_table_2_is_that_of_one_site(fuentes):
    found = {name: many for name, (_, many) in fuentes["table_two"](np.full(5, 0.2), 1, repeats=20).items()}
    assert found["sweep"] < 0.8 * found["full, averaged"]
    assert found["sweep"] < 0.8 * found["full"]
    for one_site in ("one site, in turn", "one site, random"):
        assert found[one_site] > 1.4 * found["full"]


def test_the_scheme_with_the_models_alpha_has_the_posterior_and_the_printed_one_has_not(fuentes):
    counts, law = np.array([[2, 1, 0], [0, 1, 1]]), np.array([0.03487, 0.49886, 0.46628])
    away = {}
    for as_printed in (False, True):
        chain, found = fuentes["FullGibbs"](counts, np.full(3, 0.5), 0.5, 0, as_printed), np.zeros(4)
        for _ in range(6000):
            chain.sweep()
            found[chain.n_topics()] += 1
        away[as_printed] = 0.5 * np.abs(found[1:] / 6000 - law).sum()
    assert away[False] < 0.025  # 0.005
    assert away[True] > 0.06  # 0.09


def test_all_of_it_runs(fuentes, capsys, tmp_path):
    path = tmp_path / "fuentes.png"
    fuentes["main"](["--repeats", "1", "--sweeps", "8", "--ap-sweeps", "20", "--figure", str(path)])
    assert "Theorem 1" in capsys.readouterr().out
    assert path.stat().st_size > 3000
