"""Sequences: observations in order, missing ones, terms and words, labels, files."""

import numpy as np
import pandas as pd
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, Streams


@pytest.mark.parametrize(
    "given",
    [
        [0, None, 2],
        [0.0, np.nan, 2.0],
        np.array([0.0, np.nan, 2.0]),
        np.array([0, None, 2], dtype=object),
        np.ma.masked_array([0, 7, 2], mask=[False, True, False]),
        pd.Series([0, pd.NA, 2], dtype="Int64"),
        pd.Series([0.0, np.nan, 2.0]),
    ],
)
def test_terms_whatever_marks_missing_ones(given):
    data = hk.Sequences.from_arrays([given], n_terms=3)
    assert data.missing.tolist() == [False, True, False]
    assert data.values[[0, 2]].tolist() == [0, 2]
    assert (data.values.dtype, data.n_terms) == (np.int32, 3)


@pytest.mark.parametrize(
    "given",
    [
        np.array([[0.1, 0.2], [np.nan, np.nan], [0.3, 0.4]]),
        [[0.1, 0.2], None, [0.3, 0.4]],
        [[0.1, 0.2], [np.nan, np.nan], [0.3, 0.4]],
        np.ma.masked_array([[0.1, 0.2], [0, 0], [0.3, 0.4]], mask=[[0, 0], [1, 1], [0, 0]]),
        pd.DataFrame({"x": [0.1, np.nan, 0.3], "y": [0.2, np.nan, 0.4]}),
    ],
)
def test_rows_of_numbers(given):
    data = hk.Sequences.from_arrays([given])
    assert data.missing.tolist() == [False, True, False]
    assert data.values[[0, 2]].tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert data.columns == (("x", "y") if isinstance(given, pd.DataFrame) else None)


def coin(value, p):
    return np.log(p if value else 1.0 - p)


ROWS = [[[0.1, 1.0], None, [3.0, 0.2]], [None, [0.2, 1.1]]]
MEASURES = {
    "terms": (hk.DirichletMultinomial(0.5), [[0, 1, None, 1], [None, 2]], 3),
    "numbers": (hk.NormalGamma(0.0, 1.0, 2.0, 1.0), [[0.1, None, 3.0, 2.5], [None, 0.2]], None),
    "vectors": (hk.NormalInverseWishart([0.0, 0.0], 1.0, 4.0, np.eye(2)), ROWS, None),
    "counts": (hk.GammaPoisson(1.0, 1.0), [[4, None, 0, 2], [None, 1]], None),
    "bits": (hk.BetaBernoulli(0.5, 0.5), [[[1, 0], None, [0, 0]], [None, [1, 1]]], None),
    "parameters in the state": (
        hk.NonConjugate(coin, hk.Finite([0.2, 0.7])), [[1, None, 0, 1], [None, 1]], None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MEASURES)
def test_missing_observations_are_in_no_statistics(name):
    measure, arrays, n_terms = MEASURES[name]
    data = hk.Sequences.from_arrays(arrays, n_terms)
    dense = hk.Groups.from_labels(data.values[~data.missing])
    franchise = hk.Franchise(hk.Restaurant(measure), data)
    schedule = hk.Scheduler([moves.TableGibbs()])
    schedule.run(franchise, sweeps=4, rng=1, audit_every=1)
    if name != "parameters in the state":
        other = hk.Franchise(hk.Restaurant(measure), dense)
        start(other, franchise.dishes[~data.missing].tolist(), Streams(0).source(STARTS))
        assert franchise.log_likelihood() == pytest.approx(other.log_likelihood(), rel=1e-12)
    copy = franchise.copy()
    ends = [
        schedule.run(one, sweeps=2, rng=None, init=None)["log_joint"].tolist() for one in (franchise, copy)
    ]
    assert ends[0] == ends[1]
