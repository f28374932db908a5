"""Intervals of shares: how far their ends are moved out where halves of chains differ."""

import numpy as np
import pytest

from hdpkit.posterior.intervals import SPREAD, interval, interval_of_shares


def ends(parts, of=interval_of_shares):
    """Interval of 90 % of one share; each part is the values of a half, one draw from each sample."""
    values = np.concatenate([np.asarray(part, dtype=float)[:, None, None] for part in parts])
    halves = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    lower, upper = of(values, 0.9, halves)
    return float(lower[0]), float(upper[0])


def test_halves_that_are_apart_move_the_ends_out():
    parts = [[0.50, 0.52], [0.54, 0.56]]
    # Between the means 0.51 and 0.55 the variance is 8e-4; two samples with a variance of 2e-4 explain 1e-4.
    out = SPREAD * np.sqrt(7e-4)
    low, high = ends(parts)
    assert (low, high) == (pytest.approx(0.501 - out), pytest.approx(0.559 + out))
    assert ends(parts, interval) == (pytest.approx(0.501), pytest.approx(0.559))  # of parameters


def test_halves_that_are_alike_leave_them():
    assert ends([[0.4, 0.6], [0.4, 0.6]]) == ends([[0.4, 0.6]]) == (pytest.approx(0.41), pytest.approx(0.59))
    # Explained by the samples of each half.
    assert ends([[0.4, 0.6], [0.5, 0.7]]) == (pytest.approx(0.41), pytest.approx(0.69))


def test_a_single_sample_says_nothing_of_its_half():
    assert ends([[0.4], [0.9]]) == (0.4, 0.9)


def test_they_stay_from_0_to_1():
    assert ends([[0.1, 0.2], [0.8, 0.9]]) == (0.0, 1.0)


def test_draws_within_a_state_explain_nothing_between_states():
    values = np.array([[[0.50], [0.52]], [[0.50], [0.52]], [[0.53], [0.55]], [[0.53], [0.55]]])
    lower, upper = interval_of_shares(values, 0.9, np.array([0, 0, 1, 1]))
    out = SPREAD * np.sqrt(4.5e-4)
    assert (float(lower[0]), float(upper[0])) == (pytest.approx(0.5 - out), pytest.approx(0.55 + out))
