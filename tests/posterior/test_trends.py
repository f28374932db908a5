"""Shares over time: dates in their notations, periods, sums by hand, intervals."""

import datetime

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.data.files.labels import date_keys, iso_date, periods_of
from hdpkit.errors import DataError
from hdpkit.summaries import components, trends

DAYS = [
    "1998-05-31",
    "1998-05-31T23:59:00Z",
    "1998-05-31 10:00",
    "1998/5/31",
    "31.5.1998",
    "19980531",
    "Sun, 31 May 1998 10:00:00 +0200",
    datetime.date(1998, 5, 31),
    datetime.datetime(1998, 5, 31, 12),
]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *((year, "1998") for year in (1998, "1998", "1998.0", np.int64(1998))),
        ("1998-05", "1998-05"),
        *((day, "1998-05-31") for day in DAYS),
    ],
)
def test_dates_in_usual_notations(given, expected):
    assert iso_date(given) == expected


def test_labels_that_are_dates():
    assert date_keys(["1998", "2001"])
    assert date_keys([1998, 2001])
    assert date_keys(["1998-05-31", "1998-06"])
    for keys in (
        ["1998"],
        ["1998", "x"],
        ["1", "2"],
        ["1200", "1998"],
        ["9999", "1998"],
        ["1998-13-01", "1999"],
        [],
    ):
        assert not date_keys(keys)


def test_periods_are_chosen_by_the_range_and_have_no_gaps():
    years = ["2000", "2003", None]
    assert periods_of(years)[0] == ["2000", "2001", "2002", "2003"]
    assert periods_of(years)[1].tolist() == [0, 3, -1]
    january = [f"2000-01-{d:02}" for d in range(1, 32)]
    assert periods_of(january)[0] == january
    year = [f"2000-{m:02}-15" for m in range(1, 13)]
    assert periods_of(year)[0] == [day[:7] for day in year]  # days would mostly be empty
    several = [f"{y}-{m:02}-15" for y in range(2000, 2008) for m in range(1, 13)]
    assert periods_of(several)[0][:2] == ["2000 Q1", "2000 Q2"]
    assert periods_of([*several, "2030-02-02"])[0][0] == "2000–2009"
    assert periods_of(range(1950, 2000))[0][:2] == ["1950–1954", "1955–1959"]
    assert periods_of(["2000-01-30", "2001"])[0] == ["2000", "2001"]  # no more exact than the dates
    assert periods_of(["1999", "2011"], "decade")[0] == ["1990–1999", "2000–2009", "2010–2019"]
    assert periods_of([None], None)[0] == []


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    documents = [rng.integers(0, 5, 20) + 5 * (d % 2) for d in range(30)]
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(
        hk.Restaurant(root, concentration=1.0, each="document"),
        hk.Corpus.from_documents(documents, n_terms=10),
    )
    trace = hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 20, rng=0, samples=5)
    return franchise, trace


def test_shares_are_those_counted_by_hand(run):
    franchise, trace = run
    years = [None if d == 3 else 2000 + d // 10 for d in range(30)]
    sample = franchise.sample()
    found = trends(sample, years)
    assert found.periods == ("2000", "2001", "2002")
    assert found.documents.tolist() == [9, 10, 10]
    assert found.tokens.tolist() == [180, 200, 200]
    counts = sample.group_counts.toarray()
    for p in range(3):
        chosen = [d for d in range(30) if d // 10 == p and d != 3]
        np.testing.assert_allclose(found.shares[p], counts[chosen].sum(axis=0) / (20 * len(chosen)))
    assert found.lower is None
    aligned = components(trace.samples, min_occurrence=0.0)
    of_all = trends(aligned, years, level=0.5)
    each = []
    for one in aligned.samples:
        alone, which = trends(one, years).shares, aligned.which(one)
        row = np.zeros((3, len(aligned)))
        row[:, which] = alone
        each.append(row)
    np.testing.assert_allclose(of_all.shares, np.mean(each, axis=0))
    assert (of_all.lower <= of_all.shares).all()
    assert (of_all.shares <= of_all.upper).all()
    together = trends(aligned, years, labels=np.zeros(len(aligned), dtype=int))
    np.testing.assert_allclose(together.shares, 1.0)
    gap = trends(sample, [2000] * 10 + [2002] * 20)
    assert np.isnan(gap.shares[1]).all()
    assert gap.tokens.tolist() == [200, 0, 400]
    table = of_all.columns()
    assert set(table) == {"period", "documents", "tokens", "topic", "share", "lower", "upper"}
    assert table["topic"][0] == 1
    frame = of_all.to_pandas("group")
    assert len(frame) == 3 * len(aligned)


def test_dates_that_do_not_fit_are_refused(run):
    franchise, _ = run
    with pytest.raises(DataError, match="30 dates"):
        trends(franchise.sample(), [2000])
    with pytest.raises(DataError, match=r"dates\[2\]"):
        trends(franchise.sample(), [2000, 2001, "soon", *range(1990, 2017)])
    with pytest.raises(DataError, match="at least one date"):
        trends(franchise.sample(), [None] * 30)
