"""Shares of topics over time, from the dates of documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, items, whole_numbers
from hdpkit.data.files.labels import PERIODS, iso_date, periods_of
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.intervals import checked_level, halves_of, interval_of_shares
from hdpkit.run.tables import data_frame


@attrs.frozen(eq=False, kw_only=True)
class Trends:
    """Shares of topics, or of groups of topics, in the documents of each period.

    Attributes
    ----------
    periods : tuple of str
        All periods from the first date to the last, P of them.
    documents, tokens : int64 array, shape (P,)
        Documents and tokens of each period.
    shares : float64 array, shape (P, K)
        Share of the tokens of a period in each topic, mean over the samples; NaN without tokens.
    lower, upper : float64 array, shape (P, K), or None
        Ends of the intervals over the samples; None for a single sample.
    """

    periods: tuple[str, ...]
    documents: Int64s = attrs.field(repr=False)
    tokens: Int64s = attrs.field(repr=False)
    shares: Floats = attrs.field(repr=False)
    lower: Floats | None = attrs.field(default=None, repr=False)
    upper: Floats | None = attrs.field(default=None, repr=False)

    def columns(self, name: str = "topic", labels: Sequence[str] = ()) -> dict[str, Any]:
        """A table with a row for each period and topic.

        Parameters
        ----------
        name : str
            Name of the column of topics, which are numbered from 1.
        labels : sequence of str, optional
            A label for each topic.

        Returns
        -------
        dict of sequences
            period, documents, tokens, the topic, its label, share and, with several samples, lower and upper.
        """
        n, k = self.shares.shape
        table: dict[str, Any] = {
            "period": [period for period in self.periods for _ in range(k)],
            "documents": np.repeat(self.documents, k),
            "tokens": np.repeat(self.tokens, k),
            name: np.tile(np.arange(1, k + 1), n),
            **({"label": [*labels] * n} if labels else {}),
            "share": self.shares.ravel(),
        }
        if self.lower is not None and self.upper is not None:
            table |= {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        return table

    def to_pandas(self, name: str = "topic") -> Any:
        """The table of `columns` as a data frame.

        Parameters
        ----------
        name : str
            As for `columns`.

        Raises
        ------
        MissingExtraError
            Without pandas: ``pip install 'hdpkit[pandas]'``.
        """
        return data_frame(self.columns(name))


def trends(
    topics: Any, dates: Any, *, by: str | None = None, labels: Any = None, level: float = 0.9
) -> Trends:
    """Compute the shares of topics over time.

    Parameters
    ----------
    topics : Components or Sample
        With documents as groups. Aligned topics also give intervals.
    dates : sequence of length n_documents
        Date of each document: a year, a text in ISO 8601 or another usual notation, or a date; None where it
        is not known.
    by : str, optional
        Length of the periods: "day", "month", "quarter", "year", "5 years", "decade" or "century". By default
        the shortest for which there are at most 40 periods, at least half of them with documents.
    labels : array of int, shape (K,), optional
        Group of each topic, from 0, whose shares are added up: ``group_topics(topics).cut()``.
    level : float
        Probability of the intervals. They contain the variation between samples: what the topics of the
        given documents are, not which documents a period might have had.

    Returns
    -------
    Trends

    Raises
    ------
    ParameterError, DataError
        If an argument is out of range, a date can't be read, or groups aren't documents.

    Examples
    --------
    >>> found = trends(components(run), corpus_years)  # doctest: +SKIP
    """
    if not isinstance(topics, Sample) and (isinstance(topics, type) or not hasattr(topics, "which")):
        raise ParameterError("topics", topics, "a Sample or Components", "franchise.sample().")
    samples = (topics,) if isinstance(topics, Sample) else topics.samples
    given = items("dates", dates, "a date for each document", remedy="For instance corpus years.")
    n = samples[0].n_groups
    if len(given) != n or any(sample.n_groups != n for sample in samples):
        raise DataError("dates", f"{len(given)} dates", f"{n} dates, one per group", "One per document.")
    if by is not None:
        choice("by", by, PERIODS, remedy="Leave it out.")
    level = checked_level(level)
    k = topics.n_dishes if isinstance(topics, Sample) else len(topics)
    to = np.arange(k)
    if labels is not None:
        remedy = "group_topics(topics).cut()."
        to = whole_numbers("labels", labels, 0, max(k - 1, 0), length=k, remedy=remedy)
    texts: list[str | None] = []
    for d, date in enumerate(given):
        try:
            texts.append(None if date is None or date != date else iso_date(date))
        except ValueError:
            raise DataError(
                f"dates[{d}]", date, "a date such as 2024-05-31, a year, or None", "Write YYYY-MM-DD."
            ) from None
    periods, which = periods_of(texts, by)
    if not periods:
        raise DataError("dates", "None for each document", "at least one date", "Give the dates.")
    return shares_in(topics, periods, which, to, level)


def shares_in(topics: Any, periods: Sequence[str], which: Int64s, to: Int64s, level: float = 0.9) -> Trends:
    """As `trends`, given the number of each document's period, or group, and of each topic's column."""
    samples = (topics,) if isinstance(topics, Sample) else topics.samples
    k, n_columns = len(to), int(to.max(initial=-1)) + 1
    found = []
    for sample in samples:
        own = np.arange(k) if isinstance(topics, Sample) else topics.which(sample)
        found.append(_counts(sample, which, len(periods), np.append(to, -1)[own], n_columns))
    tokens = _tokens(samples[0], which, len(periods))
    with np.errstate(invalid="ignore"):
        shares = np.array(found) / np.where(tokens > 0, tokens, np.nan)[:, None]
    mean = shares.mean(axis=0)
    ends: tuple[Floats | None, Floats | None] = (None, None)
    if len(samples) > 1:
        ends = interval_of_shares(shares[:, None], level, halves_of(samples), mean)
    documents = np.bincount(which[which >= 0], minlength=len(periods))
    return Trends(
        periods=tuple(periods), documents=documents, tokens=tokens, shares=mean,
        lower=ends[0], upper=ends[1],
    )  # fmt: skip


def _chooser(rows: Int64s, n: int) -> Any:
    """A matrix that adds up the rows of each number; -1 for rows that are left out."""
    there = np.flatnonzero(rows >= 0)
    ones = np.ones(len(there), dtype=np.int64)
    return scipy.sparse.csr_array((ones, (rows[there], there)), shape=(n, len(rows)))


def _counts(sample: Sample, which: Int64s, n: int, to: Int64s, n_columns: int) -> Int64s:
    """Tokens of each topic in each period: shape (n, n_columns)."""
    of_dishes = _chooser(which, n) @ sample.group_counts
    return np.asarray((of_dishes @ _chooser(to, n_columns).T).todense(), dtype=np.int64)


def _tokens(sample: Sample, which: Int64s, n: int) -> Int64s:
    return np.asarray((_chooser(which, n) @ sample.group_counts).sum(axis=1), dtype=np.int64).ravel()
