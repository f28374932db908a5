"""Intervals: halves of chains, and how often they contain the truth."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.posterior.intervals import SPREAD, interval, interval_of_shares
from hdpkit.signatures import choose_rank


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


SAMPLES, CHANNELS, SIGNATURES = 40, 60, 4
SEEDS = range(2)


def simulated(rng):
    """Counts of signatures that are in 7 of 10 samples, with the true signatures and their mutations."""
    rows = rng.dirichlet(np.full(CHANNELS, 0.3), SIGNATURES)
    shares = rng.gamma(1.0, size=(SAMPLES, SIGNATURES)) * (rng.random((SAMPLES, SIGNATURES)) < 0.7)
    shares[~shares.any(axis=1), 0] = 1.0
    shares /= shares.sum(axis=1, keepdims=True)
    totals = rng.integers(500, 2000, SAMPLES)
    counts = np.array([rng.multinomial(n, share @ rows) for n, share in zip(totals, shares, strict=True)])
    return counts, rows, shares * totals[:, None]


def fitted(seed):
    """Signatures of two short chains, and the true ones with their mutations."""
    counts, rows, exposures = simulated(np.random.default_rng(seed))
    kind, corpus = Cohort(bursty=False), hk.Corpus.from_counts(counts)
    declared = kind.declare(corpus)
    trace = hk.Scheduler(kind.moves(declared)).run(
        kind.franchise(corpus), 100, rng=seed, init=choose_rank(declared, corpus, rng=seed).init, chains=2,
        samples=10, processes=1,
    )  # fmt: skip
    return kind.extracted(trace, corpus), rows, exposures


def test_intervals_contain_the_truth():
    inside = {"exposures": [], "above 0": [], "rows": []}
    for found, rows, exposures in map(fitted, SEEDS):
        alike = (rows / np.linalg.norm(rows, axis=1, keepdims=True)) @ found.rows.T
        j = (alike / np.linalg.norm(found.rows, axis=1)).argmax(axis=1)
        assert len(set(j.tolist())) == SIGNATURES
        # A lower end that rounds to no mutation contains 0.
        held = (found.exposures_lower[:, j] - 0.5 <= exposures) & (
            exposures <= found.exposures_upper[:, j] + 0.5
        )
        inside["exposures"].extend(held.ravel())
        inside["above 0"].extend(held[exposures >= 1.0])
        inside["rows"].extend(((found.rows_lower[j] <= rows) & (rows <= found.rows_upper[j])).ravel())
    cover = {name: np.mean(each) for name, each in inside.items()}
    assert cover["exposures"] >= 0.85, cover
    assert cover["above 0"] >= 0.8, cover
    assert cover["rows"] >= 0.85, cover
